"""The differences between two specs, by primitive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import Steps, path_of, primitive_of, rank

# What tells the items of a list apart, so that an insertion is not a change of all that follow.
_IDENTITIES = ("name", "noun", "boundary", "cell", "what")


@dataclass(frozen=True, slots=True)
class Difference:
    """One answer that differs. None on a side means that this side does not give it."""

    primitive: str
    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.primitive}, `{self.path}`: {_shown(self.before)} → {_shown(self.after)}"


def differences(old: MemorySpec, new: MemorySpec) -> tuple[Difference, ...]:
    """Every answer that differs, in the documents' order. Empty if, and only if, none does."""
    found = list(_compare(old.as_data(), new.as_data(), ()))
    found.sort(key=lambda each: rank(each[0]))
    return tuple(
        Difference(primitive_of(steps), path_of(steps), before, after)
        for steps, before, after in found
    )


def _compare(old: Any, new: Any, steps: Steps) -> Iterator[tuple[Steps, Any, Any]]:
    """Where two specs differ, as far down as keys and names lead: path, old and new."""
    # As text: Python finds 1 and True equal, and the digest does not.
    if json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _compare(old.get(key), new.get(key), (*steps, key))
        return
    before, after = _by_identity(old), _by_identity(new)
    if before is None or after is None:
        yield steps, old, new
        return
    kept = [key for key in before if key in after]
    if kept != [key for key in after if key in before]:
        # The first anchor key is the tenant: order can be the whole difference.
        yield steps, list(before), list(after)
    for key in dict.fromkeys((*before, *after)):
        yield from _compare(before.get(key), after.get(key), (*steps, key))


def _by_identity(value: Any) -> dict[str, Any] | None:
    """A list's items by their name, or None if two share a name or one has none."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    named = {next((item[k] for k in _IDENTITIES if k in item), ""): item for item in value}
    return named if len(named) == len(value) else None


def _shown(value: Any) -> str:
    """A value as JSON; what one of the specs does not say is `not given`."""
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)

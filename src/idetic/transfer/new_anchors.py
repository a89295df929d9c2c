"""The anchors of a changed spec: which anchor each one becomes, and what may not change at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idetic.errors import PlanRefused
from idetic.model import Principal, plain
from idetic.spec.memory_spec import MemorySpec
from idetic.verbs.authorization import bind

Values = tuple[Any, ...]
"""The values of an anchor's keys, in the order of the keys."""


def check_movable(before: MemorySpec, spec: MemorySpec) -> None:
    """Refuse what no migration can do: another tenant, other personas, the same tables."""
    kinds = {key.name: key.type for key in before.anchor.keys}
    turned = [key.name for key in spec.anchor.keys if kinds.get(key.name, key.type) != key.type]
    why = ""
    if before.backend.place == spec.backend.place:
        why = f"both versions have the family {spec.backend.place}; give it a `backend.family` of \
its own"
    elif before.anchor.tenant.name != spec.anchor.tenant.name:
        why = f"the tenant, {before.anchor.tenant.name}, must stay the first anchor key"
    elif turned:
        why = f"the anchor key {turned[0]} would have another type; give it another name, too"
    elif before.backend.personas != spec.backend.personas:
        why = "the log would have other personas; each of them has memory of its own"
    if why:
        raise PlanRefused(
            f"The memory of {spec.agent} cannot be moved: {why}.",
            remedy="Nothing was changed. Correct the spec and call again.",
        )


@dataclass(frozen=True, slots=True)
class KeyValues:
    """What new anchor keys are to have: by anchor, and for every other anchor.

    A row of `mapping` names an anchor by all of its old keys, and gives the new ones.
    """

    default: Mapping[str, Any] = field(default_factory=dict)
    mapping: Sequence[Mapping[str, Any]] = ()

    def as_data(self) -> Any:
        """Plain data, to tell whether two calls ask for the same."""
        return plain([dict(self.default), [dict(row) for row in self.mapping]])

    def moves(
        self, before: MemorySpec, spec: MemorySpec, anchors: Iterable[Values]
    ) -> dict[Values, Values]:
        """Which anchor each becomes; refuses one without a value, and two that become one."""
        self._check_names(before, spec)
        names = [key.name for key in before.anchor.keys]
        rows = {tuple(str(row.get(name)) for name in names): row for row in self.mapping}
        found: dict[Values, Values] = {}
        taken: dict[Values, Values] = {}
        for values in anchors:
            row = rows.get(tuple(map(str, values)), {})
            old = dict(zip(names, values, strict=True))
            new = self._become(spec, old, row)
            if taken.setdefault(new, values) != values:
                raise PlanRefused(
                    f"Two anchors would become one: {plain(taken[new])} and {plain(values)}.",
                    remedy="Two histories cannot be one chain. Keep the key that tells them apart, "
                    "or give them different values in the mapping. Nothing was changed.",
                )
            found[values] = new
        return found

    def _check_names(self, before: MemorySpec, spec: MemorySpec) -> None:
        """Refuse values for what is no new key."""
        held = {key.name for key in before.anchor.keys}
        new = [key.name for key in spec.anchor.keys if key.name not in held]
        named = {*self.default, *(name for row in self.mapping for name in row if name not in held)}
        if unknown := sorted(named - set(new)):
            raise PlanRefused(
                f"{spec.agent} has no new anchor key called {', '.join(unknown)}.",
                remedy=f"The new keys are: {', '.join(new) or 'none'}. Nothing was changed.",
            )

    def _become(self, spec: MemorySpec, old: Mapping[str, Any], row: Mapping[str, Any]) -> Values:
        """The values of one anchor under the changed spec, in the types of its keys."""
        given = {**self.default, **row, **old}
        values = {key.name: given.get(key.name) for key in spec.anchor.keys}
        if missing := [name for name, value in values.items() if value is None]:
            raise PlanRefused(
                f"The anchor {plain(old)} has no {', '.join(missing)}.",
                remedy=f"Give every anchor one with --default {missing[0]}=VALUE, or name this "
                "anchor in the file of --mapping. Nothing was changed.",
            )
        # Whoever the spec knows: only the values are of interest.
        somebody = Principal(next(iter(spec.visibility.principals)), "migration")
        return tuple(bind(spec, values, somebody).anchor.values())

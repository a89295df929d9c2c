"""A story as a value: its rules, what is said, what happens; read from a file of this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, get_args

import yaml
from pydantic import TypeAdapter, ValidationError

from idetic.errors import IdeticError
from idetic.model import Claim
from idetic.world import script
from idetic.world.script import Event, Saying, Text

_KINDS: dict[str, type] = {kind.__name__.lower(): kind for kind in get_args(Event)}
_CHECKS: dict[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (*_KINDS.values(), Text, Saying)
}
FIRST_DAY = -200
"""When a rule was published that does not say when."""
_PARTS = {"name", "includes", "rules", "sayings", "questions", "days"}


@dataclass(frozen=True)
class Story:
    """What happens in one domain.

    `rules` has every version that a rule has when the story begins, oldest first.
    """

    name: str
    rules: Mapping[str, tuple[Text, ...]]
    sayings: Mapping[str, Saying]
    questions: Mapping[str, str]
    events: tuple[Event, ...]

    def until(self, day: int) -> Story:
        """The same story up to a day, without the looks that others take at it."""
        kept = [e for e in self.events if e.day <= day and not isinstance(e, script.Look)]
        return Story(self.name, self.rules, self.sayings, self.questions, tuple(kept))


@cache
def read_story(name: str) -> Story:
    """A story by the name of its file; one that `includes` another goes on with it."""
    data = read_data(name)
    unknown = data.keys() - _PARTS
    if unknown:
        raise IdeticError(f"The story {name} has unknown parts: {', '.join(sorted(unknown))}.")
    own = Story(
        data["name"],
        {key: tuple(_texts(rule)) for key, rule in data.get("rules", {}).items()},
        {key: _saying(key, said) for key, said in data.get("sayings", {}).items()},
        data.get("questions", {}),
        tuple(_event(name, one) for one in data["days"]),
    )
    if "includes" not in data:
        return own
    day = max(event.day for event in own.events)
    other = read_story(data["includes"]).until(day)
    return Story(
        own.name,
        {**other.rules, **own.rules},
        {**other.sayings, **own.sayings},
        {**other.questions, **own.questions},
        # Stable: what both tell for a day comes in this order.
        tuple(sorted((*other.events, *own.events), key=lambda event: event.day)),
    )


def read_data(name: str) -> dict[str, Any]:
    """What one of the data files of this package holds."""
    text = files("idetic.world").joinpath("stories", f"{name}.yaml").read_text("utf-8")
    data: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe
    return data


def _texts(rule: Mapping[str, Any]) -> Iterator[Text]:
    """Each version of a rule. Without a day it is older than anything that is told."""
    first = {"day": rule.get("day", FIRST_DAY), "strength": "curated", **rule}
    later = first.pop("then", [])
    for one in (first, *later):
        yield _made(Text, {"strength": first["strength"], **one}, one["says"][:30])


def _saying(key: str, said: Mapping[str, Any]) -> Saying:
    claim = said.get("claim")
    values = {**said, "claim": Claim(*map(str, claim))} if claim else said
    made: Saying = _made(Saying, values, key)
    return made


def _event(story: str, one: Mapping[str, Any]) -> Event:
    ((kind, values),) = one.items()
    if kind not in _KINDS:
        raise IdeticError(f"The story {story} tells of a {kind}, which nobody can play.")
    made: Event = _made(_KINDS[kind], values, f"{story}, day {values.get('day')}")
    return made


def _made(kind: type[Any], values: Mapping[str, Any], where: str) -> Any:
    """One noun of a script, its fields checked by their types; nothing is left over."""
    unknown = values.keys() - {field.name for field in fields(kind)}
    if unknown:
        raise IdeticError(f"{where}: a {kind.__name__} has no {', '.join(sorted(unknown))}.")
    try:
        return _CHECKS[kind].validate_python(dict(values))
    except ValidationError as error:
        raise IdeticError(f"{where}: this makes no {kind.__name__}: {error}.") from None

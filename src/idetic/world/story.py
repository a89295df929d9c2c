"""A story of the demo world as a value: its rules, what is said, what happens; read from a file.

A thread of a session is a line of labels: what was said in it, one after the other. `friday-order~`
is the same saying in its other words, `copy:dual-release` the text of a rule, which the guard
refuses, and `ask:cut-off` a question, whose answer is put before the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from idetic.errors import IdeticError
from idetic.model import Claim, Origin
from idetic.spec.primitives import SourceStrength

if TYPE_CHECKING:
    from idetic.world.performance import Performance

T = TypeVar("T")
H = TypeVar("H", bound=Callable[..., Any])
Row = dict[str, str]
Sections = dict[str, list[Row]]
"""What somebody who looks at memory is shown: rows by what they are about."""

ASK, COPY = "ask:", "copy:"
FIRST_DAY = -200
"""When a rule was published that does not say when."""
# The day from which the second version of the world model holds.
_SECOND_VERSION = 16
_STRICT = ConfigDict(extra="forbid")
_ADAPTERS: dict[type, TypeAdapter[Any]] = {}
_EVENTS: dict[str, tuple[Callable[..., Any], type[BaseModel]]] = {}
_PARTS = {"name", "includes", "rules", "sayings", "questions", "days"}


def model_version(day: int) -> str:
    """The version of the world model that a day's observations are made under."""
    return "2026.1" if day < _SECOND_VERSION else "2026.2"


@dataclass(frozen=True)
class RuleText:
    """What a canonical rule says from a day on, and how strong its source is."""

    __pydantic_config__: ClassVar = _STRICT

    day: int
    says: str
    strength: SourceStrength = SourceStrength.CURATED


@dataclass(frozen=True)
class Saying:
    """What is said: its words and claim, the rules it refers to, who said it, its topic."""

    __pydantic_config__: ClassVar = _STRICT

    says: str
    claim: Claim | None = None
    rules: tuple[str, ...] = ()
    heard_from: Origin | None = None
    again: str | None = None
    topic: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def envelope(self) -> dict[str, Any]:
        """Topic and tags as an envelope; empty where the story does not say."""
        about = {"topic": self.topic, "tags": list(self.tags)}
        return {key: value for key, value in about.items() if value}


@dataclass(frozen=True)
class SceneLine:
    """One decision: about what, which, and why."""

    what: str
    did: str
    why: str


@dataclass(frozen=True)
class Scene:
    """What one event came to; `about` explains it where the story does."""

    kind: str
    day: int
    title: str
    about: str
    lines: tuple[SceneLine, ...]
    sections: Sections


@dataclass(frozen=True)
class StoryEvent:
    """Something that happens on a day: its kind, and what the story says about it.

    `heading` and `about` explain it to those who watch.
    """

    kind: str
    day: int
    said: Mapping[str, Any]
    heading: str = ""
    about: str = ""

    async def happen(self, play: Performance) -> Scene:
        """Make it happen, by the verbs that anybody has."""
        happens, _ = _EVENTS[self.kind]
        if isinstance(happens, type):
            happens, said = happens(**self.said).happen, {}
        else:
            said = dict(self.said)
        made: Scene = await happens(play, **said)
        return made


def event(happens: H) -> H:
    """Declare a kind of event; the parameters are what a story may say about it, and are checked.

    It is a function of a performance, or a dataclass that has one called `happen`.
    """
    hints = get_type_hints(happens)
    known = [p for p in signature(happens).parameters.values() if p.name != "play"]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in known
    }
    word = happens.__name__.removeprefix("Scripted").lower()
    _EVENTS[word] = (happens, create_model(word, __config__=_STRICT, **fields))
    return happens


@dataclass(frozen=True)
class Story:
    """What happens in one domain.

    `rules` has every version that a rule has when the story begins, oldest first.
    """

    name: str
    rules: Mapping[str, tuple[RuleText, ...]]
    sayings: Mapping[str, Saying]
    questions: Mapping[str, str]
    events: tuple[StoryEvent, ...]


@cache
def read_story(name: str) -> Story:
    """A story by the name of its file; one that `includes` another goes on with it."""
    data = read_data(name)
    unknown = data.keys() - _PARTS
    if unknown:
        raise IdeticError(f"The story {name} has unknown parts: {', '.join(sorted(unknown))}.")
    rules = {key: tuple(_texts(rule)) for key, rule in data.get("rules", {}).items()}
    sayings = {key: read_saying(key, said) for key, said in data.get("sayings", {}).items()}
    questions = data.get("questions", {})
    events = [read_event(name, one) for one in data["days"]]
    if "includes" in data:
        other, last = read_story(data["includes"]), max(event.day for event in events)
        rules, sayings = {**other.rules, **rules}, {**other.sayings, **sayings}
        questions = {**other.questions, **questions}
        # Without the looks that the other story takes at itself.
        included = [e for e in other.events if e.day <= last and e.kind != "look"]
        # Stable: what both tell for a day comes in this order.
        events = sorted((*included, *events), key=lambda event: event.day)
    return Story(data["name"], rules, sayings, questions, tuple(events))


def read_data(name: str) -> dict[str, Any]:
    """What one of the data files of this package holds."""
    text = files("idetic.world").joinpath("stories", f"{name}.yaml").read_text("utf-8")
    data: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe
    return data


def _texts(rule: Mapping[str, Any]) -> Iterator[RuleText]:
    """Each version of a rule. Without a day it is older than anything that is told."""
    first = {"day": FIRST_DAY, "strength": "curated", **rule}
    later = first.pop("then", [])
    for one in (first, *later):
        yield _checked(RuleText, {"strength": first["strength"], **one}, one["says"][:30])


def read_saying(key: str, said: Mapping[str, Any]) -> Saying:
    """One saying; its claim is written as subject, attribute and value."""
    claim = said.get("claim")
    values = {**said, "claim": Claim(*map(str, claim))} if claim else said
    return _checked(Saying, values, key)


def read_event(story: str, one: Mapping[str, Any]) -> StoryEvent:
    """One event of a story, written as its kind and what is said about it."""
    ((kind, values),) = one.items()
    if kind not in _EVENTS:
        raise IdeticError(f"The story {story} names a {kind}, which is not a known part.")
    own = {name: values[name] for name in ("day", "heading", "about") if name in values}
    rest = {name: value for name, value in values.items() if name not in own}
    said = _checked(_EVENTS[kind][1], rest, f"{story}, day {own.get('day')}")
    given = {name: getattr(said, name) for name in said.model_fields_set}
    return _checked(StoryEvent, {"kind": kind, "said": given, **own}, f"{story}, {kind}")


def _checked(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """A value of a story, its fields checked by their types; nothing is left over."""
    adapter = _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))
    try:
        made: T = adapter.validate_python(dict(values))
    except ValidationError as error:
        raise IdeticError(f"{where}: this makes no {kind.__name__}: {error}.") from None
    return made

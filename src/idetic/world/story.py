"""A story of the demo world as a value: its rules, what is said, what happens; read from a file.

A thread of a session is a line of labels: what was said in it, one after the other. `friday-order~`
is the same saying in its other words, `copy:dual-release` the text of a rule, which the guard
refuses, and `ask:cut-off` a question, whose answer is put before the agent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from idetic.errors import IdeticError
from idetic.model import Claim, Origin
from idetic.spec.primitives import SourceStrength

if TYPE_CHECKING:
    from idetic.world.performance import Performance

T = TypeVar("T")
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
    """Something that happens on a day. `heading` and `about` explain it to those who watch."""

    __pydantic_config__: ClassVar = _STRICT

    day: int
    heading: str = field(default="", kw_only=True)
    about: str = field(default="", kw_only=True)

    @abstractmethod
    async def happen(self, play: Performance) -> Scene:
        """Make it happen, by the verbs that anybody has."""

    @classmethod
    def word(cls) -> str:
        """The word for it in a story file."""
        return cls.__name__.removesuffix("Event").lower()

    def scene(
        self, title: str, lines: Iterable[SceneLine] = (), sections: Sections | None = None
    ) -> Scene:
        """What it came to."""
        named = self.heading or title
        return Scene(self.word(), self.day, named, self.about, tuple(lines), sections or {})


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
        included = [e for e in other.events if e.day <= last and e.word() != "look"]
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
    """One event of a story, written as its kind and its fields."""
    ((word, values),) = one.items()
    kind = next((each for each in StoryEvent.__subclasses__() if each.word() == word), None)
    if kind is None:
        raise IdeticError(f"The story {story} tells of a {word}, which nobody can play.")
    return _checked(kind, values, f"{story}, day {values.get('day')}")


def _checked(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """A value of a story, its fields checked by their types; nothing is left over."""
    adapter = _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))
    try:
        made: T = adapter.validate_python(dict(values))
    except ValidationError as error:
        raise IdeticError(f"{where}: this makes no {kind.__name__}: {error}.") from None
    return made

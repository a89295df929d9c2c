"""What can be said and what can happen in a scripted month; the scripts themselves are data.

A thread is a line of labels: what was said in it, one after the other. `friday-order~` is the same
thing in its other words, `copy:dual-release` the text of a rule, which the guard refuses, and
`ask:cut-off` a question, whose answer is put before the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from idetic.evidence import ContradictionStatus, Outcome, SourceType
from idetic.model import Claim, Origin
from idetic.spec.primitives import SourceStrength

ASK, COPY = "ask:", "copy:"

# The day from which the second version of the world model holds.
SECOND_VERSION = 16


def model_version(day: int) -> str:
    """The version of the world model that a day's observations are made under."""
    return "2026.1" if day < SECOND_VERSION else "2026.2"


@dataclass(frozen=True)
class Text:
    """What a canonical rule says from a day on, and how strong its source is."""

    day: int
    says: str
    strength: SourceStrength = SourceStrength.CURATED


@dataclass(frozen=True)
class Saying:
    """Something that is said: its words, what it claims, which rules it refers to, who said it,
    and what it is about."""

    says: str
    claim: Claim | None = None
    rules: tuple[str, ...] = ()
    heard_from: Origin | None = None
    again: str | None = None
    topic: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def envelope(self) -> dict[str, Any]:
        """What it is about, as an envelope; empty where the story does not say."""
        about = {"topic": self.topic, "tags": list(self.tags)}
        return {key: value for key, value in about.items() if value}


@dataclass(frozen=True)
class Dispute:
    """An entry that speaks against a rule."""

    what: str
    rule: str
    why: str


@dataclass(frozen=True)
class Session:
    """One session and its threads; `notes` are made at the session's own tier.

    An action may rest on something said in it, something in it may dispute a rule, every write
    may be sent `twice` under its key, and the process may die before it closes anything. `by` is
    another agent than the usual one.
    """

    day: int
    name: str
    threads: tuple[str, ...]
    notes: str = ""
    acts_on: str | None = None
    disputes: Dispute | None = None
    twice: bool = False
    dies: bool = False
    by: str | None = None


@dataclass(frozen=True)
class Confirm:
    """A source that confirms an entry outside any session or, with `holds=False`, fails to."""

    day: int
    what: str
    source: str
    kind: SourceType = SourceType.OPERATOR_INPUT
    holds: bool = True
    times: int = 1


@dataclass(frozen=True)
class Prefer:
    """The operator states how things are to be done."""

    day: int
    what: str


@dataclass(frozen=True)
class Publish:
    """A rule is published, new or in its next version, and memory is brought in line with it."""

    day: int
    name: str
    says: str
    strength: SourceStrength = SourceStrength.CURATED


@dataclass(frozen=True)
class Contradict:
    """A standing entry speaks against a rule."""

    day: int
    dispute: Dispute


@dataclass(frozen=True)
class Resolve:
    """The operator moves contradictions on."""

    day: int
    what: tuple[str, ...]
    status: ContradictionStatus
    notes: str


@dataclass(frozen=True)
class Recover:
    """The sweeper closes what nobody closed."""

    day: int


@dataclass(frozen=True)
class Undo:
    """The operator takes the last decision of a kind about an entry back."""

    day: int
    what: str
    decision: str
    why: str


@dataclass(frozen=True)
class Archive:
    """The operator archives an entry."""

    day: int
    what: str
    why: str


@dataclass(frozen=True)
class Verdict:
    """One bulk decision of a review."""

    outcome: Outcome
    what: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Review:
    """The operator goes through the disposition queue; what is not decided stays in it."""

    day: int
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Act:
    """The operator acts on standing entries, which can then never be removed."""

    day: int
    name: str
    kind: str
    what: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Ask:
    """Somebody asks memory, which records what it gave them to read."""

    day: int
    question: str
    customer: bool = False


@dataclass(frozen=True)
class Quarantine:
    """The operator takes all that came through one agent out of recall."""

    day: int
    by: str
    why: str


@dataclass(frozen=True)
class Erase:
    """Somebody has asked to be forgotten; `subject` is everything that names them."""

    day: int
    subject: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Tombstone:
    """The operator marks an entry as deleted; its grace begins."""

    day: int
    what: str
    why: str


@dataclass(frozen=True)
class Upkeep:
    """What the worker does at night: promote, consolidate, mark what is due."""

    day: int


@dataclass(frozen=True)
class Look:
    """The whole memory, written down under a name."""

    day: int
    name: str


Event = (
    Session
    | Confirm
    | Prefer
    | Publish
    | Contradict
    | Resolve
    | Recover
    | Undo
    | Archive
    | Review
    | Act
    | Ask
    | Quarantine
    | Erase
    | Tombstone
    | Upkeep
    | Look
)

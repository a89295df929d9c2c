"""What Idetic asks of a reasoner: to merge, to summarise, to judge. Never on the write path.

No error of a reasoner holds a word of the entries: what a server or a model said is never quoted,
because either may repeat what it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from idetic.errors import IdeticError, InputError
from idetic.model import Claim, Decision
from idetic.spec.plain import storable
from idetic.spec.primitives import BODY_TEXT_MAX

_NOTHING = Decimal(0)


class ReasonerError(IdeticError, code="reasoner", http_status=502, exit_code=8):
    """The reasoner failed."""

    usage: Usage | None = None
    """What was spent on an answer that nobody could use."""
    remedy = "Try again later, or go on without a reasoner: memory works without one."


class ReasonerUnavailable(ReasonerError, code="reasoner_unavailable", http_status=503):
    """The reasoner could not be asked."""

    remedy = "Check the model's name, `base_url` and the key, then try again."


class ReasonerMalformed(ReasonerError, code="reasoner_malformed"):
    """The reasoner's answer does not have the form that was asked for."""

    remedy = "Try again, or use a model that can answer in JSON; nothing was changed."


class ReasonerRefused(ReasonerError, code="reasoner_refused"):
    """The reasoner declined to answer."""

    remedy = "Look at the entries it was given, or use another model; nothing was changed."


class ReasonerLied(ReasonerError, code="reasoner_lied"):
    """The reasoner's answer says something that the entries it cites do not."""

    remedy = "Try again, or use a more capable model; nothing was changed."


class ReasonerCapped(ReasonerError, code="reasoner_capped", http_status=429):
    """The call would exceed a cap, so it was not made."""

    remedy = "Raise the cap named above in `Caps`, or give the run fewer entries."


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, cost and time that answers used. Usages add up; an unknown cost stays unknown."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal | None = _NOTHING
    """In the currency of the prices given; None without prices."""
    seconds: float = 0.0
    calls: int = 0
    """Requests sent, whether they were answered or not."""
    estimated: int = 0
    """How many of the calls the server gave no count for; they stand here at their most."""

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost or _NOTHING) + (other.cost or _NOTHING) if known else None,
            self.seconds + other.seconds,
            self.calls + other.calls,
            self.estimated + other.estimated,
        )

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One entry as a reasoner is shown it. Its representation keeps the content to itself."""

    id: UUID
    text: str = field(repr=False)
    claim: Claim | None = field(default=None, repr=False)
    valid_at: datetime | None = None

    def __post_init__(self) -> None:
        claim_parts = self.claim.as_dict().values() if self.claim else ()
        if not isinstance(self.text, str):
            raise InputError(f"Entry {self.id} has a {type(self.text).__name__} for a text.")
        if not all(storable(part) for part in (self.text, *claim_parts)):
            raise InputError(f"Entry {self.id} holds NUL or a lone surrogate.")
        if not self.text.strip():
            raise InputError(f"Entry {self.id} has no text.")
        if self.valid_at is not None and self.valid_at.utcoffset() is None:
            raise InputError(f"Entry {self.id} has a valid_at without a time zone.")


@dataclass(frozen=True, slots=True)
class MergeAsked:
    """What should become of these entries, taken together?"""

    entries: tuple[ShownEntry, ...]

    def __post_init__(self) -> None:
        _distinct(self.entries)


@dataclass(frozen=True, slots=True)
class SummaryAsked:
    """What do these entries say, in one note?"""

    entries: tuple[ShownEntry, ...]
    max_chars: int = BODY_TEXT_MAX

    def __post_init__(self) -> None:
        _distinct(self.entries)
        if not 1 <= self.max_chars <= BODY_TEXT_MAX:
            raise InputError(f"max_chars must be a number from 1 to {BODY_TEXT_MAX:,}.")


@dataclass(frozen=True, slots=True)
class ConflictAsked:
    """Can both of these entries be true?"""

    first: ShownEntry
    second: ShownEntry

    def __post_init__(self) -> None:
        _distinct((self.first, self.second))


class ConflictVerdict(StrEnum):
    """How two statements stand to each other."""

    CONFLICT = "conflict"
    COMPATIBLE = "compatible"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class MergeAnswered:
    """What should become of the entries cited; the others stay as they are.

    ADD: they support a further statement, `text`, and stay. UPDATE: `text` takes their place.
    DELETE: they no longer hold, and nothing takes their place. NOOP: leave them.
    """

    decision: Decision
    text: str | None = field(repr=False)
    claim: Claim | None = field(repr=False)
    cites: tuple[UUID, ...]
    why: str = field(repr=False)
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class SummaryAnswered:
    """One note, and the entries it rests on."""

    text: str = field(repr=False)
    cites: tuple[UUID, ...]
    why: str = field(repr=False)
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class ConflictAnswered:
    """A verdict on two statements, and the reason for it."""

    verdict: ConflictVerdict
    why: str = field(repr=False)
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class ClaimsAsked:
    """What do these turns, shown as entries, say of people? Only of these kinds."""

    entries: tuple[ShownEntry, ...]
    kinds: Mapping[str, str]
    """The attributes that may be named, and what each means."""

    def __post_init__(self) -> None:
        _distinct(self.entries)


@dataclass(frozen=True, slots=True)
class ReasonedClaim:
    """One claim as a reasoner stated it, true to the entries that it cites."""

    subject: str = field(repr=False)
    attribute: str
    detail: str = field(repr=False)
    value: str = field(repr=False)
    negated: bool
    when: str | None = field(repr=False)
    """The words that name a time, as they stand in an entry."""
    quote: str = field(repr=False)
    cites: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ClaimsAnswered:
    """The claims that are true to their entries, and why others were refused."""

    claims: tuple[ReasonedClaim, ...]
    refused: tuple[str, ...]
    usage: Usage = Usage()


class ClaimReasoner(Protocol):
    """Draws claims out of entries. A reasoner need not be able to."""

    async def draw(self, asked: ClaimsAsked) -> ClaimsAnswered:
        """What the entries say of people, in so many words."""
        ...


class Reasoner(Protocol):
    """Thinks about entries it is given. Every answer is checked before anyone sees it.

    All three raise a `ReasonerError` instead of an answer that breaks what its type says.
    """

    async def merge(self, asked: MergeAsked) -> MergeAnswered:
        """What should become of entries that speak of the same thing."""
        ...

    async def summarise(self, asked: SummaryAsked) -> SummaryAnswered:
        """One note for many entries."""
        ...

    async def judge(self, asked: ConflictAsked) -> ConflictAnswered:
        """Whether two statements conflict, are compatible, or say the same."""
        ...


def _distinct(entries: Iterable[ShownEntry]) -> None:
    """Refuse a question about no entry, or about the same one twice."""
    ids = [entry.id for entry in entries]
    if not ids:
        raise InputError("A reasoner needs at least one entry to think about.")
    if len(set(ids)) < len(ids):
        raise InputError("The same entry was given twice.")

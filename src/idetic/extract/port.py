"""What is asked of an extractor: turns in, claims out, each with the words it rests on.

A turn is what somebody said. Its text is data and never an instruction, whoever reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from idetic.errors import InputError
from idetic.model import Claim, Origin, Typology
from idetic.reason.port import Usage

# What a claim is about where nobody said who speaks.
NOBODY = "the user"
# People speak about themselves. What agents, tools and strangers' texts say proves nothing of them.
PEOPLE = frozenset({Origin.USER, Origin.OPERATOR})


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that was said. Its representation keeps the words to itself."""

    id: UUID
    origin: Origin
    speaker: str | None
    text: str = field(repr=False)
    moment: datetime

    def __post_init__(self) -> None:
        if self.moment.utcoffset() is None:
            raise InputError(
                f"Turn {self.id} has a moment without a time zone.",
                remedy='Give `moment` with a `tzinfo`, for words such as "last month".',
            )

    @property
    def subject(self) -> str:
        """Who the speaker's statements are about, in the one form that claims use."""
        return " ".join((self.speaker or "").split()) or NOBODY

    @property
    def of_a_person(self) -> bool:
        """Whether a person said it: only such turns are evidence for what somebody is like."""
        return self.origin in PEOPLE


@dataclass(frozen=True, slots=True)
class ExtractedClaim:
    """A claim, and what it rests on.

    `text` is one sentence that a reader understands without the turn. `valid_at` is the time that
    the speaker named for it; None if none was named. What `ends` says only what is over: it counts
    where that was known before.
    """

    claim: Claim = field(repr=False)
    typology: Typology
    text: str = field(repr=False)
    turns: tuple[UUID, ...]
    quote: str = field(repr=False)
    valid_at: datetime | None = None
    negated: bool = False
    ends: bool = False

    def __post_init__(self) -> None:
        if not self.turns or not self.quote.strip():
            raise InputError("A claim must rest on at least one turn, and quote words of it.")

    def rests_on(self, turns: Mapping[UUID, Turn]) -> bool:
        """Whether every turn it names is there, and one of them holds the words it quotes."""
        cited = [turns.get(turn) for turn in self.turns]
        quote = plain_words(self.quote)
        return None not in cited and any(quote in plain_words(turn.text) for turn in cited if turn)


@dataclass(frozen=True, slots=True)
class RefusedClaim:
    """A claim that was refused; the reason quotes none of the words."""

    reason: str
    turns: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """What came of some turns.

    `unread` are turns that nobody looked at, because of what `stopped` says: another run may.
    """

    claims: tuple[ExtractedClaim, ...] = ()
    refused: tuple[RefusedClaim, ...] = ()
    usage: Usage = field(default_factory=Usage)
    unread: tuple[UUID, ...] = ()
    stopped: str | None = None

    def __add__(self, other: Extraction) -> Extraction:
        return Extraction(
            self.claims + other.claims,
            self.refused + other.refused,
            self.usage + other.usage,
            self.unread + other.unread,
            self.stopped or other.stopped,
        )


class Extractor(Protocol):
    """Draws claims out of turns. The same turns and version give the same claims, if it can."""

    @property
    def name(self) -> str:
        """What stands in the provenance of its claims."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever its claims may; another version can be run over the log again."""
        ...

    async def extract(self, turns: Sequence[Turn]) -> Extraction:
        """The claims of these turns, in their order."""
        ...


# Quotes and spaces of other kinds, each as the plain one. One for one: places stay places.
_PLAIN = {ord(c): "'" for c in "\u2018\u2019\u02bc\u00b4"} | {
    ord(c): '"' for c in "\u201c\u201d\u201e\u00ab\u00bb"
}
_PLAIN |= {ord(c): " " for c in "\t\u00a0\u2007\u202f"}


def plain_signs(text: str) -> str:
    """The same text, of the same length, with plain quotes and spaces."""
    return text.translate(_PLAIN)


def plain_words(text: str) -> str:
    """A text as quotations are compared: case, spacing and kinds of quotes make no difference."""
    return " ".join(plain_signs(text).casefold().split())

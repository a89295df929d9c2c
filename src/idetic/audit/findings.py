"""The findings of a verification, and the walk along a chain that names what is wrong with it.

The walk is pure, and of bounded size however long the chain is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from idetic.audit.chain import EMPTIED, ChainHead, Link, link_hash
from idetic.errors import ChainBroken
from idetic.model import PlainData, plain

# Beyond this many the rest is counted and not listed: a rewritten chain has a problem per link.
KEPT = 1_000
# Links that fit nowhere near: looked for elsewhere once the walk is over.
_LOOKED_FOR = 100


class ProblemKind(StrEnum):
    """The likely kind of a fault in a chain or in the rows that it covers."""

    ALTERED = "altered"
    MISSING = "missing"
    REORDERED = "reordered"
    INSERTED = "inserted"
    CUT = "cut"
    FORKED = "forked"


@dataclass(frozen=True, slots=True)
class ChainProblem(PlainData):
    """One fault: its kind, its position if it has one, and the row it concerns."""

    kind: ProblemKind
    position: int | None
    what: str
    why: str
    entry_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a verification: counts and problems; `more` problems are not listed."""

    agent: str
    anchor: Mapping[str, Any]
    links: int
    entries: int
    head: ChainHead
    compared: ChainHead | None
    problems: tuple[ChainProblem, ...]
    more: int = 0
    # Reads that no link tells of yet: they could be changed unseen until one does.
    unwitnessed: int = 0

    @property
    def intact(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def raise_if_broken(self) -> None:
        """Raise ChainBroken if there are problems."""
        if not self.intact:
            first, count = self.problems[0], len(self.problems) + self.more
            place = "" if first.position is None else f" at position {first.position}"
            raise ChainBroken(
                f"{count} problem(s) found; the first{place}: {first.kind}, {first.why}.",
                found=[problem.as_data() for problem in self.problems],
            )

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON, always with the same keys."""
        names = "intact links entries head compared problems more unwitnessed".split()
        return {name: plain(getattr(self, name)) for name in names}


@dataclass(slots=True)
class Findings:
    """The problems of one run, bounded: the first thousand by name, the rest as a number."""

    problems: list[ChainProblem] = field(default_factory=list)
    more: int = 0

    def add(
        self,
        kind: ProblemKind,
        position: int | None,
        what: str,
        why: str,
        entry_id: UUID | None = None,
    ) -> None:
        """Note one problem."""
        if len(self.problems) >= KEPT:
            self.more += 1
        else:
            self.problems.append(ChainProblem(kind, position, what, why, entry_id))

    def take_back(self, position: int, *kinds: ProblemKind) -> bool:
        """Drop what was said about a link that a later one explains better."""
        for at, known in enumerate(self.problems):
            if known.what == "link" and known.position == position and known.kind in kinds:
                del self.problems[at]
                return True
        return False


@dataclass(slots=True)
class ChainWalk:
    """Takes links in the order of their positions and notes what does not hold.

    What a fault is called matters less than that it is found; the names say what its traces look
    like.
    """

    genesis: bytes
    findings: Findings
    watch: int | None = None
    links: int = 0
    last: Link | None = None
    watched: bytes | None = None
    # The hashes that the next link may follow: as the last one says, and as its content gives.
    ends: tuple[bytes, ...] = ()
    # Whether the last link is itself a problem: then nothing can be said of what follows it.
    doubtful: bool = False
    strays: list[Link] = field(default_factory=list)
    # Links whose reason an erasure emptied: how many, the first, and a hash over what is left.
    unsaid: int = 0
    first_unsaid: int | None = None
    remains: Any = field(default_factory=hashlib.sha256)
    _due: int = 1
    _stood: int = 0
    _shift: int = 0

    def __post_init__(self) -> None:
        self.ends = (self.genesis,)

    def take(self, link: Link) -> None:
        """Check the next link."""
        self.links += 1
        if link.position < 1:
            self._problem(ProblemKind.INSERTED, link.position, "positions begin at 1")
            return
        if link.position > self._due:
            first, last = self._due, link.position - 1
            gap = f"position {first} is" if first == last else f"positions {first} to {last} are"
            self._problem(ProblemKind.MISSING, first, f"{gap} not there")
            self.doubtful = True
        if link.position == self.watch:
            self.watched = link.hash
        own = link_hash(link.prev_hash, link)
        if own == link.hash:
            self._sound(link)
        elif link.reason == EMPTIED:
            self._unsaid(link, own)
        else:
            self._unsound(link, own)
        self.last = link
        self._due = link.position + 1

    def _sound(self, link: Link) -> None:
        """A link that agrees with itself; it must also follow the one before."""
        if link.prev_hash not in self.ends and not self.doubtful:
            before = "the link before it" if self.last else "this anchor's genesis"
            self._problem(ProblemKind.FORKED, link.position, f"it does not follow {before}")
        self.ends = (link.hash,)
        self.doubtful = False
        self._stood, self._shift = link.position, 0

    def _unsaid(self, link: Link, own: bytes) -> None:
        """A link without its reason: its hash is older than that, and it must follow all the same.

        What is left of it is compared in the end with what the erasure said.
        """
        self.unsaid += 1
        self.first_unsaid = self.first_unsaid or link.position
        self.remains.update(own)
        self._sound(link)

    def settle_unsaid(self, links: int, digest: str) -> None:
        """Compare the links without a reason with what the last erasure says of them."""
        if (self.unsaid, self.remains.hexdigest()) == (links, digest):
            return
        at = self.first_unsaid or 0
        why = "reasons were emptied, and no erasure says so of just these links as they are"
        self._problem(ProblemKind.ALTERED, at, why)

    def _unsound(self, link: Link, own: bytes) -> None:
        """A link whose hash is not that of its content, here and after what it says it follows."""
        following = tuple(link_hash(end, link) for end in self.ends)
        stood = self._stood_at(link)
        if link.hash in following:
            self._problem(ProblemKind.ALTERED, link.position, "its prev_hash was changed")
        elif stood is not None:
            self._displaced(link, stood)
        else:
            self._problem(ProblemKind.ALTERED, link.position, "its hash is not that of its content")
            if len(self.strays) < _LOOKED_FOR:
                self.strays.append(link)
        self.ends = (link.hash, own, *following)
        self.doubtful = True
        self._stood = link.position if stood is None else stood

    def _stood_at(self, link: Link) -> int | None:
        """Where it stood when it was written, if that is near."""
        for shift in dict.fromkeys((self._shift, -1, 1)):
            stood = link.position + shift
            if shift and link_hash(link.prev_hash, link, stood) == link.hash:
                return stood
        return None

    def _displaced(self, link: Link, stood: int) -> None:
        """Say why a link left its position: one was put in, one taken out, or it was moved."""
        shift = stood - link.position
        if shift == self._shift:
            return  # renumbered along with the ones before, which has been said
        self._shift = shift
        # Written at the position of the one before it, so that one was put in.
        if stood == self._stood:
            self.findings.take_back(link.position - 1, ProblemKind.ALTERED, ProblemKind.FORKED)
            self._problem(ProblemKind.INSERTED, link.position - 1, "the links after it moved up")
        elif stood == self._stood + 2:
            self._problem(ProblemKind.MISSING, stood - 1, "the link after it has its position")
        else:
            self.findings.take_back(stood, ProblemKind.MISSING)
            self._problem(ProblemKind.REORDERED, link.position, f"it was written at {stood}")

    def settle_strays(self, holders: Mapping[bytes, int]) -> None:
        """Name the links that only stand in the wrong place, now that all places are known."""
        for link in self.strays:
            stood = holders.get(link.prev_hash, -1) + 1
            if stood > 0 and link_hash(link.prev_hash, link, stood) == link.hash:
                self.findings.take_back(link.position, ProblemKind.ALTERED)
                self._problem(ProblemKind.REORDERED, link.position, f"it was written at {stood}")

    def _problem(self, kind: ProblemKind, position: int, why: str) -> None:
        """Note a problem of the link at a position."""
        self.findings.add(kind, position, "link", why)

"""One walk along a chain: every link against the one before it, and a name for what is wrong.

Pure, and of bounded size however long the chain is. What a fault is called matters less than that
it is found; the names say what its traces look like.
"""

from __future__ import annotations

from collections.abc import Mapping

from idetic.audit.chain import Link, link_hash
from idetic.audit.findings import Findings, ProblemKind

# Links that fit nowhere near: looked for elsewhere once the walk is over.
_LOOKED_FOR = 100


class ChainWalk:
    """Takes links in the order of their positions and notes what does not hold."""

    def __init__(self, genesis: bytes, findings: Findings, watch: int | None = None):
        self.findings = findings
        self.links = 0
        self.last: Link | None = None
        self.watched: bytes | None = None
        # The hashes that the next link may follow: as the last one says, and as its content gives.
        self.ends: tuple[bytes, ...] = (genesis,)
        # Whether the last link is itself a problem: then nothing can be said of what follows it.
        self.doubtful = False
        self.strays: list[Link] = []
        self._watch = watch
        self._due = 1
        self._stood = 0
        self._shift = 0

    def take(self, link: Link) -> None:
        """Check the next link."""
        self.links += 1
        if link.position < 1:
            self._problem(ProblemKind.INSERTED, link.position, "positions begin at 1")
            return
        if link.position > self._due:
            self._gap(self._due, link.position - 1)
        if link.position == self._watch:
            self.watched = link.hash
        own = link_hash(link.prev_hash, link)
        if own == link.hash:
            self._sound(link)
        else:
            self._unsound(link, own)
        self.last = link
        self._due = link.position + 1

    def _gap(self, first: int, last: int) -> None:
        told = f"position {first} is" if first == last else f"positions {first} to {last} are"
        self._problem(ProblemKind.MISSING, first, f"{told} not there")
        self.doubtful = True

    def _sound(self, link: Link) -> None:
        """A link that agrees with itself; it must also follow the one before."""
        if link.prev_hash not in self.ends and not self.doubtful:
            before = "the link before it" if self.last else "this anchor's genesis"
            self._problem(ProblemKind.FORKED, link.position, f"it does not follow {before}")
        self.ends = (link.hash,)
        self.doubtful = False
        self._stood, self._shift = link.position, 0

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
        shift = stood - link.position
        if shift == self._shift:
            return  # renumbered along with the ones before, which has been said
        self._shift = shift
        if stood == self._stood:
            self.findings.take_back(link.position - 1, ProblemKind.ALTERED, ProblemKind.FORKED)
            self._problem(ProblemKind.INSERTED, link.position - 1, "what follows moved up for it")
        elif stood == self._stood + 2:
            self._problem(ProblemKind.MISSING, stood - 1, "what followed took its position")
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
        self.findings.add(kind, position, "link", why)

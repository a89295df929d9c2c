"""What this process keeps of anchors that it was asked about, and how each is then read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from idetic.store.driver import Rows
from idetic.store.family import CELLS, cell_number
from idetic.store.kept_vectors import AnchorVectors, KeptVectors
from idetic.store.kept_words import KeptWord, KeptWords
from idetic.store.members import Members, id_array, ids_of
from idetic.store.nomination_statements import SAMPLED, Reading
from idetic.store.own_segments import MOST_OWN, OWN_FROM, OwnSegment
from idetic.store.recall_statement import MOST_TAIL
from idetic.store.scope import SEPARATOR
from idetic.store.word_index import Segment, planned

if TYPE_CHECKING:
    from idetic.store.traits import Array

# How many bytes one process keeps: about 400,000 entries with their vectors.
KEPT = 384_000_000
_BYTES, _VECTOR = 110, 860
# For so many seconds a walk that met too few is not tried again.
_SPARSE = 300.0


@dataclass
class KeptAnchor:
    """The segments of one anchor in the order of its chain, and all of them as one.

    The index has the `segments`, through a position of the chain; what comes behind it, through
    `reached`, this process has read for itself.
    """

    segments: Mapping[UUID, Members]
    whole: Members
    through: int = 0
    own: Sequence[OwnSegment] = ()
    reached: int = 0
    # Its vectors' index gave too few: until this moment it is not asked again.
    sparse: float = 0.0
    # Some of its vectors by profile, and as many as were read so far.
    samples: dict[UUID | None, KeptVectors] = field(default_factory=dict)
    vectors: dict[UUID, AnchorVectors] = field(default_factory=dict)
    words: KeptWords = field(default_factory=KeptWords)
    questions: int = 0
    # How many entries the chain told of behind all that, when it was asked last; and from how many
    # on this process reads them for itself.
    waiting: int = 0
    own_from: int = OWN_FROM

    def stands(self, packed: bytes | None, there: bool) -> bool:
        """Whether these are the segments that the database names now, in their order.

        And whether whoever asks may read the chain that this process has read.
        """
        return there and (packed or b"") == b"".join(one.bytes for one in self.segments)

    @cached_property
    def starts(self) -> Sequence[int]:
        """Where each segment begins among all members, those of this process last."""
        parts = [*self.segments.values(), *(one.members for one in self.own)]
        starts: list[int] = np.cumsum([0, *map(len, parts)]).tolist()
        return starts

    @cached_property
    def reading(self) -> Reading:
        """How the anchor is read whose vectors are not here."""
        counts = np.bincount(self.whole.cells, minlength=len(CELLS)).tolist()
        small = [0] * len(CELLS)
        return Reading.of(small if self.sparse else counts, stored=bool(self.segments))

    def outdated(self, told: Array) -> bool:
        """Whether the chain has told of entries that this process has read itself."""
        first = self.starts[len(self.segments)]
        return bool(self.own) and bool((self.whole.find(told) >= first).any())

    def stretches(self, position: int, packed: bytes | None) -> list[Segment]:
        """What this process should read itself, where the chain has come to a position since.

        Nothing where an entry of the index has changed: the job makes that segment anew.
        """
        told = ids_of(packed)
        at = self.whole.find(told)
        changed = set(np.searchsorted(self.starts, at[at >= 0], side="right") - 1)
        stored, start = len(self.segments), max(self.through, self.reached)
        long = position - start > MOST_OWN or (len(told) > MOST_TAIL and len(self.whole))
        if long or any(number < stored for number in changed):
            return []
        own = [
            Segment(one.after, one.through, number in changed)
            for number, one in enumerate(self.own, start=stored)
        ]
        return planned(own, position, start=self.through, waiting=1)

    def words_of(
        self, terms: Sequence[str], known: Mapping[str, KeptWord], rows: Rows
    ) -> dict[str, KeptWord]:
        """The words of a question, from what came of them and what this process has read."""
        blocks: dict[str, list[tuple[int, bytes]]] = {}
        firsts = dict(zip(self.segments, self.starts, strict=False))
        for lexeme, segment_id, postings in rows:
            blocks.setdefault(lexeme, []).append((firsts[segment_id], postings))
        for one, first in zip(self.own, self.starts[len(self.segments) :], strict=False):
            for term in terms:
                if term in one.words:
                    blocks.setdefault(term, []).append((first, one.words[term]))
        return self.words.take(terms, known, blocks)

    def reading_of(self, text: str, profile: UUID | None) -> Reading:
        """How the anchor is read for a question by a profile.

        Beside the first question no vectors are read: many a process asks one and ends.
        """
        self.questions += 1
        words = self.words.of(text)
        if profile is None or self.questions == 1 or len(self.whole) * _VECTOR > KEPT:
            return replace(self.reading, words=words)
        vectors = self.vectors.setdefault(profile, AnchorVectors(len(self.whole)))
        unread = vectors.unread()
        held = vectors.is_whole(unread)
        return replace(self.reading, words=words, held=held, unread=unread)

    def values(self, reading: Reading) -> dict[str, Any]:
        """What the statements of a reading leave open."""
        return {
            "reached": self.reached,
            # As one text: a list of them took a fifth of a millisecond to write.
            "kept_words": SEPARATOR.join(reading.words),
            "small": self.small if reading.walked else "{}",
            "sampled": self.sampled if reading.walked else "{}",
            "unread": id_array(self.whole.ids[reading.unread]) if reading.reads else "{}",
        }

    def take(self, profile: UUID, reading: Reading, row: tuple[Any, ...]) -> None:
        """Keep vectors that were read beside a question."""
        vectors, (ids, packed) = self.vectors[profile], row
        centre = None if vectors.vectors is None else vectors.vectors.centre
        found = KeptVectors.read(ids, packed, centre) if ids else None
        placed = found and replace(found, at=self.whole.find(found.ids))
        vectors.take(reading.unread, placed)

    def placed(self, whole: Members) -> dict[UUID, AnchorVectors]:
        """The vectors that were read, for other members of the same anchor."""
        return {
            profile: AnchorVectors(
                len(whole),
                None if of.vectors is None else of.vectors.placed(whole.find(of.vectors.ids)),
            )
            for profile, of in self.vectors.items()
        }

    @cached_property
    def small(self) -> str:
        """The entries of the cells that are not walked, as a statement reads them."""
        walked = [cell_number(*cell) for cell in self.reading.walked]
        return id_array(self.whole.ids[~np.isin(self.whole.cells, walked)])

    @cached_property
    def sampled(self) -> str:
        """Some entries, drawn by chance."""
        chance = np.random.default_rng(len(self.whole))
        drawn = chance.permutation(len(self.whole))[:SAMPLED]
        return id_array(self.whole.ids[drawn])


@dataclass(slots=True, eq=False, weakref_slot=True)
class KeptSegments:
    """What this process keeps of word indexes; what was asked for longest ago goes first."""

    _anchors: OrderedDict[UUID, KeptAnchor] = field(default_factory=OrderedDict)
    # How often something was erased: what was read before that is not kept.
    erasures: int = 0

    def of(self, anchor: UUID) -> KeptAnchor | None:
        """What is kept of an anchor."""
        found = self._anchors.get(anchor)
        if found is not None:
            self._anchors.move_to_end(anchor)
            if found.sparse and found.sparse < monotonic():
                found = self._anchors[anchor] = replace(found, sparse=0.0)
        return found

    def keep(
        self, anchor: UUID, rows: Rows, before: KeptAnchor | None, erasures: int
    ) -> KeptAnchor | None:
        """Keep the segments that an anchor has now, in the order of the chain; None without any.

        Those of what was kept before did not travel.
        """
        if not rows:
            self._anchors.pop(anchor, None)
            return None
        known = before.segments if before else {}
        segments = {
            segment_id: known[segment_id] if segment_id in known else Members.read(*packed)
            for segment_id, _, *packed in rows
        }
        whole = Members.joined(list(segments.values()))
        found = KeptAnchor(segments, whole, through=rows[-1][1])
        return self._put(anchor, found, before, erasures)

    def begin(self, anchor: UUID, entries: int) -> KeptAnchor | None:
        """An anchor without an index that was asked once; None if it has few entries."""
        if entries < OWN_FROM:
            return None
        found = KeptAnchor({}, Members.read(None, None), waiting=entries, questions=1)
        return self._put(anchor, found, None, self.erasures)

    def keep_own(
        self,
        anchor: UUID,
        before: KeptAnchor,
        stretches: Sequence[Segment],
        rows: Sequence[Rows],
        reached: int,
        erasures: int,
    ) -> KeptAnchor | None:
        """Keep stretches that this process has read, in place of what they overlap.

        Where it should read none, what waits is tried again once it is twice as much.
        """
        if not stretches:
            before.own_from = 2 * max(before.waiting, before.own_from)
            if before.segments or before.own:
                return before
            self._anchors.pop(anchor, None)
            return None
        own = [OwnSegment.read(*one) for one in zip(stretches, rows, strict=True)]
        left = [
            one
            for one in before.own
            if all(one.through <= new.after or one.after >= new.through for new in own)
        ]
        every = sorted([*left, *own], key=lambda one: one.through)
        whole = Members.joined([*before.segments.values(), *(one.members for one in every)])
        found = KeptAnchor(before.segments, whole, before.through, every, reached)
        return self._put(anchor, found, before, erasures)

    def _put(
        self, anchor: UUID, found: KeptAnchor, before: KeptAnchor | None, erasures: int
    ) -> KeptAnchor:
        """Keep an anchor in place of what was kept of it, whose vectors are still good.

        `erasures` is how many there were when it was asked for: of what is older than an erasure
        only its question knows, and of what another question has replaced.
        """
        if before is not None:
            found.vectors, found.questions = before.placed(found.whole), before.questions
        if erasures == self.erasures and before is self._anchors.get(anchor):
            self._anchors[anchor] = found
            self._anchors.move_to_end(anchor)
        return found

    def make_room(self) -> None:
        """Let go of anchors until what is kept is no more than it may be."""
        while len(self._anchors) > 1 and self._size() > KEPT:
            self._anchors.popitem(last=False)

    def forget(self, anchor: UUID) -> None:
        """Keep nothing of an anchor, nor what questions under way have read of it."""
        self._anchors.pop(anchor, None)
        self.erasures += 1

    def mark_sparse(self, anchor: UUID, kept: KeptAnchor) -> KeptAnchor:
        """Read this anchor's vectors one by one for a while: more of them may be made."""
        found = replace(kept, sparse=monotonic() + _SPARSE)
        # Not what was erased while its question was under way.
        if self._anchors.get(anchor) is kept:
            self._anchors[anchor] = found
        return found

    def _size(self) -> int:
        """About how many bytes are kept."""
        # An erasure in another thread may take one away meanwhile.
        kept = list(self._anchors.values())
        size = _BYTES * sum(len(one.whole) for one in kept)
        for one in kept:
            size += sum(each.nbytes for each in one.samples.values())
            size += sum(each.nbytes for each in one.vectors.values())
            size += sum(each.nbytes for each in one.own) + one.words.nbytes
        return size

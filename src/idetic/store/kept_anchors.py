"""What this process keeps of anchors that it was asked about, and how each is then read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from idetic.store.driver import Rows
from idetic.store.family import CELLS, cell_number
from idetic.store.kept_vectors import AnchorVectors, KeptVectors
from idetic.store.kept_words import KeptWords
from idetic.store.members import Members, id_array
from idetic.store.nomination_statements import Reading

if TYPE_CHECKING:
    from idetic.store.vector_sample import VectorSample

# How many bytes one process keeps: about 400,000 entries with their vectors.
KEPT = 384_000_000
_BYTES, _VECTOR = 110, 860
# For so many seconds a walk that met too few is not tried again.
_SPARSE = 300.0


@dataclass
class KeptAnchor:
    """The segments of one anchor in the order of its chain, and all of them as one."""

    segments: Mapping[UUID, Members]
    whole: Members
    # Its vectors' index gave too few: until this moment it is not asked again.
    sparse: float = 0.0
    # Some of its vectors by profile, and as many as were read so far.
    samples: dict[UUID | None, VectorSample] = field(default_factory=dict)
    vectors: dict[UUID, AnchorVectors] = field(default_factory=dict)
    words: KeptWords = field(default_factory=KeptWords)
    questions: int = 0

    def stands(self, packed: bytes | None) -> bool:
        """Whether these are the segments that the database names now, in their order."""
        return packed == b"".join(segment_id.bytes for segment_id in self.segments)

    @cached_property
    def firsts(self) -> Mapping[UUID, int]:
        """Where each segment begins among all members."""
        starts = np.cumsum([0, *map(len, self.segments.values())]).tolist()
        return dict(zip(self.segments, starts, strict=False))

    @cached_property
    def reading(self) -> Reading:
        """How the anchor is read whose vectors are not here."""
        counts = np.bincount(self.whole.cells, minlength=len(CELLS)).tolist()
        return Reading.of(len(self.segments), [0] * len(CELLS) if self.sparse else counts)

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
            "kept_words": list(reading.words),
            "small": self.small if reading.walked else "{}",
            "sampled": reading.sampled,
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

        Those of what was kept before did not travel. `erasures` is how many there were when the
        rows were asked for: of rows that are older than an erasure only their question knows.
        """
        if not rows:
            self._anchors.pop(anchor, None)
            return None
        known = before.segments if before else {}
        segments = {
            segment_id: known[segment_id] if segment_id in known else Members.read(*packed)
            for segment_id, *packed in rows
        }
        whole = Members.joined(list(segments.values()))
        vectors = {} if before is None else before.placed(whole)
        asked = 0 if before is None else before.questions
        found = KeptAnchor(segments, whole, vectors=vectors, questions=asked)
        if erasures == self.erasures:
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
            size += sum(each.vectors.nbytes for each in one.samples.values())
            size += sum(each.nbytes for each in one.vectors.values()) + one.words.nbytes
        return size

"""The entries of an anchor as arrays, neighbours side by side: what its words are counted over.

They come from the segments of the word index, which never change and are kept here once they were
read, and from one block with the entries that no segment holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from idetic.store.driver import Rows
from idetic.store.entry_sql import LONG_ENTRY
from idetic.store.family import CELLS, cell_number
from idetic.store.kept_vectors import AnchorVectors, KeptVectors
from idetic.store.nomination_statements import Reading
from idetic.store.traits import Array, Traits

if TYPE_CHECKING:
    from idetic.store.vector_sample import VectorSample

# How many bytes one process keeps: about 400,000 entries with their vectors.
KEPT = 384_000_000
_BYTES, _VECTOR = 110, 860
# For so many seconds a walk that met too few is not tried again.
_SPARSE = 300.0
# Mixes the halves of an id into one number. Ids are random enough that no two of them collide.
_MIXED = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Windows:
    """What neighbours lend: who may take words, who does, and how long each is with them."""

    short: Array
    extended: Array
    lengths: Array


class Members:
    """Some entries in order: ids, the number of their place, and what else is known of each.

    A place that several segments know has a number in each, and everywhere the same `home`.
    """

    def __init__(self, ids: Array, places: Array, homes: Array, traits: Traits):
        self.ids = ids
        self.places = places
        self.homes = homes
        self._traits: Traits | None = traits
        # What it was joined of, where that is kept: sorting and adding up a block takes less.
        self.parts: tuple[Members, ...] = ()
        self._windows: dict[tuple[int, int], Windows] = {}

    @classmethod
    def read(
        cls,
        ids: bytes | None,
        members: bytes | None,
        times: bytes | None = None,
        speakers: str | None = None,
        places: bytes | None = None,
    ) -> Members:
        """The entries of a segment or a block, as the database sends them."""
        packed = np.frombuffer(members or b"", ">i4").astype(np.int32)
        known = np.frombuffer(ids or b"", np.uint8).reshape(-1, 16)
        numbers = np.cumsum(packed & 1)
        homes = keys_of(np.frombuffer(places or b"", np.uint8).reshape(-1, 16))
        return cls(known, numbers, homes[numbers - 1], Traits.read(packed, times, speakers))

    @classmethod
    def joined(cls, parts: Sequence[Members]) -> Members:
        """Several one after the other; no place of one goes on in the next."""
        if len(parts) == 1:
            return parts[0]
        return cls(*_in_a_row(parts), Traits.joined([part.traits for part in parts]))

    def followed(self, block: Members) -> Members:
        """These and a few others after them; what was found out about these is not lost."""
        if not len(block):
            return self
        whole = Members(*_in_a_row([self, block]), self.traits)
        whole.parts, whole._traits = (self, block), None
        return whole

    @property
    def traits(self) -> Traits:
        """What the signals read off each."""
        if self._traits is None:
            self._traits = Traits.joined([part.traits for part in self.parts])
        return self._traits

    def traits_at(self, at: Array) -> Traits:
        """What the signals read off some, without a look at the others."""
        if not self.parts:
            return self.traits.take(at)
        first, block = self.parts
        early = at < len(first)
        taken = [first.traits.take(at[early]), block.traits.take(at[~early] - len(first))]
        order = np.concatenate([np.flatnonzero(early), np.flatnonzero(~early)])
        return Traits.joined(taken).take(np.argsort(order))

    @cached_property
    def own(self) -> Array:
        """How many words each has itself."""
        return _column([part.own for part in self.parts] or [self.traits.own])

    @cached_property
    def cells(self) -> Array:
        """The number of each one's cell."""
        return _column([part.cells for part in self.parts] or [self.traits.cells])

    @cached_property
    def valid(self) -> Array:
        """When each was true first."""
        return _column([part.valid for part in self.parts] or [self.traits.valid])

    @cached_property
    def made(self) -> Array:
        """The first half of each id, which grows with the time at which it was made."""
        if self.parts:
            return _column([part.made for part in self.parts])
        halves = np.ascontiguousarray(self.ids).view(">u8").reshape(-1, 2)
        return halves[:, 0].astype(np.uint64)

    def newest(self, count: int) -> Array:
        """The places of those that were written last."""
        if len(self) <= count:
            return np.arange(len(self))
        return np.argpartition(self.made, -count)[-count:]

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, wanted: Array) -> Members:
        """Those that a mask names, in the same order."""
        columns = (self.ids[wanted], self.places[wanted], self.homes[wanted])
        return Members(*columns, self.traits.take(wanted))

    def find_packed(self, ids: bytes | None) -> Array:
        """Where each of some ids stands that come one after the other."""
        return self.find(np.frombuffer(ids or b"", np.uint8).reshape(-1, 16))

    def find(self, ids: Array) -> Array:
        """Where each of some ids stands, the first time; -1 for one that is not here."""
        if self.parts:
            first, block = self.parts
            at, later = first.find(ids), block.find(ids)
            return np.where((at < 0) & (later >= 0), later + len(first), at)
        if not len(self) or not len(ids):
            return np.full(len(ids), -1)
        order, ordered = self._sorted
        wanted = keys_of(ids)
        near = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return np.where(ordered[near] == wanted, order[near], -1)

    def windows(self, before: int, after: int) -> Windows:
        """What the neighbours of each member lend it, so many before it and after it."""
        found = self._windows.get((before, after))
        if found is None:
            parts = [part.windows(before, after) for part in self.parts]
            found = _joined(parts) if parts else self._lent(before, after)
            self._windows[before, after] = found
        return found

    def _lent(self, before: int, after: int) -> Windows:
        own, places = self.own, self.places
        around = own.astype(np.int64)
        for step in (*range(1, before + 1), *range(-after, 0)):
            lender = slice(None, -step) if step > 0 else slice(-step, None)
            other = slice(step, None) if step > 0 else slice(None, step)
            around[other] += own[lender] * (places[other] == places[lender])
        short = own < LONG_ENTRY
        extended = short & (around > own)
        return Windows(short, extended, np.where(extended, own + around, own))

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The order of the ids' keys, and the keys in it; of one that stands twice, the first."""
        keys = keys_of(self.ids)
        order = np.argsort(keys, kind="stable")
        return order, keys[order]


def _in_a_row(parts: Sequence[Members]) -> tuple[Array, Array, Array]:
    """The ids, places and homes of several, one after the other."""
    ends = np.cumsum([0, *(int(p.places[-1]) if len(p) else 0 for p in parts[:-1])])
    places = [part.places + end for part, end in zip(parts, ends, strict=True)]
    ids, homes = [part.ids for part in parts], [part.homes for part in parts]
    return np.concatenate(ids), np.concatenate(places), np.concatenate(homes)


def _column(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _joined(parts: Sequence[Windows]) -> Windows:
    """The windows of members that stand one after the other; none reaches into the next."""
    columns = ([p.short for p in parts], [p.extended for p in parts], [p.lengths for p in parts])
    return Windows(*(np.concatenate(column) for column in columns))


def keys_of(ids: Array) -> npt.NDArray[np.uint64]:
    """A number for each id."""
    halves = np.ascontiguousarray(ids).view(">u8").astype(np.uint64).reshape(-1, 2)
    return halves[:, 0] * np.uint64(_MIXED) ^ halves[:, 1]


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
    questions: int = 0

    @cached_property
    def reading(self) -> Reading:
        """How the anchor is read whose vectors are not here."""
        counts = np.bincount(self.whole.cells, minlength=len(CELLS)).tolist()
        return Reading.of(len(self.segments), [0] * len(CELLS) if self.sparse else counts)

    def reading_of(self, profile: UUID | None) -> Reading:
        """How the anchor is read for a question by a profile.

        Beside the first question no vectors are read: many a process asks one and ends.
        """
        self.questions += 1
        if profile is None or self.questions == 1 or len(self.whole) * _VECTOR > KEPT:
            return self.reading
        vectors = self.vectors.setdefault(profile, AnchorVectors(len(self.whole)))
        unread = vectors.unread()
        return replace(self.reading, held=vectors.is_whole(unread), unread=unread)

    def values(self, reading: Reading) -> dict[str, Any]:
        """What the statements of a reading leave open."""
        return {
            "kept": self.known,
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
    def known(self) -> str:
        """The ids of the segments, as a statement reads them."""
        return f"{{{','.join(map(str, self.segments))}}}"

    @cached_property
    def small(self) -> str:
        """The entries of the cells that are not walked, as a statement reads them."""
        walked = [cell_number(*cell) for cell in self.reading.walked]
        return id_array(self.whole.ids[~np.isin(self.whole.cells, walked)])


def id_array(ids: Array) -> str:
    """Ids as the text of an array: as one text they are sent ten times faster than one by one."""
    packed = np.ascontiguousarray(ids).tobytes()
    return f"{{{packed.hex(',', 16)}}}" if packed else "{}"


@dataclass(slots=True)
class KeptSegments:
    """What this process keeps of word indexes; what was asked for longest ago goes first."""

    _anchors: OrderedDict[UUID, KeptAnchor] = field(default_factory=OrderedDict)

    def of(self, anchor: UUID) -> KeptAnchor | None:
        """What is kept of an anchor."""
        found = self._anchors.get(anchor)
        if found is not None and found.sparse and found.sparse < monotonic():
            found = self._anchors[anchor] = replace(found, sparse=0.0)
        return found

    def keep(self, anchor: UUID, rows: Rows, before: KeptAnchor | None) -> KeptAnchor | None:
        """Keep the segments that an anchor has now, in the order of the chain; None without any.

        Those of what was kept before did not travel.
        """
        found = before
        if found is None or list(found.segments) != [row[0] for row in rows]:
            if not rows:
                self._anchors.pop(anchor, None)
                return None
            known = found.segments if found else {}
            segments = {
                segment_id: known[segment_id] if segment_id in known else Members.read(*packed)
                for segment_id, *packed in rows
            }
            whole = Members.joined(list(segments.values()))
            vectors = {} if found is None else found.placed(whole)
            asked = 0 if found is None else found.questions
            made = KeptAnchor(segments, whole, vectors=vectors, questions=asked)
            found = self._anchors[anchor] = made
        self._anchors.setdefault(anchor, found)
        self._anchors.move_to_end(anchor)
        while len(self._anchors) > 1 and self._size() > KEPT:
            self._anchors.popitem(last=False)
        return found

    def forget(self, anchor: UUID) -> None:
        """Keep nothing of an anchor."""
        self._anchors.pop(anchor, None)

    def mark_sparse(self, anchor: UUID, kept: KeptAnchor) -> KeptAnchor:
        """Read this anchor's vectors one by one for a while: more of them may be made."""
        found = self._anchors[anchor] = replace(kept, sparse=monotonic() + _SPARSE)
        return found

    def _size(self) -> int:
        """About how many bytes are kept."""
        kept = self._anchors.values()
        size = _BYTES * sum(len(one.whole) for one in kept)
        for one in kept:
            size += sum(each.vectors.nbytes for each in one.samples.values())
            size += sum(each.nbytes for each in one.vectors.values())
        return size

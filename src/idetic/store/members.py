"""The entries of an anchor as arrays, neighbours side by side: what its words are counted over.

They come from the segments of the word index, which never change and are kept here once they were
read, and from one block with the entries that no segment holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# How many bytes of segments one process keeps: those of about a million entries.
KEPT = 80_000_000
_BYTES = 80
# Mixes the halves of an id into one number. Ids are random enough that no two of them collide.
_MIXED = 0x9E3779B97F4A7C15


class Members:
    """Some entries in order: ids, number of words, cell, and the number of their place."""

    def __init__(self, ids: Array, own: Array, cells: Array, places: Array):
        self.ids = ids
        self.own = own
        self.cells = cells
        self.places = places

    @classmethod
    def read(cls, ids: bytes | None, members: bytes | None) -> Members:
        """The entries of a segment or a block, from what `member` in family.py makes of them."""
        packed = np.frombuffer(members or b"", ">i4").astype(np.int32)
        known = np.frombuffer(ids or b"", np.uint8).reshape(-1, 16)
        return cls(known, packed >> 8, (packed >> 1) & 0x7F, np.cumsum(packed & 1))

    @classmethod
    def joined(cls, parts: Sequence[Members]) -> Members:
        """Several one after the other; no place of one goes on in the next."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(int(p.places[-1]) if len(p) else 0 for p in parts[:-1])])
        places = [part.places + end for part, end in zip(parts, ends, strict=True)]
        columns = [[p.ids for p in parts], [p.own for p in parts], [p.cells for p in parts], places]
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, wanted: Array) -> Members:
        """Those that a mask names, in the same order."""
        columns = (self.ids, self.own, self.cells, self.places)
        return Members(*(column[wanted] for column in columns))

    def find(self, ids: Array) -> Array:
        """Where each of some ids stands; -1 for one that is not here."""
        if not len(self) or not len(ids):
            return np.full(len(ids), -1)
        order, ordered = self._sorted
        wanted = _keys(ids)
        near = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return np.where(ordered[near] == wanted, order[near], -1)

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The order of the ids' keys, and the keys in it."""
        keys = _keys(self.ids)
        order = np.argsort(keys)
        return order, keys[order]


def _keys(ids: Array) -> npt.NDArray[np.uint64]:
    """A number for each id."""
    halves = np.ascontiguousarray(ids).view(">u8").astype(np.uint64).reshape(-1, 2)
    return halves[:, 0] * np.uint64(_MIXED) ^ halves[:, 1]


@dataclass(slots=True)
class _Anchor:
    """The segments of one anchor in the order of its chain, and all of them as one."""

    segments: Mapping[UUID, Members]
    whole: Members


@dataclass(slots=True)
class KeptSegments:
    """What this process keeps of word indexes; what was asked for longest ago goes first."""

    _anchors: OrderedDict[UUID, _Anchor] = field(default_factory=OrderedDict)

    def of(self, anchor: UUID) -> Mapping[UUID, Members]:
        """The segments of an anchor that need not be read again."""
        found = self._anchors.get(anchor)
        return found.segments if found else {}

    def keep(self, anchor: UUID, segments: Mapping[UUID, Members]) -> Members:
        """Keep the segments that an anchor has now; gives them as one."""
        found = self._anchors.get(anchor)
        if found is None or list(found.segments) != list(segments):
            found = _Anchor(segments, Members.joined(list(segments.values())))
            self._anchors[anchor] = found
        self._anchors.move_to_end(anchor)
        while len(self._anchors) > 1 and self._size() > KEPT:
            self._anchors.popitem(last=False)
        return found.whole

    def _size(self) -> int:
        """About how many bytes are kept."""
        return _BYTES * sum(len(anchor.whole) for anchor in self._anchors.values())

"""The entries of an anchor as arrays, neighbours side by side: what its words are counted over.

They come from the segments of the word index, which never change and are kept here once they were
read, and from one block with the entries that no segment holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from idetic.store.entry_sql import LONG_ENTRY
from idetic.store.traits import Array, Traits

if TYPE_CHECKING:
    pass

# Mixes the halves of an id into one number. Ids are random enough that no two of them collide.
_MIXED = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Windows:
    """What neighbours lend: to whom so many steps further on, who takes it, and each one's length
    with it; and how many words that makes in all.
    """

    lends: Mapping[int, Array]
    extended: Array
    lengths: Array
    total: int

    def words(self, counted: Array) -> int:
        """How many words those have together that count."""
        return self.total if counted.all() else int(self.lengths[counted].sum(dtype=np.float64))


class Members:
    """Some entries in order: ids, the number of their place, and what else is known of each.

    A place that several segments know has a number in each, and everywhere the same `home`.
    """

    def __init__(self, ids: Array, places: Array, homes: Array, traits: Traits):
        self._columns = (ids, places, homes, traits)
        self._windows: dict[tuple[int, int], Windows] = {}
        self._newest: dict[int, Array] = {}

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
        numbers, homes = np.cumsum(packed & 1), keys_of(ids_of(places))
        traits = Traits.read(packed, times, speakers)
        return Members(ids_of(ids), numbers, homes[numbers - 1], traits)

    @classmethod
    def joined(cls, parts: Sequence[Members]) -> Members:
        """Several one after the other; no place of one goes on in the next."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(int(p.places[-1]) if len(p) else 0 for p in parts[:-1])])
        places = [part.places + end for part, end in zip(parts, ends, strict=True)]
        ids, homes = [part.ids for part in parts], [part.homes for part in parts]
        traits = Traits.joined([part.traits for part in parts])
        whole = np.concatenate(ids), np.concatenate(places), np.concatenate(homes)
        return Members(*whole, traits)

    def followed(self, block: Members) -> Members:
        """These and a few others after them."""
        return Followed(self, block) if len(block) else self

    @property
    def parts(self) -> tuple[Members, ...]:
        """What they consist of; no place goes on from one part to the next."""
        return (self,)

    def _all(self) -> tuple[Array, Array, Array, Traits]:
        """The ids, the numbers of places, their homes and the traits of all."""
        return self._columns

    @property
    def ids(self) -> Array:
        """The id of each."""
        return self._all()[0]

    @property
    def places(self) -> Array:
        """The number of each one's place."""
        return self._all()[1]

    @property
    def homes(self) -> Array:
        """Each one's place as it is known everywhere."""
        return self._all()[2]

    @property
    def traits(self) -> Traits:
        """What the signals read off each."""
        return self._all()[3]

    def at(self, at: Array) -> Members:
        """Some of them, by their places or by a mask."""
        return Members(self.ids[at], self.places[at], self.homes[at], self.traits.take(at))

    @property
    def own(self) -> Array:
        """How many words each has itself."""
        return self.traits.own

    @property
    def cells(self) -> Array:
        """The number of each one's cell."""
        return self.traits.cells

    @property
    def valid(self) -> Array:
        """When each was true first."""
        return self.traits.valid

    @cached_property
    def made(self) -> Array:
        """The first half of each id, which grows with the time at which it was made."""
        halves = np.ascontiguousarray(self.ids).view(">u8").reshape(-1, 2)
        return halves[:, 0].astype(np.uint64)

    def newest(self, count: int) -> Array:
        """The places of those that were written last."""
        if len(self) <= count:
            return np.arange(len(self))
        if count not in self._newest:
            self._newest[count] = np.argpartition(self.made, -count)[-count:]
        return self._newest[count]

    def __len__(self) -> int:
        return len(self.ids)

    def find_packed(self, ids: bytes | None) -> Array:
        """Where each of some ids stands that come one after the other."""
        return self.find(ids_of(ids))

    def among(self, ids: bytes | None) -> Array:
        """Which of them some ids name that come one after the other."""
        found: Array = np.isin(keys_of(self.ids), keys_of(ids_of(ids)))
        return found

    def find(self, ids: Array) -> Array:
        """Where each of some ids stands, the first time; -1 for one that is not here."""
        if not len(self) or not len(ids):
            return np.full(len(ids), -1)
        order, ordered = self._sorted
        wanted = keys_of(ids)
        near = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return np.where(ordered[near] == wanted, order[near], -1)

    def words(self, counted: Array) -> int:
        """How many words of their own those have together that count."""
        return self._words if counted.all() else int(self.own[counted].sum())

    @cached_property
    def _words(self) -> int:
        return int(self.own.sum())

    def windows(self, before: int, after: int) -> Windows:
        """What the neighbours of each lend it, so many before it and after it."""
        found = self._windows.get((before, after))
        if found is None:
            found = self._windows[before, after] = self._lent(before, after)
        return found

    def _lent(self, before: int, after: int) -> Windows:
        own, places = self.own, self.places
        around, short = own.astype(np.int64), own < LONG_ENTRY
        lends = {
            step: np.zeros(len(self), bool) for step in (*range(1, before + 1), *range(-after, 0))
        }
        for step, to in lends.items():
            lender = slice(None, -step) if step > 0 else slice(-step, None)
            other = slice(step, None) if step > 0 else slice(None, step)
            beside = places[other] == places[lender]
            around[other] += own[lender] * beside
            to[lender] = beside & short[other]
        extended = short & (around > own)
        lengths = np.where(extended, own + around, own)
        return Windows(lends, extended, lengths.astype(np.float32), int(lengths.sum()))

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The order of the ids' keys, and the keys in it; of one that stands twice, the first."""
        keys = keys_of(self.ids)
        order = np.argsort(keys, kind="stable")
        return order, keys[order]


class Followed(Members):
    """Members and a few others after them: what was found out about the first is not lost.

    They are put together only for what asks for all of them.
    """

    def __init__(self, first: Members, block: Members):
        self._parts = (first, block)

    @property
    def parts(self) -> tuple[Members, ...]:
        """The first, and those after them."""
        return self._parts

    def _all(self) -> tuple[Array, Array, Array, Traits]:
        whole = self._whole
        return whole.ids, whole.places, whole.homes, whole.traits

    @cached_property
    def _whole(self) -> Members:
        return Members.joined(self._parts)

    @cached_property
    def valid(self) -> Array:
        """When each was true first."""
        return np.concatenate([part.valid for part in self._parts])

    @cached_property
    def cells(self) -> Array:
        """The number of each one's cell."""
        return np.concatenate([part.cells for part in self._parts])

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def at(self, at: Array) -> Members:
        """Some of them, by their places or by a mask."""
        if at.dtype == bool:
            return self._whole.at(at)
        first, block = self._parts
        early = at < len(first)
        taken = Members.joined([first.at(at[early]), block.at(at[~early] - len(first))])
        order = np.concatenate([np.flatnonzero(early), np.flatnonzero(~early)])
        return taken.at(np.argsort(order))

    def newest(self, count: int) -> Array:
        """The places of those that were written last."""
        first, block = self._parts
        early, late = first.newest(count), block.newest(count)
        among = np.concatenate([early, late + len(first)])
        if len(among) <= count:
            return among
        made = np.concatenate([first.made[early], block.made[late]])
        return among[np.argpartition(made, -count)[-count:]]

    def find(self, ids: Array) -> Array:
        """Where each of some ids stands, the first time; -1 for one that is not here."""
        first, block = self._parts
        at, later = first.find(ids), block.find(ids)
        return np.where((at < 0) & (later >= 0), later + len(first), at)


def ids_of(packed: bytes | None) -> Array:
    """Ids that come one after the other."""
    return np.frombuffer(packed or b"", np.uint8).reshape(-1, 16)


def keys_of(ids: Array) -> npt.NDArray[np.uint64]:
    """A number for each id."""
    halves = np.ascontiguousarray(ids).view(">u8").astype(np.uint64).reshape(-1, 2)
    return halves[:, 0] * np.uint64(_MIXED) ^ halves[:, 1]


def id_array(ids: Array) -> str:
    """Ids as the text of an array: as one text they are sent ten times faster than one by one."""
    packed = np.ascontiguousarray(ids).tobytes()
    return f"{{{packed.hex(',', 16)}}}" if packed else "{}"

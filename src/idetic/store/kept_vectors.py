"""The vectors of an anchor that this process keeps, in two bytes a number.

Of many vectors those are compared whose signs agree with the question's most: to compare 100,000
took 12 ms, to count the signs that agree and compare 5,000 of them 2. They are compared by the
first byte, which loses half a thousandth; candidates by both, which lose a hundred-thousandth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np

from idetic.store.traits import Array

# Of many, one in so many is compared, but no fewer than the second. Of 100,000 vectors in thirty
# clusters, the nearest 4,096 by signs held all of the nearest hundred, 2,048 held 95 %; of 10,000
# the nearest 512 held them all.
_ONE_IN, COMPARED = 20, 1_024
# So many entries say how near one is by chance.
SAMPLED = 640
# What pgvector sends before the numbers of a vector: how many there are.
_HEAD = 4
_STEPS, _FINER = 127.0, 254.0
# So many vectors are read beside one question. To read 10,000 of them took 80 ms.
READ_AT_ONCE = 8_000
_FEW_LACKING = 500
# So many rows, and signs of so many, stay in a processor's cache from one step to the next.
_NEAR_AT_HAND, _SIGNS_AT_HAND = 512, 16_384
# For so many seconds a member without a vector is not asked for again, where many have none.
_PAUSE = 10.0


@dataclass(frozen=True)
class KeptVectors:
    """Vectors, each with its entry's id and place among the members; a long entry has several.

    `centre` is what all have in common: signs are of what is left without it.
    """

    ids: Array
    at: Array
    numbers: Array
    finer: Array
    scales: Array
    centre: Array
    signs: Array

    @classmethod
    def read(cls, ids: bytes | None, vectors: bytes | None, centre: Array | None) -> KeptVectors:
        """The vectors as the database sends them, half precision; nobody's place is known yet."""
        known = np.frombuffer(ids or b"", np.uint8).reshape(-1, 16)
        packed = np.frombuffer(vectors or b"", np.uint8).reshape(len(known), -1)
        halves = np.ascontiguousarray(packed[:, _HEAD:]).view(">f2")
        exact = halves.astype(np.float16).astype(np.float32)
        if centre is None:
            centre = exact.mean(axis=0)
        largest = np.abs(exact).max(axis=1, initial=0.0)
        scales = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(_STEPS)
        steps = exact / scales[:, None]
        numbers = np.rint(steps).astype(np.int8)
        finer = np.rint((steps - numbers) * _FINER).astype(np.int8)
        at = np.full(len(known), -1)
        return cls(known, at, numbers, finer, scales, centre, _signs(exact - centre))

    def joined(self, more: KeptVectors) -> KeptVectors:
        """These and others around the same centre."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in _COLUMNS
        }
        signs = np.concatenate([self.signs, more.signs], axis=1)
        return KeptVectors(**columns, centre=self.centre, signs=signs)

    def placed(self, at: Array) -> KeptVectors:
        """Those whose entries are among the members, at these places; -1 for the others."""
        kept = at >= 0
        columns: dict[str, Any] = {name: getattr(self, name)[kept] for name in _COLUMNS}
        columns |= {"at": at[kept], "signs": np.ascontiguousarray(self.signs[:, kept])}
        return KeptVectors(**columns, centre=self.centre)

    def __len__(self) -> int:
        return len(self.at)

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return 2 * self.numbers.nbytes + self.signs.nbytes + self.ids.nbytes + 2 * self.at.nbytes

    def nearest(self, question: Sequence[float], wanted: Array) -> tuple[Array, Array]:
        """Entries that are near a question, of those that a mask wants, and about how far each is.

        Of few all; each entry once, by the nearest of its pieces.
        """
        rows = np.arange(len(self)) if wanted.all() else np.flatnonzero(wanted[self.at])
        if len(rows) > COMPARED:
            rows = rows[self._agreeing(question, rows)]
        return self._once(rows, self._about(question, rows))

    def near(self, question: Sequence[float], members: Array) -> tuple[Array, Array]:
        """How far some members are from a question, each once."""
        rows = self._rows(members)
        steps = self.numbers[rows] + self.finer[rows] / np.float32(_FINER)
        return self._once(rows, self._distances(question, rows, steps))

    def by_chance(self, question: Sequence[float]) -> Array:
        """How far entries are that were drawn without a look at the question."""
        rows, steps = self._drawn
        return self._once(rows, self._distances(question, rows, steps))[1]

    @cached_property
    def _drawn(self) -> tuple[Array, Array]:
        """The rows of entries that were drawn by chance, and their numbers."""
        rows = self._rows(np.unique(self.at[:: max(1, len(self) // SAMPLED)]))
        return rows, self.numbers[rows].astype(np.float32)

    @cached_property
    def entries(self) -> int:
        """How many entries they are of."""
        return len(np.unique(self.at))

    def have(self, members: Array) -> Array:
        """Which of some members have a vector here."""
        ordered = self._by_member[1]
        if not len(ordered):
            return np.zeros(len(members), bool)
        near = np.minimum(np.searchsorted(ordered, members), len(ordered) - 1)
        found: Array = ordered[near] == members
        return found

    def _once(self, rows: Array, distances: Array) -> tuple[Array, Array]:
        """Each entry once, by the nearest of its pieces."""
        at = self.at[rows]
        if self.entries == len(self):
            return at, distances
        order = np.lexsort((distances, at))
        first = np.ones(len(order), bool)
        first[1:] = at[order[1:]] != at[order[:-1]]
        kept = order[first]
        return at[kept], distances[kept]

    def _about(self, question: Sequence[float], rows: Array) -> Array:
        """The distances by the first byte alone."""
        found = np.empty(len(rows), np.float32)
        for some in _in_parts(len(rows), _NEAR_AT_HAND):
            steps = self.numbers[rows[some]].astype(np.float32)
            found[some] = self._distances(question, rows[some], steps)
        return found

    def _distances(self, question: Sequence[float], rows: Array, steps: Array) -> Array:
        """The negative inner products, with the question at half precision, as the database has it.

        By one thread: several wait for each other on a busy machine.
        """
        asked = np.array(question, np.float16).astype(np.float32)
        found: Array = -np.einsum("ij,j->i", steps, asked) * self.scales[rows]
        return found

    def _agreeing(self, question: Sequence[float], rows: Array) -> Array:
        """Which of the rows agree with a question in most signs."""
        asked = _signs((np.array(question, np.float32) - self.centre)[None])[:, 0]
        signs = self.signs if len(rows) == len(self) else self.signs[:, rows]
        apart = np.zeros(len(rows), np.uint16)
        for some in _in_parts(len(rows), _SIGNS_AT_HAND):
            for part, word in zip(signs, asked, strict=True):
                apart[some] += np.bitwise_count(part[some] ^ word)
        within = np.cumsum(np.bincount(apart))
        most = max(COMPARED, len(rows) // _ONE_IN)
        return np.flatnonzero(apart <= np.searchsorted(within, most))

    def _rows(self, members: Array) -> Array:
        """The rows of some members."""
        order, ordered = self._by_member
        first, last = (np.searchsorted(ordered, members, side) for side in ("left", "right"))
        many = last - first
        starts = np.repeat(first - np.cumsum(many) + many, many)
        found: Array = order[starts + np.arange(many.sum())]
        return found

    @cached_property
    def _by_member(self) -> tuple[Array, Array]:
        order = np.argsort(self.at, kind="stable")
        return order, self.at[order]


_COLUMNS = ("ids", "at", "numbers", "finer", "scales")


class AnchorVectors:
    """What was read so far of one anchor's vectors, of one profile.

    A few members that lack a vector are asked for at each question, many again after some seconds:
    theirs may have been made since.
    """

    def __init__(self, count: int, vectors: KeptVectors | None = None):
        self.vectors = vectors
        self.known = np.zeros(count, bool)
        self._asked = np.zeros(count, bool)
        # Once every member was asked for: until when that is good enough.
        self._whole_until: float | None = None
        if vectors is not None:
            self.known[vectors.at] = True

    def unread(self) -> Array:
        """The places of members whose vectors this question asks for."""
        lacking = np.flatnonzero(~self.known)
        if len(lacking) <= _FEW_LACKING:
            return lacking
        if self._whole_until is not None and self._whole_until < monotonic():
            self._asked[:] = False
            self._whole_until = np.inf
        return lacking[~self._asked[lacking]][:READ_AT_ONCE]

    def is_whole(self, unread: Array) -> bool:
        """Whether every member was asked for, once these are."""
        fresh = int(np.count_nonzero(~self.known & ~self._asked))
        return self._whole_until is not None or fresh <= len(unread)

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return 0 if self.vectors is None else self.vectors.nbytes

    def take(self, unread: Array | None, found: KeptVectors | None) -> None:
        """Keep what was found of the members that were asked for."""
        if unread is not None:
            self._asked[unread] = True
        if found is not None:
            self._keep(found)
        if self._asked[~self.known].all():
            self._whole_until = monotonic() + _PAUSE

    def _keep(self, found: KeptVectors) -> None:
        """Keep vectors of members that have none yet."""
        new = found.placed(np.where(self.known[found.at], -1, found.at))
        self.vectors = new if self.vectors is None else self.vectors.joined(new)
        self.known[new.at] = True


def _in_parts(count: int, size: int) -> Iterator[slice]:
    """A count in parts of a size."""
    return (slice(first, first + size) for first in range(0, count, size))


def _signs(numbers: Array) -> Array:
    """The signs of vectors, 64 to a number, one row for each 64 dimensions."""
    packed = np.packbits(numbers > 0, axis=1)
    whole = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(whole.view(np.uint64).T)

"""Vectors of some entries of an anchor, drawn by chance: how near an entry is by chance.

Looked up and compared for every question they took the server 3 ms, as long as walking HNSW.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from idetic.store.members import keys_of
from idetic.store.traits import Array

# What pgvector sends before the numbers of a vector: how many there are.
_HEAD = 4


@dataclass(frozen=True, slots=True)
class VectorSample:
    """The vectors, and of each the number of its entry: a long one has several."""

    entries: Array
    vectors: Array

    @classmethod
    def read(cls, ids: bytes | None, vectors: bytes | None) -> VectorSample:
        """The sample as the database sends it: ids, and as many vectors of half precision."""
        known = np.frombuffer(ids or b"", np.uint8).reshape(-1, 16)
        if not len(known):
            return cls(np.empty(0, np.int64), np.empty((0, 0), np.float32))
        packed = np.frombuffer(vectors or b"", np.uint8).reshape(len(known), -1)
        numbers = np.ascontiguousarray(packed[:, _HEAD:]).view(">f2").astype(np.float32)
        return cls(np.unique(keys_of(known), return_inverse=True)[1], numbers)

    def __len__(self) -> int:
        """How many entries it has."""
        return int(self.entries.max(initial=-1)) + 1

    def distances(self, question: Sequence[float]) -> Array:
        """How far each entry is from a question: as far as its nearest piece."""
        found = np.full(len(self), np.inf)
        if len(found):
            # Both at half precision, as the database compares them.
            asked = np.array(question, np.float16).astype(np.float32)
            np.minimum.at(found, self.entries, -(self.vectors @ asked))
        return found

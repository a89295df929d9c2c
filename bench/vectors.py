"""Vectors that outlast a run: the pinned model makes each once, a file under bench/out keeps it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.common import OUT
from idetic.embed import Embedder, EmbeddingModel, load
from idetic.recall.embedding import fingerprint

Vectors = npt.NDArray[np.float32]
# So many texts are embedded between two commits: a killed run keeps what it had.
_BATCH = 64
_AT_ONCE = os.cpu_count() or 1


class CachedEmbedder:
    """The embedder, asked only for texts that it has not been asked for before.

    Vectors are kept whole, as float32, so that a figure does not depend on where they came from.
    Several runs may share the file.
    """

    def __init__(self, embedder: Embedder | None = None, folder: Path | None = None):
        # One thread a call and a call a core: less processor time than one call on all cores.
        self._embedder = embedder or load(threads=1)
        self.profile: EmbeddingModel = self._embedder.profile
        folder = folder or OUT / "vectors"
        folder.mkdir(parents=True, exist_ok=True)
        # One file for each model: the fingerprint names it.
        self.path = folder / f"{self.profile.name}-{fingerprint(self._embedder)[:16]}.sqlite"
        self._kept = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
        # Processes that read do not wait for one that writes.
        self._kept.execute("PRAGMA journal_mode=WAL")
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """One vector per text, from the file where it is there."""
        keys = [_key(text, query) for text in texts]
        with self._lock:
            known = {key: self._find(key) for key in keys}
            missing = {key: text for key, text in zip(keys, texts, strict=True) if not known[key]}
            known |= self._make(missing, query)
        rows = [np.frombuffer(known[key] or b"", np.float32) for key in keys]
        return np.stack(rows) if rows else np.empty((0, self.profile.dimensions), np.float32)

    def _find(self, key: bytes) -> bytes | None:
        row = self._kept.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _make(self, missing: dict[bytes, str], query: bool) -> dict[bytes, bytes]:
        # Texts of one length share a batch of the model, so they are handed over together.
        left = sorted(missing, key=lambda key: len(missing[key]))
        batches = [left[first : first + _BATCH] for first in range(0, len(left), _BATCH)]

        def vectors(keys: Sequence[bytes]) -> Vectors:
            return self._embedder.embed([missing[key] for key in keys], query=query)

        made: dict[bytes, bytes] = {}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for keys, rows in zip(batches, pool.map(vectors, batches), strict=True):
                pairs = [(key, row.tobytes()) for key, row in zip(keys, rows, strict=True)]
                made |= dict(pairs)
                with self._kept:
                    self._kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", pairs)
        return made


def _key(text: str, query: bool) -> bytes:
    return hashlib.sha256(f"{'query' if query else 'text'}\n{text}".encode()).digest()

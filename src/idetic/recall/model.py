"""The embedding model at hand: loaded when first needed, or known to be missing and why."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyio import Lock, to_thread

from idetic.embed.errors import ModelMissing
from idetic.errors import IdeticError

if TYPE_CHECKING:
    from idetic.embed.port import Embedder


class Model:
    """One embedder for a whole `Idetic`: given by the user, or the pinned one from its files.

    Without a model everything else goes on: recall says so, and entries stay pending. There is
    never a silent fallback to another model.
    """

    def __init__(self, embedder: Embedder | None = None):
        self._embedder = embedder
        self._missing: IdeticError | None = None
        self._lock = Lock()

    async def get(self) -> Embedder | None:
        """The embedder, or None; `missing` then says why."""
        if self._embedder is not None:
            return self._embedder
        async with self._lock:
            if self._embedder is None and self._missing is None:
                try:
                    self._embedder = await to_thread.run_sync(_load)
                except IdeticError as error:
                    self._missing = error
            return self._embedder

    @property
    def loaded(self) -> bool:
        """Whether an embedder is at hand without loading one."""
        return self._embedder is not None

    @property
    def missing(self) -> IdeticError:
        """Why there is no embedder."""
        return self._missing or ModelMissing()

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """Vectors for texts, made off the event loop."""
        embedder = await self.get()
        if embedder is None:
            raise self.missing
        made = await to_thread.run_sync(lambda: embedder.embed(texts, query=query))
        vectors: list[list[float]] = made.tolist()
        return vectors


def fingerprint(embedder: Embedder) -> str:
    """What makes two models the same: their weights, tokenizer and precision."""
    profile = embedder.profile
    parts = (profile.weights_sha256, profile.tokenizer_sha256, profile.precision)
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def _load() -> Embedder:
    from idetic.embed import load  # noqa: PLC0415 - onnxruntime loads only if it is used

    return load()

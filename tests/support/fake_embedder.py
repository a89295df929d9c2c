"""An embedder that is another model than the pinned one: fast, deterministic, 384 wide."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from idetic.embed.port import EmbeddingModel


class FakeEmbedder:
    """Vectors from a hash of the text; `pause` seconds a batch, so that it can be killed."""

    def __init__(self, name: str = "fake-model", pause: float = 0.0):
        self.profile = EmbeddingModel(name, 384, 512, "fp32", name, name)
        self._pause = pause

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        time.sleep(self._pause)
        made = [_vector(text) for text in texts]
        return np.asarray(made, dtype=np.float32)


def _vector(text: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=384)
    return vector / np.linalg.norm(vector)

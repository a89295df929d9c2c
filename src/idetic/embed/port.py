"""What Idetic asks of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Which model made a vector. Vectors of two models never mix."""

    name: str
    """The model's name, as a spec and an embedding profile write it."""
    dimensions: int
    max_tokens: int
    """What lies beyond is not seen by the model."""
    precision: str
    weights_sha256: str
    tokenizer_sha256: str


class Embedder(Protocol):
    """Turns texts into vectors of one model."""

    @property
    def profile(self) -> EmbeddingModel:
        """The model whose vectors these are."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """One L2-normalised float32 row per text, in the order of the texts."""
        ...

"""What Idetic asks of an embedder, and what can go wrong with one; each error has the way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from idetic.errors import IdeticError

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


class ModelMissing(IdeticError, code="model_missing", http_status=503, exit_code=7):
    """The embedding model is not installed."""

    remedy = "Run `idetic model install`."


class ModelCorrupt(IdeticError, code="model_corrupt", http_status=503, exit_code=7):
    """A file of the embedding model is not the pinned one."""

    remedy = "Run `idetic model install`."


class RuntimeMissing(IdeticError, code="model_runtime_missing", http_status=503, exit_code=7):
    """The packages that run the embedding model are not installed."""

    remedy = "Run `pip install onnxruntime tokenizers`."


class EmbeddingFailed(IdeticError, code="embedding_failed", exit_code=7):
    """The embedding model returned something that is not a vector."""

    remedy = "Run `idetic model verify`; the entry stays pending until a vector is made."


class EmbedderHangs(EmbeddingFailed, code="embedder_hangs"):
    """The embedding model did not answer in time."""

    remedy = "Look at what the embedder waits for; entries stay pending."

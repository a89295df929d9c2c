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


class ModelMissing(IdeticError):
    """The embedding model is not installed."""

    code = "model_missing"
    remedy = "Run `idetic model install`."
    http_status = 503
    exit_code = 7


class ModelCorrupt(IdeticError):
    """A file of the embedding model is not the pinned one."""

    code = "model_corrupt"
    remedy = "Run `idetic model install`."
    http_status = 503
    exit_code = 7


class RuntimeMissing(IdeticError):
    """The packages that run the embedding model are not installed."""

    code = "model_runtime_missing"
    remedy = "Run `pip install onnxruntime tokenizers`."
    http_status = 503
    exit_code = 7


class EmbeddingFailed(IdeticError):
    """The embedding model returned something that is not a vector."""

    code = "embedding_failed"
    remedy = "Run `idetic model verify`; the entry stays pending until a vector is made."
    exit_code = 7


class EmbedderHangs(EmbeddingFailed):
    """The embedding model did not answer in time."""

    code = "embedder_hangs"
    remedy = "Look at what the embedder waits for; entries stay pending."

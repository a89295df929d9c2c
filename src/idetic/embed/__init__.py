"""The pinned models: `files` (pins, directories), `sources`, `installer`, `bge`.

`bge` is the embedding model at work; the reranker works in `idetic.recall.rerank`. `port` says what
Idetic asks of any embedder. Importing this package loads neither onnxruntime nor numpy; `load()`
does.
"""

from .bge import BgeSmall, load
from .installer import Installed, ModelStatus, install, status, verify
from .port import Embedder, EmbeddingFailed, EmbeddingModel, ModelCorrupt, ModelMissing

__all__ = [
    "BgeSmall",
    "Embedder",
    "EmbeddingFailed",
    "EmbeddingModel",
    "Installed",
    "ModelCorrupt",
    "ModelMissing",
    "ModelStatus",
    "install",
    "load",
    "status",
    "verify",
]

"""The pinned embedding model: `files` (pins, directories, status), `installer`, `bge` (at work).

`port` says what Idetic asks of any embedder. Importing this package loads neither onnxruntime nor
numpy; `load()` does.
"""

from .bge import BgeSmall, load
from .files import ModelStatus, status, verify
from .installer import Installed, install
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

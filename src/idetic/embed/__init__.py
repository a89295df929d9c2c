"""The pinned embedding model: its files, where they come from, and how it runs.

Rooms: `port` (what Idetic asks of an embedder), `files` (the pins), `sources` (where the
files may come from), `installer` (trying the sources), `status`, `bge` (the model at work).
Importing this package loads neither onnxruntime nor numpy; `load()` does.
"""

from .bge import BgeSmall, load
from .errors import EmbeddingFailed, ModelCorrupt, ModelMissing
from .installer import Installed, install
from .port import Embedder, EmbeddingModel
from .status import ModelStatus, status, verify

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

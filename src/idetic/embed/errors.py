"""What can go wrong with the model, each with the way out."""

from __future__ import annotations

from idetic.errors import IdeticError


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


class SourceFailed(Exception):
    """A source did not yield the pinned files; never leaves the installer."""

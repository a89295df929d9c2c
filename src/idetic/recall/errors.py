"""What can go wrong with a reranker, each with the way out."""

from __future__ import annotations

from idetic.errors import IdeticError


class RerankerError(IdeticError):
    """The reranker did not do its part."""

    code = "reranker"
    remedy = "Recall without it: set `reranker: none` under `retrieval` in the spec."
    http_status = 503
    exit_code = 7


class RerankerMissing(RerankerError):
    """There is no reranker in this directory."""

    code = "reranker_missing"
    remedy = "Name a directory that holds model.onnx and tokenizer.json of a cross-encoder."


class RerankerUnusable(RerankerError):
    """These files are not a cross-encoder that can be run."""

    code = "reranker_unusable"
    remedy = "Export the model again for sequence classification, with tokenizer.json beside it."


class RerankerRuntimeMissing(RerankerError):
    """The packages that run a reranker are not installed."""

    code = "reranker_runtime_missing"
    remedy = "Run `pip install onnxruntime tokenizers numpy`."


class RerankFailed(RerankerError):
    """The reranker returned something that is not one score for each text."""

    code = "rerank_failed"
    http_status = 500

"""Models of a few bytes in the pinned ones' stead, for tests of what brings and checks files."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from idetic.embed import files


def pin(name: str, content: bytes) -> files.PinnedFile:
    """A file as its content pins it."""
    return files.PinnedFile(name, len(content), hashlib.sha256(content).hexdigest())


TOKENIZER = {"tokenizer.json": b"words"}
INT8 = TOKENIZER | {"model.onnx": b"weights"}
FP16 = TOKENIZER | {"model_optimized.onnx": b"more weights"}
RERANKER = {"tokenizer.json": b"other words", "model.onnx": b"other weights"}


def tiny(model: files.PinnedModel, content: dict[str, bytes]) -> files.PinnedModel:
    """A pinned model whose files hold this."""
    tokenizer, weights = (pin(file.name, content[file.name]) for file in model.files)
    return replace(model, tokenizer=tokenizer, weights=weights)


def pin_tiny_models(patch: pytest.MonkeyPatch) -> None:
    """Pin these instead of the real ones."""
    int8, fp16 = tiny(files.INT8, INT8), tiny(files.FP16, FP16)
    patch.setattr(files, "DEFAULT", int8)
    patch.setattr(files, "FORMS", (int8, fp16))
    patch.setattr(files, "RERANKER", tiny(files.RERANKER, RERANKER))
    patch.delenv("IDETIC_MODEL", raising=False)

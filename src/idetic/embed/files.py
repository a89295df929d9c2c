"""The model's two files, pinned by size and SHA-256, and checked before every use."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from .errors import ModelCorrupt, ModelMissing
from .port import EmbeddingModel


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file of the model, as it must be."""

    name: str
    size: int
    sha256: str


WEIGHTS = PinnedFile(
    name="model_optimized.onnx",
    size=66_465_124,
    sha256="51f1bd0addd6e859e42c2c8021a5e5461385bb676a649f4b269aa445449f2431",
)
TOKENIZER = PinnedFile(
    name="tokenizer.json",
    size=711_396,
    sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
FILES = (TOKENIZER, WEIGHTS)

BGE_SMALL = EmbeddingModel(
    name="bge-small-en-v1.5",
    dimensions=384,
    max_tokens=512,
    precision="fp16",
    weights_sha256=WEIGHTS.sha256,
    tokenizer_sha256=TOKENIZER.sha256,
)


def read(directory: Path, file: PinnedFile) -> bytes:
    """The file's bytes, checked: what the caller uses is what was checked.

    Hashing the 66 MB costs 44 ms, a sixth of what onnxruntime then needs to load them.
    """
    path = directory / file.name
    try:
        if (size := path.stat().st_size) != file.size:
            raise ModelCorrupt(f"{path} has {size:,} bytes instead of {file.size:,}.")
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelMissing(f"There is no {file.name} in {directory}.") from error
    except OSError as error:
        raise ModelMissing(f"{path} cannot be read: {error.strerror or error}.") from error
    if (found := hashlib.sha256(content).hexdigest()) != file.sha256:
        raise ModelCorrupt(f"{path} has SHA-256 {found} instead of {file.sha256}.")
    return content


def check(directory: Path) -> None:
    """Raise `ModelMissing` or `ModelCorrupt` unless both files are the pinned ones."""
    for file in FILES:
        read(directory, file)

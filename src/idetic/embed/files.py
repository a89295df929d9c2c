"""The model's two files: pinned by size and SHA-256, looked for on this machine, checked on use."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .port import EmbeddingModel, ModelCorrupt, ModelMissing

MODEL_DIR_VARIABLE = "IDETIC_MODEL_DIR"
PROVENANCE = "provenance.json"

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """One directory to look for the model in."""

    name: str
    path: Path


def cache_directory() -> ModelDirectory:
    """Where `install` puts the model: below the same home as the embedded database."""
    # Imported here: it brings the driver along, which importing this package must not.
    from idetic.store.embedded.home import Home  # noqa: PLC0415

    return ModelDirectory("local cache", Home.at(None).path / "models" / BGE_SMALL.name)


def named_directory() -> ModelDirectory | None:
    """The directory the user names, for closed networks."""
    if named := os.environ.get(MODEL_DIR_VARIABLE):
        return ModelDirectory(MODEL_DIR_VARIABLE, Path(named).expanduser().resolve())
    return None


def first_usable(
    use: Callable[[Path], T], candidates: Sequence[ModelDirectory] = ()
) -> tuple[ModelDirectory, T]:
    """The first directory that `use` accepts, and what it made of it.

    Without candidates, the directory the user names and the local cache are tried. One that is
    wrong is passed over, not fatal: every directory holds the same bytes or none, so the next one
    cannot be a different model.
    """
    failures: list[ModelMissing | ModelCorrupt] = []
    for directory in candidates or filter(None, (named_directory(), cache_directory())):
        try:
            return directory, use(directory.path)
        except (ModelMissing, ModelCorrupt) as error:
            failures.append(error)
    reasons = " ".join(error.message for error in failures)
    if any(isinstance(error, ModelCorrupt) for error in failures):
        raise ModelCorrupt(f"The embedding model is not usable. {reasons}")
    raise ModelMissing(f"The embedding model is not installed. {reasons}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """Whether the pinned model is here, and how it came."""

    model: str = BGE_SMALL.name
    installed: bool
    verified: bool
    """Both files were read and have the pinned SHA-256."""
    path: Path | None = None
    source: str | None = None
    """Where the files were first obtained; the directory's name if nobody wrote it down."""
    precision: str = BGE_SMALL.precision
    weights_sha256: str = BGE_SMALL.weights_sha256
    reason: str
    """In one sentence: why this source, or why there is no model."""


def status() -> ModelStatus:
    """Look for the model and check its hashes; a bad or absent model is told, not raised."""
    try:
        return verify()
    except (ModelMissing, ModelCorrupt) as error:
        found = isinstance(error, ModelCorrupt)
        return ModelStatus(installed=found, verified=False, reason=str(error))


def verify() -> ModelStatus:
    """As `status`, but a model that is missing or wrong is an error."""
    directory, _ = first_usable(check)
    try:
        told = json.loads((directory.path / PROVENANCE).read_text(encoding="utf-8"))
        source, reason = str(told["source"]), str(told["why"])
    except (OSError, ValueError, KeyError, TypeError):
        # A directory that was copied by hand holds no provenance.
        source, reason = directory.name, "The files lie there and are the pinned ones."
    return ModelStatus(
        installed=True, verified=True, path=directory.path, source=source, reason=reason
    )

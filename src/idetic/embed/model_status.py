"""Whether a pinned model is on this machine, which form, where from, and why."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from . import files
from .port import ModelCorrupt, ModelMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """Whether a pinned model is here, and how it came."""

    key: str
    """What `idetic model` calls it: int8, fp16 or reranker."""
    model: str
    precision: str
    installed: bool
    verified: bool
    """Both files were read and have the pinned SHA-256."""
    path: Path | None = None
    source: str | None = None
    """Where the files were first obtained; the directory's name if nobody wrote it down."""
    weights_sha256: str
    reason: str
    """In one sentence: why this source, or why there is no model."""


def status(key: str | None = None) -> ModelStatus:
    """Look for a model and check its hashes; a bad or absent one is told, not raised.

    Without a key it is the embedding model that would be loaded.
    """
    try:
        return verify(key)
    except (ModelMissing, ModelCorrupt) as error:
        model = files.pinned(key) if key else files.DEFAULT
        return _unverified(model, str(error), installed=isinstance(error, ModelCorrupt))


def verify(key: str | None = None) -> ModelStatus:
    """As `status`, but a model that is missing or wrong is an error."""
    models = (files.pinned(key),) if key else files.usable_forms()
    place, model, _ = files.first_usable(files.contents, models)
    try:
        told = json.loads((place.path / files.PROVENANCE).read_text(encoding="utf-8"))
        source, reason = str(told["source"]), str(told["why"])
    except (OSError, ValueError, KeyError, TypeError):
        # A directory that was copied by hand holds no provenance.
        source, reason = place.name, "The files lie there and are the pinned ones."
    found = _unverified(model, reason, installed=True)
    return replace(found, verified=True, path=place.path, source=source)


def _unverified(model: files.PinnedModel, reason: str, *, installed: bool) -> ModelStatus:
    """The status of a model whose files are not known to be the pinned ones."""
    return ModelStatus(
        key=model.key,
        model=model.name,
        precision=model.precision,
        installed=installed,
        verified=False,
        weights_sha256=model.weights.sha256,
        reason=reason,
    )

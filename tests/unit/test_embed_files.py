"""The pinned files: nothing else is ever used."""

from __future__ import annotations

from pathlib import Path

import pytest

from idetic.embed import ModelCorrupt, ModelMissing, files, load
from idetic.embed.files import PinnedFile
from idetic.errors import IdeticError

HELLO = PinnedFile("hello", 5, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")


def test_the_pinned_bytes_are_returned(tmp_path: Path) -> None:
    (tmp_path / "hello").write_bytes(b"hello")
    assert files.read(tmp_path, HELLO) == b"hello"


@pytest.mark.parametrize("content", [b"hellp", b"hell", b"hello ", b""])
def test_other_bytes_are_corrupt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "hello").write_bytes(content)
    with pytest.raises(ModelCorrupt, match="instead of"):
        files.read(tmp_path, HELLO)


def test_an_absent_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no hello in"):
        files.read(tmp_path, HELLO)
    with pytest.raises(ModelMissing):
        files.read(tmp_path / "nowhere", HELLO)


def test_a_directory_in_the_file_s_place_is_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "hello").mkdir()
    with pytest.raises((ModelMissing, ModelCorrupt)):
        files.read(tmp_path, HELLO)


@pytest.mark.parametrize("error", [ModelMissing, ModelCorrupt])
def test_the_way_out_is_named(error: type[IdeticError]) -> None:
    assert "idetic model install" in str(error())


def test_loading_without_a_model_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(tmp_path / "named"))
    with pytest.raises(ModelMissing) as caught:
        load()
    assert str(tmp_path / "home") in str(caught.value)
    assert str(tmp_path / "named") in str(caught.value)
    assert not (tmp_path / "home").exists()

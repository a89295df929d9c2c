"""The picture of the rooms in the documentation is the code's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rooms_picture import (
    NOUNS,
    PACKAGE,
    PICTURE,
    draw,
    drawn,
    imports,
    layers,
    reduced,
)


def test_the_picture_of_the_rooms_is_what_the_imports_say() -> None:
    assert PICTURE.read_text("utf-8") == drawn(), "run: make drawings"


def test_every_room_is_in_the_picture() -> None:
    rooms = {room for row in layers() for room in row}
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms >= folders | {NOUNS}


def test_control_another_import_is_another_picture() -> None:
    rows = [["surfaces"], ["store"], [NOUNS]]
    edges = {"surfaces": frozenset({"store"}), "store": frozenset({NOUNS}), NOUNS: frozenset[str]()}
    assert draw(rows, edges) != draw(rows, {**edges, "store": frozenset()})


def test_an_arrow_that_longer_ways_replace_is_left_out() -> None:
    edges = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset[str]()}
    assert reduced(edges) == {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset()}


@pytest.mark.parametrize(
    "statement", ["import house.b.x", "from house.b import x", "from house import b"]
)
def test_an_import_is_seen_however_it_is_written(statement: str, tmp_path: Path) -> None:
    package = tmp_path / "house"
    (package / "a").mkdir(parents=True)
    (package / "a" / "one.py").write_text(f"import os\n{statement}\nfrom .other import y\n")
    (package / "words.py").write_text("from house.a.one import y\n")
    found = imports(package, ["a", "b", NOUNS])
    assert found == {"a": frozenset("b"), "b": frozenset(), NOUNS: frozenset("a")}

"""The page of promises names tests that exist, and a control for each."""

from __future__ import annotations

import pytest

from tests.support.docs import DOCS, ROOT, table_rows

PAGE = DOCS / "explanation" / "promises.md"
ROWS = [
    [cell.strip() for cell in row.strip("|").split(" | ")] for row in table_rows(PAGE, "promise")
]


def test_every_part_has_its_promise() -> None:
    assert len(ROWS) >= 18


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0])[:40])
def test_what_is_named_is_there(row: list[str]) -> None:
    shown, control = (cell.split("`")[1::2] for cell in row[2:])
    path, _, name = shown[0].partition("::")
    text = (ROOT / path).read_text("utf-8")
    assert f"def {name}(" in text if name else "def test_" in text
    for one in control:
        if one.startswith("test_"):
            assert f"def {one}(" in text
        elif one.startswith("tests/"):
            other, _, named = one.partition("::")
            assert f"def {named}" in (ROOT / other).read_text("utf-8")

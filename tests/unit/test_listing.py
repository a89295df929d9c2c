"""Tables of the command line: they fit the terminal, and no word in them is broken."""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID

import pytest
from rich.console import Console

from idetic.surfaces.cli.output import Listing

ID = UUID(int=2**127)
NOTE = "Wire transfers above the threshold skip the second check when the desk is short."
ROW = {"id": ID, "created": "2026-11-18 16:09:17Z", "kind": "persistent\nsemantic", "note": NOTE}


def shown(rows: list[dict[str, object]], width: int) -> list[str]:
    console = Console(width=width, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(Listing(rows, "Entries"))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_table_fits_and_breaks_no_word(width: int) -> None:
    lines = shown([ROW, ROW], width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    assert [word for word in (*NOTE.split(), str(ID), "persistent") if word not in words] == []


def test_columns_stand_beside_each_other_where_there_is_room() -> None:
    head = next(line for line in shown([ROW], 120) if "created" in line)
    assert head.split() == list(ROW)


def test_rows_stand_below_each_other_where_there_is_none() -> None:
    lines = [line for line in shown([ROW], 60) if line.strip()]
    names = [line.split()[0] for line in lines if line.split()[0] in ROW]
    assert names == list(ROW)
    assert all(one != two for one, two in pairwise(lines))


def test_a_word_wider_than_the_terminal_is_folded_and_not_lost() -> None:
    long = "x" * 150
    lines = shown([{"name": "a", "hash": long}], 80)
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("x") == 150

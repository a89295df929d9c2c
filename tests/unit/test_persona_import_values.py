"""Values of a CHAOS layout as ours, without a database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from idetic.library.persona_import.values import metadata_of, moment_of, uuid_of

NINE = datetime(2024, 3, 1, 9, tzinfo=UTC)
ID = UUID("5f0c7a52-3f0d-4c3b-9f55-0d7f6f3f5a11")


@pytest.mark.parametrize(
    ("raw", "assumed"),
    [
        ("2024-03-01T09:00:00Z", False),
        ("2024-03-01T10:00:00+01:00", False),
        (" 2024-03-01 09:00:00 ", True),
        (1709283600, False),
        (1709283600.0, False),
        (1709283600000, False),
        ("1709283600", False),
        ("1709283600000", False),
    ],
)
def test_one_moment_in_many_spellings(raw: Any, assumed: bool) -> None:
    assert moment_of(raw) == (NINE, assumed)


def test_eight_digits_are_a_date() -> None:
    assert moment_of("20240301") == (datetime(2024, 3, 1, tzinfo=UTC), True)


@pytest.mark.parametrize(
    "raw", [None, "", "soon", b"2024", "nan", "inf", 1e300, -1e300, "9999-12-31T23:59:59Z"]
)
def test_what_is_no_moment_is_none(raw: Any) -> None:
    assert moment_of(raw) is None


@pytest.mark.parametrize("raw", [str(ID), str(ID).upper(), f"{{{ID}}}", ID.hex, ID.bytes])
def test_a_uuid_is_kept_however_it_is_written(raw: Any) -> None:
    assert uuid_of(raw, "event") == ID


def test_any_other_id_becomes_the_same_uuid_each_time_and_one_of_its_own() -> None:
    made = [uuid_of(raw, what) for raw in ("e-1", "e-2", 1, "\udcff") for what in ("event", "loop")]
    assert made == [uuid_of(r, w) for r in ("e-1", "e-2", 1, "\udcff") for w in ("event", "loop")]
    assert len(set(made)) == 8
    assert str(made[0]) == "48024b0c-d555-5379-b7b1-cad2354b811a"
    assert uuid_of(None, "event") is None
    assert uuid_of("", "event") is None


def test_metadata_lose_nothing() -> None:
    assert metadata_of(None) == ({}, None)
    assert metadata_of('{"a": 1}') == ({"a": 1}, None)
    assert metadata_of('{"a": 1, "erased": [2], "redacted": 3, "imported": 4}') == (
        {"a": 1}, {"erased": [2], "redacted": 3, "imported": 4},
    )  # fmt: skip
    assert metadata_of("[1]") == ({}, "[1]")
    assert metadata_of("{") == ({}, "{")
    assert metadata_of(b"\xff") == ({}, "ff")
    assert metadata_of(7) == ({}, 7)

"""`idetic persona import`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TestDatabase
from tests.support.event_lines import line, lines, save
from tests.surfaces.cli_runner import called, process


@pytest.fixture
def events(tmp_path: Path) -> str:
    return str(save(tmp_path / "events.jsonl", [*lines(20), line(24, kind="daydream")]))


@pytest.fixture(autouse=True)
def applied(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec of persona memory, as whoever administers the database applies it."""
    with monkeypatch.context() as admin:
        admin.setenv("IDETIC_ADMIN_DSN", database.admin_dsn)
        ran = called("spec", "apply", "persona_agent", "--yes", "--dsn", database.dsn)
    assert ran.code == 0, ran.err


def run(database: TestDatabase, *arguments: str) -> tuple[str, ...]:
    return ("persona", "import", *arguments, "--tenant", "acme", "--dsn", database.dsn)


def test_events_are_imported_once_and_the_answer_is_json(
    database: TestDatabase, events: str
) -> None:
    dry = called(*run(database, events, "--dry-run", "--json"))
    assert dry.code == 0, dry.err
    assert (dry.json()["written"], dry.json()["dry_run"]) == (21, True)
    ran = called(*run(database, events, "--json"))
    assert ran.code == 0, ran.err
    told = ran.json()
    assert (told["read"], told["written"], told["there"], told["complete"]) == (21, 21, 0, True)
    assert (told["unknown_kinds"], told["loops"]) == (1, 6)
    assert told["personas"]["till/actor"] == 9
    size = Path(events).stat().st_size
    assert f"bytes: {size} of {size}" in ran.err
    again = called(*run(database, events, "--json")).json()
    assert (again["written"], again["there"]) == (0, 21)


def test_for_people_it_says_what_was_found(database: TestDatabase, events: str) -> None:
    ran = called(*run(database, events, "--agent", "till", "--dry-run"))
    assert ran.code == 0, ran.err
    assert "21 events read, 13 would be written, 0 there already" in ran.out
    assert "8 of other agents, and skipped" in ran.out
    assert "1 of an unknown kind, kept as system_event" in ran.out
    assert "Nothing was written." in ran.out
    assert "Every event of the file is in the log." in called(*run(database, events)).out


def test_a_line_that_is_left_out_ends_it_with_1(database: TestDatabase, tmp_path: Path) -> None:
    odd = save(tmp_path / "odd.jsonl", [*lines(4), line(4, **{"one\x1b[2J": 1})])
    ran = called(*run(database, str(odd)))
    assert ran.code == 1
    assert "1 refused" in ran.out
    assert "line 5: one\\x1b[2J: " in ran.out
    assert "\x1b" not in ran.out
    assert "Every event" not in ran.out


def test_a_file_that_cannot_be_read_is_bad_input(database: TestDatabase, tmp_path: Path) -> None:
    ran = called(*run(database, str(tmp_path), "--json"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.error()["code"] == "events_unreadable"
    ended = process(*run(database, str(tmp_path / "none.jsonl")))
    assert ended.code == 2
    assert "cannot be found" in ended.err
    assert "Traceback" not in ended.err
    assert called("persona", "import", str(tmp_path / "none.jsonl")).code == 2, "no tenant"

"""`idetic persona import`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TestDatabase
from tests.support.chaos import plain, uid
from tests.surfaces.cli_runner import called, process


@pytest.fixture
def layout(tmp_path: Path) -> str:
    made = plain(20)
    made.event(24, kind="daydream")
    return str(made.save(tmp_path / "chaos.db"))


@pytest.fixture(autouse=True)
def applied(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec of persona memory, as whoever administers the database applies it."""
    with monkeypatch.context() as admin:
        admin.setenv("IDETIC_ADMIN_DSN", database.admin_dsn)
        ran = called("spec", "apply", "persona_agent", "--yes", "--dsn", database.dsn)
    assert ran.code == 0, ran.err


def run(database: TestDatabase, *arguments: str) -> tuple[str, ...]:
    return ("persona", "import", *arguments, "--tenant", "acme", "--dsn", database.dsn)


def test_a_layout_is_imported_once_and_the_answer_is_json(
    database: TestDatabase, layout: str
) -> None:
    dry = called(*run(database, layout, "--dry-run", "--json"))
    assert dry.code == 0, dry.err
    assert (dry.json()["written"], dry.json()["dry_run"]) == (21, True)
    ran = called(*run(database, layout, "--json"))
    assert ran.code == 0, ran.err
    told = ran.json()
    assert (told["read"], told["written"], told["there"], told["complete"]) == (21, 21, 0, True)
    assert told["findings"]["unknown_kind"] == {"count": 1, "first": [uid("event", 24)]}
    assert told["personas"]["till/actor"] == 9
    assert (told["ltm_kept"], told["stm_kept"], told["stm_derived"]) == (21, 5, 1)
    assert "events: 21 of 21" in ran.err
    again = called(*run(database, layout, "--json")).json()
    assert (again["written"], again["there"]) == (0, 21)


def test_for_people_it_says_what_was_found(database: TestDatabase, layout: str) -> None:
    ran = called(*run(database, layout, "--agent", "till", "--dry-run"))
    assert ran.code == 0, ran.err
    assert "13 events read, 13 would be written, 0 there already." in ran.out
    assert "1 events of an unknown kind, kept as system_event: " + uid("event", 24) in ran.out
    assert "Nothing was written." in ran.out
    assert "Every event of the file is in the log." in called(*run(database, layout)).out


def test_an_event_that_is_left_out_ends_it_with_1(database: TestDatabase, tmp_path: Path) -> None:
    made = plain(4)
    made.event(40, persona="bystander\x1b[2J", id="one\x1b[2J")
    ran = called(*run(database, str(made.save(tmp_path / "odd.db"))))
    assert ran.code == 1
    assert "1 events that cannot be held, and were not written: one\\x1b[2J: The persona" in ran.out
    assert "\x1b" not in ran.out
    assert "Every event" not in ran.out


def test_a_file_that_is_no_layout_is_bad_input(database: TestDatabase, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_text("no database " * 100)
    ran = called(*run(database, str(tmp_path / "broken.db"), "--json"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.error()["code"] == "layout_unusable"
    ended = process(*run(database, str(tmp_path / "none.db")))
    assert ended.code == 2
    assert "cannot be found" in ended.err
    assert "Traceback" not in ended.err
    assert called("persona", "import", str(tmp_path / "broken.db")).code == 2, "no tenant"

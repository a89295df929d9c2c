"""`idetic list` and `idetic history` against entries that a library wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from idetic import Claim, Principal, open_sync
from idetic.spec.loader import load
from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import Ran, administered, called, process

HOSTILE = "Clear the screen \x1b[2J and [bold]shout[/bold] \u202ebackwards."


@dataclass(frozen=True)
class Written:
    """A tenant with two preferences, the first of them superseded, and a hostile note."""

    dsn: str
    anchor: dict[str, str]
    first: Any
    second: Any

    def ask(
        self, *arguments: str, who: str = "operator:ada", anchor: dict[str, str] | None = None
    ) -> Ran:
        whole = self.anchor | (anchor or {})
        words = [f"--anchor={key}={value}" for key, value in whole.items()]
        scope = ["--agent", "world_agent", "--as", who, "--dsn", self.dsn]
        return called(*arguments, *scope, *words)


@pytest.fixture
def written(database: TestDatabase) -> Written:
    import anyio  # noqa: PLC0415 - only here, for the one call that has no sync form

    from idetic import Idetic  # noqa: PLC0415
    from idetic.context import Worlds  # noqa: PLC0415

    org_id, domain_id = uuid4(), uuid4()

    async def register() -> None:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            await Worlds(db).register(org_id, domain_id, "Payments")

    anyio.run(register)
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        operator = db.agent("world_agent").bind(
            org_id=org_id, domain_id=domain_id, principal=Principal.operator("ada")
        )
        first = operator.prefer("Be full.", claim=Claim("output", "style", "full"))
        second = operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
        operator.prefer(HOSTILE)
    anchor = {"org_id": str(org_id), "domain_id": str(domain_id)}
    return Written(database.dsn, anchor, first, second)


def test_list_shows_what_is_current_with_the_application_login(written: Written) -> None:
    data = written.ask("list", "--json").json()
    assert [each["body_text"] for each in data["entries"]] == [HOSTILE, "Be brief."]
    assert data["next_before"] is None
    entry = data["entries"][1]
    assert (entry["state"], entry["tier"], entry["origin"]) == ("current", "persistent", "operator")
    assert entry["envelope"]["claim"]["value"] == "brief"
    shown = written.ask("list").out
    assert str(written.second.entry_id) in shown
    assert str(written.first.entry_id) not in shown


def test_content_cannot_act_on_the_terminal(written: Written) -> None:
    shown = written.ask("list").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"\x1b[2J" in shown


def test_pages_follow_each_other(written: Written) -> None:
    page = written.ask("list", "--limit", "1", "--json").json()
    after = written.ask("list", "--limit", "1", "--before", page["next_before"], "--json").json()
    assert after["entries"][0]["body_text"] == "Be brief."
    assert f"--before {page['next_before']}" in written.ask("list", "--limit", "1").out
    assert written.ask("list", "--before", str(written.first.entry_id)).out == "No entries.\n"


def test_filters_and_the_past(written: Written) -> None:
    assert written.ask("list", "--tier", "session", "--json").json()["entries"] == []
    procedural = written.ask("list", "--typology", "procedural", "--json").json()["entries"]
    assert len(procedural) == 2
    past = written.ask("list", "--as-of", written.first.at.isoformat(), "--json").json()
    assert [each["body_text"] for each in past["entries"]] == ["Be full."]
    assert past["entries"][0]["state"] == "current"


def test_history_shows_the_chain(written: Written) -> None:
    ran = written.ask("history", str(written.first.entry_id), "--json")
    first, second = ran.json()["history"]
    assert (first["transition"], second["transition"]) == ("preferred", "superseded")
    assert first["actor"] == "ada"
    assert len(bytes.fromhex(first["hash"])) == 32
    shown = written.ask("history", str(written.first.entry_id)).out
    assert first["hash"][:12] in shown
    assert "operator ada" in shown


def test_as_a_process(written: Written) -> None:
    words = [f"--anchor={key}={value}" for key, value in written.anchor.items()]
    ran = process("list", "--agent", "world_agent", "--as", "auditor:eve", "--json", *words,
                  IDETIC_DSN=written.dsn)  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.json()["entries"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("history", "3c4514b9-4b6b-421c-9093-34d6838fbb22"), 4, "no such entry"),
        (("history", "not-a-uuid"), 2, "not a UUID"),
        (("list", "--before", "x"), 2, "not a UUID"),
        (("list", "--limit", "0"), 2, "limit"),
        (("list", "--limit", "1001"), 2, "limit"),
        (("list", "--as-of", "yesterday"), 2, "not a moment"),
        (("list", "--as-of", "2026-01-01T00:00:00"), 2, "time zone"),
        (("list", "--as-of", "2026-01-01T00:00:00Z", "--tier", "session"), 2, "--tier"),
    ],
    ids=str,
)
def test_what_cannot_be_asked(
    written: Written, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = written.ask(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "What to do: " in ran.err
    assert written.ask(*arguments, "--json").error()["remedy"]


@pytest.mark.parametrize(
    ("anchor", "said"),
    [
        ({"org_id": "x"}, "org_id is not a UUID"),
        ({"planet": "x"}, "planet"),
        ({"principal": "x"}, "principal"),
        ({"self": "x"}, "self"),
    ],
    ids=str,
)
def test_an_anchor_that_does_not_fit(written: Written, anchor: dict[str, str], said: str) -> None:
    ran = written.ask("list", anchor=anchor)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize("who", ["ada", "pirate:ada", "operator:", ":ada"])
def test_a_principal_that_is_none(written: Written, who: str) -> None:
    ran = written.ask("list", who=who)
    assert ran.code == 2
    assert "What to do" in ran.err


def test_another_tenants_entry_is_not_found(written: Written) -> None:
    ran = written.ask("history", str(written.first.entry_id), anchor={"org_id": str(uuid4())})
    assert ran.code == 4


def test_looking_applies_no_spec(empty_database: TestDatabase) -> None:
    scope = ("--anchor", "org_id=x", "--as", "operator:ada")
    ran = administered(empty_database, "list", "--agent", "world_agent", *scope)
    assert ran.code == 5
    assert "has no agent called 'world_agent'" in ran.err
    assert administered(empty_database, "spec", "list", "--json").json()["stored"] == []


def test_the_stored_spec_counts_not_the_shipped_one(
    written: Written, database: TestDatabase
) -> None:
    changed = load("world_agent").model_copy(update={"title": "Payments Agent"})
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        db.apply(changed)
    assert written.ask("list", "--json").code == 0


def test_erase_says_what_went_and_what_did_not(written: Written) -> None:
    refused = written.ask("erase", "Be full", "--reason", "request 1")
    assert refused.code == 2
    assert "--yes" in refused.err
    none = written.ask("erase", "Zora Quell", "--reason", "request 1", "--yes")
    assert (none.code, none.out) == (0, "Nothing found: nothing was removed.\n")
    done = written.ask("erase", "Be full", "--reason", "request 1", "--yes", "--json")
    assert done.code == 0
    assert done.json()["found"] is True
    assert done.json()["entries"] == [str(written.first.entry_id)]
    assert list(done.json()["removed"]) == ["memory"]


def test_one_entry_is_forgotten_and_then_all_of_the_anchor(written: Written) -> None:
    entry_id = str(written.first.entry_id)
    refused = written.ask("forget", entry_id, "--reason", "request 1")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    done = written.ask("forget", entry_id, "--reason", "request 1", "--yes", "--json")
    assert done.json()["entries"] == [entry_id]
    for words, said in (
        ((), "--yes"),
        (("Zora Quell", "--yes"), "cannot be combined with subjects"),
    ):
        refused = written.ask("erase", "--all", "--reason", "request 2", *words)
        assert (refused.code, said in refused.err) == (2, True)
    assert written.ask("list", "--json").json()["entries"]
    done = written.ask("erase", "--all", "--reason", "request 2", "--yes", "--json")
    assert (done.code, done.json()["found"]) == (0, True)
    assert written.ask("list", "--json").json()["entries"] == []
    none = written.ask("erase", "--all", "--reason", "request 3", "--yes")
    assert none.out.startswith("Nothing found: nothing was removed.\n")


def test_a_user_gets_a_document(written: Written, tmp_path: Path) -> None:
    page = tmp_path / "ada.md"
    done = written.ask("export", str(page), "--for-user", "--form", "markdown", "--json")
    assert (done.code, done.json()["size"]) == (0, page.stat().st_size)
    assert "> Be full" in page.read_text("utf-8")
    refused = written.ask("export", str(tmp_path / "x"), "--form", "markdown")
    assert (refused.code, "--for-user" in refused.err) == (2, True)
    wrong = written.ask("export", str(tmp_path / "x"), "--for-user", "--form", "pdf")
    assert (wrong.code, (tmp_path / "x").exists()) == (2, False)

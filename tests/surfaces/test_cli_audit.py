"""`idetic verify` and `idetic explain` as an auditor types them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Idetic, Principal, open_sync
from idetic.context import Worlds
from tests.conftest import TestDatabase
from tests.support.triggers import without_triggers
from tests.surfaces.cli_runner import Ran, called

HOSTILE = "Clear the screen \x1b[2J now."


@dataclass(frozen=True)
class Audited:
    """A tenant with preferences and an action that rests on one of them."""

    database: TestDatabase
    anchor: dict[str, str]
    action: UUID

    def ask(self, *arguments: str, who: str = "auditor:ben") -> Ran:
        words = [f"--anchor={key}={value}" for key, value in self.anchor.items()]
        scope = ["--agent", "world_agent", "--as", who, "--dsn", self.database.dsn]
        return called(*arguments, *scope, *words)

    def tamper(self, statement: str) -> None:
        with psycopg.connect(self.database.admin_dsn) as connection:
            without_triggers(connection)
            connection.execute(statement.encode())


@pytest.fixture
def audited(database: TestDatabase) -> Audited:
    import anyio  # noqa: PLC0415 - only here, for the one call that has no sync form

    org_id, domain_id, action = uuid4(), uuid4(), uuid4()

    async def register() -> None:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            await Worlds(db).register(org_id, domain_id, "Payments")

    anyio.run(register)
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        operator = db.agent("world_agent").bind(
            org_id=org_id, domain_id=domain_id, principal=Principal.operator("ada")
        )
        stated = operator.prefer(HOSTILE, claim=Claim("output", "style", "full"))
        assert stated.entry_id is not None
        operator.link_action(action, "rule_promotion", [stated.entry_id], reason="so we act")
        operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    return Audited(database, {"org_id": str(org_id), "domain_id": str(domain_id)}, action)


def test_an_intact_chain_is_verified_and_its_head_kept(audited: Audited, tmp_path: Path) -> None:
    file = str(tmp_path / "head.json")
    ran = audited.ask("verify", "--save-head", file)
    assert ran.code == 0
    assert "intact" in ran.out
    assert "5 links, 2 entries" in ran.out
    kept = json.loads(Path(file).read_text("utf-8"))
    assert list(kept) == ["agent", "anchor", "position", "hash", "at"]
    again = audited.ask("verify", "--head", file, "--json")
    assert (again.code, again.err) == (0, "")
    assert again.json() == {
        "intact": True, "links": 5, "entries": 2, "head": kept, "compared": kept, "problems": [],
        "more": 0, "unwitnessed": 0,
    }  # fmt: skip


def test_a_broken_chain_ends_with_nine_and_keeps_no_head(audited: Audited, tmp_path: Path) -> None:
    audited.tamper("UPDATE worlds.world_agent_memory_ledger SET reason = 'x' WHERE position = 2")
    head = tmp_path / "head.json"
    ran = audited.ask("verify", "--save-head", str(head), "--json")
    assert ran.code == 9
    (problem,) = ran.json()["problems"]
    assert (problem["kind"], problem["position"], problem["what"]) == ("altered", 2, "link")
    assert not head.exists()
    shown = audited.ask("verify")
    assert shown.code == 9
    assert "broken: 1 problem" in shown.out
    assert "What to do: " in shown.out


def test_a_cut_tail_shows_against_a_kept_head(audited: Audited, tmp_path: Path) -> None:
    file = str(tmp_path / "head.json")
    assert audited.ask("verify", "--save-head", file).code == 0
    audited.tamper(
        """DELETE FROM worlds.world_agent_memory_ledger WHERE position > 4;
           UPDATE worlds.world_agent_memory_anchors a SET position = 4, hash = l.hash, at = l.at
           FROM worlds.world_agent_memory_ledger l WHERE l.position = 4"""
    )
    found = audited.ask("verify", "--head", file, "--json").json()["problems"]
    assert ("cut", 5) in [(each["kind"], each["position"]) for each in found]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[" * 100_000], ids=lambda t: t[:3] or "''")
def test_a_file_that_is_no_head_is_bad_input(audited: Audited, tmp_path: Path, text: str) -> None:
    file = tmp_path / "head.json"
    file.write_text(text, "utf-8")
    ran = audited.ask("verify", "--head", str(file), "--json")
    assert (ran.code, ran.out) == (2, "")


def test_an_action_is_explained_and_cannot_act_on_the_terminal(audited: Audited) -> None:
    ran = audited.ask("explain", str(audited.action))
    assert ran.code == 0
    assert "by operator:ada: so we act" in ran.out
    assert "current then, superseded now" in ran.out
    assert "\x1b" not in ran.out
    assert r"\x1b[2J" in ran.out
    data = audited.ask("explain", str(audited.action), "--json").json()
    assert data["action_id"] == str(audited.action)
    assert data["entries"][0]["text"] == HOSTILE
    assert audited.ask("explain", str(uuid4()), "--json").error()["code"] == "not_found"
    refused = audited.ask("explain", str(audited.action), "--json", who="operator:ada")
    assert (refused.code, refused.error()["code"]) == (3, "capability")

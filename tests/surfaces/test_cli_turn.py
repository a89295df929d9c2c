"""`idetic observe`, `context`, `close`, and the two queues, against a real database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio
import pytest

from idetic import Idetic, Principal, Rule, open_sync
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import row_counts
from tests.surfaces.cli_runner import Ran, called


@dataclass(frozen=True)
class Shell:
    """A terminal within one anchor."""

    database: TestDatabase
    world: World

    def run(self, *words: str, who: str = "operator:ada", stdin: str = "") -> Ran:
        ids = {"org_id": self.world.org_id, "domain_id": self.world.domain_id}
        anchor = [f"--anchor={name}={value}" for name, value in ids.items()]
        scope = ["--agent", "world_agent", "--as", who, "--dsn", self.database.dsn]
        return called(*words, *scope, *anchor, stdin=stdin)

    def json(self, *words: str, **more: str) -> Any:
        ran = self.run(*words, "--json", **more)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.json()

    def memory(self, db: Any) -> Any:
        return db.agent("world_agent").bind(
            org_id=self.world.org_id,
            domain_id=self.world.domain_id,
            principal=Principal.operator("ada"),
        )


@pytest.fixture
def shell(database: TestDatabase) -> Shell:
    async def prepare() -> World:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            return await make_world(db, await db.agent("world_agent"))

    return Shell(database, anyio.run(prepare))


def test_a_session_from_the_shell(shell: Shell) -> None:
    first = shell.json("observe", "The second check came late.")
    assert first["decision"] == "ADD"
    session = first["session_id"]
    second = shell.json(
        "observe", "-", "--session", session, "--envelope", "topic=payments/wire",
        "--envelope", "tags=late, friday", "--claim", "subject=second check",
        "--claim", "attribute=timing", "--claim", "value=late",
        "--ref", f"rule:{shell.world.rule.id}@1", "--heard-from", "tool",
        "--valid-at", "2026-01-31T12:00:00Z", "--provenance", "world_model_version=7",
        "--idempotency-key", "note 2", stdin="Again it came late.",
    )  # fmt: skip
    assert second["session_id"] == session
    entries = {each["id"]: each for each in shell.json("list")["entries"]}
    written = entries[second["entry_id"]]
    assert written["body_text"] == "Again it came late."
    assert written["envelope"]["tags"] == ["late", "friday"]
    assert written["envelope"]["claim"]["subject"] == "second check"
    assert (written["origin"], written["session_id"]) == ("tool", session)
    assert written["refs"][0]["version"] == 1
    block = shell.json("context", "late check", "--session", session)
    assert "Again it came late." in block["text"]
    assert block["tokens"] <= block["ceiling"]
    assert {each["entry_id"] for each in block["included"]} == set(entries)
    shown = shell.run("context", "late check", "--session", session).out
    assert shown.startswith("Memory: quoted evidence.")
    small = shell.json("context", "late check", "--session", session, "--budget", "60")
    assert small["tokens"] <= 60
    done = shell.json("close", session, "--reason", "the day is over")
    assert done["session_id"] == session
    assert "held" in {each["transition"] for each in done["decided"]}
    assert "closed already" in shell.run("close", session).out
    assert shell.run("observe", "Too late.", "--session", session).code == 3


def test_observing_says_where_it_went(shell: Shell) -> None:
    shown = shell.run("observe", "Where does this go?", who="agent:explorer").out
    assert "ADD" in shown
    assert "idetic close" in shown


def test_what_is_refused_opens_no_session(shell: Shell) -> None:
    before = row_counts(shell.database.admin_dsn, "worlds")
    for words in (("",), ("x" * 3_000,), ("a", "--envelope", "planet=x"), ("a", "--ref", "x"),
                  ("a", "--claim", "subject=x"), ("a", "--provenance", "x=y"),
                  ("a", "--valid-at", "2026-01-01T00:00:00"), ("a", "--heard-from", "canonical"),
                  ("a", "--session", "x")):  # fmt: skip
        ran = shell.run("observe", *words)
        assert ran.code in (2, 3), (words, ran)
        assert "What to do: " in ran.err
    assert shell.run("observe", "a", who="customer:cleo").code == 3
    assert row_counts(shell.database.admin_dsn, "worlds") == before
    assert "restates rule" in shell.run("observe", RULE_TEXT).err


def test_contradictions_are_listed_and_resolved(shell: Shell) -> None:
    assert shell.run("contradictions").out == "No contradictions.\n"
    with open_sync(shell.database.dsn) as db:
        kept = shell.memory(db).prefer("Skip the second check on small wires.")
        rule = Rule(shell.world.rule.id)
        shell.memory(db).contradict(kept.entry_id, rule, reason="it says otherwise")
    (row,) = shell.json("contradictions")["contradictions"]
    assert (row["entry_id"], row["status"]) == (str(kept.entry_id), "open")
    assert row["ref"]["id"] == str(shell.world.rule.id)
    assert row["id"] in shell.run("contradictions").out
    notes = ("--notes", "asked the desk")
    assert shell.run("resolve", row["id"], "promoted_to_revision_signal", *notes).code == 3
    done = shell.json("resolve", row["id"], "dismissed", *notes)
    assert done["status"] == "dismissed"
    assert shell.json("contradictions")["contradictions"] == []
    (old,) = shell.json("contradictions", "--status", "dismissed")["contradictions"]
    assert old["resolution_notes"] == "asked the desk"
    assert shell.run("resolve", str(uuid4()), "dismissed", *notes).code == 4
    assert shell.run("resolve", row["id"], "dismissed", *notes, who="agent:x").code == 3


def test_what_is_due_is_listed_and_decided(shell: Shell) -> None:
    assert shell.run("disposition").out == "Nothing waits for a decision.\n"
    entry = anyio.run(_lapsed, shell)
    (due,) = shell.json("disposition")["disposition"]
    assert due["entry"]["id"] == entry
    assert 0 < due["pressure"] <= 1
    assert entry in shell.run("disposition").out
    assert shell.run("dispose", "archive", str(uuid4()), "--reason", "x").code == 4
    assert shell.run("dispose", "vanish", entry, "--reason", "x").code == 2
    (done,) = shell.json("dispose", "archive", entry, "--reason", "no longer so")["decided"]
    assert (done["entry_id"], done["decision"]) == (entry, "UPDATE")
    assert shell.json("disposition")["disposition"] == []


async def _lapsed(shell: Shell) -> str:
    """A candidate of a year ago that nobody ever supported."""
    clock = SettableClock()
    clock.advance(days=-365)
    async with Idetic.open(shell.database.dsn, clock=clock) as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=shell.world.org_id,
            domain_id=shell.world.domain_id,
            principal=Principal.agent("explorer"),
        )
        from idetic import Claim  # noqa: PLC0415

        async with memory.session() as session:
            await session.observe("Wires are slow.", claim=Claim("wires", "speed", "slow"))
        (entry,) = await memory.list()
        assert entry.candidate
    return str(entry.id)


def test_content_cannot_act_on_the_terminal(shell: Shell) -> None:
    shell.json("observe", "Clear \x1b[2J it \u202ebackwards.", "--session", (one := str(uuid4())))
    for words in (("context", "clear it", "--session", one), ("recall", "clear it")):
        shown = shell.run(*words).out
        assert "\x1b" not in shown
        assert "\u202e" not in shown

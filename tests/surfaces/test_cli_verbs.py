"""Every verb has a command that is made from its declaration; a verb of somebody else's too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio
import pytest

from idetic import Idetic
from idetic.engine import Binding
from idetic.model import Capability
from idetic.surfaces.cli.verb_group import declared_commands
from idetic.verbs.declaration import VERBS, get, verb
from tests.conftest import TestDatabase, World, make_world
from tests.surfaces.cli_runner import Ran, called

LOOKING = sorted(
    each.command
    for each in VERBS.values()
    if each.command and not each.writes and not any(p.required for p in each.parameters.values())
)


@dataclass(frozen=True)
class Shell:
    """A terminal within one anchor."""

    database: TestDatabase
    world: World

    def run(self, *words: str, who: str = "operator:ada") -> Ran:
        ids = {"org_id": self.world.org_id, "domain_id": self.world.domain_id}
        anchor = [f"--anchor={name}={value}" for name, value in ids.items()]
        scope = ["--agent", "world_agent", "--as", who, "--dsn", self.database.dsn]
        return called(*words, *scope, *anchor)

    def json(self, *words: str, who: str = "operator:ada") -> Any:
        ran = self.run(*words, "--json", who=who)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.json()


@pytest.fixture
def shell(database: TestDatabase) -> Shell:
    async def prepare() -> World:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            return await make_world(db, await db.agent("world_agent"))

    return Shell(database, anyio.run(prepare))


@pytest.fixture
def toy() -> Iterator[None]:
    @verb(capability=Capability.READ, http=get("/toys/{name}", "toys"))
    async def count_toys(binding: Binding, name: str, *, twice: bool = False) -> dict[str, int]:
        """Count the letters of a toy's name."""
        del binding
        return {name: len(name) * (2 if twice else 1)}

    yield
    del VERBS["count_toys"]


def test_the_help_names_every_declared_verb_without_importing_one() -> None:
    declared = {each.command: each.summary for each in VERBS.values() if each.command is not None}
    assert {name: known.summary for name, known in declared_commands().items()} == declared


@pytest.mark.usefixtures("toy")
def test_a_verb_of_somebody_elses_is_a_command(shell: Shell) -> None:
    assert shell.json("count-toys", "bear", "--twice") == {"count_toys": {"bear": 8}}
    assert "bear" in shell.run("count-toys", "bear").out
    assert "Count the letters of a toy's name." in called("--help").out
    shown = called("count-toys", "--help").out
    assert "NAME" in shown
    assert "--twice" in shown
    assert "$ idetic count-toys NAME --agent" in shown


def test_an_entry_from_its_statement_to_its_end_and_back(shell: Shell) -> None:
    stated = shell.json("prefer", "Be brief.", "--claim", "subject=output",
                        "--claim", "attribute=style", "--claim", "value=brief")  # fmt: skip
    entry = stated["entry_id"]
    assert shell.json("get", entry)["state"] == "current"
    acted = shell.json("link-action", str(uuid4()), "rule_promotion", entry)
    assert acted["decision"] == "ADD"
    assert [one["id"] for one in shell.json("about", "output")["entries"]] == [entry]
    gone = shell.json("archive", entry, "--reason", "no longer so")
    assert shell.json("get", entry)["state"] == "archived"
    shell.json("undo", str(gone["position"]), "--reason", "a mistake")
    assert shell.json("get", entry)["state"] == "current"
    reference = f"rule:{shell.world.rule.id}"
    shell.json("contradict", entry, reference, "--reason", "it says otherwise")
    told = shell.run("contradictions").out
    assert entry in told
    assert str(shell.world.rule.id) in told


def test_what_only_looks_answers_people_and_programs(shell: Shell) -> None:
    shell.json("observe", "The second check came late.")
    shell.json("prefer", "Be brief.")
    assert len(LOOKING) > 15
    for command in LOOKING:
        audits = command in ("actions", "anchors", "head", "verify")
        who = "auditor:ben" if audits else "operator:ada"
        if command in ("embed", "index-words", "reembed", "reconcile"):
            who = "maintenance:m"
        for words in ((command,), (command, "--json")):
            ran = shell.run(*words, who=who)
            # Without a model there is nothing to embed with, and that is said.
            assert ran.code in ((0, 6, 7) if command.endswith("embed") else (0,)), (command, ran)
            assert "Traceback" not in ran.err

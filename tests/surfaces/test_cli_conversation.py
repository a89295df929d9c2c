"""`idetic add`, `extract`, `profile` and `why`: a user's memory from a terminal."""

from __future__ import annotations

import json

import anyio

from idetic import Idetic
from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import Ran, called

EXPORT = [
    {"role": "user", "content": "I'm vegetarian.", "id": "m1"},
    {"role": "assistant", "content": "Noted.", "id": "m2"},
]


def test_a_conversation_is_added_and_read_from_the_shell(database: TestDatabase) -> None:
    async def prepare() -> None:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            await db.agent("assistant_agent")

    def run(*words: str, stdin: str = "") -> Ran:
        anchor = ["--anchor=tenant_id=shop", "--anchor=user_id=mia"]
        scope = ["--agent=assistant_agent", "--as=agent:assistant", "--dsn", database.dsn]
        ran = called(*words, *scope, *anchor, stdin=stdin)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran

    anyio.run(prepare)
    run("add", "I'm allergic to peanuts.")
    added = run("add", "-", "--json", stdin=json.dumps(EXPORT)).json()
    assert [len(one["entry_ids"]) for one in added["add"]] == [1, 1]
    assert run("add", json.dumps(EXPORT), "--json").json()["add"][0]["replayed"] is True
    assert "3 messages read" not in run("extract").out, "agents' words are no evidence"
    profile = run("profile").out
    assert "The user is allergic to peanuts." in profile
    assert "The user's diet is vegetarian." in profile
    assert "{" not in profile
    (diet,) = [
        one["id"] for one in run("profile", "--json").json()["facts"] if "diet" in one["body_text"]
    ]
    assert "user: “I'm vegetarian.”" in run("why", diet).out
    assert "2 messages read, 0 claims drawn" in run("extract", "--again", "--dry-run").out

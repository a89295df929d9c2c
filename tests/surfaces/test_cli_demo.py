"""`idetic demo`: the story runs to its end, any number of times, and what it says is true."""

from __future__ import annotations

import re

from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import called, process


def test_twice_on_one_database_from_nothing(empty_database: TestDatabase) -> None:
    first = process("demo", IDETIC_DSN=empty_database.dsn)
    again = process("demo", IDETIC_DSN=empty_database.dsn)
    for ran in (first, again):
        assert (ran.code, ran.err) == (0, "")
        assert [f"\n{n}. " in ran.out for n in range(1, 10)] == [True] * 9
    org = re.compile(r"org_id=([0-9a-f-]{36})")
    assert set(org.findall(first.out)).isdisjoint(org.findall(again.out))


def test_the_story_as_data(database: TestDatabase) -> None:
    ran = called("demo", "--dsn", database.admin_dsn, "--json")
    assert (ran.code, ran.err) == (0, "")
    told = ran.json()
    assert told["seconds"] < 60
    scenes = {each["scene"]: each for each in told["scenes"]}
    assert scenes["spec"]["spec"]["agent"] == "world_agent"
    assert len(scenes["world"]["rules"]) == 5
    assert [each["scene"] for each in told["scenes"]].count("session") == 2
    codes = [each["error"]["code"] for each in scenes["refusal"]["attempts"]]
    assert codes == ["shadow", "write_policy"]
    assert scenes["replay"]["first"]["id"] == scenes["replay"]["again"]["id"]
    assert scenes["replay"]["again"]["replayed"]
    preferred = scenes["preference"]
    assert preferred["second"]["superseded"] == preferred["first"]["entry_id"]
    ledger = scenes["ledger"]
    transitions = [each["transition"] for each in ledger["history"]]
    assert transitions == ["preferred", "action_linked", "superseded"]
    assert [each["id"] for each in ledger["then"]] == [preferred["first"]["entry_id"]]
    assert [each["id"] for each in ledger["now"]] == [preferred["second"]["entry_id"]]


def test_what_it_says_to_try_next_works(database: TestDatabase) -> None:
    told = called("demo", "--dsn", database.admin_dsn).out
    lines = re.findall(r"^  idetic ((?:list|history|spec render) .*)$", told, re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        ran = called(*line.split(), "--dsn", database.admin_dsn)
        assert (ran.code, ran.err) == (0, "")

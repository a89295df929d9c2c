"""`idetic demo`: the world is there, the story runs to its end any number of times, and both are
what they are said to be. From nothing it runs in `tests/acceptance/test_wheel.py`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from tests.conftest import TestDatabase
from tests.support.databases import copy_of
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import administered, process

# A first load takes a while, so progress begins at once, also without a terminal.
BEGUN = "Loading the demo world ...\n"


@pytest.fixture(scope="module")
def database(server: TestServer, demo_template: str) -> Iterator[TestDatabase]:
    """One database for all of them."""
    with copy_of(server, demo_template) as made:
        yield made


def test_the_story_once_and_once_more(database: TestDatabase) -> None:
    logins = {"IDETIC_DSN": database.dsn, "IDETIC_ADMIN_DSN": database.admin_dsn}
    first, again = process("demo", **logins), administered(database, "demo")
    for ran in (first, again):
        assert (ran.code, ran.err) == (0, BEGUN)
        assert [f"\n{n}. " in ran.out for n in range(1, 10)] == [True] * 9
        assert "The demo world is there." in ran.out
        assert "There was no embedding model" in ran.out
    org = re.compile(r"org_id=([0-9a-f-]{36})")
    assert set(org.findall(first.out)).isdisjoint(org.findall(again.out))


def test_the_story_as_data(database: TestDatabase) -> None:
    ran = administered(database, "demo", "--json")
    assert (ran.code, ran.err) == (0, "")
    told = ran.json()
    assert told["world"]["counts"]["Kestrel Pay/Instant payments"]["rules"] == 22
    kinds = [each["kind"] for each in told["scenes"]]
    assert kinds.count("session") == 2
    scenes = {each["title"]: each for each in told["scenes"]}
    looks = {kind: rows for each in told["scenes"] for kind, rows in each["sections"].items()}
    assert looks["spec"][0]["declared"].startswith("world_agent: ")
    assert len(looks["rules"]) == 5
    assert [each["code"] for each in looks["refused"]] == ["shadow", "write_policy"]
    first, again = looks["receipts"]
    assert first["receipt"] == again["receipt"]
    assert (first["replayed"], again["replayed"]) == ("no", "yes")
    second = scenes["A preference takes another's place"]["lines"]
    assert [(line["what"], line["did"]) for line in second] == [
        ("report-brief", "preferred"),
        ("report-full", "superseded"),
    ]
    transitions = [each["transition"] for each in looks["history"]]
    assert transitions == ["preferred", "action_linked", "superseded"]
    then, now = looks["current"]
    assert then["asked"].startswith("as of ")
    assert then["says"].startswith("Report findings with every sample")
    assert now["says"].startswith("Report a finding as one sentence")
    assert then["entry"] != now["entry"]


def test_what_it_says_to_try_next_works(database: TestDatabase) -> None:
    told = administered(database, "demo").out
    lines = re.findall(r"^  idetic ((?:list|history|spec render) .*)$", told, re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        ran = administered(database, *line.split())
        assert (ran.code, ran.err) == (0, "")


def test_the_world_and_what_it_says_to_try_next(database: TestDatabase) -> None:
    ran = administered(database, "demo", "world")
    assert (ran.code, ran.err) == (0, BEGUN)
    for said in ("Who is who", "Nordhafen Bank", "Kestrel Pay", "operator:bram", "customer:kaya"):
        assert said in ran.out
    lines = re.findall(r"^  idetic ((?:recall|explain|list|verify) .*)$", ran.out, re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        ran = administered(database, *shlex.split(line))
        assert (ran.code, ran.err) == (0, "")


def test_the_world_as_data(database: TestDatabase) -> None:
    ran = administered(database, "demo", "world", "--json")
    assert (ran.code, ran.err) == (0, "")
    data = ran.json()
    assert (data["loaded"], data["abandoned"], data["embedded"]) == (False, 0, False)
    assert [one["name"] for one in data["organisations"]] == ["Nordhafen Bank", "Kestrel Pay"]
    assert {one["who"] for one in data["logins"]} == {
        *("operator", "agent", "auditor", "customer", "actor"),
    }
    assert len(data["actions"]) == 18

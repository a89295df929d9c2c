"""Hundreds of commands on memory that are none, at a real database: nothing comes of them.

Within this process, so that hundreds take seconds; `test_cli_malformed.py` runs processes too.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.support.aside import run
from tests.support.databases import copy_of, row_counts
from tests.support.mcp_house import NEVER, House, make_house
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import Ran, called

INJECTION = "'; DROP TABLE worlds.world_agent_memory; --"
BAD_ID = ["", " ", "x", INJECTION, "a\x00b", "a\udcffb", "💥" * 200, "0" * 300, "../../etc/passwd",
          "\x1b[2J", "%s%n", "{}"]  # fmt: skip
BAD_TEXT = ["", "   ", "a\x00b", "a\udcffb", "x" * 20_000]
BAD_NUMBER = ["0", "-1", "x", "1.5", "9" * 30, "", "NaN", INJECTION]
BAD_PAIR = ["", "x", "=x", "planet=x", "topic=", "topic=a//b", "a\x00=b", "topic=" + "x" * 5_000,
            f"{INJECTION}=1", "claim=x", "tags=" + ",".join("abc" * 90)]  # fmt: skip
BAD_REF = ["", "x", "rule", "rule:", ":x", "rule:x", f"rule:{INJECTION}", f"runbook:{uuid4()}",
           f"rule:{uuid4()}@", f"rule:{uuid4()}@x", f"rule:{uuid4()}@0", f"rule:{uuid4()}@-1",
           f"rule:{uuid4()}@{'9' * 40}", f"rule:{uuid4()}@٣"]  # fmt: skip
BAD_TIME = ["", "x", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59-12:00", INJECTION, "a\x00b"]  # fmt: skip
BAD_WHO = ["", "x", "ada", "pirate:ada", "operator:", ":ada", "operator:a\x00b",
           "operator:" + "x" * 300, f"operator{INJECTION}"]  # fmt: skip
BAD_ANCHOR = ["", "x", "org_id", "org_id=x", "planet=x", f"org_id={INJECTION}", "org_id=a\x00b",
              "principal=x", "self=x", "=", "domain_id=*"]  # fmt: skip
CLAIM_PART = ["x", "subject=x", "planet=x", "subject=", "value=a\x00b"]
# The same in every process of a parallel run: it is part of test ids.
ID = "7b1f7c0e-6f43-4f0d-9d0e-2f6f1f5f0a11"
# A command's words, and the values that do not fit at its {}.
COMMANDS: list[tuple[tuple[str, ...], list[str]]] = [
    (("observe", "{}"), BAD_TEXT),
    (("observe", "A note.", "--session", "{}"), BAD_ID),
    (("observe", "A note.", "--envelope", "{}"), BAD_PAIR),
    (("observe", "A note.", "--claim", "{}"), CLAIM_PART),
    (("observe", "A note.", "--ref", "{}"), BAD_REF),
    (("observe", "A note.", "--provenance", "{}"), ["", "x", "planet=x", "world_model_version="]),
    (("observe", "A note.", "--valid-at", "{}"), BAD_TIME[1:]),
    (("observe", "A note.", "--heard-from", "{}"), ["", "x", "canonical", INJECTION]),
    (("observe", "A note.", "--idempotency-key", "{}"), ["", "x" * 300, "a\x00b"]),
    (("context", "{}"), [*BAD_TEXT[:-1], "x" * 20_000]),
    # A large budget is only more than the ceiling.
    (("context", "wires", "--budget", "{}"), [n for n in BAD_NUMBER if n != "9" * 30]),
    (("context", "wires", "--limit", "{}"), BAD_NUMBER),
    (("context", "wires", "--session", "{}"), BAD_ID),
    (
        ("context", "wires", "--envelope", "{}"),
        [p for p in BAD_PAIR if not p.startswith("topic=a")],
    ),
    (("close", "{}"), [*BAD_ID, ID]),
    (("close", ID, "--reason", "{}"), BAD_TEXT),
    (("contradictions", "--limit", "{}"), BAD_NUMBER),
    (("contradictions", "--status", "{}"), ["", "x", "OPEN", INJECTION]),
    (("resolve", "{}", "dismissed", "--notes", "x"), [*BAD_ID, ID]),
    (("resolve", ID, "{}", "--notes", "x"), ["", "x", INJECTION]),
    (("resolve", ID, "dismissed", "--notes", "{}"), [*BAD_TEXT, "fine"]),
    (("disposition", "--limit", "{}"), BAD_NUMBER),
    (("dispose", "{}", ID, "--reason", "x"), ["", "x", "vanish", INJECTION]),
    (("dispose", "archive", "{}", "--reason", "x"), [*BAD_ID, ID]),
    (("dispose", "archive", ID, "--reason", "{}"), BAD_TEXT),
    (("list", "--before", "{}"), BAD_ID[1:]),
    (("list", "--limit", "{}"), BAD_NUMBER),
    (("history", "{}"), [*BAD_ID, ID]),
    (("explain", "{}"), [*BAD_ID, ID]),
    (("recall", "{}"), BAD_TEXT),
    (("recall", "wires", "--limit", "{}"), BAD_NUMBER),
    (("erase", "{}", "--reason", "x", "--yes"), ["a\x00b", "a\udcffb", "x" * 20_000]),
    (("erase", "Zora", "--reason", "{}", "--yes"), BAD_TEXT),
    (("observe", "A note.", "--as", "{}"), BAD_WHO),
    (("context", "wires", "--as", "{}"), BAD_WHO),
    (("close", ID, "--as", "{}"), BAD_WHO),
    (("contradictions", "--as", "{}"), BAD_WHO),
    (("observe", "A note.", "--agent", "{}"), ["", "nobody", INJECTION, "a\x00b", "a\udcffb"]),
    (("observe", "A note.", "--anchor", "{}"), BAD_ANCHOR),
    (("disposition", "--anchor", "{}"), BAD_ANCHOR),
]
CASES = [(words, value) for words, values in COMMANDS for value in values]


@pytest.fixture(scope="module")
def house(server: TestServer, template: str) -> Iterator[House]:
    with copy_of(server, template) as database:
        yield run(make_house, database)


def test_there_are_hundreds() -> None:
    assert len(CASES) > 300


@pytest.mark.parametrize("words", [words for words, _ in COMMANDS], ids=" ".join)
def test_nothing_is_written_and_nothing_is_told(house: House, words: tuple[str, ...]) -> None:
    before = row_counts(house.database.admin_dsn, "worlds")
    values = next(values for each, values in COMMANDS if each == words)
    for value in values:
        typed = [each if each != "{}" else value for each in words]
        ran = called(*typed, *scope(house, words))
        refused(ran, (*typed,))
    assert row_counts(house.database.admin_dsn, "worlds") == before


def scope(house: House, words: tuple[str, ...]) -> list[str]:
    """The rest of the scope; what a case gets wrong itself is not said a second time."""
    ids = {"org_id": house.mine.world.org_id, "domain_id": house.mine.world.domain_id}
    anchor = [] if "--anchor" in words else [f"--anchor={k}={v}" for k, v in ids.items()]
    agent = [] if "--agent" in words else ["--agent=world_agent"]
    who = [] if "--as" in words else ["--as=operator:ada"]
    return [*anchor, *agent, *who, "--dsn", house.database.dsn]


def refused(ran: Ran, typed: tuple[str, ...]) -> None:
    assert ran.code in (2, 3, 4, 5), (typed, ran)
    assert ran.out == "", typed
    assert "What to do: " in ran.err, typed
    assert "\x1b" not in ran.err, typed
    told = ran.err.replace(INJECTION, "")
    assert not [word for word in NEVER if word in told], (typed, ran.err)
    assert len(ran.err) < 30_000 + sum(map(len, typed))


def test_stdin_that_is_no_note(house: House) -> None:
    before = row_counts(house.database.admin_dsn, "worlds")
    for text in ("", "\n\n", "a\x00b", "x" * (3 << 20)):
        refused(called("observe", "-", *scope(house, ()), stdin=text), ("-",))
    assert row_counts(house.database.admin_dsn, "worlds") == before

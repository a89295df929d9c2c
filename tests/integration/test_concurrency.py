"""Several processes at once: nothing is lost, nothing is written twice, the chain has no gap."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import TestDatabase, World
from tests.support.chain import Chain, read_chain
from tests.support.children import child

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PROCESSES, WRITERS, WRITES = 2, 8, 12


@contextmanager
def started(module: str, orders: list[dict[str, Any]]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have their orders and wait for the word; none outlives the test."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(child([sys.executable, "-m", module], cwd=ROOT, **pipes))
            for _ in orders
        ]
        for process, order in zip(processes, orders, strict=True):
            assert process.stdin
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "ready\n", _stderr(process)
        yield processes


def together(module: str, orders: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Start all, say go to all, and give back what each one printed."""
    with started(module, orders) as processes:
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = []
        for process in processes:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            answers.append([json.loads(line) for line in out.splitlines()])
    return answers


def _stderr(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=30)[1]


def _work(process: int) -> list[list[tuple[str, str]]]:
    """What each writer of a process does. Every third key is shared with the other process's
    writer of the same number, and every sixth with every writer of both.
    """
    return [
        [_write(process, writer, n, "observe" if n % 2 else "prefer") for n in range(WRITES)]
        for writer in range(WRITERS)
    ]


def _write(process: int, writer: int, n: int, verb: str) -> tuple[str, str]:
    if n % 6 == 0:
        return verb, f"everyone {n}"
    if n % 3 == 0:
        return verb, f"writer {writer} {n}"
    return verb, f"process {process} writer {writer} {n}"


@pytest.fixture
async def raced(
    database: TestDatabase, world: World
) -> tuple[list[dict[str, Any]], Chain, TestDatabase]:
    """What sixteen writers in two processes were told, and the chain they left."""
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    orders = [
        {
            "dsn": database.dsn,
            "admin_dsn": database.admin_dsn,
            "anchor": {name: str(value) for name, value in anchor.items()},
            # One principal: keys are its own, whichever process uses them.
            "name": "one writer",
            "writers": _work(process),
        }
        for process in range(PROCESSES)
    ]
    answers = together("tests.support.writer", orders)
    with psycopg.connect(database.admin_dsn) as connection:
        chain = read_chain(connection, "worlds", "world_agent", anchor)
    return [line for answer in answers for line in answer], chain, database


async def test_two_processes_of_eight_writers_lose_and_double_nothing(
    raced: tuple[list[dict[str, Any]], Chain, TestDatabase],
) -> None:
    said, chain, database = raced
    keys = {key for process in range(PROCESSES) for work in _work(process) for _, key in work}
    assert len(said) == PROCESSES * WRITERS * WRITES, "every write was answered"

    told = defaultdict(set)
    for line in said:
        told[line["key"]].add((line["receipt"], line["entry"], line["position"]))
    assert set(told) == keys
    assert {len(receipts) for receipts in told.values()} == {1}, "one key, one receipt"
    first = Counter(line["key"] for line in said if not line["replayed"])
    assert first == Counter(keys), "exactly one of each key's writes did it, the others replay"

    stood = {(str(row["receipt_id"]), row["position"]) for row in chain.rows}
    assert {(r, p) for receipts in told.values() for r, _, p in receipts} <= stood
    with psycopg.connect(database.admin_dsn) as connection:
        entries = connection.execute("SELECT memory_id::text FROM worlds.world_agent_memory")
        assert {entry for (entry,) in entries} == {e for r in told.values() for _, e, _ in r}
        kept = connection.execute("SELECT idempotency_key FROM worlds.world_agent_memory_receipts")
        # Each is kept with whose it is before it.
        assert {key.split(" ", 1)[1] for (key,) in kept} == keys

    opened = PROCESSES * WRITERS
    assert [row["position"] for row in chain.rows] == list(range(1, len(keys) + opened + 1))
    assert chain.faults() == []


async def test_control_a_chain_that_was_tampered_with_does_not_verify(
    raced: tuple[list[dict[str, Any]], Chain, TestDatabase],
) -> None:
    _, chain, _ = raced
    rows = [dict(row) for row in chain.rows]
    middle = len(rows) // 2

    def with_row(change: Callable[[dict[str, Any]], None]) -> Chain:
        copies = [dict(row) for row in rows]
        change(copies[middle])
        return replace(chain, rows=tuple(copies))

    changed: dict[str, Any] = {
        "actor": "mallory", "reason": "because", "transition": "archived", "decision": "NOOP",
        "state_to": "archived", "detail": {}, "receipt_id": rows[0]["receipt_id"],
        "at": rows[-1]["at"].replace(year=2020), "hash": bytes(32), "prev_hash": bytes(32),
        "position": 1, "memory_id": rows[0]["receipt_id"], "actor_kind": "auditor",
    }  # fmt: skip
    for field, value in changed.items():
        tampered = with_row(lambda row, f=field, v=value: row.update({f: v}))  # type: ignore[misc]
        assert tampered.faults(), field
    gone = replace(chain, rows=tuple(rows[:middle] + rows[middle + 1 :]))
    swapped = [*rows[:middle], rows[middle + 1], rows[middle], *rows[middle + 2 :]]
    invented = [*rows[:middle], rows[middle], *rows[middle:]]
    moved = replace(chain, anchor=tuple(reversed(chain.anchor)))
    assert gone.faults()
    assert replace(chain, rows=tuple(swapped)).faults()
    assert replace(chain, rows=tuple(invented)).faults()
    assert moved.faults(), "a chain belongs to its anchor"


def test_two_processes_that_open_an_empty_database_at_once_both_succeed(
    empty_database: TestDatabase,
) -> None:
    order = {"dsn": empty_database.dsn, "admin_dsn": empty_database.admin_dsn}
    answers = together("tests.support.opener", [order] * 2)
    assert answers == [[{"version": 1}], [{"version": 1}]]
    with psycopg.connect(empty_database.admin_dsn) as connection:
        versions = connection.execute("SELECT agent, version FROM idetic.spec_versions").fetchall()
        made = connection.execute(
            "SELECT count(*), count(DISTINCT (kind, name)) FROM idetic.compiled_objects"
        ).fetchone()
        migrated = connection.execute("SELECT number FROM idetic.migrations").fetchall()
    assert versions == [("world_agent", 1)], "applied once"
    assert made
    assert made[0] == made[1] > 0
    assert len(migrated) == len(set(migrated)) > 0

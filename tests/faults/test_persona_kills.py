"""A process that is killed while it appends or dreams: acknowledged events are there once (R2).

One log of 10,000 events is written by process after process, each but the last killed with SIGKILL
in the middle of it; then the same is done to dreams over a log that was written alone. `make test`
kills twice and writes fewer events, `make faults` 25 times.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg
import pytest

from idetic import Idetic
from idetic.persona.events import EventDraft, EventKind
from idetic.persona.persona_memory import PersonaMemory
from tests.conftest import TestDatabase
from tests.support.children import child
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import remembering

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

LONG = bool(os.environ.get("IDETIC_FAULTS"))
KILLS = 25 if LONG else 2
EVENTS = 10_000 if LONG else 1_200
AGENT = "help-desk"

DOUBLED = """
WITH log AS (SELECT * FROM persona_actor.persona_agent_actor_log),
    entry AS (SELECT * FROM persona_actor.persona_agent_actor_memory WHERE archived_at IS NULL),
    ltm AS (SELECT * FROM entry WHERE event_id IS NOT NULL),
    stm AS (SELECT * FROM entry WHERE loop_id IS NOT NULL)
SELECT (SELECT count(*) - count(DISTINCT event_id) FROM log),
    (SELECT count(*) - count(DISTINCT event_id) FROM ltm),
    (SELECT count(*) - count(DISTINCT loop_id) FROM stm),
    (SELECT count(*) FROM log) - (SELECT max(position) FROM log),
    (SELECT count(*) FROM log l WHERE NOT EXISTS (
        SELECT FROM ltm m WHERE m.event_id = l.event_id)),
    (SELECT count(*) FROM (SELECT loop_id FROM log EXCEPT SELECT loop_id FROM stm) x)
"""


@contextmanager
def process(database: TestDatabase, work: str, **order: Any) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.persona_process"]
    told = {
        "dsn": database.dsn, "admin_dsn": database.admin_dsn, "work": work, "agent": AGENT,
        "total": EVENTS, "derive": True, "pause": 0.0, **order,
    }  # fmt: skip
    with child(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, patience=600.0,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as running:  # fmt: skip
        assert running.stdin
        running.stdin.write(json.dumps(told) + "\n")
        running.stdin.flush()
        yield running


def lines_until(running: subprocess.Popen[str], lines: int | None) -> list[str]:
    """What a process said; after so many lines it is killed, and what it still said counts."""
    said: list[str] = []
    assert running.stdout
    for line in running.stdout:
        if line.strip() != "ready":
            said.append(line.strip())
        if len(said) == lines:
            running.send_signal(signal.SIGKILL)
    code = running.wait()
    assert code == (-signal.SIGKILL if lines is not None else 0)
    return said


async def remembered(database: TestDatabase, stack: list[Idetic]) -> PersonaMemory:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    stack.append(await opened.start())
    return await remembering(stack[-1], AGENT)


async def test_appending_survives_kills(database: TestDatabase) -> None:
    chance = Random(11)  # noqa: S311 - repeatable, not secret
    acknowledged: list[str] = []
    # Half the lines name one event and half of them eight; so a share of the lines is a share of
    # the events, and every kill falls before the end.
    share = EVENTS // (5 * (KILLS + 1))
    for _ in range(KILLS):
        with process(database, "append") as running:
            for line in lines_until(running, chance.randint(1, share)):
                acknowledged += json.loads(line)
    with process(database, "append") as running:
        *told, done = lines_until(running, None)
        assert done == "done"
        for line in told:
            acknowledged += json.loads(line)
    stack: list[Idetic] = []
    memory = await remembered(database, stack)
    try:
        events: set[str] = set()
        after = 0
        while page := await memory.actor.tail(after, limit=1_000):
            events |= {str(event.id) for event in page}
            after = page[-1].position
        assert len(acknowledged) == len(set(acknowledged))
        assert set(acknowledged) <= events, "all that was acknowledged"
        assert EVENTS <= (await memory.actor.head()).position < EVENTS + 100 * (KILLS + 1)
        assert (await memory.actor.verify()).whole
        dreamt = await memory.dream()
        assert dreamt.equal, dreamt
    finally:
        await stack[0].close()
    assert doubled(database) == (0, 0, 0, 0, 0, 0)


async def test_dreaming_survives_kills(database: TestDatabase) -> None:
    stack: list[Idetic] = []
    memory = await remembered(database, stack)
    alone = await remembering(stack[0], AGENT, derive=False)
    for first in range(0, EVENTS, 50):
        async with alone.loop() as loop:
            kinds = (EventKind.USER_INPUT, EventKind.ACTOR_OUTPUT)
            await loop.append_many(
                EventDraft(kinds[n % 2], f"event {first + n} of many") for n in range(50)
            )
    chance = Random(13)  # noqa: S311 - repeatable, not secret
    before = await memory.actor.coverage()
    assert (before.events, before.ltm, before.stm) == (EVENTS, 0, 0)
    for _ in range(KILLS):
        with process(database, "dream", pause=0.02) as running:
            # A dream begins with what is missing, so its first lines are always work.
            lines_until(running, chance.randint(1, max(1, EVENTS // 64 // KILLS)))
    with process(database, "dream") as running:
        *_, verdict, done = lines_until(running, None)
    assert (json.loads(verdict), done) == ({"equal": True}, "done")
    after = await memory.actor.coverage()
    assert after.equal, after
    assert (after.events, after.stm) == (EVENTS, EVENTS // 50)
    assert (await memory.actor.verify()).whole
    assert (await memory.subconscious.verify()).whole
    _, subconscious = await memory.subconscious.coverage()
    assert subconscious.equal, "the loops of killed dreams are covered, too"
    await stack[0].close()
    assert doubled(database) == (0, 0, 0, 0, 0, 0)


def doubled(database: TestDatabase) -> tuple[Any, ...] | None:
    """Events, entries and loops that are there twice, gaps, and events and loops left alone."""
    with psycopg.connect(database.admin_dsn) as connection:
        row: tuple[Any, ...] | None = connection.execute(DOUBLED).fetchone()
        return row

"""Statements that only look alike never touch each other; statements that conflict always settle.

A memory that takes similar words for a contradiction expires facts that are true. Here pairs that
differ in one detail, paraphrases and true conflicts are said without claims, often enough to become
facts: nothing may be merged that differs, and nothing may end by itself. With claims, every
conflict settles: the older value is kept with the time it held, and one undo brings it back
exactly. `make test` says a part of each sort, from every kind and domain; `make faults` all 200, 80
and 60. Whether two are the same is asked of all of them in `tests/unit/test_duplicates.py`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import psycopg
import pytest

from idetic import Claim, Decision, Entry, EntryState, Idetic, Observation, Tier
from idetic.embed import BgeSmall
from idetic.embed.port import Embedder
from idetic.evidence import Closed
from idetic.library.handles import Memory
from tests.conftest import TestDatabase, World, make_world
from tests.support import near_duplicates
from tests.support.chain import chain_faults
from tests.support.clock import SettableClock
from tests.support.near_duplicates import Conflict
from tests.support.voices import another

pytestmark = pytest.mark.anyio

LONG = bool(os.environ.get("IDETIC_FAULTS"))
COMPATIBLE = near_duplicates.COMPATIBLE[:: 1 if LONG else 5]
POSITIVES = near_duplicates.POSITIVES[:: 1 if LONG else 4]
CONFLICTS = near_duplicates.CONFLICTS[:: 1 if LONG else 3]
ENDINGS = ("archived", "superseded", "invalidated", "undone", "merged")


class Remembering:
    """The real model, asked once for each text: the same statements come in every thread."""

    def __init__(self, model: BgeSmall):
        self.profile = model.profile
        self._model = model
        self._known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._model.embed(new), strict=True))
        return np.asarray([self._known[text] for text in texts], dtype=np.float32)


@pytest.fixture(scope="session")
def remembering(embedder: BgeSmall) -> Remembering:
    return Remembering(embedder)


@pytest.fixture(params=["words", "model"])
def chosen(request: pytest.FixtureRequest) -> Embedder | None:
    """Without a model, and with the pinned one."""
    if request.param == "words":
        return None
    found: Embedder = request.getfixturevalue("remembering")
    return found


@asynccontextmanager
async def opened(
    database: TestDatabase, embedder: Embedder | None, clock: SettableClock
) -> AsyncIterator[World]:
    async with Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, embedder=embedder, clock=clock
    ) as db:
        world = await make_world(db, await db.agent("world_agent"))
        yield world
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    assert chain_faults(database.admin_dsn, world.agent, **anchor) == []


async def hear(memory: Memory, threads: int, said: Sequence[Observation]) -> Closed:
    """One session in which every thread says all of it."""
    async with another(memory).session() as session:
        for _ in range(threads):
            async with session.interaction() as thread:
                await thread.observe_many(said)
        return await session.close()


async def hear_enough(memory: Memory, said: Sequence[Observation]) -> Closed:
    """Three threads of two sessions: what a fact needs."""
    await hear(memory, 2, said)
    return await hear(memory, 1, said)


async def persistent(memory: Memory) -> list[Entry]:
    found = await memory.list(tier=Tier.PERSISTENT, limit=1000)
    assert len(found) < 1000
    return found


def endings(database: TestDatabase, world: World) -> dict[str, int]:
    """What ever ended in an anchor, by how."""
    query = """SELECT l.transition, count(*) FROM worlds.world_agent_memory_ledger l
               JOIN worlds.world_agent_memory_anchors a USING (org_id, anchor_id)
               WHERE a.domain_id = %s AND l.transition = ANY (%s) GROUP BY 1"""
    with psycopg.connect(database.admin_dsn) as connection:
        return dict(connection.execute(query, (world.domain_id, list(ENDINGS))).fetchall())


def plain(pairs: Iterable[tuple[str, str]]) -> list[Observation]:
    """Both statements of each pair, without a claim; a text that stands in two pairs once."""
    return [Observation(text) for text in dict.fromkeys(text for pair in pairs for text in pair)]


# --- without claims -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pairs",
    [[(pair.left, pair.right) for pair in COMPATIBLE], [one.texts for one in CONFLICTS]],
    ids=["near_duplicates", "conflicts"],
)
async def test_similar_statements_become_facts_beside_each_other(
    database: TestDatabase, chosen: Embedder | None, pairs: list[tuple[str, str]]
) -> None:
    said = plain(pairs)
    async with opened(database, chosen, SettableClock()) as world:
        await hear_enough(world.memory, said)
        entries = await persistent(world.memory)
        found = {entry.body_text: entry for entry in entries}
        assert len(found) == len(entries), "each statement is one entry"
        assert found.keys() == {one.text for one in said}
        assert not any(entry.candidate for entry in entries)
        assert all(found[left].id != found[right].id for left, right in pairs)
        assert endings(database, world) == {}


async def test_paraphrases_end_nothing_either(
    database: TestDatabase, chosen: Embedder | None
) -> None:
    """Copies become one entry; of paraphrases each may stand for itself; none of them goes."""
    async with opened(database, chosen, SettableClock()) as world:
        for side in (2, 3):
            await hear_enough(world.memory, plain((pair[side],) * 2 for pair in POSITIVES))
        found = await persistent(world.memory)
        assert {entry.body_text for entry in found} >= {pair.left for pair in POSITIVES}
        assert len(POSITIVES) <= len(found) <= 2 * len(POSITIVES)
        assert not any(entry.candidate for entry in found)
        assert endings(database, world) == {}


# --- with claims ----------------------------------------------------------------------------------


def claimed(number: int) -> list[Observation]:
    """The first or the second value of every conflict, as a claim."""
    return [
        Observation(
            conflict.texts[number],
            claim=Claim(conflict.subject, conflict.attribute, conflict.values[number]),
        )
        for conflict in CONFLICTS
    ]


def by_text(entries: Iterable[Entry], number: int) -> dict[Conflict, Entry]:
    found = {entry.body_text: entry for entry in entries}
    return {conflict: found[conflict.texts[number]] for conflict in CONFLICTS}


async def test_every_true_conflict_settles_and_undo_restores_it_exactly(
    database: TestDatabase, chosen: Embedder | None
) -> None:
    clock = SettableClock()
    async with opened(database, chosen, clock) as world:
        memory = world.operator
        await hear_enough(memory, claimed(0))
        clock.advance(days=1)
        await hear(memory, 2, claimed(1))
        before = [by_text(await persistent(memory), number) for number in (0, 1)]
        assert all(not e.candidate for e in before[0].values()), "one voice short of a conflict"
        assert all(e.candidate for e in before[1].values())
        clock.advance(days=1)
        closed = await hear(memory, 1, claimed(1))
        assert (closed.count("promoted"), closed.count("invalidated")) == (len(CONFLICTS),) * 2
        for conflict in CONFLICTS:
            await settled(memory, before[0][conflict], before[1][conflict], clock)
        assert endings(database, world) == {"invalidated": len(CONFLICTS)}
        clock.advance(days=1)
        for one in closed.decided:
            if one.transition == "promoted":
                receipt = await memory.undo(one.receipt, reason="it was a mistake")
                assert receipt.decision is Decision.UPDATE
        after = [by_text(await persistent(memory), number) for number in (0, 1)]
        assert after == before, "exactly as it was"


async def settled(memory: Memory, older: Entry, newer: Entry, clock: SettableClock) -> None:
    """Both are kept, one after the other in time; only the newer one is current."""
    was, now = await memory.get(older.id), await memory.get(newer.id)
    assert (was.state, now.state) == (EntryState.INVALIDATED, EntryState.CURRENT)
    assert not now.candidate
    assert was.invalid_at == was.invalidated_at == now.valid_at == clock.now()
    assert was.valid_at is not None
    assert was.valid_at + timedelta(days=1) < clock.now()
    assert (was.body_text, was.claim) == (older.body_text, older.claim)
    story = [link.transition for link in await memory.history(older.id)]
    assert story[-1] == "invalidated"

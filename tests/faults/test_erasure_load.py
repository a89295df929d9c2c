"""Erasing many people while others write, read and embed (R7): nobody erased is found anywhere.

`make test` erases 50; `make faults` erases 1,000.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

import anyio
import anyio.lowlevel
import psycopg
import pytest

from idetic import Claim, Idetic, Observation, Principal, Subject
from idetic.library.handles import Memory
from idetic.lifecycle.erasure import DEAD_ROWS
from tests.conftest import TestDatabase, World, make_world
from tests.support.chain import chain_faults
from tests.support.fake_embedder import FakeEmbedder
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio

SUBJECTS = 1_000 if os.environ.get("IDETIC_FAULTS") else 50
MEMORY = "worlds.world_agent_memory"


def name(number: int) -> str:
    """A name that no other text holds, not even in part."""
    return f"Zq{hashlib.sha256(str(number).encode()).hexdigest()[:10]} Quellen"


def mail(number: int) -> str:
    return f"{name(number).split()[0].lower()}@quellen.example"


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        yield db


async def remembered(world: World, count: int) -> None:
    """Each subject in a preference, in threads that were compounded, in notes and reads."""
    operator = world.operator
    for n in range(count):
        receipt = await operator.prefer(
            f"{name(n)} wants short answers.", envelope={"tags": [mail(n)]},
            claim=Claim(name(n), "wants", "short answers"), idempotency_key=f"{mail(n)} {n}",
        )  # fmt: skip
        assert receipt.entry_id is not None
        note = f"{name(n).upper()} said so."
        await vouch(operator, receipt.entry_id, notes=note)
        if n % 5 == 0:
            await operator.link_action(uuid4(), "published_decision", [receipt.entry_id])
        elif n % 7 == 0:
            await operator.tombstone(receipt.entry_id, reason="wrong")
        await operator.prefer(f"Neighbour {n} stays as they are.")
    # Left open: what its threads were compounded into is there, and no longer those threads.
    session = await world.memory.session().open()
    for first in range(0, count, 10):
        async with session.interaction() as turn:
            numbers = range(first, min(first + 10, count))
            await turn.observe_many([Observation(f"{name(n)} called.") for n in numbers])
    await world.bind(Principal.maintenance("sweeper")).embed()
    for n in range(0, count, 10):
        await session.context(f"{name(n)} called")


async def writing(memory: Memory, stop: anyio.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        await memory.prefer(f"Bystander {number} is left alone.")
        await anyio.sleep(0.03)


async def embedding(memory: Memory, stop: anyio.Event) -> None:
    while not stop.is_set():
        await memory.embed()
        await anyio.lowlevel.checkpoint()


async def reading(memory: Memory, stop: anyio.Event) -> None:
    while not stop.is_set():
        await memory.recall("who called, and who wants short answers", limit=20)
        await anyio.sleep(0.02)


def hashes(connection: psycopg.Connection, world: World, other: World) -> dict[str, str]:
    """A hash of everything that another tenant has, and of what nobody is named in here."""
    found = {}
    org_id = other.org_id
    for table in (MEMORY, f"{MEMORY}_embeddings", f"{MEMORY}_corroborations", f"{MEMORY}_reads"):
        query = f"SELECT md5(t::text) FROM {table} t WHERE org_id = %s ORDER BY 1"  # noqa: S608
        rows = connection.execute(query.encode(), (org_id,)).fetchall()
        found[table] = hashlib.sha256("".join(row[0] for row in rows).encode()).hexdigest()
    query = (
        f"SELECT md5(t::text) FROM {MEMORY} t WHERE org_id = %s AND body_text LIKE 'Neighbour%%'"  # noqa: S608
    )
    rows = connection.execute(f"{query} ORDER BY 1".encode(), (world.org_id,)).fetchall()
    assert len(rows) == SUBJECTS
    return found | {"neighbours": "".join(row[0] for row in rows)}


def hits(connection: psycopg.Connection, org_id: UUID, gone: list[UUID]) -> dict[str, int]:
    """What is left of anybody: in any row of any table, by words, by trigrams, as a vector."""
    found = {}
    tables = connection.execute(
        "SELECT c.oid::regclass::text, EXISTS (SELECT FROM pg_attribute a WHERE"
        " a.attrelid = c.oid AND a.attname = 'org_id') FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname IN"
        " ('worlds', 'idetic', 'idetic_jobs')"
    ).fetchall()
    for table, owned in tables:
        mine = "org_id = %(org)s" if owned else "%(org)s IS NOT NULL"
        query = f"SELECT count(*) FROM {table} t WHERE {mine} AND t::text ILIKE '%%quellen%%'"  # noqa: S608
        found[table] = _count(connection, query, org=org_id)
    words = "SELECT count(*) FROM {} WHERE org_id = %(org)s AND {}"
    lexical = "lexemes @@ to_tsquery('english', 'quellen')"
    found["by its words"] = _count(connection, words.format(MEMORY, lexical), org=org_id)
    trigrams = "body_text % 'Zq Quellen wants short answers.'".replace("%", "%%")
    found["by trigrams"] = _count(connection, words.format(MEMORY, trigrams), org=org_id)
    vectors = words.format(f"{MEMORY}_embeddings", "memory_id = ANY (%(ids)s)")
    found["vectors"] = _count(connection, vectors, org=org_id, ids=gone)
    return {where: count for where, count in found.items() if count}


def _count(connection: psycopg.Connection, query: str, **values: Any) -> int:
    row = connection.execute(query.encode(), values).fetchone()
    assert row
    return int(row[0])


async def test_nobody_who_was_erased_under_load_is_found_and_others_are_unchanged(
    database: TestDatabase, db: Idetic, world: World
) -> None:
    other = await make_world(db, world.agent)
    await remembered(other, 10)
    await remembered(world, SUBJECTS)
    upkeep = world.bind(Principal.maintenance("sweeper"))
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        before = hashes(admin, world, other)
        assert hits(admin, world.org_id, []), "the control: now they are found"
        gone: list[UUID] = []
        stop, began = anyio.Event(), perf_counter()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writing, world.operator, stop)
            tasks.start_soon(embedding, upkeep, stop)
            tasks.start_soon(reading, world.operator, stop)
            for n in range(SUBJECTS):
                done = await world.operator.erase(
                    Subject([name(n), mail(n)]), reason=f"request {n}"
                )
                assert done.found
                assert done.kept == tuple(DEAD_ROWS), "indexes keep dead rows until a vacuum"
                gone += done.entries
            stop.set()
        print(f"{SUBJECTS} erased, {(perf_counter() - began) / SUBJECTS:.3f} s each")
        await upkeep.embed()
        assert len(gone) >= 2 * SUBJECTS
        assert hits(admin, world.org_id, gone) == {}
        assert hashes(admin, world, other) == before
        assert hits(admin, other.org_id, []), "the control: elsewhere they still are"
        bystanders = f"SELECT count(*) FROM {MEMORY} WHERE body_text LIKE 'Bystander%%'"  # noqa: S608
        assert _count(admin, bystanders) > 10
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    assert chain_faults(database.admin_dsn, world.agent, **anchor) == []

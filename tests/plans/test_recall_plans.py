"""Query plans are promises: a scoped recall never reads the whole store, as the app role."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import sql

from idetic import Idetic, Observation, Principal
from idetic.spec.primitives import Signal
from idetic.store import nomination_statements, word_index
from idetic.store.recall_query import RecallQuery
from idetic.store.recall_statement import settings_of
from idetic.store.scope import settings
from tests.conftest import TestDatabase, World, make_world
from tests.support.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.anyio

OTHERS, OWN = 4, 150


async def stored(database: TestDatabase) -> tuple[World, RecallQuery]:
    """One anchor of some hundred entries among eight others of a thousand."""
    embedder = FakeEmbedder()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder) as db:
        agent = await db.agent("world_agent")
        worlds = [await make_world(db, agent) for _ in range(OTHERS + 1)]
        for number, world in enumerate(worlds):
            count = OWN if number == 0 else 400
            notes = [Observation(f"Note {n} about wires and desks.") for n in range(count)]
            session = await world.memory.session().open()
            await session.observe_many(notes)
            await world.memory.embed()
        profile = (await worlds[0].memory.recall("wires")).profile_id
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute("VACUUM ANALYZE")
    weights = dict.fromkeys(Signal, 1.0)
    vector = embedder.embed(["wires"]).tolist()[0]
    asked = RecallQuery("wires and desks", 10, datetime.now(UTC), weights, vector, profile)
    return worlds[0], asked


async def plans(
    database: TestDatabase, world: World, asked: RecallQuery, *, walked: bool = False
) -> str:
    """How the application role runs the very statements that a recall prepares and sends."""
    scope = world.memory.scope
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        recalls = (await db.agent("world_agent")).engine.recall.recalls
        answer = await recalls.ask(scope, asked)
        forms = recalls.forms[asked.form(scope)]
        (nominating,) = recalls._nominating.values()
        top = [hit.entry.id for hit in answer.hits]
        known = {"kept": [], "kept_words": "", "small": top, "sampled": top, "reached": 0}
        found = {"ids": top, "top": top, "unmeasured": top, **known}
        # Only a walk leaves candidates without a distance.
        measured = [forms.measured] if walked else []
        told = []
        # The one connection that there is: nobody asks for a second.
        async with db.database.reading() as connection:
            for name, value in (settings(scope) | settings_of(db.database)).items():
                await connection.execute("SELECT set_config(%s, %s, true)", (name, value))
            for form in (*nominating.values(), *measured, forms.whole):
                values = map(sql.Literal, form.bound({**asked.values(scope), **found}))
                cursor = await connection.execute(
                    "SELECT name, current_user::text FROM pg_prepared_statements "
                    "WHERE statement = %s",
                    (form.text,),
                )
                ((name, role),) = await cursor.fetchall()
                assert role == "idetic_app"
                execute = sql.SQL("EXPLAIN (ANALYZE, COSTS OFF) EXECUTE {} ({})")
                named = execute.format(sql.Identifier(name), sql.SQL(", ").join(values))
                cursor = await connection.execute(named)
                told += [row[0] for row in await cursor.fetchall()]
        return "\n".join(told)


async def test_a_scoped_recall_reads_its_own_anchor_by_index(database: TestDatabase) -> None:
    world, asked = await stored(database)
    told = await plans(database, world, asked)
    for table in ("world_agent_memory m", "world_agent_memory_embeddings e"):
        assert f"Seq Scan on {table}" not in told, told
    general = r"Index Cond: \(\(org_id = \$\d+\) AND \(anchor_id = \$\d+\)"
    assert re.search(general, told), f"in general, for any anchor: {told}"
    assert "world_agent_memory_embeddings" in told


async def test_a_large_anchor_goes_through_its_indexes_and_still_finds_k(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "INDEXED_FROM", 100)
    monkeypatch.setattr(nomination_statements, "WALKED_FROM", 100)
    world, asked = await stored(database)
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    async with opened as db:
        agent = await db.agent("world_agent")
        anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
        await agent.bind(**anchor, principal=Principal.maintenance("keeper")).index_words()
        memory = agent.bind(**anchor, principal=world.memory.scope.principal)
        recall = await memory.recall("wires and desks", limit=50)
    assert len(recall) == 50
    assert sum(hit.signals[Signal.SEMANTIC].rank is not None for hit in recall.hits) > 0
    told = await plans(database, world, asked, walked=True)
    assert "world_agent_hnsw_session_episodic" in told, told
    assert "world_agent_words_pkey" in told, "words come from their postings"
    assert "Seq Scan" not in told, told

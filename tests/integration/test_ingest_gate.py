"""The ingest gate on the write path: what it removes never reaches the database."""

from __future__ import annotations

import psycopg
import pytest

from idetic import Claim, MemorySpec, Observation, errors
from idetic.spec.loader import load
from tests.conftest import TestDatabase, World, make_world

pytestmark = pytest.mark.anyio
SHARED = True

CARD = "4111 1111 1111 1111"
MAIL = "jane.doe@example.com"


def everywhere(database: TestDatabase, text: str) -> int:
    """How many rows of the agent's schema hold a text, in any column."""
    found = 0
    with psycopg.connect(database.admin_dsn) as admin:
        tables = admin.execute(
            "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind = 'r' AND n.nspname IN ('worlds', 'idetic', 'idetic_jobs')"
        ).fetchall()
        for (table,) in tables:
            row = admin.execute(
                f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s",  # noqa: S608
                (f"%{text}%",),
            ).fetchone()
            found += row[0] if row else 0
    return found


async def test_what_is_removed_is_told_and_nowhere_kept(
    world: World, database: TestDatabase
) -> None:
    session = await world.memory.session().open()
    seen = await session.observe(
        f"The customer {MAIL} paid with {CARD} and asked twice about the second check.",
        envelope={"tags": [MAIL, "refund"]},
    )
    assert seen.detail == {"removed": {"card": 1, "email": 2}}
    entry = await world.memory.get(seen.entry_id)  # type: ignore[arg-type]
    assert entry.body_text == (
        "The customer [email removed] paid with [card removed] and asked twice about the second "
        "check."
    )
    assert entry.envelope["tags"] == ["[email removed]", "refund"]
    (link,) = await world.memory.history(entry.id)
    assert link.detail["removed"] == {"card": 1, "email": 2}
    # Four digits alone stand in many a hash.
    digits = CARD.replace(" ", "")
    assert [everywhere(database, text) for text in (MAIL, CARD, digits[:9])] == [0, 0, 0]


async def test_a_batch_passes_one_by_one(world: World) -> None:
    session = await world.memory.session().open()
    receipts = await session.observe_many(
        [Observation("Nothing to see."), Observation(f"Write to {MAIL} about the open case.")]
    )
    assert [r.detail for r in receipts] == [{}, {"removed": {"email": 1}}]


async def test_what_would_leave_nothing_or_a_redacted_claim_is_refused(
    world: World, database: TestDatabase
) -> None:
    session = await world.memory.session().open()
    for attempt in (
        Observation(MAIL),
        Observation("The contact is known.", claim=Claim("case 7", "contact", MAIL)),
    ):
        with pytest.raises(errors.GateRefused) as caught:
            await session.observe(attempt.text, claim=attempt.claim)
        assert MAIL not in str(caught.value)
    assert await session.list() == []
    assert everywhere(database, MAIL) == 0


@pytest.mark.alone
async def test_control_without_the_gate_it_is_kept(database: TestDatabase) -> None:
    from idetic import Idetic  # noqa: PLC0415

    data = load("world_agent").as_data()
    data["gates"] = [g for g in data["gates"] if g["boundary"] != "ingest"]
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = await db.agent(MemorySpec.model_validate(data), apply=True)
        bare = await make_world(db, agent)
        session = await bare.memory.session().open()
        await session.observe(f"Write to {MAIL} about the open case.")
    assert everywhere(database, MAIL) > 0

"""Erasing a whole anchor: nothing of what one user said is left, and the others are untouched."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, Principal, errors
from idetic.lifecycle import anchor_erasure
from idetic.store import erasure_rows
from tests.conftest import World, make_world
from tests.integration.test_erasure import hits
from tests.integration.test_retention import House, entry_of
from tests.integration.test_retention import house as house  # noqa: PLC0414 - the fixture
from tests.support.triggers import without_triggers
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True

LEDGER = "worlds.world_agent_memory_ledger"


async def lived(world: World, word: str) -> list[UUID]:
    """An anchor with the word in everything that can hold one, in every tier and state."""
    operator, memory = world.operator, world.memory
    made: list[UUID] = []
    for n in range(4):
        receipt = await operator.prefer(
            f"{word} number {n} hates peanuts.", claim=Claim(f"{word} {n}", "hates", "peanuts"),
            envelope={"tags": [f"{word}-tag"]}, idempotency_key=f"{word} {n}",
        )  # fmt: skip
        made.append(entry_of(receipt))
    await vouch(operator, made[0], notes=f"{word} said so.")
    await operator.archive(made[1], reason=f"{word} no longer hates peanuts")
    await operator.tombstone(made[2], reason=f"{word} was wrong about peanuts")
    await operator.link_action(uuid4(), "published_decision", [made[3]], reason=f"for {word}")
    await operator.contradict(made[0], world.rule, reason=f"{word} says the opposite")
    session = await memory.session().open()
    async with session.interaction() as turn:
        await turn.observe(f"{word} called about peanuts.", claim=Claim(word, "called", "peanuts"))
        await turn.context("who called about peanuts")
    await world.bind(Principal.maintenance("sweeper")).embed()
    await operator.context(f"{word} peanuts")
    return made


def everything(house: House, org_id: UUID) -> str:
    """Every row of every table that has one tenant's, as text."""
    found: list[str] = []
    with psycopg.connect(house.database.admin_dsn) as connection:
        tables = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " AND a.attname = 'org_id' WHERE c.relkind = 'r' ORDER BY 1"
        ).fetchall()
        assert len(tables) > 12
        for (table,) in tables:
            query = f"SELECT t::text FROM {table} t WHERE org_id = %s ORDER BY 1"  # noqa: S608
            found += [row[0] for row in connection.execute(query.encode(), (org_id,))]
    return "\n".join(found)


async def verified(world: World) -> Any:
    return await world.bind(Principal.auditor("eve")).verify()


async def test_nothing_of_a_user_is_left_and_the_other_anchor_is_as_it_was(house: House) -> None:
    other = await make_world(house.db, house.world.agent)
    await lived(other, "neighbour")
    made = await lived(house.world, "kanarie")
    auditor = house.world.bind(Principal.auditor("eve"))
    before, kept_head = everything(house, other.org_id), await auditor.head()
    assert len(hits(house, "kanarie")) > 3, "the control: now it is found"

    done = await house.operator.erase_anchor(reason="request 17")
    assert (done.found, done.receipt.decision) == (True, Decision.DELETE)
    assert done.removed["memory"] >= 5
    assert {"embeddings", "ledger", "reads", "receipts", "corroborations"} <= done.removed.keys()
    assert hits(house, "kanarie") == {}
    assert "peanut" not in everything(house, house.world.org_id)
    assert everything(house, other.org_id) == before

    checked = await auditor.verify(kept_head)
    assert checked.intact, checked.problems
    assert await house.operator.list() == []
    assert (await house.operator.recall("peanuts", include_archived=True)).hits == ()
    shown = [await house.operator.get(one) for one in made]
    assert {(entry.body_text, entry.claim) for entry in shown} == {("", None)}
    history = await house.operator.history(made[1])
    assert [link.reason for link in history] == ["[erased]", "[erased]", "request 17"]
    (action, *_) = await auditor.actions()
    told = str(await auditor.explain_action(action.action_id))
    assert "kanarie" not in told
    chunks = [chunk async for chunk in house.operator.export()]
    assert b"kanarie" not in b"".join(chunks)


async def test_again_it_finds_nothing_and_the_user_is_written_to_again(house: House) -> None:
    await lived(house.world, "kanarie")
    first = await house.operator.erase_anchor(reason="request 17", idempotency_key="e")
    again = await house.operator.erase_anchor(reason="request 17", idempotency_key="e")
    assert (again, again.receipt.replayed) == (first, True)
    nothing = await house.operator.erase_anchor(reason="request 18")
    assert (nothing.found, nothing.receipt.decision) == (False, Decision.NOOP)
    assert str(nothing) == "Nothing found: nothing was removed."
    entry_id = await house.entry("They like tea now.", Claim("drink", "is", "tea"))
    assert [e.id for e in await house.operator.list()] == [entry_id]
    assert (await verified(house.world)).intact
    assert (await house.operator.erase_anchor(reason="request 19")).removed["memory"] == 1
    assert (await verified(house.world)).intact


async def test_a_run_that_was_killed_is_finished_by_the_next(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(7):
        await house.entry(f"kanarie {n}", Claim("kanarie", f"number {n}", "peanut"))
    monkeypatch.setattr(anchor_erasure, "PART", 2)
    parts, whole = 0, erasure_rows.remaining

    async def dies(*args: Any) -> Any:
        nonlocal parts
        parts += 1
        if parts == 3:
            raise KeyboardInterrupt
        return await whole(*args)

    monkeypatch.setattr(erasure_rows, "remaining", dies)
    with pytest.raises(KeyboardInterrupt):
        await house.operator.erase_anchor(reason="request 17")
    assert hits(house, "kanarie"), "some of it is still there"
    assert (await verified(house.world)).intact
    done = await house.operator.erase_anchor(reason="request 17")
    assert done.removed["memory"] == 7, "the receipt counts both runs"
    assert hits(house, "kanarie") == {}
    assert (await verified(house.world)).intact


async def test_who_may_not_is_refused_and_nothing_goes(house: House) -> None:
    await house.entry("kanarie", Claim("a", "b", "c"))
    with pytest.raises(errors.CapabilityRefused):
        await house.world.memory.erase_anchor(reason="r")
    with pytest.raises(errors.TextRefused):
        await house.operator.erase_anchor(reason=" ")
    assert hits(house, "kanarie")


# --- what is left of the chain -------------------------------------------------------------------


async def _tampered(house: House, change: str) -> list[str]:
    with psycopg.connect(house.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(f"UPDATE {LEDGER} SET {change}".encode())  # noqa: S608
        connection.commit()
    return [problem.why for problem in (await verified(house.world)).problems]


@pytest.mark.parametrize(
    "change",
    [
        "actor = 'mallory' WHERE transition = 'archived'",
        "reason = '[erased]' WHERE transition = 'erasure'",
        "reason = 'another' WHERE transition = 'archived'",
    ],
)
async def test_a_link_without_its_reason_is_still_vouched_for(house: House, change: str) -> None:
    await lived(house.world, "kanarie")
    await house.operator.erase_anchor(reason="request 17")
    assert (await verified(house.world)).intact
    assert await _tampered(house, change)


async def test_a_reason_that_nobody_erased_is_missed(house: House) -> None:
    await lived(house.world, "kanarie")
    (why, *_) = await _tampered(house, "reason = '[erased]' WHERE transition = 'archived'")
    assert why == "reasons were emptied, and no erasure says so of just these links as they are"


@pytest.mark.alone
async def test_the_application_cannot_empty_a_reason_by_itself(house: House) -> None:
    await house.entry()
    change = b"UPDATE worlds.world_agent_memory_ledger SET reason = '[erased]'"
    with house.app() as connection, pytest.raises(psycopg.Error, match="permission denied"):
        connection.execute(change)
    with psycopg.connect(house.database.admin_dsn) as connection:
        connection.execute(f"ALTER TABLE {LEDGER} NO FORCE ROW LEVEL SECURITY")
        connection.commit()
        connection.execute("SET LOCAL ROLE idetic_owner")
        with pytest.raises(psycopg.Error, match=r"idetic\.append_only"):
            connection.execute(change)

"""The ledger witnesses where an entry came from; nothing that memory does looks like tampering."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from idetic import Claim, Idetic, Origin, Principal, Tier
from idetic.evidence import Outcome
from idetic.library.handles import Memory
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.triggers import without_triggers
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True

VERSION = {"world_model_version": "v7"}
MALLORY = Principal.agent("mallory")


@dataclass(frozen=True)
class House:
    """A world whose clock the test holds, and who may verify it."""

    world: World
    clock: SettableClock
    database: TestDatabase

    @property
    def operator(self) -> Memory:
        return self.world.operator

    @property
    def keeper(self) -> Memory:
        return self.world.bind(Principal.maintenance("nightly"))

    async def problems(self) -> list[str]:
        verified = await self.world.bind(Principal.auditor("ben")).verify()
        return [f"{one.what}: {one.why}" for one in verified.problems]

    async def hear(self, text: str, claim: Claim, by: Memory | None = None) -> None:
        self.clock.advance(hours=1)
        async with (by or self.world.memory).session() as session:
            for _ in range(2):
                async with session.interaction() as turn:
                    await turn.observe(
                        text, claim=claim, provenance=VERSION, refs=[self.world.rule]
                    )

    async def facts(self) -> list[UUID]:
        return [entry.id for entry in await self.operator.list(tier=Tier.PERSISTENT)]

    def tamper(self, table: str, column: str, value: str, entry_id: UUID) -> None:
        """One column of one row, as only a superuser can."""
        with psycopg.connect(self.database.admin_dsn) as connection:
            without_triggers(connection)
            update = "UPDATE {} SET {} = {} WHERE memory_id = {}"
            connection.execute(
                sql.SQL(update).format(
                    sql.Identifier("worlds", table),
                    sql.Identifier(column),
                    sql.Literal(value),
                    sql.Literal(entry_id),
                )
            )


@pytest.fixture
async def house(database: TestDatabase, db: Idetic) -> AsyncIterator[House]:
    clock = SettableClock()
    async with view_of(db, clock) as here:
        yield House(await make_world(here, await here.agent("world_agent")), clock, database)


# What a column is set to, and what the verification then names.
COLUMNS = {
    "origin": ("operator", "another origin"),
    "trust": ("100", "another trust"),
    "tier": ("persistent", "another cell"),
    "typology": ("procedural", "another cell"),
    "created_at": ("2020-01-01T00:00:00Z", "at another time"),
    "provenance": ('{"world_model_version": "v8"}', "another provenance"),
}


@pytest.mark.parametrize("column", COLUMNS)
async def test_where_an_entry_came_from_cannot_be_changed_unseen(house: House, column: str) -> None:
    session = await house.world.memory.session().open()
    said = await session.observe("Heard.", heard_from=Origin.TOOL, provenance=VERSION)
    assert said.entry_id
    assert await house.problems() == []
    value, named = COLUMNS[column]
    house.tamper("world_agent_memory", column, value, said.entry_id)
    (problem,) = await house.problems()
    assert named in problem


@pytest.mark.parametrize(
    "value", ['{"world_model_version": "v7", "made_up": "x"}', "{}", "[]", '["v7"]', '"v7"', "7"]
)
async def test_a_provenance_that_nobody_could_have_given_is_told(house: House, value: str) -> None:
    session = await house.world.memory.session().open()
    said = await session.observe("Heard.", provenance=VERSION)
    assert said.entry_id
    house.tamper("world_agent_memory", "provenance", value, said.entry_id)
    (problem,) = await house.problems()
    assert "another provenance" in problem


@pytest.mark.parametrize("column", ["origin", "trust"])
async def test_nor_where_its_sources_came_from(house: House, column: str) -> None:
    """The sources went with their session: only the chain knows better."""
    await house.hear("It is late.", Claim("check", "comes", "late"))
    (fact,) = await house.facts()
    assert await house.problems() == []
    house.tamper("world_agent_memory_lineage", column, COLUMNS[column][0], fact)
    problems = await house.problems()
    assert problems
    assert any("another origin or trust" in problem for problem in problems)
    assert any("otherwise about its source" in problem for problem in problems)


async def test_what_the_link_says_is_what_was_written_and_never_content(house: House) -> None:
    session = await house.world.memory.session().open()
    said = await session.observe("Heard.", heard_from=Origin.TOOL, provenance=VERSION)
    plain = await session.observe("Seen.")
    assert said.entry_id
    assert plain.entry_id
    detail = (await house.operator.history(said.entry_id))[0].detail
    names = "content_hash origin trust cell provenance_hash spec session"
    assert set(detail) == set(names.split())
    assert (detail["origin"], detail["trust"], detail["cell"]) == ("tool", 40, "session/episodic")
    assert "v7" not in str(detail)
    assert "provenance_hash" not in (await house.operator.history(plain.entry_id))[0].detail


async def test_nothing_that_memory_does_looks_like_tampering(house: House) -> None:
    """Every verb that changes or removes something, and a verification after each."""
    operator, clock = house.operator, house.clock
    late, early = Claim("check", "comes", "late"), Claim("check", "comes", "early")
    await house.hear("It is late.", late)
    await house.hear("It is late.", late)
    await house.hear("It is early.", early, by=house.world.bind(MALLORY))
    await house.hear("It is early.", early, by=house.world.bind(MALLORY))
    assert await house.problems() == [], "closed and promoted"
    taken = await operator.quarantine(created_by=MALLORY, reason="a leaked key")
    assert taken.entries
    assert await house.problems() == [], "quarantined"
    await operator.release(taken, reason="it was not")
    assert await house.problems() == [], "released"
    undone = await operator.quarantine(created_by=MALLORY, reason="it was")
    await operator.undo(undone.receipt, reason="it was not")
    assert await house.problems() == [], "undone"

    brief = await operator.prefer("Be brief.", claim=Claim("style", "length", "brief"))
    await operator.prefer("Be long.", claim=Claim("style", "length", "long"))
    assert brief.entry_id
    await operator.link_action(uuid4(), "rule_promotion", [brief.entry_id])
    assert await house.problems() == [], "superseded, and an action rests on it"

    (first, *_) = await house.facts()
    await vouch(operator, first, notes="Zora said so.")
    await operator.undo(await operator.archive(first, reason="no"), reason="yes")
    await operator.dispose([first], Outcome.EXEMPT, reason="spared")
    await house.keeper.consolidate()
    clock.advance(days=100)
    await house.keeper.mark_due()
    assert await house.problems() == [], "archived, disposed of, consolidated, fallen due"

    async with house.world.memory.session() as session:
        await session.observe("Zora Quell called about it.")
        await session.context("who called")
        told = await session.observe("Zora Quell called about it.")
        assert told.reason == "echo"
        erased = await operator.erase("Zora Quell", reason="asked to")
        assert erased.entries
    assert await house.problems() == [], "repeated, erased, closed"

    await operator.tombstone(first, reason="asked to")
    clock.advance(days=4_000)
    assert (await house.keeper.dispose_tombstones()).disposed
    await house.world.memory.session().open()
    clock.advance(days=30)
    await house.keeper.recover()
    assert await house.problems() == [], "disposed of, recovered"

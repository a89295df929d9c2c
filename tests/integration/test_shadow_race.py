"""A rule and its shadow, written at once: never both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Decision, Idetic, Principal, Receipt, errors
from idetic.library.handles import Session
from tests.conftest import TestDatabase, World
from tests.support import shadows
from tests.support.citus import on_every_node
from tests.support.triggers import change_triggers

SHORT = "Ask the second operator before you release a wire."
FIRST, SECOND = shadows.halves(shadows.RULES[1])
# What is being made a rule, what was noted before, and the note that races it.
RACES = {
    "a copy": (shadows.RULES[1], None, shadows.RULES[1]),
    "a decorated copy": (shadows.RULES[1], None, "\u200b".join(shadows.RULES[1])),
    "a quote": (shadows.RULES[1], None, shadows.LEAD + shadows.RULES[1] + shadows.TAIL),
    "its second half": (shadows.RULES[1], FIRST, SECOND),
    "a short rule, word for word": (SHORT, None, SHORT),
}
_WRITE_RULE = """
INSERT INTO worlds.rules (org_id, rule_id, world_id, version, body_text, source_strength,
                          changed_at)
VALUES (%s, %s, %s, 1, %s, 'curated', now())
"""
_WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'
"""


@contextmanager
def a_rule_in_the_making(database: TestDatabase, world: World, text: str) -> Iterator[UUID]:
    """A rule that is written and not yet committed; it is at the end."""
    rule_id = uuid4()
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(_WRITE_RULE, (world.org_id, rule_id, world.world_id, text))
        yield rule_id
        connection.commit()


def waiting(database: TestDatabase) -> int:
    return sum(int(count) for count in on_every_node(database, _WAITING))


async def until_it_waits(database: TestDatabase, write: asyncio.Task[Receipt]) -> bool:
    """Whether the write comes to wait for the rule; it may also simply get through."""
    while not write.done():
        if await asyncio.to_thread(waiting, database):
            return True
        await asyncio.sleep(0.01)
    return False


async def note(session: Session, text: str) -> asyncio.Task[Receipt]:
    return asyncio.create_task(session.observe(text))


@pytest.mark.parametrize("race", RACES)
async def test_a_note_waits_for_the_rule_that_it_restates(
    database: TestDatabase, world: World, race: str
) -> None:
    rule, before, text = RACES[race]
    async with world.memory.session() as session:
        if before is not None:
            await session.observe(before)
        with a_rule_in_the_making(database, world, rule) as rule_id:
            write = await note(session, text)
            assert await until_it_waits(database, write)
        with pytest.raises(errors.Refused) as caught:
            await write
        assert caught.value.detail["id"] == str(rule_id)
        assert text not in {entry.body_text for entry in await session.list()}


@pytest.mark.parametrize("race", RACES)
async def test_control_without_the_rules_lock_both_are_there(
    database: TestDatabase, world: World, race: str
) -> None:
    rule, before, text = RACES[race]
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        change_triggers(connection, "DROP TRIGGER shadow_lock ON worlds.rules")
    async with world.memory.session() as session:
        if before is not None:
            await session.observe(before)
        with a_rule_in_the_making(database, world, rule):
            write = await note(session, text)
            assert not await until_it_waits(database, write)
            assert (await write).decision is Decision.ADD
        assert text in {entry.body_text for entry in await session.list()}


async def test_whichever_comes_first_a_rule_and_its_shadow_never_both_stay(
    db: Idetic, world: World
) -> None:
    """Many at once. A note that was first goes when the rule's own job has looked."""
    upkeep = world.bind(Principal.maintenance("upkeep"))
    count = 20
    texts = {
        n: f"Case {n}: a parcel of class {n * 7 % 13} that arrives after {n % 12} o'clock stays in "
        f"store {n % 5} until desk {n} has weighed it, and its sender is told on the same day."
        for n in range(count)
    }

    async def rule(text: str) -> None:
        made = await world.worlds.put_rule(world.org_id, world.world_id, text)
        await upkeep.rescan("rule", made.id)

    async def observe(session: Session, text: str) -> str:
        try:
            return (await session.observe(text)).decision.value
        except errors.ShadowRefused:
            return "refused"

    async with world.memory.session() as session:
        notes = [
            text if n % 2 else f"{shadows.LEAD}{text}{shadows.TAIL}" for n, text in texts.items()
        ]
        tasks = [rule(text) for text in texts.values()]
        told = await asyncio.gather(*(observe(session, text) for text in notes), *tasks)
        left = {entry.body_text for entry in await session.list()}
    assert left == set()
    assert set(told[:count]) <= {"ADD", "refused"}

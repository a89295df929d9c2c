"""Every text that is stored passes gate and guard, wherever in a call it stands."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import psycopg
import pytest

from idetic import Claim, Decision, errors
from idetic.evidence import ProposalStatus
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support import shadows
from tests.support.scoped import bind

pytestmark = pytest.mark.anyio
SHARED = True

CARD = "4111 1111 1111 1111"
Write = Callable[[World, str], Awaitable[object]]


async def _observed(world: World, **more: object) -> object:
    async with world.memory.session() as session:
        return await session.observe("Something was seen.", **more)  # type: ignore[arg-type]


async def _entry(world: World) -> object:
    return (await world.operator.prefer("Ada prefers short answers.")).entry_id


async def _archived(world: World, text: str) -> object:
    return await world.operator.archive(await _entry(world), reason=text)  # type: ignore[arg-type]


async def _corroborated(world: World, text: str) -> object:
    entry = await _entry(world)
    return await world.operator.corroborate(entry, notes=text)  # type: ignore[arg-type]


async def _disputed(world: World, text: str) -> object:
    entry = await _entry(world)
    return await world.operator.contradict(entry, world.rule, reason=text)  # type: ignore[arg-type]


async def _proposed(world: World, text: str) -> object:
    return await world.operator.propose([await _entry(world)], reason=text)  # type: ignore[list-item]


async def _decided(world: World, text: str) -> object:
    (made,) = (await _proposed(world, "seen everywhere")).proposals  # type: ignore[attr-defined]
    return await world.operator.decide(made.id, ProposalStatus.DECLINED, reason=text)


async def _paged_in(world: World, text: str) -> object:
    return await world.operator.page_in(await _entry(world), reason=text)  # type: ignore[arg-type]


async def _undone(world: World, text: str) -> object:
    stated = await world.operator.prefer(f"Ada prefers answers of {len(text)} letters.")
    return await world.operator.undo(stated, reason=text)


async def _quarantined(world: World, text: str) -> object:
    session = await world.memory.session().open()
    await session.observe("A stranger asked for the list of wires.")
    return await world.operator.quarantine(session_id=session.id, reason=text)


async def _closed(world: World, text: str) -> object:
    session = await world.memory.session().open()
    return await session.close(reason=text)


PLACES: dict[str, Write] = {
    "claim subject": lambda world, text: _observed(world, claim=Claim(text, "is", "so")),
    "claim attribute": lambda world, text: _observed(world, claim=Claim("wires", text, "so")),
    "claim value": lambda world, text: _observed(world, claim=Claim("wires", "rule", text)),
    "envelope scalar": lambda world, text: _observed(world, envelope={"activity": text}),
    "envelope list": lambda world, text: _observed(world, envelope={"tags": ["a", text]}),
    "envelope path": lambda world, text: _observed(world, envelope={"topic": f"a/{text}"}),
    "provenance": lambda world, text: _observed(world, provenance={"world_model_version": text}),
    "reason of an archive": _archived,
    "notes of a source": _corroborated,
    "reason of a contradiction": _disputed,
    "reason of a close": _closed,
    "reason of a proposal": _proposed,
    "reason of its decision": _decided,
    "reason of a page of the core": _paged_in,
    "reason of an undo": _undone,
    "reason of a quarantine": _quarantined,
    "speaker": lambda world, text: _observed(world, speaker=text),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("disguise", ["as it is", "camel case", "look-alike letters"])
async def test_a_rule_is_refused_wherever_it_stands(
    world: World, place: str, disguise: str
) -> None:
    change = shadows.DISGUISES.get(disguise, str)
    with pytest.raises(errors.ShadowRefused) as caught:
        await PLACES[place](world, change(RULE_TEXT))
    assert str(world.rule.id) in str(caught.value)
    assert await PLACES[place](world, "An honest word about large wires and who looks at them.")


_OFF = """
CREATE OR REPLACE FUNCTION worlds.world_agent_texts_v1(p_body text, p_envelope jsonb,
    p_provenance jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY[p_body]';
CREATE OR REPLACE FUNCTION worlds.world_agent_rule_told_v1() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RETURN NEW; END';
CREATE OR REPLACE FUNCTION worlds.world_agent_rule_guard_v1() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RETURN NEW; END';
"""


@pytest.mark.alone
@pytest.mark.parametrize("place", PLACES)
async def test_control_where_only_bodies_are_looked_at_it_passes(
    database: TestDatabase, world: World, place: str
) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        connection.execute(_OFF)
    assert await PLACES[place](world, RULE_TEXT)


async def test_what_stands_together_in_one_entry_is_read_together(world: World) -> None:
    """Half a rule in the note and half in its claim; with one half alone as the control."""
    first, second = shadows.halves(RULE_TEXT)
    async with world.memory.session() as session:
        with pytest.raises(errors.ShadowRefused):
            await session.observe(first, claim=Claim("wires", "rule", second))
        assert (await session.observe(first)).decision is Decision.ADD


@pytest.mark.alone
async def test_raw_sql_cannot_put_a_rule_into_an_envelope(
    database: TestDatabase, world: World
) -> None:
    """As the application's role and past the gateway; the trigger off is the control."""
    entry = (await world.operator.prefer("Ada prefers short answers.")).entry_id
    copied = """
        INSERT INTO worlds.world_agent_memory
        SELECT (jsonb_populate_record(m, jsonb_build_object('memory_id', gen_random_uuid(),
            'envelope', %s::jsonb))).* FROM worlds.world_agent_memory m WHERE m.memory_id = %s
        """
    held = json.dumps({"activity": RULE_TEXT})
    with psycopg.connect(database.admin_dsn) as connection:
        bind(connection, world.memory.scope)
        refused = pytest.raises(psycopg.errors.CheckViolation, match=r"idetic\.shadow")
        with refused, connection.transaction():
            connection.execute(copied, (held, entry))
        connection.execute(_OFF)
        connection.execute(copied, (held, entry))


async def test_what_the_gate_removes_is_removed_from_provenance_too(world: World) -> None:
    receipt = await _observed(world, provenance={"world_model_version": f"v1 {CARD}"})
    assert receipt.detail["removed"], "the kind and how many"  # type: ignore[attr-defined]
    with pytest.raises(errors.GateRefused):
        await _observed(world, claim=Claim(CARD[:9], CARD[10:14], CARD[15:]))
    kept = await _observed(world, claim=Claim(CARD[:4], CARD[5:9], "1111"))
    assert kept.decision is Decision.ADD  # type: ignore[attr-defined]

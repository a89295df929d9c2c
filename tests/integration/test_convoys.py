"""Writes that arrive together travel together, and each caller is answered as if it came alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from idetic import Claim, Idetic, Observation, Principal, errors
from idetic.gateway.convoys import LEAST, Convoys
from idetic.gateway.gateway import Gateway
from idetic.library.handles import Agent, Memory, Session
from idetic.model import Decision, Receipt, Rule
from idetic.store import scope as scoping
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.trace import Step, sending

pytestmark = pytest.mark.anyio
SHARED = True

WRITERS = 32
# How many messages so many writers at once need at most.
FEW = 4
LANE = "a lane"


@pytest.fixture
async def memories(world: World) -> list[Memory]:
    """Eight anchors of one tenant."""
    found = [world.memory]
    for _ in range(7):
        domain = uuid4()
        await world.worlds.register(world.org_id, domain, "Another")
        who = Principal.agent("explorer")
        found.append(world.agent.bind(org_id=world.org_id, domain_id=domain, principal=who))
    return found


async def opened(memories: Sequence[Memory], count: int = WRITERS) -> list[Session]:
    return [await memories[n % len(memories)].session().open() for n in range(count)]


def noted(session: Session, text: str) -> Awaitable[Receipt]:
    return session.observe(text)


@contextmanager
def messages() -> Iterator[list[Step]]:
    """What is sent to the server, by who sends it: a round trip each."""
    found: list[Step] = []
    with sending() as ways:
        yield found
    found += [way[-1] for way in ways if way[-1].function == "send"]


async def at_once(*calls: Awaitable[Any]) -> list[Any]:
    """All calls together; the errors of those that fail in their place."""
    return await asyncio.gather(*calls, return_exceptions=True)


@asynccontextmanager
async def held(database: TestDatabase, memory: Memory) -> AsyncIterator[None]:
    """The anchor, held by somebody else."""
    anchor = scoping.anchor_of(memory.scope)
    async with await psycopg.AsyncConnection.connect(database.admin_dsn) as connection:
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('worlds.world_agent' || %s::text, 0))",
            (str(anchor),),
        )
        yield


async def check_written(sessions: Sequence[Session], texts: Sequence[str], told: Any) -> None:
    """Each receipt is its caller's: the entry that it names says what that caller said, there."""
    for session, text, receipt in zip(sessions, texts, told, strict=True):
        assert isinstance(receipt, Receipt), receipt
        assert receipt.entry_id is not None
        entry = await session.memory.get(receipt.entry_id)
        assert (entry.body_text, entry.session_id) == (text, session.id)
        (link, *_) = await session.memory.history(receipt.entry_id)
        assert (link.position, link.receipt_id) == (receipt.position, receipt.id)


async def check_chains(memories: Sequence[Memory], agent: Agent) -> None:
    for memory in memories:
        bound = agent.bind(principal=Principal.auditor("vera"), **memory.scope.anchor)
        found = await bound.verify()
        assert found.intact, found.problems


@pytest.mark.parametrize("anchors", [1, 8])
async def test_each_of_many_writers_gets_its_own_receipt(
    world: World, memories: list[Memory], anchors: int
) -> None:
    places = memories[:anchors]
    sessions = await opened(places)
    texts = [f"Writer {n} saw it." for n in range(WRITERS)]
    with messages() as sent:
        told = await at_once(*map(noted, sessions, texts))
    assert len(sent) <= FEW, "the first at once, the others in parts as soon as it is back"
    await check_written(sessions, texts, told)
    anchored = [(one.memory.scope.anchor["domain_id"]) for one in sessions]
    assert len(set(zip(anchored, (one.position for one in told), strict=True))) == WRITERS
    await check_chains(places, world.agent)


async def test_anchors_whose_first_writes_come_together_begin_together(world: World) -> None:
    """An anchor without memory is no reason to go alone: its chain begins within the convoy."""
    operator = Principal.operator("mira")
    memories = []
    for _ in range(8):
        domain = uuid4()
        await world.worlds.register(world.org_id, domain, "New")
        memories.append(world.agent.bind(org_id=world.org_id, domain_id=domain, principal=operator))
    with messages() as sent:
        told = await at_once(*(m.prefer("Call before noon.") for m in memories))
    assert len(sent) < len(memories)
    assert {receipt.position for receipt in told} == {1}
    for memory, receipt in zip(memories, told, strict=True):
        assert [entry.id for entry in await memory.list()] == [receipt.entry_id]
    await check_chains(memories, world.agent)


async def test_alone_a_write_is_one_message_and_many_are_few(world: World) -> None:
    """Nobody waits for others to come: what is alone leaves at once, and by itself."""
    session = await world.memory.session().open()
    for _ in range(3):
        with messages() as sent:
            await session.observe("A note of its own.")
        assert len(sent) == 1
    with messages() as sent:
        await at_once(*(session.observe(f"Note {n}.") for n in range(WRITERS)))
    assert len(sent) <= FEW, "the first at once, the others in parts as soon as it is back"


async def test_who_has_an_answer_comes_again_while_others_are_under_way() -> None:
    """Callers and server take no turns: nobody who comes again has to begin alone."""
    convoys: Convoys[int, int] = Convoys()
    sizes: list[int] = []

    async def travel(crowd: Sequence[int]) -> list[int | Exception]:
        sizes.append(len(crowd))
        await asyncio.sleep(0.01)
        return [*crowd]

    async def writer(number: int) -> None:
        for _ in range(4):
            if LANE in convoys:
                assert await convoys.follow(LANE, number) == number
            else:
                with convoys.leading(LANE, travel):
                    await travel([number])

    await asyncio.gather(*map(writer, range(WRITERS)))
    assert sum(sizes) == 4 * WRITERS
    assert sizes[0] == 1
    assert min(sizes[1:-3]) >= LEAST
    assert max(sizes) < WRITERS - 1


async def test_the_order_of_arrival_is_kept_within_an_anchor(world: World) -> None:
    """Also between statements that share one and those that have their own."""
    session = await world.memory.session().open()
    rule = world.rule
    calls = [
        session.observe(f"Note {n}.", refs=[Rule(rule.id)] if n % 3 == 0 else ())
        for n in range(WRITERS)
    ]
    told = await at_once(*calls)
    positions = [receipt.position for receipt in told]
    assert positions == sorted(positions)


async def test_what_one_writer_did_wrong_is_its_error_alone(
    world: World, memories: list[Memory]
) -> None:
    sessions = await opened(memories)
    closed = await memories[0].session().open()
    await closed.close()
    closed.resume()
    missing = Rule(uuid4())
    (alone,) = await at_once(sessions[0].observe(RULE_TEXT))
    await sessions[3].observe("A first body.", idempotency_key="taken")
    told = await at_once(
        *map(noted, sessions, [f"Writer {n}." for n in range(WRITERS)]),
        closed.observe("Too late."),
        sessions[1].observe("About nothing.", refs=[missing]),
        sessions[3].observe("Another body.", idempotency_key="taken"),
        sessions[0].observe(RULE_TEXT),
        sessions[2].observe(""),
    )
    kinds = [type(each) for each in told[WRITERS:]]
    assert kinds == [
        errors.ScopeClosed,
        errors.ReferenceNotFound,
        errors.IdempotencyConflict,
        type(alone),
        errors.TextRefused,
    ]
    refusal = told[WRITERS + 3].detail["receipt"]
    assert refusal.decision is Decision.REJECT
    await check_written(sessions, [f"Writer {n}." for n in range(WRITERS)], told[:WRITERS])
    await check_chains(memories, world.agent)


async def test_a_copy_that_only_the_trigger_sees_is_refused_alone(
    world: World, memories: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error undoes the whole convoy; the others are written all the same, once."""
    near = RULE_TEXT.replace("recorded", "written down")
    sessions = await opened(memories[:1], 8)
    told = await at_once(
        *(s.observe(f"Writer {n}.") for n, s in enumerate(sessions)), sessions[0].observe(near)
    )
    assert isinstance(told[-1], errors.ShadowRefused)
    await check_written(sessions, [f"Writer {n}." for n in range(8)], told[:-1])
    listed = [entry.body_text for s in sessions for entry in await s.list()]
    assert sorted(listed) == sorted(f"Writer {n}." for n in range(8))


async def test_keys_replay_within_a_convoy_and_after_it(world: World) -> None:
    session = await world.memory.session().open()
    keyed = [session.observe("The same.", idempotency_key=f"key {n % 4}") for n in range(WRITERS)]
    told = await at_once(*keyed)
    receipts = {n: {told[k].id for k in range(n, WRITERS, 4)} for n in range(4)}
    assert [len(found) for found in receipts.values()] == [1] * 4
    assert sum(not receipt.replayed for receipt in told) == 4
    again = await session.observe("The same.", idempotency_key="key 2")
    assert again.replayed
    assert {again.id} == receipts[2]
    assert len(await session.list()) == 4
    await check_chains([world.memory], world.agent)


async def test_preferences_of_one_claim_supersede_each_other_in_order(world: World) -> None:
    values = [f"{n}:00" for n in range(12)]
    stated = [
        world.operator.prefer(f"Call at {v}.", claim=Claim("ada", "calls", v)) for v in values
    ]
    told = await at_once(*stated)
    assert [one.decision for one in told] == [Decision.ADD, *[Decision.UPDATE] * 11]
    for before, after in pairwise(told):
        assert after.superseded == before.entry_id
    (current,) = await world.operator.list()
    assert current.body_text == "Call at 11:00."
    await check_chains([world.memory], world.agent)


async def test_what_a_session_was_shown_is_an_echo_in_a_convoy_too(world: World) -> None:
    await world.operator.prefer("Answer in one sentence.")
    shown = await world.memory.session().open()
    await shown.recall("How long is an answer?")
    others = await opened([world.memory], 8)
    told = await at_once(
        *(s.observe("Answer in one sentence.") for s in others),
        shown.observe("Answer in one sentence."),
    )
    assert [one.decision for one in told] == [*[Decision.ADD] * 8, Decision.NOOP]
    assert told[-1].reason == "echo"


async def test_who_gives_up_hurts_nobody_else(world: World, memories: list[Memory]) -> None:
    sessions = await opened(memories)
    texts = [f"Writer {n}." for n in range(WRITERS)]
    tasks = [asyncio.ensure_future(s.observe(t)) for s, t in zip(sessions, texts, strict=True)]
    await asyncio.sleep(0)
    gone = tasks[5:WRITERS:5]
    for task in gone:
        task.cancel()
    told = await at_once(*tasks)
    kept = [n for n, task in enumerate(tasks) if task not in gone]
    await check_written(
        [sessions[n] for n in kept], [texts[n] for n in kept], [told[n] for n in kept]
    )
    for task in gone:
        assert task.cancelled()
    for n in range(5, WRITERS, 5):
        assert await sessions[n].list() == [], "who gave up before it left was not sent"


async def test_an_anchor_that_somebody_holds_keeps_only_its_own_writers_waiting(
    database: TestDatabase, world: World, memories: list[Memory]
) -> None:
    sessions = await opened(memories, 16)
    texts = [f"Writer {n}." for n in range(16)]
    async with held(database, memories[0]):
        tasks = [asyncio.ensure_future(s.observe(t)) for s, t in zip(sessions, texts, strict=True)]
        free = [task for n, task in enumerate(tasks) if n % 8]
        await asyncio.gather(*free)
        assert not tasks[0].done()
        assert not tasks[8].done()
    await check_written(sessions, texts, await at_once(*tasks))


async def test_the_end_of_the_database_is_told_to_each_caller(
    database: TestDatabase, world: World, memories: list[Memory]
) -> None:
    sessions = await opened(memories, 8)
    async with held(database, memories[0]):
        waiting = [asyncio.ensure_future(sessions[0].observe(f"Note {n}.")) for n in range(8)]
        async with await psycopg.AsyncConnection.connect(database.admin_dsn) as admin:
            while not await _waits(admin):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        told = await at_once(waiting[0])
        assert isinstance(told[0], errors.DatabaseUnavailable)
    rest = await at_once(*waiting[1:])
    assert len({id(error) for error in rest if isinstance(error, Exception)}) in (0, 7)
    assert all(isinstance(one, Receipt | errors.DatabaseUnavailable) for one in rest)
    assert (await sessions[0].observe("And after it.")).decision is Decision.ADD


async def _waits(admin: psycopg.AsyncConnection[Any]) -> bool:
    found = await admin.execute(
        "SELECT FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock'"
    )
    await admin.rollback()
    return bool(found.rowcount)


async def test_two_tenants_never_share_a_convoy(
    db: Idetic, world: World, other_world: World
) -> None:
    sessions = await opened([world.memory, other_world.memory])
    texts = [f"Writer {n}." for n in range(WRITERS)]
    told = await at_once(*map(noted, sessions, texts))
    await check_written(sessions, texts, told)


async def test_control_a_lane_of_two_tenants_is_refused_at_the_door(
    world: World, other_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gateway, "_lane", lambda *_: "everybody's")
    sessions = await opened([world.memory, other_world.memory], 8)
    told = await at_once(*(s.observe("A note.") for s in sessions))
    assert any(isinstance(one, ValueError) for one in told)


async def test_several_calls_are_decided_as_one_after_another(db: Idetic, agent: Agent) -> None:
    """The same notes in one tenant at once and in another one by one leave the same memory."""
    left = []
    for together in (True, False):
        world = await make_world(db, agent)
        session = await world.memory.session().open()
        calls = [
            *(session.observe(f"Note {n}.", idempotency_key=f"k{n % 5}") for n in range(5)),
            *(session.observe(f"Plain {n}.") for n in range(5)),
            *(session.observe(RULE_TEXT) for _ in range(5)),
            session.observe("A claim.", claim=Claim("a", "b", "c")),
            *(session.observe_many([Observation(f"Of many {n}.")] * 3) for n in range(3)),
        ]
        if together:
            told = await at_once(*calls)
        else:
            told = [(await at_once(call))[0] for call in calls]
        left.append([_outcome(one) for one in told])
        await check_chains([world.memory], agent)
    assert left[0] == left[1]


def _outcome(told: Any) -> Any:
    if isinstance(told, list):
        return [_outcome(one) for one in told]
    if isinstance(told, Exception):
        return type(told)
    return told.decision, told.reason, told.position

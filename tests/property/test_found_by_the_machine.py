"""What the state machine found, and what was read beside it: each as small as it gets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from idetic import Claim, Entry, EntryState, Idetic, Principal, Receipt, Typology, errors
from idetic.evidence import Outcome
from idetic.library.handles import Memory
from tests.conftest import World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.voices import as_principal, vouch

pytestmark = pytest.mark.anyio
SHARED = True

FIVE, SIX = Claim("limit", "value", "5"), Claim("limit", "value", "6")
BRIEF, FULL = Claim("output", "prefers", "brief"), Claim("output", "prefers", "full")


@pytest.fixture
async def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def world(db: Idetic, clock: SettableClock) -> AsyncIterator[World]:
    async with view_of(db, clock) as here:
        yield await make_world(here, await here.agent("world_agent"))


@pytest.fixture
def memory(world: World) -> Memory:
    return world.operator


async def say(memory: Memory, text: str, claim: Claim | None = None) -> UUID | None:
    """In a session of its own; gives the candidate that it leaves."""
    async with memory.session() as session:
        await session.observe(text, claim=claim)
        closed = await session.close()
    return next(iter(closed.entries("proposed")), None)


async def support(
    memory: Memory, entry: UUID | None, times: int = 3, *, holds: bool = True
) -> list[Receipt]:
    assert entry is not None
    return [await vouch(memory, entry, holds=holds) for _ in range(times)]


async def fact(memory: Memory, text: str, claim: Claim) -> UUID:
    entry = await say(memory, text, claim)
    await support(memory, entry)
    assert entry is not None
    assert not (await memory.get(entry)).candidate
    return entry


async def standing(memory: Memory) -> list[Entry]:
    return [entry for entry in await memory.list() if not entry.candidate]


async def story(memory: Memory, entry: UUID) -> list[str]:
    return [link.transition for link in await memory.history(entry)]


# --- one statement stands for a claim -------------------------------------------------------------


async def test_two_candidates_promoted_in_one_call_leave_one_standing(memory: Memory) -> None:
    ids = [await say(memory, "It is five.", FIVE), await say(memory, "It is six.", SIX)]
    await memory.dispose([one for one in ids if one], Outcome.PROMOTE, reason="both, somehow")
    assert [entry.claim for entry in await standing(memory)] == [SIX]


async def test_two_supported_values_of_one_session_leave_one_standing(memory: Memory) -> None:
    async with memory.session() as session:
        for text, claim in (("It is five.", FIVE), ("It is six.", SIX)):
            await support(memory, (await session.observe(text, claim=claim)).entry_id)
    assert [entry.claim for entry in await standing(memory)] == [SIX]


async def test_plain_words_that_promote_a_claim_meet_what_it_replaces(memory: Memory) -> None:
    old = await fact(memory, "It is five.", FIVE)
    new = await say(memory, "It is six.", SIX)
    await support(memory, new, 1)
    await say(memory, "It is six.")
    assert [entry.id for entry in await standing(memory)] == [new]
    assert (await memory.get(old)).state is EntryState.INVALIDATED


async def test_a_claim_and_its_words_in_one_session_are_one_source(memory: Memory) -> None:
    known = await fact(memory, "It is five.", FIVE)
    async with memory.session() as session:
        await session.observe("We agreed on five.", claim=FIVE)
        await session.observe("It is five.")
    voices = [one for one in await memory.corroborations(known) if one.source_ref == session.id]
    assert len(voices) == 1


async def test_a_preference_replaces_what_stands_and_not_what_waits(memory: Memory) -> None:
    first = await memory.prefer("Answer in full.", claim=FULL)
    waiting = await say(memory, "Brief answers, please.", BRIEF)
    assert waiting is not None
    assert (await memory.get(waiting)).typology is Typology.PROCEDURAL
    stated = await memory.prefer("Answer briefly.", claim=BRIEF)
    assert stated.superseded == first.entry_id
    assert [entry.id for entry in await standing(memory)] == [stated.entry_id]
    await support(memory, waiting, 8)
    assert [entry.id for entry in await standing(memory)] == [stated.entry_id], "it says the same"
    with pytest.raises(errors.TransitionRefused):
        await memory.dispose([waiting], Outcome.PROMOTE, reason="twice the same")


async def test_undo_brings_no_second_statement_of_a_claim_back(memory: Memory) -> None:
    first = await memory.prefer("Answer in full.", claim=FULL)
    assert first.entry_id is not None
    archived = await memory.archive(first.entry_id, reason="for now")
    await memory.prefer("Full answers.", claim=FULL)
    with pytest.raises(errors.TransitionRefused):
        await memory.undo(archived, reason="it was right")
    await memory.prefer("Answer briefly.", claim=BRIEF)
    assert [entry.claim for entry in await standing(memory)] == [BRIEF]


async def test_an_archived_candidate_moves_nothing(memory: Memory) -> None:
    old = await fact(memory, "It is five.", FIVE)
    new = await say(memory, "It is six.", SIX)
    assert new is not None
    await memory.archive(new, reason="nonsense")
    await support(memory, new)
    assert [entry.id for entry in await standing(memory)] == [old]
    assert (await memory.get(new)).candidate


# --- evidence -------------------------------------------------------------------------------------


async def test_a_statement_of_the_session_counts_beside_its_echo(memory: Memory) -> None:
    async with memory.session() as session:
        await session.observe("It is five.", claim=FIVE)
        async with session.interaction() as thread:
            await thread.observe("It is five.", claim=FIVE)
    (entry,) = await memory.list()
    voices = {one.source_ref for one in await memory.corroborations(entry.id)}
    assert voices == {session.id, thread.id}


async def test_a_failure_that_is_told_again_does_not_end_the_row(memory: Memory) -> None:
    known = await fact(memory, "It is five.", FIVE)
    for number in (0, 1, 0, 2):
        operator = as_principal(memory, Principal.operator(f"auditor-{number}"))
        await operator.corroborate(known, holds=False)
    assert (await memory.get(known)).state is EntryState.ARCHIVED


async def test_what_failed_is_archived_once_and_was_so_ever_since(
    memory: Memory, clock: SettableClock
) -> None:
    known = await fact(memory, "It is five.", FIVE)
    clock.advance(minutes=1)
    async with memory.session() as session:
        for _ in range(5):
            async with session.interaction() as thread:
                await thread.observe("It is six.", claim=SIX)
    await support(memory, known, 2, holds=False)
    assert (await story(memory, known)).count("archived") == 1
    assert known not in {entry.id for entry in await memory.as_of(clock.advance(minutes=1))}


# --- what counts, and does not yet ----------------------------------------------------------------

alone = Principal.agent("alone")


async def test_one_agent_is_one_source_when_its_notes_are_gone(world: World) -> None:
    """Who made a note stood in the note: once that is dropped, nobody's voice is another's."""
    agent = world.bind(alone)
    sessions = [await agent.session().__aenter__() for _ in range(3)]
    said = [(await one.observe("Fridays are short.")).entry_id for one in sessions]
    assert said[2] is not None
    for other in said[:2]:
        await agent.corroborate(said[2], other)
    for session in sessions:
        await session.close()
    assert await standing(agent) == []


async def test_one_agent_is_one_source_whoever_closes_its_sessions(
    world: World, clock: SettableClock
) -> None:
    """The copies that a sweeper makes at a close are named in the lineage, and are no voices."""
    agent, sweeper = world.bind(alone), world.bind(Principal.maintenance("sweeper"))
    thread = await (await agent.session().__aenter__()).interaction().__aenter__()
    await thread.observe("It is five.", claim=FIVE)
    clock.advance(minutes=61)
    await sweeper.recover()
    (candidate,) = await agent.list()
    session = await agent.session().__aenter__()
    again = (await session.observe("It is five.", claim=FIVE)).entry_id
    assert again is not None
    await agent.corroborate(again, candidate.id)
    clock.advance(minutes=61)
    await sweeper.recover()
    assert await standing(agent) == []


async def test_a_source_that_was_pointed_to_goes_with_its_session(world: World) -> None:
    agent = world.bind(alone)
    candidate = await say(agent, "It is five.", FIVE)
    assert candidate is not None
    async with agent.session() as session:
        source = (await session.observe("It is five.", claim=FIVE)).entry_id
        await agent.corroborate(candidate, source)
    assert source is not None
    assert (await agent.get(source)).state is EntryState.ARCHIVED


async def test_two_operators_may_go_by_the_same_rule(world: World, memory: Memory) -> None:
    candidate = await say(memory, "It is five.", FIVE)
    assert candidate is not None
    for name in ("ada", "bob"):
        operator = as_principal(memory, Principal.operator(name))
        await operator.corroborate(candidate, world.rule.id)
    assert len(await memory.corroborations(candidate)) == 3


async def test_a_session_closes_whatever_operators_went_by(world: World, memory: Memory) -> None:
    candidate = await say(memory, "It is five.", FIVE)
    assert candidate is not None
    ada, bob = (as_principal(memory, Principal.operator(name)) for name in ("ada", "bob"))
    await ada.corroborate(candidate, world.rule.id)
    session = await memory.session().__aenter__()
    again = (await session.observe("It is five.", claim=FIVE)).entry_id
    assert again is not None
    await bob.corroborate(again, world.rule.id)
    assert (await session.close()).count("corroborated") == 2


# --- undo -----------------------------------------------------------------------------------------


async def test_what_went_with_its_scope_does_not_come_back(memory: Memory) -> None:
    async with memory.session() as session:
        said = (await session.observe("Fridays are short.")).entry_id
        (supported,) = await support(memory, said, 1)
        assert said is not None
        archived = await memory.archive(said, reason="for now")
    for receipt in (supported, archived):
        with pytest.raises(errors.TransitionRefused):
            await memory.undo(receipt, reason="too late")


async def test_a_decision_is_undone_once(memory: Memory, clock: SettableClock) -> None:
    stated = (await memory.prefer("Ask twice.")).entry_id
    assert stated is not None
    (supported,) = await support(memory, stated, 1)
    await memory.undo(supported, reason="a mistake")
    archived = await memory.archive(stated, reason="for now")
    await memory.undo(archived, reason="a mistake")
    clock.advance(minutes=1)
    await memory.archive(stated, reason="for good")
    for receipt in (supported, archived):
        with pytest.raises(errors.TransitionRefused):
            await memory.undo(receipt, reason="once more")


async def test_an_undo_is_undone_as_a_whole(memory: Memory) -> None:
    old, new = await fact(memory, "It is five.", FIVE), await fact(memory, "It is six.", SIX)
    (promoted,) = [x for x in await memory.history(new) if x.transition == "promoted"]
    undone = await memory.undo(promoted, reason="a mistake")
    assert [entry.id for entry in await standing(memory)] == [old]
    await memory.undo(undone, reason="it was none")
    assert [entry.id for entry in await standing(memory)] == [new]


async def test_the_exemption_of_a_candidate_leaves_it_one(
    memory: Memory, clock: SettableClock
) -> None:
    waiting = await say(memory, "It is five.", FIVE)
    assert waiting is not None
    exempted = await memory.exempt(waiting, reason="keep it")
    assert await memory.as_of(clock.advance(minutes=1)) == [], "a candidate is not current"
    await memory.undo(exempted, reason="a mistake")
    assert (await memory.get(waiting)).exempt_at is None


# --- leases ---------------------------------------------------------------------------------------


async def test_a_resumed_session_is_alive(world: World, clock: SettableClock) -> None:
    session = await world.operator.session().__aenter__()
    clock.advance(minutes=59)
    await world.operator.session(session.id).__aenter__()
    clock.advance(minutes=59)
    assert await world.bind(Principal.maintenance("sweeper")).recover() == []
    await session.close()

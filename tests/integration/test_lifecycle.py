"""Memory that matures: what a close keeps and drops, what is promoted, decided, and taken back."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import (
    Claim,
    Decision,
    EntryState,
    Idetic,
    MemorySpec,
    Observation,
    Origin,
    Principal,
    Receipt,
    Rule,
    Tier,
    Typology,
    errors,
)
from idetic.evidence import (
    TRANSITIONS,
    Closed,
    ContradictionStatus,
    DispositionCause,
    Outcome,
    PromotionGate,
    Relation,
    SourceType,
)
from idetic.library.handles import Agent, Interaction, Memory, Session
from idetic.lifecycle.canonical_rescan import Rescanned
from idetic.spec.loader import load
from idetic.spec.primitives import Signal
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.chain import chain_faults
from tests.support.clock import START, SettableClock
from tests.support.databases import view_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.triggers import change_triggers
from tests.support.voices import another, vouch

pytestmark = pytest.mark.anyio
SHARED = True

DAY = timedelta(days=1)
SEEN = SourceType.OBSERVATION_EVENT


def cutoff(value: str, **more: Any) -> Observation:
    """What a thread says about the one thing that most of these tests are about."""
    said = f"Wires leave until {value}."
    return Observation(said, claim=Claim("partner bank", "cut-off", value), **more)


def prefers(value: str, **more: Any) -> Observation:
    """A pattern: how somebody wants something done."""
    said = f"The reviewer asked for {value}."
    return Observation(said, claim=Claim("reviewer", "prefers evidence", value), **more)


@dataclass(frozen=True)
class House:
    """A world whose clock the test holds, seen by everybody who may act in it."""

    world: World
    clock: SettableClock
    database: TestDatabase
    db: Idetic

    @property
    def agent(self) -> Memory:
        return self.world.memory

    @property
    def operator(self) -> Memory:
        return self.world.operator

    @property
    def upkeep(self) -> Memory:
        return self.world.bind(Principal.maintenance("sweeper"))

    def days(self, number: float) -> None:
        self.clock.advance(days=number)

    async def hear(self, *threads: Sequence[Observation], memory: Memory | None = None) -> Closed:
        return await hear(memory or self.agent, *threads)

    async def fact(self, said: Observation) -> UUID:
        """A fact: what three threads of two sessions said."""
        await self.hear([said], [said])
        return only(await self.hear([said]), "promoted")

    async def candidate(self, said: Observation) -> UUID:
        return only(await self.hear([said]), "proposed")

    async def persistent(self) -> dict[str, str]:
        """What is current in the persistent tier: its text, and whether it only waits."""
        found = await self.operator.list(tier=Tier.PERSISTENT)
        return {e.body_text: "candidate" if e.candidate else e.typology.value for e in found}

    def rows(self, table: str, entry_id: UUID) -> int:
        """How many rows of a table belong to an entry, past every policy."""
        with psycopg.connect(self.database.admin_dsn) as connection:
            query = f"SELECT count(*) FROM worlds.{table} WHERE memory_id = %s"  # noqa: S608
            found = connection.execute(query.encode(), (entry_id,)).fetchone()
            assert found is not None
            return int(found[0])


async def hear(memory: Memory, *threads: Sequence[Observation]) -> Closed:
    """One session: a thread for each list, closed one after the other; what its close did."""
    async with another(memory).session() as session:
        for said in threads:
            async with session.interaction() as turn:
                for one in said:
                    await observe(turn, one)
        return await session.close()


async def observe(place: Session | Interaction, said: Observation) -> UUID:
    (receipt,) = await place.observe_many([said])
    return entry_of(receipt)


def entry_of(receipt: Receipt) -> UUID:
    assert receipt.entry_id is not None
    return receipt.entry_id


def only(closed: Closed, transition: str) -> UUID:
    (found,) = closed.entries(transition)
    return found


def decided(closed: Closed, transition: str) -> Receipt:
    (found,) = [one.receipt for one in closed.decided if one.transition == transition]
    return found


async def story(memory: Memory, entry_id: UUID) -> list[str]:
    return [link.transition for link in await memory.history(entry_id)]


async def failing(memory: Memory, entry_id: UUID, number: int = 1) -> None:
    for _ in range(number):
        await vouch(memory, entry_id, holds=False)


@pytest.fixture
async def house(database: TestDatabase, db: Idetic) -> AsyncIterator[House]:
    """Whatever a test does, its ledger still verifies in the end."""
    clock = SettableClock()
    async with view_of(db, clock) as here:
        world = await make_world(here, await here.agent("world_agent"))
        yield House(world, clock, database, here)
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    assert chain_faults(database.admin_dsn, world.agent, **anchor) == []


# --- the end of an interaction ------------------------------------------------------------------


async def test_an_interaction_leaves_each_statement_to_its_session_once(house: House) -> None:
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            said = [await observe(turn, cutoff("16:00")) for _ in range(3)]
            other = await observe(turn, Observation("The queue was long."))
            closed = await turn.close()
        held = await session.list(tier=Tier.SESSION)
        assert {e.body_text for e in held} == {"Wires leave until 16:00.", "The queue was long."}
        entry = next(e for e in held if e.claim)
        lineage = await house.agent.lineage(entry.id)
        assert [(one.source_id, one.relation) for one in lineage] == [
            (source, Relation.COMPOUNDED) for source in said
        ]
        assert {one.interaction_id for one in lineage} == {turn.id}
        assert await session.list(tier=Tier.INTERACTION) == []
    assert closed.count("compounded") == 2
    for kept in said:
        assert (await house.agent.get(kept)).state is EntryState.ARCHIVED, "evidence"
    with pytest.raises(errors.EntryNotFound):
        await house.agent.get(other)


async def test_another_thread_of_the_session_only_adds_itself_to_what_is_there(
    house: House,
) -> None:
    async with house.agent.session() as session:
        for _ in range(2):
            async with session.interaction() as turn:
                await observe(turn, cutoff("16:00"))
        (entry,) = await session.list()
        lineage = await house.agent.lineage(entry.id)
    assert [one.relation for one in lineage] == [Relation.COMPOUNDED, Relation.RECURRED]
    assert len({one.interaction_id for one in lineage}) == 2


async def test_what_something_was_made_of_stays_as_evidence_and_the_rest_goes(house: House) -> None:
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            said = await observe(turn, cutoff("16:00"))
            idle = await observe(turn, Observation("The queue was long."))
        closed = await session.close()
    kept = only(closed, "proposed")
    assert said in {one.source_id for one in await house.agent.lineage(kept)}
    stays = (await house.agent.history(said))[-1]
    assert (stays.transition, stays.decision, stays.state_to) == (
        *("kept", Decision.UPDATE, "archived"),
    )
    into = await house.agent.history(UUID(stays.detail["into"]))
    assert [link.transition for link in into] == ["compounded", "kept"]
    assert into[-1].detail["into"] == str(kept)
    gone = (await house.agent.history(idle))[-1]
    assert (gone.transition, gone.decision, gone.state_to) == (
        *("dropped", Decision.DELETE, "dropped"),
    )
    assert gone.detail == {}, "a remark without claim, reference or echo goes nowhere"


async def test_a_derived_entry_has_the_weakest_trust_and_every_reference(house: House) -> None:
    other = await house.world.worlds.put_rule(
        house.world.org_id, house.world.world_id, "Another rule, about something else entirely."
    )
    closed = await house.hear(
        [cutoff("16:00", refs=(house.world.rule,), provenance={"world_model_version": "v1"})],
        [cutoff("16:00", refs=(other,), heard_from=Origin.TOOL)],
    )
    entry = await house.agent.get(only(closed, "proposed"))
    assert (entry.origin, entry.trust) == (Origin.TOOL, 40)
    assert house.world.rule in entry.refs
    assert entry.provenance == {"world_model_version": "v1"}


# --- the end of a session -----------------------------------------------------------------------


async def test_a_second_close_finds_nothing_to_do_and_says_so(house: House) -> None:
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            await observe(turn, cutoff("16:00"))
            await turn.close()
            again = await turn.close()
        await session.close()
        second = await session.close()
    for closed in (again, second):
        assert (closed.receipt.decision, closed.decided) == (Decision.NOOP, ())
        assert closed.receipt.reason == "it was closed already"
    with pytest.raises(errors.ScopeClosed):
        await session.observe("Too late.")


async def test_closing_a_session_closes_the_interactions_in_it(house: House) -> None:
    async with house.agent.session() as session:
        turn = session.interaction()
        await turn.__aenter__()
        await observe(turn, cutoff("16:00"))
        closed = await session.close()
        assert (closed.count("compounded"), closed.count("proposed")) == (1, 1)
        with pytest.raises(errors.ScopeClosed):
            await turn.observe("Too late.")


async def test_what_an_action_rests_on_stays_at_every_tier(house: House) -> None:
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            inner = await observe(turn, Observation("Both checks were seen."))
            await house.agent.link_action(uuid4(), "published_decision", [inner])
        outer = await observe(session, Observation("The batch went out by hand."))
        await house.agent.link_action(uuid4(), "published_decision", [outer])
        await session.observe("Nothing rests on this.")
    assert {e.body_text for e in await house.agent.list()} == {
        "Both checks were seen.", "The batch went out by hand.",
    }  # fmt: skip
    assert (await house.agent.get(inner)).tier is Tier.INTERACTION
    assert await story(house.agent, inner) == ["observed", "action_linked"]


async def test_what_speaks_against_a_rule_stays(house: House) -> None:
    async with house.agent.session() as session:
        doubt = await observe(session, Observation("The second check never came."))
        await house.agent.contradict(doubt, house.world.rule, reason="seen in the log")
        await session.observe("This one goes.")
    assert [e.id for e in await house.agent.list()] == [doubt]
    (waiting,) = await house.operator.contradictions()
    await house.operator.resolve(waiting.id, ContradictionStatus.DISMISSED, notes="a test system")
    assert (await house.agent.get(doubt)).state is EntryState.CURRENT


async def test_references_corroborations_vectors_and_lineage_go_with_their_row(
    database: TestDatabase,
) -> None:
    opened = Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder("bge-small-en-v1.5")
    )
    tables = [f"world_agent_memory_{name}" for name in
              ("rule_refs", "corroborations", "embeddings", "lineage")]  # fmt: skip
    async with opened as db:
        world = await make_world(db, await db.agent("world_agent", embed_inline=True))
        house = House(world, SettableClock(), database, db)
        async with house.agent.session() as session:
            async with session.interaction() as turn:
                await turn.observe("Nobody signed twice.", refs=[world.rule])
            (entry,) = await session.list()
            await vouch(house.agent, entry.id)
            await house.agent.context("Who signed?")
            await house.agent.embed()
            assert [house.rows(table, entry.id) for table in tables] == [1, 1, 1, 1]
        assert [house.rows(table, entry.id) for table in tables] == [1, 1, 1, 1], "evidence"
        (left,) = await house.agent.list()
        assert [house.rows(table, left.id) for table in tables] == [1, 2, 1, 2]
        found = {one.source_type for one in await house.agent.corroborations(left.id)}
        assert found == {SEEN, SourceType.OPERATOR_INPUT}


async def test_a_note_that_became_a_rule_meanwhile_is_refused_at_the_close_and_goes(
    house: House,
) -> None:
    note = ("Repaired wires are screened once more whenever the beneficiary's bank was changed, "
            "and only then do they go back to the queue.")  # fmt: skip
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            said = await observe(turn, Observation(note, refs=(house.world.rule,)))
            await house.world.worlds.put_rule(house.world.org_id, house.world.world_id, note)
        closed = await session.close()
    assert closed.count("proposed") == 0
    assert await house.operator.list() == []
    last = (await house.agent.history(said))[-1]
    assert last.transition == "dropped"
    assert "into" not in last.detail, "it went nowhere: what it would have become was refused"


# --- candidates, sources, gates -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("ground", "threads", "kept"),
    [
        ("nothing", [[Observation("The queue was long.")]], 0),
        ("claim", [[cutoff("16:00")]], 1),
        ("recurrence", [[Observation("The queue was long.")]] * 2, 1),
        ("the same thread twice", [[Observation("The queue was long.")] * 2], 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_statement_becomes_a_candidate_on_a_ground(
    house: House, ground: str, threads: list[list[Observation]], kept: int
) -> None:
    closed = await house.hear(*threads)
    assert closed.count("proposed") == kept, ground


async def test_a_reference_is_a_ground_too_and_candidates_are_not_recalled(house: House) -> None:
    await house.hear([Observation("Nobody signed twice.", refs=(house.world.rule,))])
    (entry,) = await house.agent.list()
    assert entry.candidate
    found = await house.agent.recall("Who signed twice?")
    asked = await house.agent.recall("Who signed twice?", include_candidates=True)
    assert ([h.entry.id for h in found.hits], [h.entry.id for h in asked.hits]) == ([], [entry.id])


async def test_three_threads_of_two_sessions_make_a_fact(house: House) -> None:
    said = cutoff("16:00")
    first = await house.hear([said, said, said], [said])
    entry = only(first, "proposed")
    assert await house.persistent() == {said.text: "candidate"}
    (held,) = [one for one in first.decided if one.transition == "held"]
    assert held.receipt.reason == "1 independent source, 3 needed; 1 session agrees, 2 needed"
    second = await house.hear([replace(said, text="16:00 it is, for wires.")])
    assert second.entries("promoted") == [entry]
    fact = await house.agent.get(entry)
    assert (fact.typology, fact.candidate, fact.body_text) == (
        *(Typology.SEMANTIC, False, said.text),
    )
    (promoted,) = [one for one in second.decided if one.transition == "promoted"]
    assert {g.gate: (g.passed, g.have, g.need) for g in promoted.gates} == {
        PromotionGate.DEDUPLICATION: (True, 1, 1),
        PromotionGate.CORROBORATION: (True, 3, 3),
        PromotionGate.SANITIZATION: (True, 0, 0),
        PromotionGate.CROSS_CONTEXT: (True, 2, 2),
    }
    assert {h.entry.id for h in (await house.agent.recall("When do wires leave?")).hits} == {entry}


async def test_three_threads_of_one_session_are_not_enough(house: House) -> None:
    closed = await house.hear([cutoff("16:00")], [cutoff("16:00")], [cutoff("16:00")])
    (held,) = [one for one in closed.decided if one.transition == "held"]
    assert held.receipt.reason == "1 independent source, 3 needed; 1 session agrees, 2 needed"


async def test_a_replayed_write_is_not_another_source(house: House) -> None:
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            keyed = replace(cutoff("16:00"), idempotency_key="once")
            first = (await turn.observe_many([keyed]))[0]
            again = (await turn.observe_many([keyed]))[0]
            assert again.replayed
            assert again.entry_id == first.entry_id
        closed = await session.close()
    (one,) = await house.agent.corroborations(only(closed, "proposed"))
    assert one.source == (SEEN, turn.id)


async def test_what_an_agent_infers_supports_nothing_by_itself(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    # Several agents: one alone would be one source whatever it brought.
    for name in ("explorer", "clerk", "teller") * 2:
        await house.world.bind(Principal.agent(name)).corroborate(entry)
    assert (await house.agent.get(entry)).candidate
    gates = {gate.gate: gate for gate in await house.agent.gates(entry)}
    assert gates[PromotionGate.CORROBORATION].have == 1
    found = [one.source_type for one in await house.agent.corroborations(entry)]
    assert found == [SEEN, *[SourceType.AGENT_INFERENCE] * 3], "drawn again, it is the same one"


async def test_an_operators_word_counts_once_and_is_a_context_of_its_own(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    await house.operator.corroborate(entry, notes="ticket 17")
    await house.operator.corroborate(entry)
    assert (await house.agent.get(entry)).candidate
    await vouch(house.operator, entry)
    assert not (await house.agent.get(entry)).candidate
    named = [c for c in await house.agent.corroborations(entry) if c.notes]
    assert [(c.by, c.source_by, c.notes, c.source_type, c.origin) for c in named] == [
        ("operator:ada", "operator:ada", "ticket 17", SourceType.OPERATOR_INPUT, Origin.OPERATOR)
    ]


async def test_gates_say_what_they_saw_and_what_they_need(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    assert [(g.gate, g.passed, g.why) for g in await house.agent.gates(entry)] == [
        (PromotionGate.DEDUPLICATION, True, "the one entry that says this"),
        (PromotionGate.CORROBORATION, False, "1 independent source, 3 needed"),
        (PromotionGate.SANITIZATION, True, "nothing to remove"),
        (PromotionGate.CROSS_CONTEXT, False, "1 session agrees, 2 needed"),
    ]
    with pytest.raises(errors.EntryNotFound):
        await house.agent.gates(uuid4())


async def test_without_claims_nearly_the_same_words_are_the_same_statement(house: House) -> None:
    def said(text: str) -> list[Observation]:
        return [Observation(text, refs=(house.world.rule,))]

    await house.hear(
        said("The corpus is silent on repaired wires."),
        said("Corpus is silent on the repaired wires!"),
    )
    third = await house.hear(said("the corpus is silent on repaired wires"))
    assert third.count("promoted") == 1
    other = await house.hear(said("The corpus is not silent on repaired wires."))
    assert other.count("proposed") == 1, "one word turns it around"


async def test_a_statement_with_a_claim_speaks_for_the_same_words_without_one(
    house: House,
) -> None:
    words = Observation("Wires leave until 16:00.")
    for threads in ([[words, cutoff("16:00")]], [[words], [cutoff("16:00")]]):
        closed = await house.hear(*threads)
        (entry_id,) = set(closed.entries("corroborated"))
        entry = await house.agent.get(entry_id)
        assert entry.claim == Claim("partner bank", "cut-off", "16:00")
    assert len(await house.persistent()) == 1


@pytest.mark.alone
async def test_personal_data_is_stripped_on_the_way_up_and_a_claim_of_it_refused(
    house: House,
) -> None:
    data = load("world_agent").as_data()
    data["gates"] = [gate for gate in data["gates"] if gate["boundary"] != "ingest"]
    agent = await house.db.agent(MemorySpec.model_validate(data), apply=True)
    house = replace(house, world=replace(house.world, agent=agent))
    rule = (house.world.rule,)
    closed = await house.hear([Observation("Ask jan.novak@example.com about holds.", refs=rule)])
    entry = await house.agent.get(only(closed, "proposed"))
    assert "jan.novak" not in entry.body_text
    assert entry.body_text.startswith("Ask ")
    claim = Claim("desk", "answers at", "jan.novak@example.com")
    refused = await house.hear([Observation("The desk has an address.", claim=claim)])
    (one,) = [d for d in refused.decided if d.transition == "promotion_refused"]
    assert one.decision is Decision.REJECT
    assert "jan.novak" not in one.receipt.reason
    assert refused.count("proposed") == 0


# --- conflict -----------------------------------------------------------------------------------


async def test_a_new_value_ends_the_old_ones_validity_and_both_are_kept(house: House) -> None:
    old = await house.fact(cutoff("16:00"))
    house.days(3)
    new = await house.fact(cutoff("15:00"))
    ended, begun = await house.agent.get(old), await house.agent.get(new)
    assert ended.state is EntryState.INVALIDATED
    assert ended.invalid_at == ended.invalidated_at == begun.valid_at == house.clock.now()
    assert await house.persistent() == {"Wires leave until 15:00.": "semantic"}
    (link,) = [h for h in await house.agent.history(old) if h.transition == "invalidated"]
    assert link.detail["replaced_by"] == str(new)
    before = await house.agent.as_of(house.clock.now() - DAY)
    assert [e.id for e in before] == [old]


async def test_similar_words_are_never_a_conflict(house: House) -> None:
    await house.fact(cutoff("16:00"))
    for _ in range(4):
        await house.hear([Observation("Wires leave until 15:00.", refs=(house.world.rule,))])
    assert await house.persistent() == {
        "Wires leave until 16:00.": "semantic", "Wires leave until 15:00.": "semantic",
    }  # fmt: skip


async def test_what_would_replace_a_stronger_statement_waits(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    weak = cutoff("15:00", heard_from=Origin.TOOL)
    await house.hear([weak], [weak])
    await house.hear([cutoff("16:00")])
    closed = await house.hear([weak])
    (held,) = [one for one in closed.decided if one.transition == "held"]
    assert held.receipt.reason == "its trust is 40, and it would replace a statement of 60"
    assert (await house.agent.get(fact)).state is EntryState.CURRENT
    waiting = only(closed, "held")
    await house.operator.dispose([waiting], Outcome.PROMOTE, reason="the tool is right")
    assert (await house.agent.get(fact)).state is EntryState.INVALIDATED


async def test_a_preference_supersedes_and_a_pattern_waits_for_eight(house: House) -> None:
    await house.hear([prefers("screenshots")])
    closed = await house.hear(*[[prefers("screenshots")]] * 6)
    (held,) = [one for one in closed.decided if one.transition == "held"]
    assert "seen 7 times for and 0 against: confidence 0.89, 0.90 needed" in held.receipt.reason
    closed = await house.hear([prefers("screenshots")])
    pattern = await house.agent.get(only(closed, "promoted"))
    assert (pattern.typology, pattern.candidate) == (Typology.PROCEDURAL, False)
    stated = await house.operator.prefer(
        "Links, please.", claim=Claim("reviewer", "prefers evidence", "links")
    )
    assert stated.superseded == pattern.id
    assert (await house.agent.get(pattern.id)).superseded_by == stated.entry_id


async def test_a_pattern_that_is_contested_needs_more(house: House) -> None:
    closed = await house.hear([prefers("links")], *[[prefers("screenshots")]] * 8)
    later = await house.hear([prefers("screenshots")])
    assert closed.count("promoted") == later.count("promoted") == 0
    (held,) = [one for one in later.decided if one.transition == "held"]
    assert "seen 9 times for and 1 against: confidence 0.83" in held.receipt.reason


async def test_a_pattern_does_not_replace_what_an_operator_stated(house: House) -> None:
    claim = Claim("reviewer", "prefers evidence", "links")
    stated = entry_of(await house.operator.prefer("Links, please.", claim=claim))
    await house.hear(*[[prefers("screenshots")]] * 6)
    closed = await house.hear(*[[prefers("screenshots")]] * 90)
    (held,) = [one for one in closed.decided if one.transition == "held"]
    assert "would replace a statement of 90" in held.receipt.reason
    assert (await house.agent.get(stated)).state is EntryState.CURRENT


async def test_episodes_that_disagree_stand_side_by_side(house: House) -> None:
    async with house.agent.session() as session:
        async with session.interaction() as turn:
            await observe(turn, cutoff("16:00"))
            await observe(turn, cutoff("15:00"))
        assert len(await session.list()) == 2
        closed = await session.close()
    assert closed.count("proposed") == 2


# --- failed corroborations ----------------------------------------------------------------------


async def test_three_sources_in_a_row_that_say_otherwise_archive_a_fact(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await failing(house.agent, fact, 2)
    assert (await house.agent.get(fact)).state is EntryState.CURRENT
    receipt = await vouch(house.agent, fact, holds=False)
    assert receipt.decision is Decision.NOOP
    assert (await house.agent.get(fact)).state is EntryState.ARCHIVED
    archived = (await house.agent.history(fact))[-1]
    assert archived.reason == "3 sources in a row said otherwise"
    assert archived.detail["cause"] == "failed_corroborations"


async def test_one_that_confirms_begins_the_row_anew(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await failing(house.agent, fact, 2)
    await vouch(house.agent, fact)
    await failing(house.agent, fact, 2)
    assert (await house.agent.get(fact)).state is EntryState.CURRENT


async def test_a_source_that_fails_twice_fails_once(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    for _ in range(4):
        await house.operator.corroborate(fact, holds=False)
    assert (await house.agent.get(fact)).state is EntryState.CURRENT
    await failing(house.agent, fact, 2)
    assert (await house.agent.get(fact)).state is EntryState.ARCHIVED, "the repeats changed nothing"


async def test_a_source_that_is_counted_already_does_not_begin_the_row_anew(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    async with house.agent.session() as session:
        said = await observe(session, cutoff("16:00"))
        await house.agent.corroborate(fact, said)
        await failing(house.agent, fact, 2)
        again = await house.agent.corroborate(fact, said)
    assert again.decision is Decision.NOOP
    await failing(house.agent, fact)
    assert (await house.agent.get(fact)).state is EntryState.ARCHIVED


async def test_what_an_agent_infers_fails_nothing(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    for _ in range(4):
        await house.agent.corroborate(fact, holds=False)
    assert (await house.agent.get(fact)).state is EntryState.CURRENT


async def test_statements_of_other_values_fail_a_fact(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await house.hear([cutoff("15:00")], [cutoff("15:30")])
    closed = await house.hear([cutoff("14:00")])
    assert closed.entries("archived") == [fact]


async def test_what_is_gone_is_not_promoted_by_late_support(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    await house.operator.archive(entry, reason="a rumour")
    for _ in range(3):
        await vouch(house.agent, entry)
    found = await house.agent.get(entry)
    assert (found.state, found.candidate) == (EntryState.ARCHIVED, True)
    assert "promoted" not in await story(house.agent, entry)


async def test_what_is_gone_is_not_archived_again(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await house.operator.archive(fact, reason="a rumour")
    since = (await house.agent.get(fact)).archived_at
    house.days(1)
    await failing(house.agent, fact, 3)
    assert (await house.agent.get(fact)).archived_at == since
    assert (await story(house.agent, fact)).count("archived") == 1


# --- meta-semantic ------------------------------------------------------------------------------


async def test_a_fact_of_two_versions_with_a_reference_holds_across_them(house: House) -> None:
    v1, v2 = ({"world_model_version": name} for name in ("v1", "v2"))
    said = cutoff("16:00", refs=(house.world.rule,))
    plain = Observation("Wires rest on Sunday.", claim=Claim("wires", "rest on", "Sunday"))
    for version in (v1, v1, v1):
        await house.hear([replace(said, provenance=version), replace(plain, provenance=version)])
    fact = next(e for e in await house.agent.list() if e.refs)
    assert (fact.candidate, fact.meta_at) == (False, None)
    house.days(1)
    closed = await house.hear([replace(said, provenance=v2), replace(plain, provenance=v2)])
    assert closed.entries("meta_promoted") == [fact.id], "the other one refers to nothing"
    assert (await house.agent.get(fact.id)).meta_at == house.clock.now()
    (link,) = [h for h in await house.agent.history(fact.id) if h.transition == "meta_promoted"]
    assert link.detail["versions"] == ["v1", "v2"]
    assert link.reason == "holds under 2 versions, 4 sources"
    again = await house.hear([replace(said, provenance=v2)])
    assert again.count("meta_promoted") == 0


# --- undo ---------------------------------------------------------------------------------------


async def test_undoing_a_promotion_makes_it_a_candidate_again(house: House) -> None:
    await house.hear([cutoff("16:00")], [cutoff("16:00")])
    closed = await house.hear([cutoff("16:00")])
    undone = await house.operator.undo(decided(closed, "promoted"), reason="too soon")
    assert undone.decision is Decision.UPDATE
    assert await house.persistent() == {"Wires leave until 16:00.": "candidate"}
    assert (await story(house.agent, only(closed, "promoted")))[-2:] == ["promoted", "undone"]


async def test_undoing_a_promotion_brings_back_what_it_invalidated(house: House) -> None:
    old = await house.fact(cutoff("16:00"))
    before = await house.agent.get(old)
    await house.hear([cutoff("15:00")], [cutoff("15:00")])
    house.days(1)
    closed = await house.hear([cutoff("15:00")])
    await house.operator.undo(decided(closed, "invalidated"), reason="that was the test system")
    assert await house.agent.get(old) == before
    assert await house.persistent() == {
        "Wires leave until 16:00.": "semantic", "Wires leave until 15:00.": "candidate",
    }  # fmt: skip


async def test_undoing_a_supersession_brings_the_old_preference_back(house: House) -> None:
    style = Claim("output", "style", "brief")
    brief = await house.operator.prefer("Be brief.", claim=style)
    full = await house.operator.prefer("Say all.", claim=replace(style, value="full"))
    await house.operator.undo(full, reason="a slip")
    assert await house.persistent() == {"Be brief.": "procedural"}
    assert (await house.agent.get(entry_of(full))).state is EntryState.ARCHIVED
    assert (await house.agent.get(entry_of(brief))).superseded_by is None


async def test_undoing_an_archive_and_an_exemption(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    before = await house.agent.get(fact)
    exempted = await house.operator.exempt(fact, reason="house rule")
    await house.operator.undo(exempted, reason="no it is not")
    archived = await house.operator.archive(fact, reason="obsolete")
    await house.operator.undo(archived, reason="it is not")
    assert await house.agent.get(fact) == before


async def test_undoing_an_automatic_archive_by_its_position(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await failing(house.agent, fact, 3)
    archived = (await house.agent.history(fact))[-1]
    await house.operator.undo(archived.position, reason="they looked at another bank")
    assert (await house.agent.get(fact)).state is EntryState.CURRENT
    await failing(house.agent, fact, 2)
    assert (await house.agent.get(fact)).state is EntryState.CURRENT, "the row begins anew"


async def test_an_undone_corroboration_stays_and_no_longer_counts(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    given = await vouch(house.operator, entry)
    await house.operator.undo(given, reason="the wrong ticket")
    found = await house.agent.corroborations(entry)
    assert [one.withdrawn_at is None for one in found] == [True, False]
    assert {g.gate: g.have for g in await house.agent.gates(entry)}[
        PromotionGate.CORROBORATION
    ] == 1
    await vouch(house.operator, entry)
    assert (await house.agent.get(entry)).candidate


async def test_what_something_was_built_on_is_not_undone(house: House) -> None:
    await house.hear([cutoff("16:00")], [cutoff("16:00")])
    closed = await house.hear([cutoff("16:00")])
    promoted = decided(closed, "promoted")
    await house.operator.archive(entry_of(promoted), reason="obsolete")
    with pytest.raises(errors.TransitionRefused, match="archived by now"):
        await house.operator.undo(promoted, reason="too soon")


async def test_a_corroboration_that_a_promotion_rests_on_is_not_undone(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    await vouch(house.operator, entry)
    last = await vouch(house.operator, entry)
    assert not (await house.agent.get(entry)).candidate
    with pytest.raises(errors.TransitionRefused):
        await house.operator.undo(last, reason="the wrong ticket")


async def test_an_old_value_does_not_come_back_beside_a_newer_one(house: House) -> None:
    old = await house.fact(cutoff("16:00"))
    archived = await house.operator.archive(old, reason="obsolete")
    await house.fact(cutoff("15:00"))
    with pytest.raises(errors.TransitionRefused, match="Another entry with the same claim key"):
        await house.operator.undo(archived, reason="it was right after all")


async def test_what_went_with_its_scope_cannot_come_back(house: House) -> None:
    async with house.agent.session() as session, session.interaction() as turn:
        said = await observe(turn, cutoff("16:00"))
    history = await house.agent.history(said)
    with pytest.raises(errors.TransitionRefused, match="stays as evidence"):
        await house.operator.undo(history[-1], reason="I want it back")
    with pytest.raises(errors.TransitionRefused):
        await house.operator.undo(history[0], reason="it should never have been written")


async def test_undo_of_nothing_is_told(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await failing(house.agent, fact)
    noted = (await house.agent.history(fact))[-1]
    with pytest.raises(errors.TransitionRefused, match="changed nothing"):
        await house.operator.undo(noted, reason="take it back")
    with pytest.raises(errors.NotFound):
        await house.operator.undo(10_000, reason="take it back")
    with pytest.raises(errors.InputError):
        await house.operator.undo(0, reason="take it back")


async def test_an_undo_can_be_undone_no_further(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    archived = await house.operator.archive(fact, reason="obsolete")
    await house.operator.undo(archived, reason="it is not")
    with pytest.raises(errors.TransitionRefused):
        await house.operator.undo(archived, reason="again")
    assert (await house.agent.get(fact)).state is EntryState.CURRENT


# --- recovery -----------------------------------------------------------------------------------


async def abandoned(house: House) -> tuple[Session, Interaction]:
    session = house.agent.session()
    await session.__aenter__()
    turn = session.interaction()
    await turn.__aenter__()
    await observe(turn, cutoff("16:00"))
    return session, turn


async def test_a_session_whose_process_died_is_closed_once_after_its_lease(house: House) -> None:
    session, turn = await abandoned(house)
    house.clock.advance(minutes=59)
    assert await house.upkeep.recover() == []
    house.clock.advance(minutes=2)
    (closed,) = await house.upkeep.recover()
    assert (closed.count("proposed"), closed.receipt.reason) == (1, "its lease ran out")
    assert await house.upkeep.recover() == []
    assert (await session.close()).receipt.decision is Decision.NOOP
    with pytest.raises(errors.ScopeClosed):
        await turn.observe("I am back.")


@pytest.mark.parametrize("sign", ["renewed", "written", "read", "opened"])
async def test_any_sign_of_life_keeps_a_session(house: House, sign: str) -> None:
    session, turn = await abandoned(house)
    house.clock.advance(minutes=50)
    signs: dict[str, Callable[[], Awaitable[Any]]] = {
        "renewed": turn.renew,
        "written": lambda: turn.observe("Still here."),
        "read": lambda: turn.context("When do wires leave?"),
        "opened": session.interaction().__aenter__,
    }
    await signs[sign]()
    house.clock.advance(minutes=50)
    recovered = await house.upkeep.recover()
    assert (await session.close()).receipt.decision is Decision.UPDATE
    assert len(recovered) == (sign == "opened"), "at most the thread that fell silent itself"


async def test_a_lease_that_ran_out_is_not_renewed(house: House) -> None:
    session, turn = await abandoned(house)
    house.clock.advance(hours=2)
    await house.upkeep.recover()
    for place in (session, turn):
        with pytest.raises(errors.ScopeClosed):
            await place.renew()


async def test_a_silent_thread_of_a_live_session_is_closed_alone(house: House) -> None:
    session, _ = await abandoned(house)
    house.clock.advance(minutes=50)
    await session.observe("The session goes on.")
    house.clock.advance(minutes=20)
    (closed,) = await house.upkeep.recover()
    assert (closed.count("compounded"), closed.count("proposed")) == (1, 0)
    await session.observe("And on.")


# --- disposition --------------------------------------------------------------------------------


async def test_a_fact_falls_due_when_its_validity_lapses_and_support_extends_it(
    house: House,
) -> None:
    lapsing = await house.fact(cutoff("16:00"))
    renewed = await house.fact(Observation("Rest on Sunday.", claim=Claim("w", "rest", "Sunday")))
    house.days(60)
    await vouch(house.agent, renewed)
    house.days(29.9)
    assert await house.operator.disposition() == []
    house.days(0.1)
    (due,) = await house.operator.disposition()
    assert (due.entry.id, due.cause) == (lapsing, DispositionCause.LAPSED)
    assert due.due_at == START + 90 * DAY
    assert due.pressure == pytest.approx(0.5)
    house.days(90)
    pressed = await house.operator.disposition()
    assert [d.entry.id for d in pressed] == [lapsing, renewed], "the hardest pressed first"
    # Falling due removes nothing: a person or a source decides.
    for one in (lapsing, renewed):
        assert (await house.agent.get(one)).state is EntryState.CURRENT


async def test_confidence_in_a_fact_falls_with_time_and_support_brings_it_back(
    house: House,
) -> None:
    """What recall makes of the validity window; a preference is as sure as on its first day."""
    fact = await house.fact(cutoff("16:00"))
    wish = entry_of(await house.operator.prefer("Wires are told in one sentence."))

    async def confidence() -> dict[UUID, float | None]:
        found = await house.agent.recall("When do wires leave?")
        return {hit.entry.id: hit.signals[Signal.DECAY].value for hit in found}

    fresh = await confidence()
    house.days(45)
    older = await confidence()
    house.days(60)
    lapsed = await confidence()
    assert (fresh[fact] or 0) > (older[fact] or 0) > (lapsed[fact] or 0)
    await vouch(house.agent, fact)
    assert (await confidence())[fact] == pytest.approx(fresh[fact])
    assert fresh[wish] == older[wish] == lapsed[wish] == 1.0


async def test_a_candidate_without_support_falls_due_and_procedural_memory_never(
    house: House,
) -> None:
    entry = await house.candidate(cutoff("16:00"))
    wish = entry_of(await house.operator.prefer("Be brief."))
    house.days(29.9)
    assert await house.operator.disposition() == []
    house.days(0.1)
    (due,) = await house.operator.disposition()
    assert (due.entry.id, due.cause) == (entry, DispositionCause.STALE_CANDIDATE)
    house.days(400)
    assert [d.entry.id for d in await house.operator.disposition()] == [entry]
    assert (await house.agent.get(wish)).state is EntryState.CURRENT
    await house.operator.archive(wish, reason="somebody says so")
    assert (await house.agent.get(wish)).state is EntryState.ARCHIVED


async def test_falling_due_is_noted_once(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    house.days(91)
    assert (await house.upkeep.mark_due(), await house.upkeep.mark_due()) == (1, 0)
    await house.operator.dispose([fact], Outcome.RECORROBORATE, reason="asked the bank")
    house.days(91)
    assert await house.upkeep.mark_due() == 1
    assert (await story(house.agent, fact)).count("disposition_due") == 2


async def test_the_four_ways_out_of_the_queue(house: House) -> None:
    facts = [await house.fact(Observation(f"Fact {n}.", claim=Claim("facts", str(n), "holds")))
             for n in range(3)]  # fmt: skip
    waiting = await house.candidate(cutoff("16:00"))
    house.days(91)
    assert len(await house.operator.disposition()) == 4
    outcomes = (Outcome.RECORROBORATE, Outcome.EXEMPT, Outcome.ARCHIVE, Outcome.PROMOTE)
    for entry, outcome in zip([*facts, waiting], outcomes, strict=True):
        (receipt,) = await house.operator.dispose([entry], outcome, reason="the quarter's review")
        assert (receipt.entry_id, receipt.reason) == (entry, "the quarter's review")
    found = [await house.agent.get(entry) for entry in [*facts, waiting]]
    assert [e.state.value for e in found] == ["current", "current", "archived", "current"]
    assert found[1].exempt_at == house.clock.now()
    assert not found[3].candidate
    confirmed = (await house.agent.corroborations(facts[0]))[-1]
    assert (confirmed.source_type, confirmed.notes) == (
        *(SourceType.OPERATOR_INPUT, "the quarter's review"),
    )
    left = [d.entry.id for d in await house.operator.disposition()]
    assert facts[0] not in left
    assert facts[1] not in left


async def test_a_promotion_by_an_operators_word_says_what_the_gates_saw(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    await house.operator.dispose([entry], Outcome.PROMOTE, reason="the contract says so")
    link, word = (await house.agent.history(entry))[-2:]
    assert (link.transition, link.reason) == ("promoted", "the contract says so")
    assert [g["passed"] for g in link.detail["gates"]] == [True, False, True, False]
    assert (word.transition, word.detail["source_type"]) == ("corroborated", "operator_input")


async def test_a_fact_that_was_just_promoted_by_hand_is_not_due_at_once(house: House) -> None:
    entry = await house.candidate(cutoff("16:00"))
    house.days(91)
    await house.operator.dispose([entry], Outcome.PROMOTE, reason="the contract says so")
    assert await house.operator.disposition() == []


async def test_many_are_disposed_of_at_once_or_none(house: House) -> None:
    entries = [await house.candidate(cutoff(f"{hour}:00")) for hour in range(10, 13)]
    with pytest.raises(errors.EntryNotFound):
        await house.operator.dispose([*entries, uuid4()], Outcome.ARCHIVE, reason="clear out")
    assert len(await house.persistent()) == 3
    receipts = await house.operator.dispose(entries, Outcome.ARCHIVE, reason="clear out")
    assert [r.entry_id for r in receipts] == entries
    assert await house.persistent() == {}
    for receipt in receipts:
        await house.operator.undo(receipt, reason="not yet")
    assert len(await house.persistent()) == 3


async def test_what_cannot_be_disposed_of_is_told(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    with pytest.raises(errors.TransitionRefused, match="is not a candidate"):
        await house.operator.dispose([fact], Outcome.PROMOTE, reason="again")
    await house.operator.archive(fact, reason="obsolete")
    with pytest.raises(errors.TransitionRefused, match="archived"):
        await house.operator.dispose([fact], Outcome.EXEMPT, reason="keep")
    async with house.agent.session() as session:
        note = await observe(session, Observation("Only a note."))
        with pytest.raises(errors.TransitionRefused, match="session tier"):
            await house.operator.dispose([note], Outcome.ARCHIVE, reason="away")
    for entries, outcome in (([], Outcome.ARCHIVE), ("x", Outcome.ARCHIVE), ([fact], "burn")):
        with pytest.raises(errors.InputError):
            await house.operator.dispose(entries, outcome, reason="away")  # type: ignore[arg-type]


# --- canon --------------------------------------------------------------------------------------


async def next_version(house: House, text: str) -> None:
    world = house.world
    await world.worlds.put_rule(world.org_id, world.world_id, text, rule_id=world.rule.id)


async def test_the_same_text_again_carries_over_what_supports_an_entry(house: House) -> None:
    fact = await house.fact(cutoff("16:00", refs=(house.world.rule,)))
    await failing(house.agent, fact)
    before, valid = await house.agent.corroborations(fact), await due_at(house, fact)
    house.days(30)
    await next_version(house, RULE_TEXT.lower().replace(" ", "  "))
    scanned = await house.upkeep.rescan("rule", house.world.rule.id)
    assert ([r.entry_id for r in scanned.carried], scanned.outdated) == ([fact], ())
    *old, carried = await house.agent.corroborations(fact)
    assert old == before
    assert (carried.source_type, carried.source_ref, carried.origin) == (
        SourceType.CROSS_VERSION_CARRY, house.world.rule.id, Origin.CANONICAL,
    )  # fmt: skip
    assert carried.at == max(one.at for one in before), "nothing new was seen"
    assert await house.operator.disposition() == []
    assert await due_at(house, fact) == valid
    again = await house.upkeep.rescan()
    assert (again.carried, again.outdated) == ((), ()), "a version is looked at once"
    # It stood for the failure before it: two more, and the row is full.
    await failing(house.agent, fact, 2)
    assert (await house.agent.get(fact)).state is EntryState.ARCHIVED


async def test_what_the_engine_writes_promotes_nothing(house: House) -> None:
    """One agent alone is one source; a rule that is published again makes no second of it."""
    said = cutoff("16:00", refs=(house.world.rule,))
    for _ in range(3):
        async with house.agent.session() as session:
            await observe(session, said)
    (entry,) = [one.id for one in await house.operator.list() if one.candidate]
    await next_version(house, RULE_TEXT)
    assert (await house.upkeep.rescan()).carried
    assert await house.upkeep.promote() == []
    assert (await house.agent.get(entry)).candidate
    # The control: with the word of somebody who saw it, the three threads count.
    await house.operator.corroborate(entry)
    assert not (await house.agent.get(entry)).candidate


async def test_a_changed_text_is_a_failed_corroboration_and_puts_before_a_person(
    house: House,
) -> None:
    resting = await house.fact(cutoff("16:00", refs=(house.world.rule,)))
    free = await house.fact(Observation("Rest on Sunday.", claim=Claim("w", "rest", "Sunday")))
    for number, text in enumerate(("Three check.", "Four check.", "Five check."), 1):
        assert (await house.agent.get(resting)).state is EntryState.CURRENT
        await next_version(house, text)
        scanned = await house.upkeep.rescan("rule", house.world.rule.id)
        assert ([r.entry_id for r in scanned.outdated], scanned.carried) == ([resting], ())
        assert await house.upkeep.rescan() == Rescanned(), "a version is looked at once"
        if number < 3:
            (due,) = await house.operator.disposition()
            assert (due.entry.id, due.cause, due.pressure) == (
                resting, DispositionCause.CANONICAL_CHANGE, 1.0,
            )  # fmt: skip
    told = await house.agent.history(resting)
    failed = [one for one in told if one.transition == "corroboration_failed"]
    assert {one.detail["source_type"] for one in failed} == {"rule_change"}
    assert (told[-1].transition, told[-1].detail["cause"]) == ("archived", "failed_corroborations")
    assert (await house.agent.get(free)).state is EntryState.CURRENT
    await house.operator.undo(scanned.outdated[0], reason="it still holds")
    assert (await house.agent.get(resting)).state is EntryState.CURRENT


async def test_a_changed_text_that_still_says_so_confirms(house: House) -> None:
    note = "Two operators check a transfer above the threshold before it is released."
    entry = await house.fact(
        Observation(note, claim=Claim("wires", "are checked by", "two"), refs=(house.world.rule,))
    )
    await failing(house.agent, entry, 2)
    house.days(30)
    await next_version(house, f"{RULE_TEXT} The record is kept for ten years.")
    assert (await house.upkeep.rescan()).outdated
    assert (await house.agent.corroborations(entry))[-1].source_type is SourceType.RULE_CHANGE
    await failing(house.agent, entry)
    assert (await house.agent.get(entry)).state is EntryState.CURRENT, "the row began anew"
    (due,) = await house.operator.disposition()
    assert (due.entry.id, due.cause) == (entry, DispositionCause.CANONICAL_CHANGE)
    # A person decides, and it waits no longer.
    await house.operator.dispose([entry], Outcome.RECORROBORATE, reason="asked the desk")
    assert await house.operator.disposition() == []


async def due_at(house: House, entry_id: UUID) -> datetime:
    """When an entry will fall due, asked far in the future."""
    now = house.clock.now()
    house.days(400)
    (found,) = [d.due_at for d in await house.operator.disposition() if d.entry.id == entry_id]
    house.clock.moment = now
    return found


async def test_a_rule_that_a_note_anticipated_archives_the_note(house: House) -> None:
    note = ("Repaired wires are screened once more whenever the beneficiary's bank was changed, "
            "and only then do they go back to the queue.")  # fmt: skip
    entry = await house.candidate(Observation(note, refs=(house.world.rule,)))
    short = await house.candidate(Observation("Repaired wires wait.", refs=(house.world.rule,)))
    assert (await house.upkeep.rescan()).shadows == ()
    rule = await house.world.worlds.put_rule(
        house.world.org_id, house.world.world_id, note.replace("once more", "again")
    )
    (receipt,) = (await house.upkeep.rescan()).shadows
    assert receipt.entry_id == entry
    link = (await house.agent.history(entry))[-1]
    assert (link.detail["cause"], link.detail["id"]) == ("shadow", str(rule.id))
    assert link.detail["similarity"] > 0.85
    assert (await house.agent.get(short)).state is EntryState.CURRENT
    assert (await house.upkeep.rescan()).shadows == ()


# --- contradictions -----------------------------------------------------------------------------

_WAY = {
    ContradictionStatus.OPEN: (),
    ContradictionStatus.DISMISSED: (ContradictionStatus.DISMISSED,),
    ContradictionStatus.SURFACED: (ContradictionStatus.SURFACED,),
    ContradictionStatus.PROMOTED: (ContradictionStatus.SURFACED, ContradictionStatus.PROMOTED),
}
_ALLOWED = {
    ("open", "surfaced_to_operator"),
    ("open", "dismissed"),
    ("surfaced_to_operator", "dismissed"),
    ("surfaced_to_operator", "promoted_to_revision_signal"),
}


async def test_of_sixteen_transitions_four_are_allowed(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    assert {(a.value, b.value) for a, after in TRANSITIONS.items() for b in after} == _ALLOWED
    for before, after in product(ContradictionStatus, repeat=2):
        rule = await house.world.worlds.put_rule(
            house.world.org_id, house.world.world_id, f"A rule for {before} and {after}."
        )
        await house.agent.contradict(fact, rule, reason="it does not fit")
        every = await house.operator.contradictions(status=list(ContradictionStatus))
        row = next(c for c in every if c.ref.id == rule.id)
        for step in _WAY[before]:
            await house.operator.resolve(row.id, step, notes="on the way")
        if (before.value, after.value) in _ALLOWED:
            moved = await house.operator.resolve(row.id, after, notes="looked at")
            assert moved.decision is Decision.UPDATE
        else:
            with pytest.raises(errors.TransitionRefused, match="cannot become"):
                await house.operator.resolve(row.id, after, notes="looked at")


async def test_the_database_refuses_a_wrong_transition_too(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    await house.agent.contradict(fact, house.world.rule, reason="it does not fit")
    with (
        psycopg.connect(house.database.admin_dsn) as connection,
        pytest.raises(psycopg.Error, match="cannot become"),
    ):
        connection.execute(
            "UPDATE worlds.world_agent_rule_contradictions "
            "SET status = 'promoted_to_revision_signal'"
        )


async def test_a_contradiction_waits_in_the_queue_until_it_is_settled(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    opened = await house.agent.contradict(fact, house.world.rule, reason="it does not fit")
    again = await house.agent.contradict(fact, house.world.rule, reason="it still does not")
    assert (opened.decision, again.decision) == (Decision.ADD, Decision.NOOP)
    (row,) = await house.operator.contradictions()
    assert (row.entry_id, row.ref.id, row.status) == (
        *(fact, house.world.rule.id, ContradictionStatus.OPEN),
    )
    assert row.observed_by == "agent:explorer"
    await house.operator.resolve(row.id, ContradictionStatus.SURFACED, notes="for ada")
    house.days(1)
    await house.operator.resolve(row.id, ContradictionStatus.PROMOTED, notes="the rule is wrong")
    assert await house.operator.contradictions() == []
    (settled,) = await house.operator.contradictions(status=[ContradictionStatus.PROMOTED])
    assert (settled.resolution_notes, settled.resolved_by, settled.resolved_at) == (
        *("the rule is wrong", "operator:ada", house.clock.now()),
    )
    assert (await story(house.agent, fact))[-5:] == [
        "contradicted",
        "contradiction_surfaced_to_operator",
        "contradiction_promoted_to_revision_signal",
        "revision_signalled",
        "action_linked",
    ]
    renewed = await house.agent.contradict(fact, house.world.rule, reason="once more")
    assert renewed.decision is Decision.ADD


async def test_a_resolution_is_taken_back_to_what_stood_before(house: House) -> None:
    fact, operator = await house.fact(cutoff("16:00")), house.operator
    await house.agent.contradict(fact, house.world.rule, reason="it does not fit")
    (opened,) = await operator.contradictions()
    surfacing = await operator.resolve(opened.id, ContradictionStatus.SURFACED, notes="for ada")
    (surfaced,) = await operator.contradictions()
    for settled in (ContradictionStatus.DISMISSED, ContradictionStatus.PROMOTED):
        house.days(1)
        settling = await operator.resolve(opened.id, settled, notes="looked at")
        (after,) = await operator.contradictions(status=[settled])
        with pytest.raises(errors.TransitionRefused, match="a later decision changed it"):
            await operator.undo(surfacing, reason="too early")
        house.days(1)
        undone = await operator.undo(settling, reason="a mistake")
        assert await operator.contradictions() == [surfaced], "with its own notes, time and author"
        with pytest.raises(errors.TransitionRefused, match="surfaced_to_operator now"):
            await operator.undo(settling, reason="twice")
        redone = await operator.undo(undone, reason="it was none")
        assert await operator.contradictions(status=[settled]) == [after]
        await operator.undo(redone, reason="it was one")
        assert await operator.contradictions() == [surfaced]
    taken = await operator.undo(surfacing, reason="not yet")
    assert await operator.contradictions() == [opened]
    await operator.undo(taken, reason="now")
    assert await operator.contradictions() == [surfaced]
    told = await house.agent.history(fact)
    promoted = "contradiction_promoted_to_revision_signal"
    signalled = ("revision_signalled", "action_linked", "proposal_withdrawn")
    moves = [link.transition for link in told if link.transition not in signalled]
    assert moves[-6:] == [promoted, *["undone"] * 5]
    assert "looked at" not in str([link.detail for link in told]), "notes stay where they can go"


async def test_what_was_dismissed_at_once_is_open_again(house: House) -> None:
    fact, operator = await house.fact(cutoff("16:00")), house.operator
    await house.agent.contradict(fact, house.world.rule, reason="it does not fit")
    (opened,) = await operator.contradictions()
    dismissal = await operator.resolve(opened.id, ContradictionStatus.DISMISSED, notes="it does")
    first = await operator.undo(dismissal, reason="it does not")
    assert await operator.contradictions() == [opened]
    await operator.resolve(opened.id, ContradictionStatus.SURFACED, notes="for ada")
    with pytest.raises(errors.TransitionRefused, match="a later decision changed it"):
        await operator.undo(first, reason="the dismissal is gone")


async def test_an_undo_that_something_was_built_on_is_refused(house: House) -> None:
    fact, operator = await house.fact(cutoff("16:00")), house.operator
    raised = await house.agent.contradict(fact, house.world.rule, reason="it does not fit")
    with pytest.raises(errors.TransitionRefused, match="cannot be undone") as refused:
        await operator.undo(raised, reason="it does")
    assert "dismissed" in str(refused.value.remedy)
    (row,) = await operator.contradictions()
    dismissal = await operator.resolve(row.id, ContradictionStatus.DISMISSED, notes="it does")
    with pytest.raises(errors.CapabilityRefused):
        await house.agent.undo(dismissal, reason="not mine to take back")
    again = await house.agent.contradict(fact, house.world.rule, reason="it still does not")
    assert again.decision is Decision.ADD
    with pytest.raises(errors.TransitionRefused, match="raised again"):
        await operator.undo(dismissal, reason="a mistake")
    (second,) = await operator.contradictions()
    await operator.resolve(second.id, ContradictionStatus.DISMISSED, notes="it does")
    await operator.tombstone(fact, reason="not needed")
    with pytest.raises(errors.TransitionRefused, match="deleted by now"):
        await operator.undo(dismissal, reason="a tombstone has no open contradiction")


_WHOLE = (
    "status = 'surfaced_to_operator', resolution_notes = previous_notes, "
    "resolved_at = previous_at, resolved_by = previous_by"
)
_NOT_WHAT_STOOD = [
    "status = 'open'",
    "status = 'open', resolution_notes = NULL, resolved_at = NULL, resolved_by = NULL",
    "status = 'surfaced_to_operator'",
    _WHOLE.replace("= previous_notes", "= 'said otherwise'"),
    _WHOLE.replace("= previous_at", "= now()"),
    _WHOLE.replace("= previous_by", "= 'operator:eve'"),
    "status = 'promoted_to_revision_signal'",
    "status = 'dismissed'",
]


@pytest.mark.alone
async def test_the_database_lets_it_go_back_to_what_stood_and_no_further(house: House) -> None:
    """The controls: all of what stood is let by, to the letter; without the trigger, anything."""
    fact = await house.fact(cutoff("16:00"))
    await house.agent.contradict(fact, house.world.rule, reason="it does not fit")
    (row,) = await house.operator.contradictions()
    for step in (ContradictionStatus.SURFACED, ContradictionStatus.DISMISSED):
        await house.operator.resolve(row.id, step, notes=f"as {step}")
    update = "UPDATE worlds.world_agent_rule_contradictions SET "
    with psycopg.connect(house.database.admin_dsn) as connection:
        for change in _NOT_WHAT_STOOD:
            with pytest.raises(psycopg.Error, match="cannot become"), connection.transaction():
                connection.execute(update + change)
        assert connection.execute(update + _WHOLE).rowcount == 1
        # A past that it never had cannot be written beside it either.
        connection.execute(
            update + "status = 'dismissed', previous_status = 'promoted_to_revision_signal'"
        )
        kept = "SELECT previous_status, previous_notes FROM worlds.world_agent_rule_contradictions"
        assert connection.execute(kept).fetchall() == [
            ("surfaced_to_operator", "as surfaced_to_operator")
        ]
        change_triggers(
            connection, "ALTER TABLE worlds.world_agent_rule_contradictions DISABLE TRIGGER turn"
        )
        assert connection.execute(update + _NOT_WHAT_STOOD[0]).rowcount == 1
        connection.rollback()


async def test_a_contradiction_with_nothing_is_refused(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    with pytest.raises(errors.InputError):
        await house.agent.contradict(fact, replace(house.world.rule, noun="law"), reason="no")
    with pytest.raises(errors.ReferenceNotFound):
        await house.agent.contradict(fact, Rule(uuid4()), reason="no such rule")
    with pytest.raises(errors.EntryNotFound):
        await house.agent.contradict(uuid4(), house.world.rule, reason="no such entry")
    with pytest.raises(errors.NotFound):
        await house.operator.resolve(uuid4(), ContradictionStatus.DISMISSED, notes="which?")


# --- keys and capabilities ----------------------------------------------------------------------


async def twice(verb: Callable[[], Awaitable[Receipt]]) -> None:
    """A verb that is repeated under its key gives its first receipt back."""
    first, again = await verb(), await verb()
    assert again == first
    assert (first.replayed, again.replayed) == (False, True)


async def test_every_new_verb_takes_an_idempotency_key(house: House) -> None:
    fact, rule = await house.fact(cutoff("16:00")), house.world.rule
    await twice(lambda: house.operator.corroborate(fact, idempotency_key="a"))
    await twice(lambda: house.agent.contradict(fact, rule, reason="no", idempotency_key="b"))
    (row,) = await house.operator.contradictions()
    seen = ContradictionStatus.SURFACED
    await twice(lambda: house.operator.resolve(row.id, seen, notes="see", idempotency_key="c"))
    archived = await house.operator.archive(fact, reason="obsolete")
    await twice(lambda: house.operator.undo(archived, reason="it is not", idempotency_key="d"))
    with pytest.raises(errors.IdempotencyConflict):
        await house.operator.corroborate(fact, holds=False, idempotency_key="a")


async def test_a_verb_needs_its_capability(house: House) -> None:
    fact, rule = await house.fact(cutoff("16:00")), house.world.rule
    await house.agent.contradict(fact, rule, reason="it does not fit")
    (row,) = await house.operator.contradictions()
    customer = house.world.bind(Principal.customer("c"))
    surfaced = ContradictionStatus.SURFACED
    refused: list[Callable[[], Awaitable[Any]]] = [
        lambda: customer.corroborate(fact),
        lambda: customer.contradict(fact, rule, reason="no"),
        lambda: house.agent.resolve(row.id, surfaced, notes="no"),
        lambda: house.agent.undo(1, reason="no"),
        lambda: house.agent.dispose([fact], Outcome.ARCHIVE, reason="no"),
        lambda: house.agent.dispose([fact], Outcome.PROMOTE, reason="no"),
        lambda: house.upkeep.dispose([fact], Outcome.EXEMPT, reason="no"),
        lambda: house.upkeep.dispose([fact], Outcome.RECORROBORATE, reason="no"),
        house.operator.recover,
        house.operator.rescan,
        house.operator.mark_due,
        lambda: customer.session().__aenter__(),
        lambda: customer.gates(fact),
        lambda: customer.corroborations(fact),
        lambda: house.agent.propose([fact], reason="no"),
    ]
    for verb in refused:
        with pytest.raises(errors.CapabilityRefused):
            await verb()
    assert len(await house.operator.gates(fact)) == 4
    assert len(await house.operator.corroborations(fact)) == 3


async def test_another_tenants_entries_are_not_there(house: House) -> None:
    fact = await house.fact(cutoff("16:00"))
    other = await make_world(house.db, house.world.agent)
    for verb in (
        lambda: other.operator.corroborate(fact),
        lambda: other.operator.contradict(fact, other.rule, reason="no"),
        lambda: other.operator.dispose([fact], Outcome.ARCHIVE, reason="no"),
        lambda: other.operator.gates(fact),
        lambda: other.operator.lineage(fact),
        lambda: other.operator.corroborations(fact),
    ):
        with pytest.raises(errors.EntryNotFound):
            await verb()
    assert await other.operator.disposition() == []


# --- other specs --------------------------------------------------------------------------------


@pytest.fixture
async def clerk(house: House) -> AsyncIterator[tuple[House, Memory, Memory]]:
    """The Operations Agent: no semantic memory, no corroborations."""
    agent = await house.db.agent("operator_agent")
    me = uuid4()
    bound = [agent.bind(operator_id=me, principal=p)
             for p in (Principal.agent("clerk"), Principal.operator("ada"))]  # fmt: skip
    yield house, bound[0], bound[1]
    assert chain_faults(house.database.admin_dsn, agent, operator_id=me) == []


Clerk = tuple[House, Memory, Memory]


async def test_the_operations_agent_learns_a_habit_and_no_facts(clerk: Clerk) -> None:
    _, memory, operator = clerk
    closed = await hear(memory, [cutoff("16:00")], [prefers("screenshots")])
    assert closed.count("proposed") == 1
    assert closed.count("corroborated") == 0
    entry = only(closed, "proposed")
    await hear(memory, *[[prefers("screenshots")]] * 6)
    counted = next(g for g in await memory.gates(entry) if g.gate is PromotionGate.CORROBORATION)
    assert counted.why == "seen 7 times for and 0 against: confidence 0.89, 0.90 needed"
    closed = await hear(memory, [prefers("screenshots"), prefers("screenshots")])
    assert closed.entries("promoted") == [entry]
    found = await memory.get(entry)
    assert (found.typology, found.candidate) == (Typology.PROCEDURAL, False)
    assert len(await memory.lineage(entry)) > 8
    await operator.undo(decided(closed, "promoted"), reason="too soon")
    assert (await memory.get(entry)).candidate


async def test_what_it_does_not_keep_it_says(clerk: Clerk) -> None:
    house, memory, operator = clerk
    closed = await hear(memory, [prefers("screenshots")])
    entry = only(closed, "proposed")
    with pytest.raises((errors.WritePolicyRefused, errors.CapabilityRefused)):
        await operator.corroborate(entry)
    with pytest.raises((errors.TransitionRefused, errors.CapabilityRefused)):
        await operator.dispose([entry], Outcome.RECORROBORATE, reason="so it is")
    house.days(31)
    (due,) = await operator.disposition()
    assert due.cause is DispositionCause.STALE_CANDIDATE
    await operator.dispose([entry], Outcome.PROMOTE, reason="that is how I work")
    assert [(e.id, e.candidate) for e in await operator.list()] == [(entry, False)]


def with_episodes() -> dict[str, Any]:
    """The World Agent with episodes in its persistent tier, as the documents' tables have it."""
    data: dict[str, Any] = copy.deepcopy(load("world_agent").as_data())
    data["agent"] = "chronicler"
    data["backend"]["family"] = "chronicler"
    data["typology"]["persistent"] = ["episodic", "semantic", "procedural"]
    del data["promotion"]  # of episodes that leave a session for good: here none does
    return data


@pytest.mark.alone
async def test_persistent_episodes_are_compounded_then_promoted_to_a_fact(house: House) -> None:
    agent: Agent = await house.db.agent(with_episodes())
    memory, operator = (
        agent.bind(org_id=house.world.org_id, domain_id=house.world.domain_id, principal=p)
        for p in (Principal.agent("explorer"), Principal.operator("ada"))
    )
    said = cutoff("16:00", refs=(house.world.rule,))
    first = await hear(memory, [said], [said], [Observation("The queue was long.")])
    kept = {e.body_text: e for e in await memory.list()}
    assert {e.typology for e in kept.values()} == {Typology.EPISODIC}
    assert set(kept) == {said.text, "The queue was long."}, "every episode is kept, no candidate"
    assert first.count("proposed") == 0
    episode = kept[said.text].id
    closed = await hear(memory, [said])
    fact = await memory.get(only(closed, "promoted"))
    assert (fact.typology, fact.candidate, fact.refs) == (Typology.SEMANTIC, False, said.refs)
    assert (await memory.get(episode)).state is EntryState.ARCHIVED
    assert len(await memory.corroborations(fact.id)) == 3
    assert [one.source_id for one in await memory.lineage(fact.id)] == [episode]
    again = await hear(memory, [said])
    assert again.entries("corroborated") == [fact.id], "a fact before an episode that says it"
    house.days(8)
    (due,) = await operator.disposition()
    assert (due.entry.body_text, due.cause) == ("The queue was long.", DispositionCause.FORCED)
    await operator.undo(decided(closed, "promoted"), reason="too soon")
    assert (await memory.get(episode)).state is EntryState.CURRENT
    assert (await memory.get(fact.id)).state is EntryState.ARCHIVED
    anchor = {"org_id": house.world.org_id, "domain_id": house.world.domain_id}
    assert chain_faults(house.database.admin_dsn, agent, **anchor) == []


@pytest.mark.alone
async def test_an_episode_is_promoted_by_an_operators_word(house: House) -> None:
    agent: Agent = await house.db.agent(with_episodes())
    memory, operator = (
        agent.bind(org_id=house.world.org_id, domain_id=house.world.domain_id, principal=p)
        for p in (Principal.agent("explorer"), Principal.operator("ada"))
    )
    closed = await hear(memory, [Observation("The queue was long.")])
    (episode,) = [e for e in await memory.list() if e.tier is Tier.PERSISTENT]
    assert closed.count("promoted") == 0
    (receipt,) = await operator.dispose([episode.id], Outcome.PROMOTE, reason="worth keeping")
    assert receipt.entry_id == episode.id
    (fact,) = await memory.list()
    assert (fact.typology, fact.body_text) == (Typology.SEMANTIC, "The queue was long.")

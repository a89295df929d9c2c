"""Asking persona memory: by meaning and words with the real model, and by likeness of loops."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from idetic import Idetic
from idetic.embed import BgeSmall
from idetic.errors import GateRefused, InputError, TextRefused
from idetic.persona.events import EventDraft, EventKind, Persona, Visibility
from idetic.persona.identity import Identity, default_heuristics
from idetic.persona.notes import NoteGate
from idetic.persona.persona_errors import NoteRefused
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.retrieval import RagFilters
from idetic.spec.primitives import Signal
from idetic.store import nomination_statements
from idetic.store.word_index import WordIndex
from tests.support.clock import START, SettableClock
from tests.support.databases import view_of
from tests.support.persona import remembering, task, thought

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"
SHARED = True

TALKS = {
    "Where can I park my car?": "The garage is behind the station and free after six.",
    "My invoice is wrong.": "I sent a corrected bill to the accounting office.",
    "Can I bring my dog?": "Animals may ride along in the last carriage.",
    "The screen stays dark.": "Hold the power button for ten seconds and wait for the lamp.",
}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def memory(db: Idetic, embedder: BgeSmall, clock: SettableClock) -> PersonaMemory:
    memory = await remembering(view_of(db, clock, embedder), tenant=uuid4().hex)
    for asked, answered in TALKS.items():
        await task(memory, asked, answered)
        clock.advance(hours=1)
    return memory


# --- long-term memory ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("pets on trains", "Animals may ride along"),
        ("a place to leave the vehicle", "The garage is behind"),
        ("display does not switch on", "Hold the power button"),
    ],
)
async def test_what_is_meant_is_found_without_a_common_word(
    memory: PersonaMemory, question: str, answer: str
) -> None:
    found = await memory.actor.rag_query(question, limit=4)
    assert any(answer in hit.entry.summary for hit in found)
    assert all(hit.signals[Signal.SEMANTIC].rank is not None for hit in found)
    assert not found.not_used


async def test_an_answer_explains_itself(memory: PersonaMemory) -> None:
    found = await memory.actor.rag_query("corrected bill for accounting", limit=3)
    best = found[0]
    assert "corrected bill" in best.entry.summary
    parts = [word.contribution for word in best.signals.values()]
    assert sum(parts) == pytest.approx(best.score)
    weighed = {signal for signal, word in best.signals.items() if word.rank is not None}
    assert weighed == {Signal.SEMANTIC, Signal.LEXICAL, Signal.STATEMENT}, "the agent said it"
    told = found.explain()
    assert "help-desk__actor__ltm" in told
    assert "lexical" in told
    assert f"{best.score:.4f}" in told
    assert (found.considered, len(found), found.pending) == (16, 3, 0)


async def test_filters_narrow(memory: PersonaMemory, clock: SettableClock) -> None:
    async def kinds(filters: RagFilters) -> set[str]:
        return {hit.entry.kind for hit in await memory.actor.rag_query("dog", filters, limit=50)}

    every = await memory.actor.rag_query("dog", limit=50)
    assert len(every) == 16, "as many as there are, if as many are asked for"
    assert await kinds(RagFilters(kinds=[EventKind.USER_INPUT])) == {"user_input"}
    inside = RagFilters(visibilities=[Visibility.INTERNAL])
    assert await kinds(inside) == {"tool_call", "tool_result"}
    loop_id = every[0].entry.loop_id
    one = await memory.actor.rag_query("dog", RagFilters(loop_ids=[loop_id]), limit=50)
    assert {hit.entry.loop_id for hit in one} == {loop_id}
    late = RagFilters(since=START + timedelta(hours=3))
    assert {hit.entry.ts for hit in await memory.actor.rag_query("dog", late, limit=50)} == {
        START + timedelta(hours=3)
    }
    early = RagFilters(until=START + timedelta(hours=1), min_importance=0.6)
    assert {hit.entry.kind for hit in await memory.actor.rag_query("dog", early)} == {"user_input"}
    assert list(await memory.actor.rag_query("dog", RagFilters(loop_ids=[uuid4()]))) == []


async def test_a_large_memory_is_asked_through_its_index(
    memory: PersonaMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the word index and HNSW the same is found, filters included."""
    questions = ("pets on trains", "corrected bill", "dark screen")
    outside = RagFilters(visibilities=[Visibility.EXTERNAL])
    ways = [(text, filters) for text in questions for filters in (None, outside)]
    exact = [await memory.actor.rag_query(*way, limit=16) for way in ways]
    monkeypatch.setattr(nomination_statements, "WALKED_FROM", 1)
    recalls = memory.actor._stores.engine.recalls
    scope = memory.actor._stores.common.scope(Persona.ACTOR)
    assert await WordIndex(recalls.database, recalls.family).update(scope, 10_000, 0) > 0
    recalls._unindexed.clear()
    indexed = [await memory.actor.rag_query(*way, limit=16) for way in ways]
    assert recalls._kept is not None
    assert all(kept.reading.walked for kept in recalls._kept._anchors.values())
    for one, other in zip(exact, indexed, strict=True):
        assert [hit.entry.id for hit in one] == [hit.entry.id for hit in other]
        assert len(other) == other.considered


@pytest.mark.parametrize(
    ("text", "filters", "limit"),
    [
        ("", None, 8),
        ("a\x00b", None, 8),
        ("x" * 5_000, None, 8),
        (5, None, 8),
        ("dog", None, 0),
        ("dog", None, 20_000),
        ("dog", RagFilters(kinds="error"), 8),  # type: ignore[arg-type]
        ("dog", RagFilters(kinds=["dream"]), 8),  # type: ignore[list-item]
        ("dog", RagFilters(since=START.replace(tzinfo=None)), 8),
        ("dog", RagFilters(min_importance=2), 8),
        ("dog", RagFilters(loop_ids=["x"]), 8),  # type: ignore[list-item]
    ],
)
async def test_bad_questions_are_refused(
    memory: PersonaMemory, text: Any, filters: RagFilters | None, limit: int
) -> None:
    with pytest.raises(InputError):
        await memory.actor.rag_query(text, filters, limit=limit)


async def test_an_empty_memory_answers_nothing(memory: PersonaMemory) -> None:
    assert list(await memory.actor.rag_query("dog", RagFilters(kinds=[EventKind.FEEDBACK]))) == []
    assert (await memory.subconscious.rag_query("dog")).hits, "the Actor's"
    assert await memory.subconscious.window() == []


# --- short-term memory ---------------------------------------------------------------------------


async def test_loops_are_found_by_likeness(memory: PersonaMemory) -> None:
    found = await memory.actor.fuzzy_query("can i bring my DOG")
    assert found[0].entry.summary.startswith("Task: Can I bring my dog?")
    assert found[0].similarity == 1.0
    assert await memory.actor.fuzzy_query("xylophone quartz") == []


async def test_the_window_rolls(memory: PersonaMemory, clock: SettableClock) -> None:
    loose = default_heuristics(Persona.ACTOR).model_copy(update={"threshold": 0, "window": 2})
    found = await memory.actor.fuzzy_query("anything", loose)
    newest = [entry.loop_id for entry in await memory.actor.window(2)]
    assert {one.entry.loop_id for one in found} == set(newest)
    assert len(await memory.actor.window()) == 4
    for number in range(20):
        clock.advance(minutes=1)
        async with memory.loop() as loop:
            await loop.append(EventKind.USER_INPUT, f"Number {number}")
    assert len(await memory.actor.window()) == 20, "as many as the identity says"
    texts = [entry.summary for entry in await memory.actor.window()]
    assert texts[0] == "Task: Number 19"
    assert not any("dog" in text for text in texts)


async def test_the_identity_says_how_loops_are_searched(
    db: Idetic, embedder: BgeSmall, clock: SettableClock
) -> None:
    """Two identities of the same life: what one lets through, the other finds too unlike."""
    found = {}
    for threshold, top_k in ((0, 2), (90, 8)):
        heuristics = f"{{threshold: {threshold}, top_k: {top_k}}}"
        text = f"agent_id: searcher-{threshold}\nactor: {heuristics}\n"
        memory = await view_of(db, clock, embedder).persona(Identity.parse(text), tenant="acme")
        for asked, answered in TALKS.items():
            await task(memory, asked, answered)
        found[threshold] = await memory.actor.fuzzy_query("may a dog come along")
    assert (len(found[0]), len(found[90])) == (2, 0)


async def test_newer_loops_win_among_equals(memory: PersonaMemory, clock: SettableClock) -> None:
    for _ in range(2):
        clock.advance(hours=30)
        async with memory.loop() as loop:
            await loop.append(EventKind.USER_INPUT, "Where is the lost property office?")
    first, second = await memory.actor.fuzzy_query("lost property office")
    assert first.entry.ts > second.entry.ts
    assert first.score > second.score


# --- notes ---------------------------------------------------------------------------------------


async def test_a_note_reaches_the_actor(memory: PersonaMemory) -> None:
    await thought(memory, "Users grow impatient when replies exceed a hundred words.")
    note = await memory.note("Keep answers brief and offer a link.")
    assert await memory.actor.operational_notes() == [note]
    later = await memory.note("Ask before you cancel a booking.")
    assert await memory.actor.operational_notes() == [later, note]
    assert await memory.actor.operational_notes(limit=1) == [later]


@pytest.mark.parametrize(
    "text",
    [
        "Users grow impatient when replies exceed a hundred words.",
        "NOTE: users grow  IMPATIENT, when replies...",
        "Remember that replies exceed a hundred words sometimes.",
        "When replies exceed hundred words, users grow impatient.",
        "impatient users grow: exceed hundred words replies",
        "Zanzibar.",
        "The codeword is Zanzibar today, so be careful.",
    ],
)
async def test_a_note_that_gives_the_subconscious_away_is_refused(
    memory: PersonaMemory, text: str
) -> None:
    await thought(memory, "Users grow impatient when replies exceed a hundred words.", "Zanzibar")
    with pytest.raises(NoteRefused) as raised:
        await memory.note(text)
    assert "impatient" not in str(raised.value)
    assert await memory.actor.operational_notes() == []


async def test_notes_name_no_ids_and_no_secrets(memory: PersonaMemory) -> None:
    (event,) = await thought(memory, "Nothing much.")
    for text in (f"See {event.id}", f"See {event.loop_id.hex}"):
        with pytest.raises(NoteRefused):
            await memory.note(text)
    for empty in ("...", "ada@example.com"):
        with pytest.raises((GateRefused, TextRefused)):
            await memory.note(empty)
    note = await memory.note("Write to ada@example.com when the printer fails.")
    assert "ada@" not in note.text


def test_control_a_gate_that_compares_nothing_lets_it_pass() -> None:
    secret = "Users grow impatient when replies exceed a hundred words."
    assert NoteGate(secret).overlaps(secret)
    assert not NoteGate("Keep answers brief.").overlaps(secret)
    assert not NoteGate("Users like trains.").overlaps(secret), "one word is no quotation"


async def test_a_long_text_around_a_secret_hides_nothing(memory: PersonaMemory) -> None:
    await thought(memory, "the blue folder is forged")
    padding = " ".join(f"filler{n}" for n in range(90))
    with pytest.raises(NoteRefused):
        await memory.note(f"{padding} the blue folder is forged {padding}")


async def test_events_that_a_reader_gave_their_time_are_ordered_by_it(
    memory: PersonaMemory,
) -> None:
    async with memory.loop() as loop:
        await loop.append_many(
            [
                EventDraft(EventKind.USER_INPUT, f"then {n}", ts=START - timedelta(days=n))
                for n in (3, 1)
            ]
        )
    entry = next(e for e in await memory.actor.window(100) if e.loop_id == loop.id)
    assert entry.ts == START - timedelta(days=1)

"""The shadow guard: what it refuses, in whatever disguise, and what it lets pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, Idetic, Observation, Principal, Ref, errors
from idetic.context import Runbooks
from tests.conftest import TestDatabase, World, make_world
from tests.support import shadows
from tests.support.clock import SettableClock
from tests.support.scoped import bind
from tests.support.triggers import change_triggers

SHARED = True
NEAR = "A wire transfer above ten thousand must be checked by two operators, and I find this right."


@dataclass(frozen=True)
class Library:
    """A world with all the rules of the shadows."""

    world: World
    rules: tuple[Ref, ...]

    def id_of(self, rule: str) -> str:
        return str(self.rules[shadows.RULES.index(rule)].id)


@pytest.fixture
async def library(world: World) -> Library:
    put = world.worlds.put_rule
    more = [await put(world.org_id, world.world_id, text) for text in shadows.RULES[1:]]
    return Library(world, (world.rule, *more))


async def refused(world: World, *texts: str) -> errors.Refused:
    """The last of these texts is refused, the others are admitted, in a session of their own."""
    async with world.memory.session() as session:
        for text in texts[:-1]:
            assert (await session.observe(text)).decision is Decision.ADD
        with pytest.raises(errors.Refused) as caught:
            await session.observe(texts[-1])
    return caught.value


async def attempts(session: object, texts: Sequence[str]) -> list[str]:
    """What each attempt is answered with."""
    told = []
    for text in texts:
        try:
            told.append((await session.observe(text)).decision.value)  # type: ignore[attr-defined]
        except errors.Refused as error:
            told.append(error.code)
    return told


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("disguise", shadows.DISGUISES)
async def test_a_decorated_or_recased_copy_is_refused(library: Library, disguise: str) -> None:
    for rule in shadows.RULES:
        copy = shadows.DISGUISES[disguise](rule)
        error = await refused(library.world, copy)
        assert isinstance(error, errors.ShadowRefused), (disguise, rule)
        assert error.detail["id"] == library.id_of(rule)


async def test_a_rule_quoted_inside_a_longer_note_is_refused(library: Library) -> None:
    for rule in shadows.RULES:
        for note in (
            shadows.LEAD + rule,
            rule + shadows.TAIL,
            shadows.LEAD + rule + shadows.TAIL,
            f'{shadows.LEAD}"{rule.upper()}"{shadows.TAIL}',
            (shadows.LEAD * 6 + rule + shadows.TAIL * 4)[:2000],
        ):
            error = await refused(library.world, note)
            assert isinstance(error, errors.ShadowRefused)
            assert (error.detail["id"], error.detail["how"]) == (library.id_of(rule), "quoted")


async def test_a_rule_quoted_in_two_parts_of_one_note_is_refused(library: Library) -> None:
    for rule in shadows.RULES:
        first, second = shadows.halves(rule)
        error = await refused(library.world, second + shadows.TAIL + " " + first)
        assert error.detail["id"] == library.id_of(rule)


async def test_two_notes_that_together_restate_a_rule_are_one_too_many(library: Library) -> None:
    for rule in shadows.RULES:
        first, second = shadows.halves(rule)
        for texts in (
            (first, second),
            (second, first),
            (first, "Something else happened.", second),
            (shadows.LEAD + first, second + shadows.TAIL),
        ):
            error = await refused(library.world, *texts)
            assert isinstance(error, errors.ShadowRefused)
            assert (error.detail["id"], error.detail["how"]) == (library.id_of(rule), "together")
            assert "written before it" in error.message


async def test_the_halves_of_a_rule_in_one_batch_are_seen_together(world: World) -> None:
    first, second = shadows.halves(shadows.RULES[0])
    async with world.memory.session() as session:
        seen = [Observation(text) for text in (first, "Between them.", second)]
        receipts = await session.observe_many(seen)
    assert [r.decision for r in receipts] == ["ADD", "ADD", "REJECT"]
    assert receipts[2].detail["with"] == [str(receipts[0].entry_id)]


async def test_halves_by_two_writers_in_two_sessions_are_put_together(
    database: TestDatabase,
) -> None:
    """Within the window that the spec states, and with its end as the control."""
    clock = SettableClock()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        agent = await db.agent("world_agent")
        for hours, decision in ((23, "shadow"), (25, "ADD")):
            world = await make_world(db, agent)
            first, second = shadows.halves(shadows.RULES[0])
            other = world.bind(Principal.agent("another"))
            async with world.memory.session() as one, other.session() as two:
                await one.observe(first)
                clock.advance(hours=hours)
                assert await attempts(two, [second]) == [decision], hours


async def test_a_rule_told_in_a_few_notes_is_one_note_too_many(world: World) -> None:
    """Of notes shorter than these some share no fingerprint with the rule; which ones, the world's
    id decides.
    """
    said = shadows.RULES[0].split(" ")
    parts = [" ".join(said[n : n + 11]) for n in range(0, len(said), 11)]
    async with world.memory.session() as session:
        told = await attempts(session, parts)
    assert told[0] == "ADD"
    assert "shadow" in told


async def test_a_short_rule_copied_word_for_word_is_a_record(world: World) -> None:
    """The trigger skips notes under 100 characters; a row's whole text is refused all the same."""
    short = "Ask the second operator before you release a wire."
    rule = await world.worlds.put_rule(world.org_id, world.world_id, short)
    for text in (short, short.upper(), f"**{short}**"):
        error = await refused(world, text)
        assert isinstance(error, errors.RecordRefused)
        assert error.detail["id"] == str(rule.id)
    async with world.memory.session() as session:
        kept = await session.observe(f"{short} That is what Ada keeps saying, and she is right.")
        assert kept.decision is Decision.ADD


async def test_a_record_written_out_is_refused_and_recorded(world: World) -> None:
    row = {"rule_id": str(world.rule.id), "version": 1, "source_strength": "curated"}
    error = await refused(world, json.dumps(row))
    assert isinstance(error, errors.RecordRefused)
    receipt = error.detail["receipt"]
    assert (receipt.decision, receipt.reason) == (Decision.REJECT, "record")
    assert receipt.detail["form"] == "json"
    async with world.memory.session() as session:
        seen = [Observation("One."), Observation(json.dumps(row)), Observation("Two.")]
        assert [r.decision for r in await session.observe_many(seen)] == ["ADD", "REJECT", "ADD"]


async def test_the_guard_of_another_world_is_no_ones_business(
    library: Library, other_world: World
) -> None:
    """Only its own world's rules bind a note: the others' are neither compared nor named."""
    own = await refused(other_world, shadows.RULES[0])
    assert own.detail["id"] == str(other_world.rule.id)
    for text in (shadows.RULES[1], shadows.LEAD + shadows.RULES[2]):
        async with other_world.memory.session() as session:
            assert (await session.observe(text)).decision is Decision.ADD


async def test_another_world_of_the_same_tenant_binds_no_note(world: World) -> None:
    """The tenant's two worlds have the same walls between them as two tenants have."""
    text, domain = shadows.RULES[1], uuid4()
    there = await world.worlds.register(world.org_id, domain, "Cards")
    rule = await world.worlds.put_rule(world.org_id, there, text)
    async with world.memory.session() as session:
        assert (await session.observe(text)).decision is Decision.ADD
    own = await refused(replace(world, domain_id=domain, world_id=there), text)
    assert own.detail["id"] == str(rule.id), "control: its own world's binds"


async def test_a_refusal_names_the_row_and_its_text_is_nowhere(library: Library) -> None:
    rule = shadows.RULES[0]
    words = {word.lower() for word in rule.split() if len(word) > 7}
    async with library.world.memory.session() as session:
        for text in (rule, shadows.LEAD + rule, "\u200b".join(rule)):
            with pytest.raises(errors.ShadowRefused) as caught:
                await session.observe(text)
            told = f"{caught.value} {caught.value.detail}".lower()
            assert library.id_of(rule) in told
            assert not [word for word in words if word in told]
            receipt = caught.value.detail["receipt"]
            assert receipt.detail["length"] == len(text)
            assert receipt.detail["similarity"] > 0.85


_BLIND = """
CREATE OR REPLACE FUNCTION worlds.world_agent_rule_suspects_v1(
    p_tenant uuid, p_roots uuid[], p_items jsonb) RETURNS integer[]
LANGUAGE sql AS 'SELECT NULL::integer[]'
"""


@pytest.mark.alone
async def test_control_without_the_closer_look_only_the_trigger_is_left(
    database: TestDatabase, library: Library
) -> None:
    rule = shadows.RULES[0]
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        connection.execute(_BLIND)
    async with library.world.memory.session() as session:
        disguised = ["\u200b".join(rule), shadows.LEAD + rule + shadows.TAIL, *shadows.halves(rule)]
        assert await attempts(session, disguised) == ["ADD"] * 4
        assert await attempts(session, [rule, rule.upper()]) == ["shadow"] * 2


@pytest.mark.alone
async def test_control_without_the_count_a_reworded_copy_passes(
    database: TestDatabase, library: Library
) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        connection.execute(
            """CREATE OR REPLACE FUNCTION worlds.world_agent_spent_v1(p_tenant uuid,
                   p_anchor uuid, p_at timestamptz, p_kind idetic.principal, p_name text,
                   p_session uuid) RETURNS SETOF uuid
               LANGUAGE sql STABLE AS 'SELECT NULL::uuid WHERE false'"""
        )
    async with library.world.memory.session() as session:
        assert await attempts(session, [shadows.RULES[0]] * 5) == ["shadow"] * 5
        assert await attempts(session, [NEAR]) == ["ADD"]


@pytest.mark.alone
async def test_rules_that_were_there_before_are_printed_when_the_spec_is_applied(
    database: TestDatabase, db: Idetic, library: Library
) -> None:
    rule = shadows.RULES[1]
    quote = shadows.LEAD + rule + shadows.TAIL
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
        change_triggers(
            connection, "ALTER TABLE worlds.world_agent_rule_prints DISABLE TRIGGER USER"
        )
        connection.execute("DELETE FROM worlds.world_agent_rule_prints")
        change_triggers(
            connection, "ALTER TABLE worlds.world_agent_rule_prints ENABLE TRIGGER USER"
        )
        connection.execute("DELETE FROM idetic.compiled_objects WHERE kind = 'prints'")
    async with library.world.memory.session() as session:
        assert await attempts(session, [quote]) == ["ADD"], "control: nothing is known of them"
    await db.agent("world_agent", apply=True)
    assert (await refused(library.world, quote)).detail["id"] == library.id_of(rule)


# --- what passes ----------------------------------------------------------------------------------


async def test_ordinary_notes_on_the_same_subjects_are_not_refused(
    library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mentions, paraphrases and conclusions, all in one session, where they could add up."""
    wrongly: list[str] = []
    async with library.world.memory.session() as session:
        for note in shadows.NOTES:
            try:
                await session.observe(note, refs=[library.rules[0]])
            except errors.Refused:
                wrongly.append(note)
    with capsys.disabled():
        share = len(wrongly) / len(shadows.NOTES)
        print(f"\nordinary notes refused: {len(wrongly)} of {len(shadows.NOTES)} ({share:.1%})")
    assert wrongly == []


async def test_a_batch_of_ordinary_notes_passes_as_a_whole(library: Library) -> None:
    async with library.world.memory.session() as session:
        receipts = await session.observe_many([Observation(note) for note in shadows.NOTES])
    assert {r.decision for r in receipts} == {Decision.ADD}


# --- calibration ----------------------------------------------------------------------------------


async def test_as_a_backstop_the_guard_refuses_copies_and_leaves_quotes(db: Idetic) -> None:
    operator_id = uuid4()
    agent = await db.agent("operator_agent")
    memory = agent.bind(operator_id=operator_id, principal=Principal.agent("ops"))
    book = await Runbooks(db).put_runbook(operator_id, shadows.RULES[2])
    first, second = shadows.halves(shadows.RULES[2])
    async with memory.session() as session:
        for copy in (shadows.RULES[2], "\u200b".join(shadows.RULES[2])):
            with pytest.raises(errors.ShadowRefused) as caught:
                await session.observe(copy)
            assert caught.value.detail["id"] == str(book.id)
        for text in (first, second, shadows.LEAD + shadows.RULES[2] + shadows.TAIL):
            assert (await session.observe(text)).decision is Decision.ADD


# --- capped retries -------------------------------------------------------------------------------


async def test_a_writer_cannot_paraphrase_until_it_passes(library: Library) -> None:
    rule = shadows.RULES[0]
    tries = [rule, rule.lower(), shadows.LEAD + rule]
    async with library.world.memory.session() as session:
        assert await attempts(session, tries) == ["shadow"] * 3
        assert await attempts(session, [rule, NEAR]) == ["shadow_retries"] * 2
        with pytest.raises(errors.RetriesSpent) as caught:
            await session.observe(NEAR)
        assert caught.value.detail["id"] == library.id_of(rule)
        assert caught.value.detail["how"] == "near"
        # The rest of the session goes on: other rules, and one's own words about this one.
        assert await attempts(session, [shadows.RULES[1], "A plain note."]) == ["shadow", "ADD"]
        assert await attempts(session, shadows.NOTES[:7]) == ["ADD"] * 7


async def test_what_counts_is_one_scope_one_writer_and_one_row(library: Library) -> None:
    world, (one, two, three, *_) = library.world, shadows.RULES
    other = world.bind(Principal.agent("another"))
    async with world.memory.session() as session, other.session() as theirs:
        assert await attempts(session, [one, two, three, one, two]) == ["shadow"] * 5
        assert await attempts(session, [NEAR]) == ["ADD"]
        assert await attempts(theirs, [one, one]) == ["shadow"] * 2
    async with world.memory.session() as session:
        assert await attempts(session, [one, NEAR]) == ["shadow", "ADD"]


async def test_without_a_session_the_retries_come_back_after_a_day(
    database: TestDatabase, world: World
) -> None:
    clock = SettableClock()
    async with Idetic.open(database.dsn, clock=clock) as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        for code in ["shadow"] * 3 + ["shadow_retries"]:
            with pytest.raises(errors.ShadowRefused) as caught:
                await memory.prefer(shadows.RULES[0])
            assert caught.value.code == code
        clock.advance(days=1, seconds=1)
        with pytest.raises(errors.ShadowRefused) as caught:
            await memory.prefer(shadows.RULES[0])
        assert caught.value.code == "shadow"


async def test_a_repeated_request_is_one_attempt(library: Library) -> None:
    async with library.world.memory.session() as session:
        for _ in range(5):
            with pytest.raises(errors.ShadowRefused) as caught:
                await session.observe(shadows.RULES[0], idempotency_key="once")
            assert caught.value.code == "shadow"
        assert await attempts(session, [NEAR]) == ["ADD"]


async def test_every_attempt_is_in_the_ledger_without_a_word_of_it(library: Library) -> None:
    rule = shadows.RULES[0]
    texts = [rule, shadows.LEAD + rule, rule.upper(), rule, NEAR]
    receipts = []
    async with library.world.memory.session() as session:
        for text in texts:
            with pytest.raises(errors.ShadowRefused) as caught:
                await session.observe(text)
            receipts.append(caught.value.detail["receipt"])
        session_id = session.id
    assert [r.position for r in receipts] == list(
        range(receipts[0].position, receipts[0].position + 5)
    )
    assert [r.reason for r in receipts] == ["shadow"] * 3 + ["retries"] * 2
    for receipt, text in zip(receipts, texts, strict=True):
        assert set(receipt.detail) <= {
            "noun", "id", "similarity", "how", "length", "session", "with",
        }  # fmt: skip
        assert UUID(receipt.detail["session"]) == session_id
        assert receipt.detail["length"] == len(text)


# --- rows by raw SQL ------------------------------------------------------------------------------

_RAW = """
INSERT INTO worlds.world_agent_memory
SELECT (jsonb_populate_record(m, jsonb_build_object('memory_id', gen_random_uuid()) || %s)).*
FROM worlds.world_agent_memory m WHERE m.memory_id = %s
"""
_UNGUARDED = {
    "a superuser without a scope": "NOT row_security_active(TG_RELID)",
    "another root": "root_key, said)",
    "an anchor that is not there": "IF p_root IS NULL THEN",
}
_INSTEAD = ("false", "NEW.world_id, said)", "IF false THEN")


@pytest.mark.alone
@pytest.mark.parametrize("row", _UNGUARDED)
async def test_a_raw_row_is_guarded_whatever_it_says_of_itself(
    database: TestDatabase, world: World, row: str
) -> None:
    """Each beside its control: without the line that sees it, the same row is taken."""
    other = await world.worlds.register(world.org_id, uuid4(), "Elsewhere")
    claim = Claim("tone", "is", "plain")
    kept = (await world.operator.prefer("A note like any other.", claim=claim)).entry_id
    said = {
        "a superuser without a scope": {},
        "another root": {"world_id": str(other)},
        "an anchor that is not there": {"anchor_id": str(uuid4())},
    }[row]
    copied = (json.dumps({"body_text": shadows.RULES[0], **said}), kept)
    with psycopg.connect(database.admin_dsn) as connection:
        if said:
            bind(connection, world.memory.scope)
        refused = pytest.raises(psycopg.errors.CheckViolation, match="restates rule")
        with refused, connection.transaction():
            connection.execute(_RAW, copied)
        own = f"{NEAR} It was said twice today, and nobody in the room minded that at all."
        with connection.transaction():
            assert connection.execute(_RAW, (json.dumps({"body_text": own, **said}), kept)).rowcount
        _sabotage(connection, row)
        assert connection.execute(_RAW, copied).rowcount


def _sabotage(connection: psycopg.Connection, row: str) -> None:
    """Take one line out of the guard: of the trigger's function, or of the look-up."""
    line, instead = _UNGUARDED[row], dict(zip(_UNGUARDED, _INSTEAD, strict=True))[row]
    for function in ("world_agent_rule_guard_v1", "world_agent_rule_shadow_v1"):
        found = connection.execute(
            "SELECT pg_get_functiondef(%s::regproc)", (f"worlds.{function}",)
        ).fetchone()
        assert found
        if line in found[0]:
            connection.execute(found[0].replace(line, instead).encode())
            return
    raise AssertionError(line)

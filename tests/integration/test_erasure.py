"""Erasing somebody: what goes, what stays and is said to stay, and that nothing brings it back."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors as pg

from idetic import Claim, Decision, EntryState, Principal, Subject, Tier, errors
from idetic.evidence import ContradictionStatus
from idetic.store import erasure_rows
from idetic.store.embeddings import Pending, Piece
from tests.integration.test_retention import EMPTIED, OWNER, House, entry_of
from tests.integration.test_retention import house as house  # noqa: PLC0414 - the fixture
from tests.support.triggers import change_triggers, without_triggers
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True

ZORA = Subject(["Zora Quell", "zora@quell.example"])
READS, VECTORS = "world_agent_memory_reads", "world_agent_memory_embeddings"


def hits(house: House, *words: str) -> dict[str, int]:
    """Rows of any table of the database that hold one of some words, past every policy."""
    found = {}
    with psycopg.connect(house.database.admin_dsn) as connection:
        tables = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname IN"
            " ('worlds', 'idetic', 'idetic_jobs')"
        ).fetchall()
        assert len(tables) > 20
        for (table,) in tables:
            query = f"SELECT count(*) FROM {table} t WHERE t::text ILIKE ANY (%s)"  # noqa: S608
            row = connection.execute(query.encode(), ([f"%{w}%" for w in words],)).fetchone()
            if row and row[0]:
                found[table] = row[0]
    return found


async def check_chain(house: House) -> None:
    """The chain holds: what an erasure emptied in it, it says."""
    verified = await house.world.bind(Principal.auditor("eve")).verify()
    assert verified.intact, verified.problems


async def test_nothing_of_a_person_is_left_and_the_receipt_says_what_went(house: House) -> None:
    entry_id = await house.entry(envelope={"tags": ["Quell, Zora"]}, idempotency_key="k")
    other = await house.entry("Words are fine too.", Claim("editor", "prefers", "words"))
    await vouch(house.operator, entry_id, notes="Zora said so.")
    await vouch(house.operator, other, notes="ZORA  QUELL too.")
    await vouch(house.operator, other, notes="And an editor.")
    await house.linked(entry_id, other)
    await house.upkeep.embed()
    await house.operator.context("figures")
    beside = house.row(other)

    done = await house.operator.erase(ZORA, reason="request 17")
    assert done.entries == (entry_id,)
    assert {table: len(ids) for table, ids in done.removed.items()} == {
        "memory": 1, "embeddings": 1, "corroborations": 2, "reads": 1, "receipts": 1,
    }  # fmt: skip
    assert (done.found, done.receipt.decision) == (True, Decision.DELETE)
    assert [(one.column, one.count) for one in done.kept] == [("indexes", 0)], "nothing to read"
    assert str(done).startswith("Removed: 2 in corroborations")
    assert hits(house, "zora", "quell", "figures") == {}
    after = house.row(entry_id)
    assert {key: after[key] for key in EMPTIED} == EMPTIED
    assert house.rows(VECTORS, entry_id) == house.rows(READS, entry_id) == 0
    assert house.rows("world_agent_memory_actions", entry_id) == 1, "the action keeps its link"
    assert house.row(other) == beside
    assert [c.notes for c in await house.operator.corroborations(other)] == [None, "And an editor."]

    link = (await house.operator.history(entry_id))[-1]
    assert (link.transition, link.state_from, link.state_to) == ("erased", "current", "deleted")
    assert (link.receipt_id, link.reason) == (done.receipt.id, "request 17")
    recall = await house.operator.recall("Zora Quell figures first", include_archived=True)
    assert entry_id not in [e.id for e in recall.entries]
    assert str(entry_id) not in str(await house.operator.context("figures"))
    await check_chain(house)


async def test_nothing_found_is_said_and_is_no_success(house: House) -> None:
    await house.entry()
    done = await house.operator.erase("Nobody Anywhere", reason="request 18")
    assert (done.found, done.entries, done.count()) == (False, (), 0)
    assert (done.receipt.decision, done.receipt.reason) == (Decision.NOOP, "nothing found")
    assert str(done) == "Nothing found: nothing was removed."
    again = await house.operator.erase(ZORA, reason="r")
    assert again.found
    assert not (await house.operator.erase(ZORA, reason="r")).found


async def test_every_tier_and_state_is_looked_at_and_what_was_made_of_it_goes_too(
    house: House,
) -> None:
    archived = await house.entry("Zora Quell is away.", Claim("a", "b", "c"))
    await house.operator.archive(archived, reason="old")
    buried = await house.entry("Zora Quell is back.", Claim("d", "e", "f"))
    await house.operator.tombstone(buried, reason="wrong")
    superseded = await house.entry("The counterparty is Zora Quell now.", Claim("g", "h", "i"))
    await house.entry("Something else.", Claim("g", "h", "j"))
    claim = Claim("reviewer zq", "wants", "figures")
    session = await house.world.memory.session().open()
    async with session.interaction() as turn:
        await turn.observe("Zora Quell wants figures.", claim=claim)
    async with session.interaction() as turn:
        await turn.observe("They want figures.", claim=claim)
    compounded = [e.id for e in await session.list()]
    assert len(compounded) == 1
    compounded += [one.source_id for one in await house.operator.lineage(compounded[0])][:1]

    done = await house.operator.erase(ZORA, reason="request 19")
    assert set(done.entries) == {archived, buried, superseded, *compounded}
    assert hits(house, "zora", "quell") == {}
    assert await session.list() == []
    closed = await session.close()
    assert closed.count("proposed") == 0
    await check_chain(house)


async def test_a_made_entry_goes_although_it_no_longer_names_anybody(house: House) -> None:
    """Its source is still there, and names her; what was made of that is told by lineage."""
    session = await house.world.memory.session().open()
    turn = await session.interaction().open()
    seen = await turn.observe("It was Zora Quell.", claim=Claim("culprit", "is", "somebody"))
    assert seen.entry_id is not None
    await house.world.operator.link_action(uuid4(), "published_decision", [seen.entry_id])
    await turn.close()
    (made,) = await session.list(tier=Tier.SESSION)
    with psycopg.connect(house.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(
            "UPDATE worlds.world_agent_memory SET body_text = 'It was her.' WHERE memory_id = %s",
            (made.id,),
        )
        connection.commit()
    done = await house.operator.erase(ZORA, reason="request 20")
    assert set(done.entries) == {made.id, seen.entry_id}


async def test_what_cannot_change_is_kept_and_named(house: House) -> None:
    zora = house.world.bind(Principal.operator("Zora Quell"))
    mine = entry_of(await zora.prefer("Be brief.", idempotency_key="zora@quell.example 1"))
    archived = await house.operator.archive(mine, reason="Zora Quell asked, zora@quell.example")
    assert archived.reason == "Zora Quell asked, [email removed]", "redacted by the ingest gate"
    done = await house.operator.erase(ZORA, reason="request 21")
    assert done.entries == (), "who wrote an entry is not what it says"
    assert list(done.removed) == ["ledger", "receipts"], "a reason and a key that name her"
    kept = {(k.table, k.column): k for k in done.kept}
    assert kept["memory", "created_by"].count == 1
    assert done.removed["ledger"] == (str(archived.position),)
    assert ("ledger", "reason") not in kept, "the reason that names her is emptied"
    assert [one.reason for one in await house.operator.history(mine)][-1] == "[erased]"
    assert kept["ledger", "actor"].count == 1
    assert all(k.why for k in done.kept)
    assert hits(house, "quell.example") == {}
    await check_chain(house)


async def test_a_retry_replays_and_another_body_is_refused(house: House) -> None:
    await house.entry()
    first = await house.operator.erase(ZORA, reason="r", idempotency_key="e")
    again = await house.operator.erase(ZORA, reason="r", idempotency_key="e")
    assert (again, again.receipt.replayed) == (first, True)
    with pytest.raises(errors.IdempotencyConflict):
        await house.operator.erase("Somebody Else", reason="r", idempotency_key="e")


@pytest.mark.alone
async def test_a_late_retry_of_the_write_does_not_bring_it_back(house: House) -> None:
    await house.entry(idempotency_key="k")
    await house.operator.erase(ZORA, reason="r")
    with pytest.raises(errors.IdempotencyConflict):
        await house.entry(idempotency_key="k")
    assert hits(house, "quell") == {}


async def test_a_vector_that_comes_late_is_left_out(house: House) -> None:
    entry_id = await house.entry()
    other = await house.entry("Words are fine too.", Claim("editor", "prefers", "words"))
    await house.upkeep.embed()
    rooms, scope = house.world.agent.engine, house.upkeep.scope
    profile = await rooms.embeddings.register("another", 384, "another")
    late = await rooms.embeddings.pending(scope, profile, 10)
    assert {one.memory_id for one in late} == {entry_id, other}
    await house.operator.erase(ZORA, reason="r")
    await _store(house, profile, late)
    assert house.rows(VECTORS, entry_id) == 0
    assert house.rows(VECTORS, other) == 2


async def _store(house: House, profile: UUID, late: list[Pending]) -> None:
    made = [(Piece(one, 0, one.body_text), [0.1] * 384) for one in late]
    await house.world.agent.engine.embeddings.store(
        house.upkeep.scope, profile, made, house.clock.now(), point=True
    )


@pytest.mark.alone
async def test_control_without_the_trigger_the_vector_would_be_back(house: House) -> None:
    entry_id = await house.entry()
    profile = await house.world.agent.engine.embeddings.register("another", 384, "another")
    late = await house.world.agent.engine.embeddings.pending(house.upkeep.scope, profile, 10)
    await house.operator.erase(ZORA, reason="r")
    with psycopg.connect(house.database.admin_dsn) as connection:
        change_triggers(connection, f"ALTER TABLE worlds.{VECTORS} DISABLE TRIGGER vector_kept")
    await _store(house, profile, late)
    assert house.rows(VECTORS, entry_id) == 1


async def test_what_is_erased_stays_erased_and_others_are_not_touched(house: House) -> None:
    entry_id = await house.entry()
    first = await house.operator.tombstone(entry_id, reason="wrong")
    done = await house.operator.erase(ZORA, reason="r")
    for what in (first, done.receipt):
        with pytest.raises(errors.TransitionRefused):
            await house.operator.undo(what, reason="please")
    assert (await house.operator.get(entry_id)).state is EntryState.DELETED
    await house.upkeep.embed()
    assert house.rows(VECTORS, entry_id) == 0


@pytest.mark.alone
async def test_notes_of_a_resolution_go(house: House) -> None:
    entry_id = await house.entry("Checks are optional.", Claim("checks", "are", "optional"))
    await house.operator.contradict(entry_id, house.world.rule, reason="the opposite")
    (standing,) = await house.operator.contradictions()
    await house.operator.resolve(
        standing.id, ContradictionStatus.DISMISSED, notes="Zora Quell misread it."
    )
    done = await house.operator.erase(ZORA, reason="r")
    assert (done.entries, dict(done.removed)) == ((), {"rule_contradictions": (str(standing.id),)})
    assert hits(house, "quell") == {}


@pytest.mark.alone
async def test_notes_that_an_undo_would_bring_back_go_too(house: House) -> None:
    entry_id = await house.entry("Checks are optional.", Claim("checks", "are", "optional"))
    await house.operator.contradict(entry_id, house.world.rule, reason="the opposite")
    (standing,) = await house.operator.contradictions()
    surfaced, dismissed = ContradictionStatus.SURFACED, ContradictionStatus.DISMISSED
    await house.operator.resolve(standing.id, surfaced, notes="Ask Zora Quell.")
    settled = await house.operator.resolve(standing.id, dismissed, notes="It fits.")
    assert hits(house, "quell"), "what stood before is kept for an undo"
    done = await house.operator.erase(ZORA, reason="r")
    assert dict(done.removed) == {"rule_contradictions": (str(standing.id),)}
    assert hits(house, "quell") == {}
    await house.operator.undo(settled, reason="it does not fit")
    (back,) = await house.operator.contradictions()
    assert (back.status, back.resolution_notes) == (surfaced, None)


async def test_another_anchor_is_not_reached(house: House) -> None:
    await house.entry()
    elsewhere = house.world.agent.bind(
        org_id=house.world.org_id, domain_id=uuid4(), principal=Principal.operator("ada")
    )
    with pytest.raises(errors.AnchorNotFound):
        await elsewhere.erase(ZORA, reason="r")
    assert hits(house, "quell")


async def test_who_may_and_what_a_request_must_not_say(house: House) -> None:
    with pytest.raises(errors.CapabilityRefused):
        await house.world.memory.erase(ZORA, reason="r")
    with pytest.raises(errors.InputError, match="names the subject"):
        await house.operator.erase(ZORA, reason="for Zora Quell")
    with pytest.raises(errors.InputError, match="names the subject"):
        await house.operator.erase(ZORA, reason="r", idempotency_key="zora quell")
    with pytest.raises(errors.InputError):
        await house.operator.erase("al", reason="r")
    with pytest.raises(errors.TextRefused):
        await house.operator.erase(ZORA, reason=" ")
    assert not (await house.upkeep.erase(ZORA, reason="r")).found


CHANGES: dict[str, str] = {
    "a read receipt": "DELETE FROM worlds.world_agent_memory_reads",
    "a digest": "UPDATE worlds.world_agent_memory_receipts SET request_digest = ''",
    "a key": "UPDATE worlds.world_agent_memory_receipts SET idempotency_key = 'erased x'",
}


@pytest.mark.alone
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_the_way_of_erasure_is_no_way_around_what_is_written_once(
    house: House, change: str
) -> None:
    await house.entry(idempotency_key="k")
    await house.operator.context("figures")
    with house.app() as connection, pytest.raises(pg.InsufficientPrivilege):
        connection.execute(change.encode())
    with psycopg.connect(house.database.admin_dsn) as connection:
        connection.execute(f"ALTER TABLE worlds.{READS} NO FORCE ROW LEVEL SECURITY")
        connection.execute(
            "ALTER TABLE worlds.world_agent_memory_receipts NO FORCE ROW LEVEL SECURITY"
        )
        # On a cluster one transaction acts as one role.
        connection.commit()
        connection.execute(OWNER)
        with pytest.raises(psycopg.Error, match=r"idetic\.append_only"):
            connection.execute(change.encode())


async def test_reasons_and_notes_pass_the_ingest_gate(house: House) -> None:
    entry_id = await house.entry("Be brief.", Claim("a", "b", "c"))
    mail, left = "ask zora@quell.example", "ask [email removed]"
    verbs: list[Any] = [
        await vouch(house.operator, entry_id, notes=mail),
        await house.operator.exempt(entry_id, reason=mail),
        await house.operator.contradict(entry_id, house.world.rule, reason=mail),
        await house.operator.link_action(uuid4(), "published_decision", [entry_id], reason=mail),
        archived := await house.operator.archive(entry_id, reason=mail),
        await house.operator.undo(archived, reason=mail),
    ]
    assert {receipt.reason for receipt in verbs[1:]} == {left}
    (support,) = await house.operator.corroborations(entry_id)
    assert support.notes == left
    assert hits(house, "quell.example") == {}


async def test_control_without_it_a_reason_still_names_her(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object) -> frozenset[int]:
        return frozenset()

    monkeypatch.setattr(erasure_rows, "unsay_links", nothing)
    mine = entry_of(await house.operator.prefer("Be brief."))
    archived = await house.operator.archive(mine, reason="Zora Quell asked.")
    done = await house.operator.erase(ZORA, reason="request 21")
    kept = {(k.table, k.column): k for k in done.kept}
    assert kept["ledger", "reason"].positions == (archived.position,)
    assert (await house.operator.history(mine))[-1].reason == "Zora Quell asked."

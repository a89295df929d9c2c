"""What is kept, for how long, and what is left of it: tombstones, disposal, the four states."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg.rows import dict_row

from idetic import Claim, Decision, EntryState, Idetic, Principal, Receipt, Tier, Typology, errors
from idetic.evidence import ContradictionStatus
from idetic.gateway.gateway import Gateway
from idetic.library.handles import Memory
from idetic.lifecycle import tombstones
from idetic.spec.loader import load, shipped
from idetic.spec.retention import RetentionState, entities
from idetic.store.scope import anchor_id
from tests.conftest import TestDatabase, World, make_world
from tests.support.chain import chain_faults
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.scoped import bind, set_local
from tests.support.triggers import without_triggers
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True

WHY = "The contract with our customers says so."
OWNER = "SET LOCAL ROLE idetic_owner"
NOTE = "The reviewer Zora Quell wants figures first."
CLAIM = Claim("reviewer", "prefers", "figures first")


@dataclass(frozen=True)
class House:
    """A world whose clock the test holds, seen by everybody who may act in it."""

    world: World
    clock: SettableClock
    database: TestDatabase
    db: Idetic

    @property
    def operator(self) -> Memory:
        return self.world.operator

    @property
    def upkeep(self) -> Memory:
        return self.world.bind(Principal.maintenance("sweeper"))

    async def entry(self, text: str = NOTE, claim: Claim = CLAIM, **more: Any) -> UUID:
        """A persistent entry."""
        return entry_of(await self.operator.prefer(text, claim=claim, **more))

    async def linked(self, *ids: UUID) -> None:
        await self.operator.link_action(uuid4(), "published_decision", ids)

    def row(self, entry_id: UUID) -> dict[str, Any]:
        """An entry as the database has it, past every policy."""
        with psycopg.connect(self.database.admin_dsn, row_factory=dict_row) as connection:
            query = "SELECT * FROM worlds.world_agent_memory WHERE memory_id = %s"
            found = connection.execute(query, (entry_id,)).fetchone()
        assert found is not None
        return found

    def rows(self, table: str, entry_id: UUID) -> int:
        with psycopg.connect(self.database.admin_dsn) as connection:
            query = f"SELECT count(*) FROM worlds.{table} WHERE memory_id = %s"  # noqa: S608
            found = connection.execute(query.encode(), (entry_id,)).fetchone()
        assert found is not None
        return int(found[0])

    def faults(self) -> list[str]:
        anchor = {"org_id": self.world.org_id, "domain_id": self.world.domain_id}
        return chain_faults(self.database.admin_dsn, self.world.agent, **anchor)

    def app(self) -> psycopg.Connection:
        """The application role with nothing in between, bound to this world."""
        connection = psycopg.connect(self.database.dsn)
        bind(connection, self.operator.scope)
        return connection


def entry_of(receipt: Receipt) -> UUID:
    assert receipt.entry_id is not None
    return receipt.entry_id


@pytest.fixture
async def house(database: TestDatabase, db: Idetic) -> AsyncIterator[House]:
    clock = SettableClock()
    async with view_of(db, clock, embedder=FakeEmbedder()) as here:
        yield House(await make_world(here, await here.agent("world_agent")), clock, database, here)


async def overridden(house: House, **overrides: Any) -> House:
    """The same house under a spec with other retention."""
    data = load("world_agent").as_data()
    data["lifecycle"]["retention"] = overrides
    agent = await house.db.agent(data, apply=True)
    old = house.world
    world = World(old.org_id, old.domain_id, old.world_id, old.rule, agent, old.worlds)
    return House(world, house.clock, house.database, house.db)


# --- the registry ---------------------------------------------------------------------------

POLICIES = """SELECT entity, active_ttl_days, tombstone_grace_days, disposal, domain_owner,
    registered_at FROM idetic.retention_policies WHERE agent = %s AND version = %s"""
TABLES = """SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND relname LIKE %s"""


@pytest.mark.parametrize("name", shipped())
async def test_every_entity_of_every_family_is_registered(house: House, name: str) -> None:
    agent = await house.db.agent(name)
    with psycopg.connect(house.database.dsn) as connection:
        found = connection.execute(POLICIES, (name, 1)).fetchall()
        tables = connection.execute(TABLES, (f"{agent.spec.backend.family}%",)).fetchall()
    registered = {row[0] for row in found}
    assert registered == {e.value for e in entities(agent.spec)}
    # Of the database itself: each table is an entity, but for memory, which is one by typology.
    kept = {table.rpartition("_")[2] for (table,) in tables} - {"memory"}
    typologies = {f"persistent_{typology}" for typology in Typology}
    assert registered == {"references" if one == "refs" else one for one in kept} | typologies
    for entity, ttl, grace, disposal, owner, at in found:
        policy = agent.spec.retention_of(entity)
        assert (ttl, grace) == (policy.active_ttl_days, policy.tombstone_grace_days)
        assert disposal == policy.disposal
        assert owner == agent.spec.backend.schema_
        assert at is not None


async def test_what_is_registered_follows_the_typology(house: House) -> None:
    """ADR-058 D12: a validity window for facts, none for preferences; the owner is worlds."""
    asked = """SELECT entity, decay, decay_days, active_ttl_days, domain_owner
        FROM idetic.retention_policies WHERE agent = 'world_agent' AND version = 1"""
    with psycopg.connect(house.database.dsn) as connection:
        found = {row[0]: row[1:] for row in connection.execute(asked)}
    assert found["persistent_semantic"] == ("validity_window", 90, None, "worlds")
    assert found["persistent_procedural"] == ("exempt", None, None, "worlds")
    assert not [name for name in found if name.startswith(("session", "interaction"))]


@pytest.mark.alone
async def test_another_version_registers_its_own_policies(house: House) -> None:
    semantic = {"active_ttl_days": 365, "disposal": "RETAIN_METADATA", "because": WHY}
    again = await overridden(house, persistent_semantic=semantic)
    await house.db.apply(again.world.agent.spec)
    with psycopg.connect(house.database.dsn) as connection:
        shown = [
            {row[0]: row[1:4] for row in connection.execute(POLICIES, ("world_agent", version))}
            for version in (1, again.world.agent.version)
        ]
    assert [one["persistent_semantic"] for one in shown] == [
        (None, 30, "STRIP_PAYLOAD"),
        (365, 30, "RETAIN_METADATA"),
    ]
    assert shown[0] | {"persistent_semantic": None} == shown[1] | {"persistent_semantic": None}
    assert set(shown[0]) == {each.value for each in entities(again.world.agent.spec)}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE idetic.retention_policies SET disposal = 'RETAIN_METADATA'",
        "DELETE FROM idetic.retention_policies",
        "TRUNCATE idetic.retention_policies",
    ],
)
def test_the_registry_refuses_everybody(database: TestDatabase, change: str) -> None:
    with psycopg.connect(database.dsn) as connection, pytest.raises(pg.InsufficientPrivilege):
        connection.execute(change.encode())
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(OWNER)
        with pytest.raises(psycopg.Error, match=r"idetic\.append_only"):
            connection.execute(change.encode())
        connection.rollback()
        # Control: it is the trigger that refuses.
        without_triggers(connection)
        connection.execute(change.encode())
        connection.rollback()


@pytest.mark.parametrize("entity", ["persistent_semantic", "actions", "ledger"])
def test_the_registry_takes_no_policy_that_deletes_memory(
    database: TestDatabase, entity: str
) -> None:
    insert = """INSERT INTO idetic.retention_policies SELECT agent, version, %s || %s,
        active_ttl_days, tombstone_grace_days, 'HARD_DELETE', decay, decay_days,
        domain_owner, registered_at
        FROM idetic.retention_policies WHERE entity = 'embeddings'"""
    with psycopg.connect(database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute("DELETE FROM idetic.retention_policies WHERE entity = %s", (entity,))
        with pytest.raises(pg.CheckViolation), connection.transaction():
            connection.execute(insert, (entity, ""))
        connection.execute(insert, ("some_", entity))
        connection.rollback()


# --- tombstones -----------------------------------------------------------------------------


async def test_a_tombstone_is_out_of_sight_and_can_be_taken_back(house: House) -> None:
    entry_id = await house.entry()
    buried = await house.operator.tombstone(entry_id, reason="stated by mistake")
    assert buried.decision is Decision.DELETE
    entry = await house.operator.get(entry_id)
    assert (entry.state, entry.body_text) == (EntryState.DELETED, NOTE)
    assert await house.operator.list() == []
    assert (await house.operator.recall("figures", include_archived=True)).entries == ()
    link = (await house.operator.history(entry_id))[-1]
    assert (link.transition, link.state_from, link.state_to) == ("tombstoned", "current", "deleted")
    assert (link.reason, link.detail["grace_days"]) == ("stated by mistake", 30)

    house.clock.advance(days=29)
    assert await house.upkeep.dispose_tombstones() == tombstones.Disposed()
    await house.operator.undo(buried, reason="it was right")
    assert (await house.operator.get(entry_id)).state is EntryState.CURRENT
    house.clock.advance(days=60)
    assert await house.upkeep.dispose_tombstones() == tombstones.Disposed()
    assert [e.body_text for e in await house.operator.list()] == [NOTE]
    assert house.faults() == []


async def test_an_archived_entry_comes_back_archived(house: House) -> None:
    entry_id = await house.entry()
    await house.operator.archive(entry_id, reason="old")
    buried = await house.operator.tombstone(entry_id, reason="and wrong")
    await house.operator.undo(buried, reason="not wrong")
    assert (await house.operator.get(entry_id)).state is EntryState.ARCHIVED


async def test_a_tombstone_does_not_come_back_beside_another_value(house: House) -> None:
    entry_id = await house.entry()
    buried = await house.operator.tombstone(entry_id, reason="wrong")
    await house.entry("Words first.", Claim("reviewer", "prefers", "words first"))
    with pytest.raises(errors.TransitionRefused, match="Another entry with the same claim key"):
        await house.operator.undo(buried, reason="right after all")


async def test_twice_is_once(house: House) -> None:
    entry_id = await house.entry()
    first = await house.operator.tombstone(entry_id, reason="wrong", idempotency_key="k")
    again = await house.operator.tombstone(entry_id, reason="wrong", idempotency_key="k")
    assert (again, again.replayed) == (first, True)
    house.clock.advance(days=3)
    third = await house.operator.tombstone(entry_id, reason="wrong")
    assert third.decision is Decision.NOOP
    assert house.row(entry_id)["deleted_at"] == first.at
    with pytest.raises(errors.IdempotencyConflict):
        await house.operator.tombstone(entry_id, reason="another", idempotency_key="k")


async def test_what_an_action_rests_on_is_not_tombstoned(house: House) -> None:
    entry_id = await house.entry()
    await house.linked(entry_id)
    with pytest.raises(errors.TransitionRefused, match="An action rests on") as refused:
        await house.operator.tombstone(entry_id, reason="wrong")
    assert refused.value.remedy.startswith("Archive it: recall")
    assert house.row(entry_id)["deleted_at"] is None


async def test_an_action_cannot_be_linked_to_a_tombstone(house: House) -> None:
    entry_id = await house.entry()
    await house.operator.tombstone(entry_id, reason="wrong")
    with pytest.raises(errors.EntryNotFound):
        await house.linked(entry_id)


async def test_a_contradiction_is_dismissed_before_its_entry_goes(house: House) -> None:
    entry_id = await house.entry()
    await house.operator.contradict(entry_id, house.world.rule, reason="it says the opposite")
    with pytest.raises(errors.TransitionRefused, match="nobody dismissed"):
        await house.operator.tombstone(entry_id, reason="wrong")
    (standing,) = await house.operator.contradictions()
    await house.operator.resolve(
        standing.id, ContradictionStatus.DISMISSED, notes="Zora Quell misread the rule."
    )
    await house.operator.tombstone(entry_id, reason="wrong")
    house.clock.advance(days=31)
    await house.upkeep.dispose_tombstones()
    (kept,) = await house.operator.contradictions(status=[ContradictionStatus.DISMISSED])
    assert (kept.entry_id, kept.resolution_notes) == (entry_id, None)
    assert kept.resolved_by == "operator:ada"


async def test_transient_entries_live_as_long_as_their_scope(house: House) -> None:
    async with house.operator.session() as session:
        seen = entry_of(await session.observe("It rained."))
        with pytest.raises(errors.TransitionRefused, match="lives as long as its session"):
            await house.operator.tombstone(seen, reason="wrong")


async def test_who_may(house: House) -> None:
    entry_id = await house.entry()
    with pytest.raises(errors.CapabilityRefused):
        await house.world.memory.tombstone(entry_id, reason="wrong")
    with pytest.raises(errors.CapabilityRefused):
        await house.operator.dispose_tombstones()
    with pytest.raises(errors.CapabilityRefused):
        await house.world.memory.reconcile()
    with pytest.raises(errors.EntryNotFound):
        await house.operator.tombstone(uuid4(), reason="wrong")
    with pytest.raises(errors.TextRefused):
        await house.operator.tombstone(entry_id, reason=" ")


# --- disposal -------------------------------------------------------------------------------

EMPTIED: dict[str, Any] = {
    **dict.fromkeys(("claim_subject", "claim_attribute", "claim_value"), None),
    **dict.fromkeys(("digest_salt", "embedding_id"), None),
    "body_text": "",
    "envelope": {},
    "lexemes": "",
}


async def test_when_its_grace_is_over_only_the_shell_of_an_entry_is_left(house: House) -> None:
    entry_id = await house.entry(envelope={"topic": "review"}, refs=[house.world.rule])
    other = await house.entry("Words are fine too.", Claim("editor", "prefers", "words"))
    await vouch(house.operator, entry_id, notes="Zora Quell said so.")
    await house.upkeep.embed()
    buried = await house.operator.tombstone(entry_id, reason="wrong")
    before, beside = house.row(entry_id), house.row(other)
    assert before["embedding_id"] is not None
    house.clock.advance(days=30)
    done = await house.upkeep.dispose_tombstones()

    assert [receipt.entry_id for receipt in done.disposed] == [entry_id]
    assert done.expired == ()
    after = house.row(entry_id)
    assert {key: after[key] for key in EMPTIED} == EMPTIED
    kept = set(after) - set(EMPTIED)
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert house.rows("world_agent_memory_embeddings", entry_id) == 0
    assert house.rows("world_agent_memory_rule_refs", entry_id) == 1
    (support,) = await house.operator.corroborations(entry_id)
    assert (support.notes, support.source_type) == (None, "operator_input")
    assert house.row(other) == beside
    assert house.rows("world_agent_memory_embeddings", other) == 1

    *_, link = await house.operator.history(entry_id)
    assert (link.transition, link.decision, link.actor) == ("disposed", "DELETE", "sweeper")
    assert link.reason == "its grace of 30 days is over"
    assert link.detail == {"disposal": "STRIP_PAYLOAD"}
    assert house.faults() == []
    for what in (buried, done.disposed[0]):
        with pytest.raises(errors.TransitionRefused, match="cannot come back"):
            await house.operator.undo(what, reason="please")


@pytest.mark.alone
async def test_nothing_of_what_it_said_is_left_in_the_database(house: House) -> None:
    entry_id = await house.entry(envelope={"tags": ["Zora Quell"]})
    await house.upkeep.embed()
    salt = house.row(entry_id)["digest_salt"]
    await house.operator.tombstone(entry_id, reason="wrong")
    house.clock.advance(days=31)
    await house.upkeep.dispose_tombstones()
    text = '{"claim":{"attribute":"prefers","subject":"reviewer","value":"figures first"},'
    text += '"tags":["Zora Quell"]}'
    digest = hashlib.sha256(salt + f"{NOTE}\x00{text}".encode()).digest()
    assert house.row(entry_id)["content_hash"] == digest, "the ledger's proof stays"
    with psycopg.connect(house.database.admin_dsn) as connection:
        tables = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind = 'r' AND"
            " c.relnamespace IN ('worlds'::regnamespace, 'idetic'::regnamespace)"
        ).fetchall()
        assert len(tables) > 15
        for (table,) in tables:
            query = f"SELECT count(*) FROM {table} t WHERE t::text ILIKE ANY (%s)"  # noqa: S608
            wanted = ["%Quell%", "%figures%", f"%{salt.hex()}%"]
            assert connection.execute(query.encode(), (wanted,)).fetchone() == (0,), table


@pytest.mark.alone
async def test_a_policy_may_keep_what_describes_an_entry(house: House) -> None:
    house = await overridden(
        house,
        persistent_procedural={
            "disposal": "RETAIN_METADATA",
            "tombstone_grace_days": 0,
            "because": WHY,
        },
    )
    entry_id = await house.entry(envelope={"topic": "review", "tags": ["a", "b"]})
    with psycopg.connect(house.database.admin_dsn) as connection:
        # As an entry has it that was promoted from what somebody said.
        without_triggers(connection)
        spoken = """UPDATE worlds.world_agent_memory SET
            envelope = envelope || '{"speaker": "Zora Quell"}' WHERE memory_id = %s"""
        connection.execute(spoken, (entry_id,))
        connection.commit()
    await house.operator.tombstone(entry_id, reason="wrong")
    (receipt,) = (await house.upkeep.dispose_tombstones()).disposed
    assert receipt.detail == {"disposal": "RETAIN_METADATA"}
    after = house.row(entry_id)
    left = EMPTIED | {"envelope": {"topic": "review", "tags": ["a", "b"]}}
    assert {key: after[key] for key in EMPTIED} == left
    assert (await house.operator.get(entry_id)).claim is None


async def test_disposal_runs_once_in_batches_and_in_its_own_anchor(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = House(
        await make_world(house.db, house.world.agent), house.clock, house.database, house.db
    )
    theirs = await elsewhere.entry()
    await elsewhere.operator.tombstone(theirs, reason="wrong")
    mine = [await house.entry(f"Note {n}.", Claim("note", str(n), "x")) for n in range(5)]
    for entry_id in mine:
        await house.operator.tombstone(entry_id, reason="wrong")
    house.clock.advance(days=31)
    monkeypatch.setattr(tombstones, "BATCH", 2)
    done = await house.upkeep.dispose_tombstones()
    assert {receipt.entry_id for receipt in done.disposed} == set(mine)
    assert await house.upkeep.dispose_tombstones() == tombstones.Disposed()
    assert house.row(theirs)["body_text"] == NOTE
    assert house.faults() == elsewhere.faults() == []


async def test_what_leaves_no_link_is_not_emptied(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_id = await house.entry()
    await house.operator.tombstone(entry_id, reason="wrong")
    house.clock.advance(days=31)

    async def killed(*_: object) -> list[Receipt]:
        raise RuntimeError("killed between the row and its link")

    with monkeypatch.context() as patched:
        patched.setattr(Gateway, "settle", killed)
        with pytest.raises(RuntimeError, match="killed"):
            await house.upkeep.dispose_tombstones()
    assert house.row(entry_id)["body_text"] == NOTE
    assert len((await house.upkeep.dispose_tombstones()).disposed) == 1


# --- the active TTL -------------------------------------------------------------------------


@pytest.mark.alone
async def test_what_outlived_its_ttl_is_tombstoned_and_later_emptied(house: House) -> None:
    procedural = {"active_ttl_days": 90, "tombstone_grace_days": 10, "because": WHY}
    house = await overridden(house, persistent_procedural=procedural)
    old = await house.entry()
    linked = await house.entry("Linked.", Claim("a", "b", "c"))
    exempt = await house.entry("Exempt.", Claim("d", "e", "f"))
    disputed = await house.entry("Disputed.", Claim("g", "h", "i"))
    await house.linked(linked)
    await house.operator.exempt(exempt, reason="house rule")
    await house.operator.contradict(disputed, house.world.rule, reason="the opposite")
    house.clock.advance(days=89)
    young = await house.entry("Young.", Claim("j", "k", "l"))
    assert await house.upkeep.dispose_tombstones() == tombstones.Disposed()

    house.clock.advance(days=1)
    done = await house.upkeep.dispose_tombstones()
    assert [receipt.entry_id for receipt in done.expired] == [old]
    assert done.disposed == ()
    assert done.expired[0].reason == "its retention of 90 days is over"
    assert {e.id for e in await house.operator.list()} == {linked, exempt, disputed, young}
    house.clock.advance(days=10)
    done = await house.upkeep.dispose_tombstones()
    assert [receipt.entry_id for receipt in done.disposed] == [old]
    assert house.row(old)["body_text"] == ""
    assert house.faults() == []


@pytest.mark.alone
async def test_a_ttl_can_be_taken_back_for_one_entry(house: House) -> None:
    procedural = {"active_ttl_days": 90, "because": WHY}
    house = await overridden(house, persistent_procedural=procedural)
    entry_id = await house.entry()
    house.clock.advance(days=100)
    (expired,) = (await house.upkeep.dispose_tombstones()).expired
    await house.operator.undo(expired, reason="still needed")
    await house.operator.exempt(entry_id, reason="still needed")
    assert await house.upkeep.dispose_tombstones() == tombstones.Disposed()


# --- below the application ------------------------------------------------------------------

STRIP = "SELECT worlds.world_agent_strip_v1(%s, %s, %s, %s, false)"


def keys_of(world: World) -> tuple[UUID, UUID]:
    """The two columns under which an anchor's rows stand."""
    return world.org_id, anchor_id([world.org_id, world.domain_id])


async def test_the_application_role_has_no_other_way_than_the_function(house: House) -> None:
    entry_id = await house.entry()
    await house.upkeep.embed()
    await house.operator.tombstone(entry_id, reason="wrong")
    with house.app() as connection:
        set_local(connection, "idetic.erasing", entry_id)
        for statement in (
            "UPDATE worlds.world_agent_memory SET body_text = ''",
            "UPDATE worlds.world_agent_memory SET digest_salt = NULL",
            "UPDATE worlds.world_agent_memory_corroborations SET notes = NULL",
            "DELETE FROM worlds.world_agent_memory",
            "DELETE FROM worlds.world_agent_memory_embeddings",
            "SET LOCAL ROLE idetic_keeper",
        ):
            with pytest.raises(pg.InsufficientPrivilege), connection.transaction():
                connection.execute(statement.encode())


async def test_strip_takes_tombstones_that_are_old_enough_and_nothing_else(house: House) -> None:
    live = await house.entry()
    dead = await house.entry("Dead.", Claim("a", "b", "c"))
    young = await house.entry("Young.", Claim("d", "e", "f"))
    at = (await house.operator.tombstone(dead, reason="wrong")).at
    house.clock.advance(days=1)
    await house.operator.tombstone(young, reason="wrong")
    elsewhere = await make_world(house.db, house.world.agent)
    anchor, other = keys_of(house.world), keys_of(elsewhere)
    with house.app() as connection:
        for ids in ([live], [young], [dead, live], [uuid4()], [None]):
            refused = pytest.raises(psycopg.Error, match=r"idetic\.transition")
            with refused, connection.transaction():
                connection.execute(STRIP, (*anchor, ids, at))
        for one in (other, (anchor[0], other[1]), (other[0], anchor[1])):
            unbound = pytest.raises(psycopg.Error, match=r"idetic\.entry_not_found")
            with unbound, connection.transaction():
                connection.execute(STRIP, (*one, [dead], at))
        assert house.row(dead)["body_text"] == "Dead.", "all of them or none"
        assert connection.execute(STRIP, (*anchor, [dead], at)).fetchone() == (1,)
        left = connection.execute("SELECT current_setting('idetic.erasing', true)").fetchone()
        assert left in ((None,), ("",)), "the permission ends with the call"
        connection.rollback()
    with (
        psycopg.connect(house.database.dsn) as connection,
        pytest.raises(psycopg.Error, match=r"idetic\.entry_not_found"),
    ):
        connection.execute(STRIP, (*anchor, [dead], at))


@pytest.mark.alone
async def test_whoever_says_erasing_can_empty_a_tombstone_and_not_rewrite_it(house: House) -> None:
    live = await house.entry()
    dead = await house.entry("Dead.", Claim("a", "b", "c"))
    await house.operator.tombstone(dead, reason="wrong")
    empty = "body_text = '', lexemes = '', envelope = '{}', claim_subject = NULL, "
    empty += "claim_attribute = NULL, claim_value = NULL, digest_salt = NULL"
    changes = {
        "body_text = 'Something else.'": False,
        empty + ", trust = 100": False,
        empty + ", deleted_at = NULL": False,
        empty.replace("'{}'", '\'{"topic": "other"}\''): False,
        empty.replace(", digest_salt = NULL", ""): False,
        empty: True,
    }
    with psycopg.connect(house.database.admin_dsn) as connection:
        connection.execute("ALTER TABLE worlds.world_agent_memory DISABLE ROW LEVEL SECURITY")
        connection.commit()
        for target, erasing in ((dead, dead), (dead, live), (live, live)):
            for change, allowed in changes.items():
                connection.execute(OWNER)
                set_local(connection, "idetic.erasing", erasing)
                update = f"UPDATE worlds.world_agent_memory SET {change} WHERE memory_id = %s"  # noqa: S608
                if allowed and target == erasing == dead:
                    assert connection.execute(update.encode(), (target,)).rowcount == 1
                else:
                    with pytest.raises(psycopg.Error, match=r"idetic\.append_only"):
                        connection.execute(update.encode(), (target,))
                connection.rollback()


@pytest.mark.alone
async def test_of_a_corroboration_only_the_notes_go(house: House) -> None:
    entry_id = await house.entry()
    await vouch(house.operator, entry_id, notes="Zora Quell said so.")
    with psycopg.connect(house.database.admin_dsn) as connection:
        table = "worlds.world_agent_memory_corroborations"
        connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
        connection.commit()
        for change, allowed in {
            "notes = 'Something else.'": False,
            "notes = NULL, corroborated_by = 'somebody'": False,
            "notes = NULL, notes_salt = NULL": True,
        }.items():
            for erasing in (entry_id, uuid4()):
                connection.execute(OWNER)
                set_local(connection, "idetic.erasing", erasing)
                update = f"UPDATE {table} SET {change}".encode()  # noqa: S608
                if allowed and erasing == entry_id:
                    assert connection.execute(update).rowcount == 1
                else:
                    with pytest.raises(psycopg.Error, match=r"idetic\.append_only"):
                        connection.execute(update)
                connection.rollback()


# --- reconciliation -------------------------------------------------------------------------


async def test_after_a_close_nothing_is_orphaned(house: House) -> None:
    async with house.operator.session() as session:
        kept = entry_of(await session.observe("An action rests on this."))
        told = entry_of(await session.observe("A contradiction rests on this."))
        await session.observe("Nothing rests on this.")
        async with session.interaction() as turn:
            await turn.observe("Nor on this.")
            open_now = await house.upkeep.reconcile()
        await house.linked(kept)
        await house.operator.contradict(told, house.world.rule, reason="the opposite")
    assert open_now.count(RetentionState.ACTIVE, Tier.INTERACTION) == 1
    assert open_now.count(RetentionState.ACTIVE, Tier.SESSION) == 3

    await house.entry()
    dead = await house.entry("Dead.", Claim("a", "b", "c"))
    await house.operator.tombstone(dead, reason="wrong")
    found = await house.upkeep.reconcile()
    assert found.states[RetentionState.REFERENCED] == {Tier.SESSION: 2}
    assert found.states[RetentionState.TOMBSTONED] == {Tier.PERSISTENT: 1}
    assert found.count(RetentionState.ORPHANED) == 0
    assert (found.orphaned, found.dangling, found.unused_vectors) == ((), (), {})
    assert (found.overdue_scopes, found.more) == (0, False)
    (standing,) = await house.operator.contradictions()
    await house.operator.resolve(standing.id, ContradictionStatus.DISMISSED, notes="misread")
    assert (await house.upkeep.reconcile()).orphaned == (), "its row cannot go either way"


async def test_what_a_crash_left_is_reported_and_not_cleaned_up(house: House) -> None:
    session = house.operator.session()
    await session.__aenter__()
    turn = session.interaction()
    await turn.__aenter__()
    left = {entry_of(await turn.observe("One.")), entry_of(await session.observe("Two."))}
    with psycopg.connect(house.database.admin_dsn) as connection:
        connection.execute("UPDATE worlds.world_agent_memory_scopes SET closed_at = now()")
    for _ in range(2):
        found = await house.upkeep.reconcile()
        assert set(found.orphaned) == left
        assert found.count(RetentionState.ORPHANED) == 2
    await house.upkeep.dispose_tombstones()
    assert set((await house.upkeep.reconcile()).orphaned) == left


@pytest.mark.alone
async def test_a_tier_that_keeps_its_entries_has_no_orphans(house: House) -> None:
    data = load("world_agent").as_data()
    data["lifecycle"]["deviations"] = [
        {"cell": "episodic_transient", "set": {"at_scope_end": "keep"}, "justification": WHY}
    ]
    agent = await house.db.agent(data, apply=True)
    memory = agent.bind(
        org_id=house.world.org_id,
        domain_id=house.world.domain_id,
        principal=Principal.maintenance("sweeper"),
    )
    async with memory.session() as session:
        await session.observe("Kept by another rule.")
    found = await memory.reconcile()
    assert found.count(RetentionState.ACTIVE, Tier.SESSION) == 1
    assert found.orphaned == ()


async def test_each_entity_tells_its_policy_and_where_its_rows_stand(house: House) -> None:
    linked = await house.entry(refs=[house.world.rule])
    await house.linked(linked)
    dead = await house.entry("Dead.", Claim("a", "b", "c"), refs=[house.world.rule])
    await house.operator.tombstone(dead, reason="wrong")
    async with house.operator.session() as session:
        held = entry_of(await session.observe("Still going on."))
        told = {one.entity: one for one in await house.operator.retention()}
        (its_own,) = await house.operator.retention(entry_id=held)
    one_of_each = {RetentionState.REFERENCED: 1, RetentionState.TOMBSTONED: 1}
    assert told["persistent_procedural"].states == told["references"].states == one_of_each
    assert told["session_episodic"].states == {RetentionState.ACTIVE: 1}
    assert (told["session_episodic"].disposal, told["ledger"].states) == (None, {})
    spec = house.world.agent.spec
    for entity in entities(spec):
        policy, shown = spec.retention_of(entity), told[entity.value]
        assert all(getattr(shown, name) == value for name, value in policy), entity
    assert (its_own.entity, its_own.states) == ("session_episodic", {RetentionState.ACTIVE: 1})
    with pytest.raises(errors.EntryNotFound):
        await house.operator.retention(entry_id=uuid4())


async def test_what_a_tier_kept_and_now_would_drop_is_orphaned(house: House) -> None:
    """Reached by nobody's crash: the spec says otherwise than it did when the scope closed."""
    data = load("world_agent").as_data()
    data["lifecycle"]["deviations"] = [
        {"cell": "episodic_transient", "set": {"at_scope_end": "keep"}, "justification": WHY}
    ]
    anchor = {"org_id": house.world.org_id, "domain_id": house.world.domain_id}
    keeping = (await house.db.agent(data, apply=True)).bind(
        principal=Principal.operator("ada"), **anchor
    )
    async with keeping.session() as session:
        left = entry_of(await session.observe("Kept by another rule."))
    assert await keeping.kept(RetentionState.ORPHANED) == []
    again = (await house.db.agent("world_agent", apply=True)).bind(
        principal=Principal.operator("ada"), **anchor
    )
    assert [entry.id for entry in await again.kept(RetentionState.ORPHANED)] == [left]
    told, *_ = await again.retention(entry_id=left)
    assert (told.entity, told.states) == ("session_episodic", {RetentionState.ORPHANED: 1})
    assert (await house.upkeep.reconcile()).orphaned == (left,)


async def test_a_reference_that_leads_nowhere_is_reported(house: House) -> None:
    plain = await house.entry(refs=[house.world.rule])
    assert (await house.upkeep.reconcile()).dangling == ()
    for gone in ("worlds.rule_versions", "worlds.rules"):
        with psycopg.connect(house.database.admin_dsn) as connection:
            without_triggers(connection)
            connection.execute(f"DELETE FROM {gone}".encode())  # noqa: S608
        assert (await house.upkeep.reconcile()).dangling == (plain,), gone


async def test_vectors_that_no_recall_uses_are_counted(house: House) -> None:
    await house.entry()
    await house.upkeep.embed()
    assert (await house.upkeep.reconcile()).unused_vectors == {}
    async with Idetic.open(
        house.database.dsn, admin_dsn=house.database.admin_dsn, embedder=FakeEmbedder("another")
    ) as db:
        agent = await db.agent("world_agent")
        anchor = {"org_id": house.world.org_id, "domain_id": house.world.domain_id}
        await agent.bind(principal=Principal.maintenance("sweeper"), **anchor).reembed()
    assert list((await house.upkeep.reconcile()).unused_vectors.values()) == [1]


async def test_scopes_past_their_lease_are_counted(house: House) -> None:
    session = house.operator.session()
    await session.__aenter__()
    turn = session.interaction()
    await turn.__aenter__()
    assert (await house.upkeep.reconcile()).overdue_scopes == 0
    house.clock.advance(hours=2)
    assert (await house.upkeep.reconcile()).overdue_scopes == 2
    await house.upkeep.recover()
    assert (await house.upkeep.reconcile()).overdue_scopes == 0


async def test_lists_are_cut_and_say_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = house.operator.session()
    await session.__aenter__()
    for n in range(3):
        await session.observe(f"Note {n}.")
    with psycopg.connect(house.database.admin_dsn) as connection:
        connection.execute("UPDATE worlds.world_agent_memory_scopes SET closed_at = now()")
    monkeypatch.setattr(tombstones, "LISTED", 2)
    found = await house.upkeep.reconcile()
    assert (len(found.orphaned), found.more) == (2, True)
    assert found.count(RetentionState.ORPHANED) == 3


async def test_an_auditor_sees_the_tenant_and_no_other(house: House) -> None:
    await house.entry()
    elsewhere = await make_world(house.db, house.world.agent)
    await elsewhere.operator.prefer("Theirs.", claim=CLAIM)
    auditor = house.world.agent.bind(org_id=house.world.org_id, principal=Principal.auditor("ben"))
    found = await auditor.reconcile()
    assert found.states[RetentionState.ACTIVE] == {Tier.PERSISTENT: 1}

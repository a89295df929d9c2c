"""One tenant never reaches another: not with the application's predicate gone, not with
row-level security gone, not by guessing ids.

Tables come from the catalog, so a new one is tested the day it is made. Every protection has a
control that switches it off and sees the same probe succeed: a probe that cannot fail shows
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from idetic import Entry, IdeticError, LedgerRecord, Principal, Ref, Scope, errors
from idetic.audit.explanation import ExplainedEntry
from idetic.audit.findings import ChainProblem, Verified
from idetic.context import Worlds
from idetic.model import Capability, PrincipalKind
from idetic.spec.loader import load
from idetic.spec.retention import RetentionState
from idetic.store import scope as scoping
from idetic.store.erasure_rows import suspects
from idetic.store.family import Family
from idetic.store.quarantine_rows import QuarantineSource, sourced
from tests.conftest import RULE_TEXT
from tests.support.catalog import tables_of
from tests.support.databases import row_counts_on
from tests.support.scoped import bind
from tests.support.tenants import Populated, Tenant, family_tables, under

pytestmark = pytest.mark.anyio

LATER = datetime.now(UTC) + timedelta(days=1)
RULE_TEXT_AGAIN = RULE_TEXT.replace("two operators", "two  operators")


# --- what the catalog says ------------------------------------------------------------------


def test_every_table_forces_row_level_security_and_has_a_policy(
    guarded: Populated, name: str
) -> None:
    with guarded.admin() as connection:
        tables = tables_of(connection, Family(load(name)).schema)
    assert len(tables) > 5
    for table in tables:
        assert (table.rls, table.rls_forced) == (True, True), table.name
        assert table.app_policies >= 1, table.name


def test_the_tenant_leads_every_key(guarded: Populated, name: str) -> None:
    tenant = load(name).anchor.tenant.name
    with guarded.admin() as connection:
        tables = tables_of(connection, Family(load(name)).schema)
    for table in tables:
        assert tenant in table.columns, table.name
        assert table.primary_key, f"{table.name} has no primary key"
        assert table.primary_key[0] == tenant, table.name
        for key in (*table.unique_keys, *table.foreign_keys):
            assert tenant in key, f"{table.name} {key}"
            assert key[0] == tenant, f"{table.name} {key}"


def test_foreign_keys_restrict_or_cascade_and_never_wait(guarded: Populated, name: str) -> None:
    with guarded.admin() as connection:
        tables = tables_of(connection, Family(load(name)).schema)
    assert any(table.foreign_keys for table in tables)
    for table in tables:
        assert set(table.fk_on_delete) <= {"r", "c"}, table.name
        assert set(table.fk_on_update) <= {"a"}, table.name
        assert not table.fk_deferrable, table.name


def test_composite_search_indexes_lead_with_the_tenant(guarded: Populated, name: str) -> None:
    spec = load(name)
    with guarded.admin() as connection:
        cursor = connection.execute(
            """SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, 1, true)
               FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
               JOIN pg_am a ON a.oid = x.relam JOIN pg_namespace n ON n.oid = x.relnamespace
               WHERE n.nspname = %s AND a.amname IN ('gist', 'gin')""",
            (Family(spec).schema,),
        )
        found = cursor.fetchall()
    # One for each guarded noun, and one for persistent notes that are nearly alike.
    assert len(found) == 1 + sum(c.body is not None for c in spec.references.canonical)
    assert {first for _, first in found} <= {spec.anchor.tenant.name}


# --- the application layer and row-level security, each without the other -----------------------

Found = list[Entry] | list[LedgerRecord] | list[ChainProblem] | list[ExplainedEntry] | list[UUID]


async def _get(mine: Tenant, theirs: Tenant) -> Found:
    try:
        return [await mine.memory.get(theirs.transient)]
    except errors.EntryNotFound:
        return []


async def _history(mine: Tenant, theirs: Tenant) -> Found:
    try:
        return await mine.memory.history(theirs.transient)
    except errors.EntryNotFound:
        return []


def _others(mine: Tenant, found: Iterable[UUID]) -> list[UUID]:
    """What is not one's own. An entry's own anchor would not tell: it is the scope's."""
    own, seen = mine.owned(), set(found)
    assert own & seen, "one's own is always there"
    return sorted(seen - own)


async def _list(mine: Tenant, _: Tenant) -> Found:
    return _others(mine, (entry.id for entry in await mine.memory.list(limit=1000)))


async def _list_across(mine: Tenant, _: Tenant) -> Found:
    """With every key left open that the spec lets somebody leave open."""
    kinds = (k for k in PrincipalKind if mine.spec.may(k, Capability.READ_ACROSS))
    kind = next(kinds, PrincipalKind.AGENT)
    asked = mine.spec.may(kind, Capability.READ_ACROSS)
    left = {key.name for key in mine.spec.anchor.keys if asked and key.nullable_for_queries}
    bound = {key: value for key, value in mine.anchor.items() if key not in left}
    memory = mine.agent.bind(principal=Principal(kind, "someone"), **bound)
    return _others(mine, (entry.id for entry in await memory.list(limit=1000)))


async def _as_of(mine: Tenant, _: Tenant) -> Found:
    return _others(mine, (entry.id for entry in await mine.memory.as_of(LATER, limit=1000)))


async def _list_of_a_session(mine: Tenant, theirs: Tenant) -> Found:
    return await mine.memory.session(theirs.session).list(limit=1000)


async def _recall(mine: Tenant, _: Tenant) -> Found:
    recall = await mine.memory.recall("something happened", limit=200)
    return _others(mine, (entry.id for entry in recall.entries))


async def _explain_action(mine: Tenant, theirs: Tenant) -> Found:
    auditor = mine.holder(Capability.AUDIT)
    assert (await auditor.explain_action(mine.action)).entries, "one's own is always there"
    try:
        return list((await auditor.explain_action(theirs.action)).everything())
    except errors.NotFound:
        return []


async def _verify(mine: Tenant, theirs: Tenant) -> Found:
    """Links and entries of another chain would be problems of one's own."""
    try:
        verified = await mine.holder(Capability.AUDIT).verify()
    except ValueError:
        return [theirs.transient]  # More than one chain has an end here.
    assert verified.links > 3, "one's own are always there"
    return of_the_chain(verified)


def of_the_chain(verified: Verified) -> Found:
    """What is wrong but for the rows that were planted beside the chain, which no link tells of."""
    planted = {"lineage", "corroboration", "reference", "contradiction", "read", "scope"}
    return [one for one in verified.problems if one.what not in planted]


async def _head(mine: Tenant, theirs: Tenant) -> Found:
    """The end of a chain is its anchor's alone: a verification against it says so."""
    auditor = mine.holder(Capability.AUDIT)
    try:
        return of_the_chain(await auditor.verify(await auditor.head()))
    except ValueError:
        return [theirs.transient]


async def _erasure_search(mine: Tenant, _: Tenant) -> Found:
    """What `erase` would look at."""
    async with mine.agent.engine.anchors.hold(mine.scope) as tx:
        found = [row[0] for row in (await suspects(tx, ["happened", "here"])).rows["mentioned"]]
        return _others(mine, (one.id for one in await tx.stored(found)))


async def _quarantine_search(mine: Tenant, _: Tenant) -> Found:
    """What `quarantine` would take."""
    async with mine.agent.engine.anchors.hold(mine.scope) as tx:
        found = await sourced(tx, QuarantineSource(created_by="agent:someone"))
        return _others(mine, (one.id for one in await tx.stored(found)))


async def _overview(mine: Tenant, theirs: Tenant) -> Found:
    """What is counted beyond one's own entries, and who has them."""
    counted = (await mine.memory.overview()).entries
    own = mine.owned() & {entry.id for entry in await mine.memory.list(limit=1000)}
    assert counted >= len(own) > 0, "one's own is always counted"
    return [theirs.transient] * (counted - len(own))


async def _kept(mine: Tenant, _: Tenant) -> Found:
    """Entries of others in the lists by retention state."""
    found = [e for state in RetentionState for e in await mine.memory.kept(state, limit=1000)]
    return _others(mine, (entry.id for entry in found))


async def _actions(mine: Tenant, _: Tenant) -> Found:
    found = {each.action_id for each in await mine.holder(Capability.AUDIT).actions()}
    assert mine.action in found, "one's own is always there"
    own = {each.id for each in await mine.holder(Capability.AUDIT).proposals()}
    return sorted(found - {mine.action} - own)


async def _readers(mine: Tenant, theirs: Tenant) -> Found:
    try:
        await mine.holder(Capability.AUDIT).readers(theirs.transient)
    except errors.EntryNotFound:
        return []
    return [theirs.transient]


async def _references(mine: Tenant, theirs: Tenant) -> Found:
    try:
        await mine.memory.references(theirs.transient)
    except errors.EntryNotFound:
        return []
    return [theirs.transient]


async def _quarantines(mine: Tenant, theirs: Tenant) -> Found:
    """Whose quarantines are listed: the reason of each is an action of its tenant."""
    found = {UUID(each.reason) for each in await mine.memory.quarantines()}
    assert mine.action in found, "one's own is always there"
    own = {each.id for each in await mine.holder(Capability.AUDIT).proposals()}
    return sorted(found - {mine.action} - own)


Probe = Callable[[Tenant, Tenant], Awaitable[Found]]
reading = pytest.mark.parametrize(
    "probe",
    [
        *(_get, _list, _list_across, _history, _as_of, _recall, _list_of_a_session),
        *(_explain_action, _verify, _head),
        *(_erasure_search, _quarantine_search),
        *(_overview, _kept, _actions, _readers, _references, _quarantines),
    ],
    ids=lambda p: p.__name__[1:],
)


@reading
async def test_with_both_layers_nothing_of_another_tenant_is_read(
    guarded: Populated, name: str, probe: Probe
) -> None:
    mine, theirs = guarded.tenants[name]
    assert await probe(mine, theirs) == []


@reading
@pytest.mark.usefixtures("no_predicate")
async def test_row_level_security_holds_without_the_applications_predicate(
    guarded: Populated, name: str, probe: Probe
) -> None:
    mine, theirs = guarded.tenants[name]
    assert await probe(mine, theirs) == []


@reading
async def test_the_applications_predicate_holds_without_row_level_security(
    unguarded: Populated, name: str, probe: Probe
) -> None:
    mine, theirs = unguarded.tenants[name]
    assert await probe(mine, theirs) == []


@reading
@pytest.mark.usefixtures("no_predicate")
async def test_control_with_neither_layer_the_same_probe_does_read_another_tenant(
    unguarded: Populated, name: str, probe: Probe
) -> None:
    mine, theirs = unguarded.tenants[name]
    assert await probe(mine, theirs) != []


async def seen_next_door(populated: Populated) -> bool:
    """Whether an anchor reads what stands at another one of its tenant, a new one."""
    org, here, there = uuid4(), uuid4(), uuid4()
    mine, _ = populated.tenants["world_agent"]
    for domain in (here, there):
        await Worlds(populated.db).register(org, domain, "Cards")
    operator = Principal.operator("ida")
    said = [
        await mine.agent.bind(org_id=org, domain_id=domain, principal=operator).prefer("Be brief.")
        for domain in (here, there)
    ]
    memory = mine.agent.bind(org_id=org, domain_id=here, principal=operator)
    found = {entry.id for entry in await memory.list(limit=1000)}
    assert said[0].entry_id in found, "one's own is always there"
    return said[1].entry_id in found


async def test_the_applications_predicate_alone_keeps_anchors_of_a_tenant_apart(
    unguarded: Populated,
) -> None:
    assert not await seen_next_door(unguarded)


@pytest.mark.usefixtures("no_predicate")
async def test_row_level_security_alone_keeps_anchors_of_a_tenant_apart(
    guarded: Populated,
) -> None:
    assert not await seen_next_door(guarded)


@pytest.mark.usefixtures("no_predicate")
async def test_control_with_neither_layer_an_anchor_reads_the_one_next_door(
    unguarded: Populated,
) -> None:
    assert await seen_next_door(unguarded)


SEPARATORS = ["\x1f", "'", "\\", ";", "\n", "$", "%", "{", "}", "::", '"']


@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
@pytest.mark.usefixtures("no_predicate")
async def test_no_anchor_value_can_be_read_as_another_scope(
    guarded: Populated, separator: str
) -> None:
    """A text key is the caller's; row-level security must not take part of it for a tenant."""
    tried = 0
    for mine, theirs in guarded.tenants.values():
        texts = [key for key, value in theirs.anchor.items() if isinstance(value, str)]
        for key in texts:
            tried += 1
            evil = separator.join(map(str, theirs.anchor.values()))
            anchor = theirs.anchor | {key: evil}
            try:
                memory = mine.agent.bind(principal=Principal.agent("eve"), **anchor)
            except errors.AnchorRefused:
                continue
            assert await memory.list(limit=1000) == []
    assert tried, "no shipped spec has a text key; this test needs one"


# --- settings --------------------------------------------------------------------------------


def test_without_a_scope_every_table_is_empty(guarded: Populated, name: str) -> None:
    with guarded.app(name) as connection:
        counts = row_counts_on(connection, Family(load(name)).schema)
    assert set(counts.values()) == {0}, counts


def test_control_without_row_level_security_no_table_is_empty(
    unguarded: Populated, name: str
) -> None:
    with unguarded.app(name) as connection:
        counts = row_counts_on(connection, Family(load(name)).schema)
    assert 0 not in counts.values(), counts


def test_another_agents_scope_shows_no_memory(guarded: Populated, name: str) -> None:
    mine, _ = guarded.tenants[name]
    right, wrong = mine.scope, Scope("another_agent", mine.anchor, Principal.agent("eve"))
    with guarded.admin() as admin, guarded.app(name) as connection:
        tables = family_tables(admin, mine)
        shown = {}
        for scope in (right, wrong):
            with connection.transaction():
                bind(connection, scope)
                counts = row_counts_on(connection, mine.family.schema)
                shown[scope.agent] = {counts[table] for table in tables}
    assert 0 not in shown[mine.spec.agent]
    assert shown["another_agent"] == {0}


async def test_no_scope_outlives_its_transaction_on_a_pooled_connection(
    guarded: Populated, name: str
) -> None:
    mine, _ = guarded.tenants[name]
    settings = scoping.settings(mine.scope)
    assert all(settings.values()), "the scope travels as settings"
    await mine.memory.list()
    with pytest.raises(errors.EntryNotFound):
        await mine.memory.get(uuid4())
    with pytest.raises(IdeticError):
        await mine.holder(Capability.ARCHIVE).archive(uuid4(), reason="none")
    # Not by `reading`, which binds nobody itself: as whoever borrows the connection next finds it.
    async with guarded.db.database._pool.connection() as connection:
        for setting in settings:
            cursor = await connection.execute("SELECT current_setting(%s, true)", (setting,))
            row = await cursor.fetchone()
            assert row in ((None,), ("",)), setting


async def test_a_failed_statement_leaves_no_scope_behind(guarded: Populated) -> None:
    mine, theirs = guarded.tenants["world_agent"]
    operator = mine.holder(Capability.ARCHIVE)
    for _ in range(3):
        with pytest.raises(errors.EntryNotFound):
            await operator.archive(theirs.transient, reason="not mine")
    async with guarded.db.database._pool.connection() as connection:
        cursor = await connection.execute("SELECT count(*) FROM worlds.world_agent_memory")
        assert await cursor.fetchone() == (0,)


# --- guessing ids ----------------------------------------------------------------------------


async def _error(attempt: Awaitable[Any]) -> tuple[type[BaseException], str]:
    """What an attempt says, with every id taken out: its shape."""
    with pytest.raises(IdeticError) as caught:
        await attempt
    return caught.type, re.sub(
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", str(caught.value)
    )


@pytest.mark.parametrize("verb", ["get", "history", "archive", "exempt", "link_action"])
async def test_another_tenants_entry_id_is_answered_like_a_random_one(
    guarded: Populated, name: str, verb: str
) -> None:
    mine, theirs = guarded.tenants[name]

    def attempt(entry: UUID) -> Awaitable[Any]:
        if verb == "link_action":
            kind = mine.spec.audit.action_kinds[0]
            return mine.holder(Capability.LINK_ACTION).link_action(uuid4(), kind, [entry])
        if verb in ("archive", "exempt"):
            memory = mine.holder(Capability.ARCHIVE if verb == "archive" else Capability.EXEMPT)
            turned: Awaitable[Any] = getattr(memory, verb)(entry, reason="curious")
            return turned
        read: Awaitable[Any] = getattr(mine.memory, verb)(entry)
        return read

    known, random = await _error(attempt(theirs.transient)), await _error(attempt(uuid4()))
    assert known == random
    assert known[0] is errors.EntryNotFound


async def test_another_tenants_session_id_is_answered_like_a_random_one(
    guarded: Populated, name: str
) -> None:
    mine, theirs = guarded.tenants[name]

    async def write(session: UUID) -> tuple[type[BaseException], str]:
        handle = mine.memory.session(session)
        handle._open = True  # as if an earlier process had opened it
        return await _error(handle.observe("Mine now?", envelope=mine.envelope()))

    known, random = await write(theirs.session), await write(uuid4())
    assert known == random
    assert known[0] is errors.ScopeClosed
    async with mine.memory.session(theirs.session) as session:
        assert await session.list() == [], "the same id is another session here"


async def test_another_tenants_canonical_id_is_answered_like_a_random_one(
    guarded: Populated,
) -> None:
    for mine, theirs in guarded.tenants.values():
        for ref in theirs.refs:
            async with mine.memory.session() as session:
                known = await _error(session.observe("About it.", refs=[Ref(ref.noun, ref.id)]))
                random = await _error(session.observe("About it.", refs=[Ref(ref.noun, uuid4())]))
                pinned = await _error(session.observe("About it.", refs=[ref]))
                assert known == random == pinned
                assert known[0] is errors.ReferenceNotFound


async def test_another_tenants_idempotency_key_is_free_here(guarded: Populated, name: str) -> None:
    mine, theirs = guarded.tenants[name]
    session = await theirs.memory.session().open()
    their = await session.observe("A.", envelope=theirs.envelope(), idempotency_key="taken")
    session = await mine.memory.session().open()
    own = await session.observe("B.", envelope=mine.envelope(), idempotency_key="taken")
    assert not own.replayed
    assert own.entry_id != their.entry_id


def test_keys_of_another_tenant_give_no_sign_of_themselves(guarded: Populated, name: str) -> None:
    """Below the application: no constraint may tell a taken id from a free one."""
    mine, theirs = guarded.tenants[name]
    actions = mine.family.qualified(mine.family.table_name("actions"))

    def link(connection: psycopg.Connection, memory: UUID) -> str:
        row = mine.key | {"action_id": uuid4(), "memory_id": memory, "action_kind": "x"}
        row |= {"linked_at": datetime.now(UTC), "linked_by": "eve"}
        insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            actions,
            sql.SQL(", ").join(map(sql.Identifier, row)),
            sql.SQL(", ").join(map(sql.Literal, row.values())),
        )
        with pytest.raises(pg.ForeignKeyViolation) as caught:
            under(connection, mine.scope, insert)
        return str(caught.value).replace(str(memory), "ID")

    def shape(message: str) -> str:
        return re.sub(r"[0-9a-f-]{32,36}", "ID", message)

    with guarded.app(name) as connection:
        known, random = link(connection, theirs.transient), link(connection, uuid4())
    assert shape(known) == shape(random)


def test_the_shadow_guard_answers_only_for_the_bound_tenant(guarded: Populated) -> None:
    tried = 0
    for mine, theirs in guarded.tenants.values():
        for canonical in mine.spec.references.canonical:
            tried += 1
            shadow = mine.family.qualified(f"{mine.family.name}_{canonical.noun}_shadow_v1")

            def ask(scope: Scope, tenant: Tenant, shadow: sql.Identifier = shadow) -> list[Any]:
                given = (tenant.scope.tenant, tenant.root, RULE_TEXT_AGAIN)
                arguments = sql.SQL(", ").join(map(sql.Literal, given))
                with guarded.app() as connection:
                    bind(connection, scope)
                    asked = sql.SQL("SELECT s FROM {}({}) s WHERE s IS NOT NULL").format(
                        shadow, arguments
                    )
                    return connection.execute(asked).fetchall()

            assert ask(mine.scope, theirs) == []
            assert len(ask(theirs.scope, theirs)) == 1, "control: the owner's tenant gets its hit"
            stranger = replace(theirs, anchor=mine.anchor)
            assert ask(mine.scope, stranger) == [] or mine.root is None
    assert tried

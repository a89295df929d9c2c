"""A tenant with something in every table of its agent's family, for any spec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from idetic import Idetic, MemorySpec, Principal, Ref, Scope
from idetic.context import Runbooks, Worlds
from idetic.library.handles import Agent, Memory
from idetic.model import Capability, PrincipalKind, Tier, Typology
from idetic.persona.events import EventKind
from idetic.persona.identity import Identity
from idetic.spec.loader import load
from idetic.spec.primitives import KeyType
from idetic.spec.typology import WriteMode
from idetic.store import scope as scoping
from idetic.store.database import APP_ROLE
from idetic.store.family import Family
from tests.conftest import RULE_TEXT, TestDatabase
from tests.support.catalog import tables_of
from tests.support.rows import ensure_row
from tests.support.scoped import bind


@dataclass(frozen=True)
class Tenant:
    """One anchor of one agent, and the ids that another tenant would like to know."""

    agent: Agent
    anchor: dict[str, Any]
    transient: UUID
    persistent: UUID | None
    session: UUID
    action: UUID
    refs: tuple[Ref, ...]
    root: UUID | None
    admin_dsn: str

    @property
    def spec(self) -> MemorySpec:
        return self.agent.spec

    @property
    def family(self) -> Family:
        return Family(self.spec)

    @property
    def memory(self) -> Memory:
        return self.bind(PrincipalKind.AGENT)

    @property
    def scope(self) -> Scope:
        return self.memory.scope

    @property
    def key(self) -> dict[str, Any]:
        """What its rows are known by in every table of the family."""
        bound = scoping.bound(self.scope)
        return {self.spec.anchor.tenant.name: bound["tenant"], "anchor_id": bound["anchor_id"]}

    def owned(self) -> set[UUID]:
        """The entries that are its own, as nobody but the superuser can tell for certain."""
        memory = self.family.qualified(self.family.table_name("memory"))
        fits = (sql.SQL("{} = {}").format(sql.Identifier(k), v) for k, v in self.key.items())
        own = sql.SQL("SELECT memory_id FROM {} WHERE {}").format(
            memory, sql.SQL(" AND ").join(fits)
        )
        with psycopg.connect(self.admin_dsn) as connection:
            return {memory_id for (memory_id,) in connection.execute(own)}

    def bind(self, kind: PrincipalKind) -> Memory:
        return self.agent.bind(principal=Principal(kind, "someone"), **self.anchor)

    def holder(self, capability: Capability) -> Memory:
        """Memory bound to whoever may do this under the spec."""
        return self.bind(next(k for k in PrincipalKind if self.spec.may(k, capability)))

    def envelope(self) -> dict[str, str]:
        declared = self.spec.retrieval.envelope
        return {name: "thing" for name, key in declared.items() if key.required}


async def make_tenant(db: Idetic, agent: Agent, admin_dsn: str) -> Tenant:
    """A new anchor with an entry in each tier, references, an action and an idempotency key."""
    anchor = {key.name: _key(key.type) for key in agent.spec.anchor.keys}
    root, refs = await _canon(db, agent.spec, anchor)
    bound = Tenant(agent, anchor, uuid4(), None, uuid4(), uuid4(), refs, root, admin_dsn)
    session = await bound.memory.session(bound.session).open()
    seen = await session.observe(
        "Something happened here.",
        refs=refs,
        envelope=bound.envelope(),
        idempotency_key="the same key in every tenant",
    )
    turn = await session.interaction().open()
    await turn.observe("And here.", envelope=bound.envelope())
    assert seen.entry_id
    linker = bound.holder(Capability.LINK_ACTION)
    await linker.link_action(bound.action, agent.spec.audit.action_kinds[0], [seen.entry_id])
    tenant = replace(bound, transient=seen.entry_id, persistent=await _persistent(bound))
    if agent.spec.backend.log is not None:
        await _log(db, tenant)
    if agent.spec.proposes and tenant.persistent is not None:
        await bound.holder(Capability.PROMOTE).propose([tenant.persistent], reason="it is so")
    engine = agent.engine
    await engine.words.update(bound.scope, await engine.marks.position(bound.scope), 0)
    _fill_the_rest(tenant)
    # Taken out and put back: a quarantine for a list, without which none would show.
    keeper = bound.holder(Capability.ARCHIVE)
    taken = await keeper.quarantine(session_id=bound.session, reason=str(bound.action))
    await keeper.release(taken, reason="it was not")
    return tenant


def _key(kind: KeyType) -> Any:
    return (
        uuid4()
        if kind is KeyType.UUID
        else uuid4().hex
        if kind is KeyType.TEXT
        else uuid4().int >> 70
    )


async def _canon(
    db: Idetic, spec: MemorySpec, anchor: dict[str, Any]
) -> tuple[UUID | None, tuple[Ref, ...]]:
    """What the shipped reference contexts ask of a new anchor."""
    nouns = {canonical.noun for canonical in spec.references.canonical}
    if spec.anchor.root is not None:
        worlds = Worlds(db)
        root = await worlds.register(anchor["org_id"], anchor["domain_id"], "Payments")
        return root, (await worlds.put_rule(anchor["org_id"], root, RULE_TEXT),)
    if "runbook" in nouns:
        return None, (await Runbooks(db).put_runbook(anchor["operator_id"], RULE_TEXT),)
    assert not nouns, f"tell this helper how to make a {nouns}"
    return None, ()


async def _log(db: Idetic, tenant: Tenant) -> None:
    """An event, and a note of the other persona if there is one.

    A row that is made up would break the log's chain.
    """
    whose, agent_id = tenant.anchor.values()
    persona = await db.persona(Identity(agent_id), tenant=whose, spec=tenant.spec)
    async with persona.loop() as loop:
        await loop.append(EventKind.USER_INPUT, "What happened here?")
    if not tenant.spec.backend.conversation:
        await persona.note("Be brief.")


async def _persistent(tenant: Tenant) -> UUID | None:
    """An entry of the persistent tier, if this spec lets anyone write one directly."""
    spec = tenant.spec
    for typology in spec.typology.at(Tier.PERSISTENT):
        mode = spec.writes_of(Tier.PERSISTENT, typology).mode
        envelope = tenant.envelope()
        if mode is WriteMode.EXPLICIT and typology is Typology.PROCEDURAL:
            memory = tenant.holder(Capability.PREFER)
            return (await memory.prefer("Do it this way.", envelope=envelope)).entry_id
        if mode is WriteMode.AUTOMATIC:
            seen = await tenant.memory.observe("Kept.", envelope=envelope, typology=typology)
            return seen.entry_id
    return None


def _fill_the_rest(tenant: Tenant) -> None:
    """A made-up row in every table that no verb has written to yet."""
    known = tenant.anchor | tenant.key
    known |= {"memory_id": tenant.transient, "session_id": tenant.session}
    keys = (canonical.key for canonical in tenant.spec.references.canonical)
    known |= dict(zip(keys, (ref.id for ref in tenant.refs), strict=True))
    with psycopg.connect(tenant.admin_dsn) as connection:
        for table in family_tables(connection, tenant):
            mine = {tenant.spec.anchor.tenant.name: tenant.scope.tenant}
            ensure_row(connection, tenant.family.schema, table, mine, known)


@dataclass(frozen=True)
class Populated:
    """An open database in which every shipped agent has two tenants with rows everywhere."""

    database: TestDatabase
    db: Idetic
    tenants: dict[str, tuple[Tenant, Tenant]]

    def admin(self) -> psycopg.Connection:
        return psycopg.connect(self.database.admin_dsn)

    def steward(self, name: str) -> psycopg.Connection:
        """The same of the role that governs an agent's family."""
        role = Family(load(name)).steward
        return psycopg.connect(self.database.dsn, options=f"-c role={role}")

    def app(self, name: str | None = None) -> psycopg.Connection:
        """A raw connection of the application role, with no application in between.

        For one agent, of the role that works in its family.
        """
        role = Family(load(name)).role if name else APP_ROLE
        return psycopg.connect(self.database.dsn, options=f"-c role={role}")


def family_tables(connection: psycopg.Connection, tenant: Tenant) -> list[str]:
    """The tables that hold memory: those of the schema that no canonical noun of the spec names."""
    spec = tenant.spec
    canon = {c.table for c in spec.references.canonical}
    canon |= {c.versions for c in spec.references.canonical if c.versions}
    canon |= {spec.anchor.root.table} if spec.anchor.root else set()
    schema = tenant.family.schema
    return [t.name for t in tables_of(connection, schema) if f"{schema}.{t.name}" not in canon]


def under(connection: psycopg.Connection, scope: Scope, statement: sql.Composed) -> None:
    """Run a statement within a scope and a transaction of its own."""
    with connection.transaction():
        bind(connection, scope)
        connection.execute(statement)

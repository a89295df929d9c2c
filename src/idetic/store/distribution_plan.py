"""The plan of a distribution over Citus: which table of an agent goes where, in which order, what
stands in the way. It is read from the catalog, whatever server it is, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Any

from psycopg import sql

from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.database import Connection
from idetic.store.driver import Rows
from idetic.store.family import families, tables_outside
from idetic.store.nodes import NodeFinding, look, over
from idetic.store.plan import extensions_of
from idetic.store.templates import composed, raw

FILE = "queries/distribution.sql"
# What says to Citus: begin a group of tables that lie together.
ALONE = "none"
SETTINGS = ("triggers", "sequential")
# What every node may look up. It names no tenant, and hardly ever changes.
REGISTRY = ("spec_versions", "retention_policies", "embedding_profiles", "api_keys")
CORE = ("idetic", "idetic_jobs")
_TYPES = {"ids": "oid[]", "everywhere": "oid[]", "wanted": "text[]", "schemas": "text[]"}

# What Citus asks of a distributed table: by rule, what is the matter where it is broken, and how
# to mend it.
_RULES = {
    "missing": (
        "It is not there, although a spec that this database holds asks for it.",
        "Restore it from a backup, or apply the spec to a new database.",
    ),
    "tenant_column": (
        "It has no column {tenant}, and foreign keys tie it to tables that are distributed by it.",
        (
            "Add the column to the table and to the keys, make it a reference table on Citus "
            "(`SELECT create_reference_table(…)`), or drop the foreign key."
        ),
    ),
    "tenant_type": (
        "{tenant} is {about}; tables that lie together have one exact type, here {type}.",
        "ALTER TABLE {table} ALTER COLUMN {tenant} TYPE {type}.",
    ),
    "tenant_null": (
        "{tenant} may be null, and a row without a tenant belongs to no shard.",
        "ALTER TABLE {table} ALTER COLUMN {tenant} SET NOT NULL.",
    ),
    "tenant_generated": (
        "{tenant} is a generated column, which cannot decide where a row goes.",
        "ALTER TABLE {table} ALTER COLUMN {tenant} DROP EXPRESSION.",
    ),
    "primary_key": ("It has no primary key.", "Give it one that begins with {tenant}, and a name."),
    "key_lead": (
        "The key {about} does not begin with {tenant}; across shards nobody would watch it.",
        "Make it anew with {tenant} as its first column.",
    ),
    "foreign_lead": (
        "The foreign key {about} does not begin with {tenant} on both sides.",
        "Make it anew over {tenant} and the id, and a unique key to refer to if there is none.",
    ),
    "foreign_action": (
        "The foreign key {about} sets null or a default, cascades an update, or is deferrable.",
        "Make it anew: ON DELETE RESTRICT or CASCADE, nothing ON UPDATE, not deferrable.",
    ),
    "policy_subquery": (
        "The policy {about} holds a subquery.",
        "Write it with columns and current_setting() alone.",
    ),
    "trigger_always": (
        "The trigger {about} is enabled ALWAYS, so it would fire once more where shards are moved.",
        "ALTER TABLE {table} ENABLE TRIGGER {about}.",
    ),
    "cycle": (
        "Foreign keys lead from it back to it, by way of {about}: no order suits them all.",
        "Drop one of these foreign keys, distribute, and add it again.",
    ),
    "placed": (
        "Citus has it already, but not by {tenant} in the group of the others.",
        "Look at it in `citus_tables`; `SELECT undistribute_table(…)`, then call again.",
    ),
}


class TablePlace(StrEnum):
    """Where a table lies."""

    DISTRIBUTED = "distributed"
    REFERENCE = "reference"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Placement:
    """One table: where it goes and why, whether it is there, whether it holds rows."""

    table: str
    place: TablePlace
    why: str
    tenant: str | None = None
    beside: str = ALONE
    done: bool = False
    rows: bool = False

    @property
    def statement(self) -> str | None:
        """What places it; nothing for a table that stays on the coordinator."""
        if self.place is TablePlace.LOCAL:
            return None
        values = {"table": self.table, "tenant": self.tenant, "beside": self.beside}
        return composed(bare(self.place), **values)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """What keeps a table from being distributed, and what to do about it."""

    table: str
    rule: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """Every table of an agent, and of the agents it shares tables with, in an order that works."""

    agents: tuple[str, ...]
    tables: tuple[Placement, ...]
    broken: tuple[BrokenRule, ...]
    citus: bool
    # What a node has otherwise than the coordinator. Distributing sends it again.
    nodes: tuple[NodeFinding, ...] = ()

    @property
    def pending(self) -> tuple[Placement, ...]:
        """The tables that are not where they belong yet."""
        return tuple(t for t in self.tables if t.place is not TablePlace.LOCAL and not t.done)

    @property
    def loaded(self) -> tuple[str, ...]:
        """The tables to be distributed that hold rows already."""
        return tuple(t.table for t in self.pending if t.rows and t.place is TablePlace.DISTRIBUTED)

    @property
    def statements(self) -> tuple[str, ...]:
        """What is run, in one transaction; nothing if nothing is pending."""
        placing = tuple(t.statement for t in self.pending if t.statement)
        return (*map(bare, SETTINGS), *placing) if placing else ()


def bare(query: str) -> str:
    """A query without its explanation, in one line: to be shown."""
    lines = templates.query(FILE, query).splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("--"))


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of the catalog, by its name and as SQL would write it, and which it refers to."""

    id: int
    plain: str
    name: str
    refers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CitusTable:
    """What Citus has of a table already."""

    place: str
    tenant: str | None
    colocation: int


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Tables that lie together: the tenant they are distributed by, and why each is among them."""

    tenant: str
    type: str
    why: Mapping[str, str]

    def breach(self, rule: str, table: str, about: str = "") -> BrokenRule:
        """One rule that a table of the group breaks, in words."""
        said = {"table": table, "tenant": self.tenant, "type": self.type, "about": about}
        message, remedy = _RULES[rule]
        return BrokenRule(table, rule, message.format(**said), remedy.format(**said))


async def plan_distribution(
    connection: Connection, agent: str, specs: Mapping[str, MemorySpec]
) -> Distribution:
    """Where the tables of an agent go: `specs` are all that the database holds, by agent.

    The connection is in a transaction.
    """
    citus = (await extensions_of(connection)).citus
    rows = await _ask(connection, "placed") if citus else []
    held = {table: CitusTable(*about) for table, *about in rows}
    agents, group = await _together(connection, agent, specs, held)
    registry = await _registry(connection, held)
    placed, broken = await _place(connection, group, held)
    nodes = await look(over(connection))
    tables = (*registry, *placed)
    return Distribution(tuple(agents), tables, tuple(broken), citus, nodes.findings)


async def _together(
    connection: Connection,
    agent: str,
    specs: Mapping[str, MemorySpec],
    held: Mapping[int, CitusTable],
) -> tuple[list[str], TableGroup]:
    """Agents whose families are tied to the same tables, of which none can be left behind."""
    agents, tenant = [agent], specs[agent].anchor.tenant
    while True:
        why: dict[str, str] = {}
        for one in agents:
            why |= dict.fromkeys(tables_outside(specs[one]), f"{one} refers to it")
            why |= dict.fromkeys(sorted(_family_tables(specs[one])), f"memory of {one}")
        linked = {t.plain for t in await _linked(connection, why, held)}
        more = [a for a in sorted(specs.keys() - agents) if linked & _family_tables(specs[a])]
        if not more:
            return agents, TableGroup(tenant.name, tenant.type.value, why)
        agents += more


def _family_tables(spec: MemorySpec) -> set[str]:
    """The tables that an agent's memory is made of, each with its schema."""
    return {f"{family.schema}.{table}" for family in families(spec) for table in family.tables()}


async def _registry(connection: Connection, held: Mapping[int, CitusTable]) -> list[Placement]:
    """The core: what every node looks up first, because others may refer to it."""
    everywhere, here = [], []
    for table, name in await _ask(connection, "tables", schemas=list(CORE)):
        if name.removeprefix("idetic.") in REGISTRY:
            done = table in held and held[table].place == TablePlace.REFERENCE
            everywhere.append(Placement(name, TablePlace.REFERENCE, "registry", done=done))
        else:
            here.append(Placement(name, TablePlace.LOCAL, "stays on the coordinator"))
    return [*everywhere, *here]


async def _place(
    connection: Connection, group: TableGroup, held: Mapping[int, CitusTable]
) -> tuple[list[Placement], list[BrokenRule]]:
    """The tables of one group in their order, the first making it, and which rules they break."""
    tables = {t.id: t for t in await _linked(connection, group.why, held)}
    values = {"ids": list(tables), "tenant": group.tenant, "type": group.type}
    broken = [
        group.breach(rule, tables[table].name, about)
        for table, rule, about in await _ask(connection, "broken", **values)
    ]
    missing = group.why.keys() - {t.plain for t in tables.values()}
    broken += [group.breach("missing", name) for name in sorted(missing)]
    order = _order(tables, group, broken)
    there = [t for t in order if t.id in held]
    first = next(iter(there or order), None)
    for t in there:
        same = CitusTable(TablePlace.DISTRIBUTED, group.tenant, held[there[0].id].colocation)
        if held[t.id] != same:
            broken.append(group.breach("placed", t.name))
    placed = [
        Placement(
            t.name,
            TablePlace.DISTRIBUTED,
            group.why.get(t.plain, "tied to them by a foreign key"),
            group.tenant,
            ALONE if first is None or t is first else first.name,
            done=t.id in held,
        )
        for t in order
    ]
    return await _counted(connection, placed), broken


def _order(
    tables: Mapping[int, CatalogTable], group: TableGroup, broken: list[BrokenRule]
) -> list[CatalogTable]:
    """A table after those it refers to. In a circle there is no order: a broken rule."""
    try:
        ids = TopologicalSorter({t.id: t.refers for t in tables.values()}).static_order()
        return [tables[each] for each in ids]
    except CycleError as error:
        first, *others = (tables[each].name for each in error.args[1][:-1])
        broken.append(group.breach("cycle", first, ", ".join(others)))
        return list(tables.values())


async def _counted(connection: Connection, placed: list[Placement]) -> list[Placement]:
    """Whether each of those that are not distributed yet holds rows; one query for all."""
    waiting = [p for p in placed if not p.done]
    if not waiting:
        return placed
    await connection.execute(raw(templates.query(FILE, "see_all")))
    asked = raw(templates.query(FILE, "rows"))
    parts = [asked.format(table=raw(p.table)) for p in waiting]
    cursor = await connection.execute(raw("SELECT {}").format(raw(",\n").join(parts)))
    (row,) = await cursor.fetchall()
    rows = {p.table: holds for p, holds in zip(waiting, row, strict=True)}
    return [replace(p, rows=rows.get(p.table, False)) for p in placed]


async def _linked(
    connection: Connection, wanted: Iterable[str], held: Mapping[int, CitusTable]
) -> list[CatalogTable]:
    """The wanted tables and all that foreign keys tie to them, except through reference tables."""
    # What every node has a copy of ties nobody together.
    everywhere = [table for table, what in held.items() if what.place == TablePlace.REFERENCE]
    rows = await _ask(connection, "linked", wanted=list(wanted), everywhere=everywhere)
    return [CatalogTable(table, plain, name, tuple(refers)) for table, plain, name, refers in rows]


async def _ask(connection: Connection, query: str, **values: Any) -> Rows:
    """The rows of one query of the plan, with its values as typed literals."""
    literals = {
        name: raw("{}::{}").format(sql.Literal(value), raw(_TYPES.get(name, "text")))
        for name, value in values.items()
    }
    cursor = await connection.execute(raw(templates.query(FILE, query)).format(**literals))
    return await cursor.fetchall()

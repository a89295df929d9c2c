"""The plan of a distribution: read from the catalog, whatever server it is. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from psycopg import sql

from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.database import Connection
from idetic.store.distribution import ALONE, FILE, BrokenRule, Distribution, Place, Placement
from idetic.store.distribution_rules import breach
from idetic.store.family import families, tables_outside
from idetic.store.nodes import look, over
from idetic.store.pipeline import Rows
from idetic.store.plan import extensions_of
from idetic.store.templates import raw

# What every node may look up. It names no tenant, and hardly ever changes.
REGISTRY = ("spec_versions", "retention_policies", "embedding_profiles", "api_keys")
CORE = ("idetic", "idetic_jobs")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the catalog, by its name and as SQL would write it, and which it refers to."""

    id: int
    plain: str
    name: str
    refers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Tables that lie together: the tenant they are distributed by, and why each is among them."""

    tenant: str
    type: str
    why: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Held:
    """What Citus has of a table already."""

    place: str
    tenant: str | None
    colocation: int


async def plan_distribution(
    connection: Connection, agent: str, specs: Mapping[str, MemorySpec]
) -> Distribution:
    """Where the tables of an agent go: `specs` are all that the database holds, by agent.

    The connection is in a transaction.
    """
    citus = (await extensions_of(connection)).citus
    held = {row[0]: Held(*row[1:]) for row in await _ask(connection, "placed")} if citus else {}
    agents, groups = await _together(connection, agent, specs, held)
    tables = [*await _registry(connection, held)]
    broken: list[BrokenRule] = []
    for group in groups:
        placed, wrong = await _place(connection, group, held)
        tables += placed
        broken += wrong
    nodes = await look(over(connection))
    return Distribution(tuple(agents), tuple(tables), tuple(broken), citus, nodes.findings)


async def _together(
    connection: Connection, agent: str, specs: Mapping[str, MemorySpec], held: Mapping[int, Held]
) -> tuple[list[str], list[Group]]:
    """Agents whose families are tied to the same tables, of which none can be left behind."""
    agents, tenant = [agent], specs[agent].anchor.tenant
    while True:
        why = {name: reason for one in agents for name, reason in _wanted(specs[one]).items()}
        linked = {t.plain for t in await _linked(connection, why, held)}
        more = [a for a in sorted(specs.keys() - agents) if linked & _family(specs[a])]
        if not more:
            return agents, [Group(tenant.name, tenant.type.value, why)]
        agents += more


def _wanted(spec: MemorySpec) -> dict[str, str]:
    canonical = dict.fromkeys(tables_outside(spec), f"{spec.agent} refers to it")
    return canonical | dict.fromkeys(sorted(_family(spec)), f"memory of {spec.agent}")


def _family(spec: MemorySpec) -> set[str]:
    return {f"{family.schema}.{table}" for family in families(spec) for table in family.tables()}


async def _registry(connection: Connection, held: Mapping[int, Held]) -> list[Placement]:
    """The core: what every node looks up first, because others may refer to it."""
    everywhere, here = [], []
    for table, name in await _ask(connection, "tables", schemas=list(CORE)):
        if name.removeprefix("idetic.") in REGISTRY:
            done = table in held and held[table].place == Place.REFERENCE
            everywhere.append(Placement(name, Place.REFERENCE, "registry", done=done))
        else:
            here.append(Placement(name, Place.LOCAL, "stays on the coordinator"))
    return [*everywhere, *here]


async def _place(
    connection: Connection, group: Group, held: Mapping[int, Held]
) -> tuple[list[Placement], list[BrokenRule]]:
    """The tables of one group in their order, the first making it, and which rules they break."""
    tables = {t.id: t for t in await _linked(connection, group.why, held)}
    values = {"ids": list(tables), "tenant": group.tenant, "type": group.type}
    broken = [
        breach(rule, tables[table].name, group.tenant, group.type, about)
        for table, rule, about in await _ask(connection, "broken", **values)
    ]
    missing = group.why.keys() - {t.plain for t in tables.values()}
    broken += [breach("missing", name, group.tenant, group.type) for name in sorted(missing)]
    order = _order(tables, group, broken)
    there = [t for t in order if t.id in held]
    first = next(iter(there or order), None)
    broken += [
        breach("placed", t.name, group.tenant, group.type)
        for t in there
        if held[t.id] != Held(Place.DISTRIBUTED, group.tenant, held[there[0].id].colocation)
    ]
    placed = [
        Placement(
            t.name,
            Place.DISTRIBUTED,
            group.why.get(t.plain, "tied to them by a foreign key"),
            group.tenant,
            ALONE if first is None or t is first else first.name,
            done=t.id in held,
        )
        for t in order
    ]
    return await _counted(connection, placed), broken


def _order(tables: Mapping[int, Table], group: Group, broken: list[BrokenRule]) -> list[Table]:
    """A table after those it refers to. In a circle there is no order: a broken rule."""
    try:
        ids = TopologicalSorter({t.id: t.refers for t in tables.values()}).static_order()
        return [tables[each] for each in ids]
    except CycleError as error:
        names = [tables[each].name for each in error.args[1][:-1]]
        about = ", ".join(names[1:])
        broken.append(breach("cycle", names[0], group.tenant, group.type, about))
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
    connection: Connection, wanted: Iterable[str], held: Mapping[int, Held]
) -> list[Table]:
    everywhere = [table for table, what in held.items() if what.place == Place.REFERENCE]
    rows = await _ask(connection, "linked", wanted=list(wanted), everywhere=everywhere)
    return [Table(table, plain, name, tuple(refers)) for table, plain, name, refers in rows]


_TYPES = {"ids": "oid[]", "everywhere": "oid[]", "wanted": "text[]", "schemas": "text[]"}


async def _ask(connection: Connection, query: str, **values: Any) -> Rows:
    literals = {
        name: raw("{}::{}").format(sql.Literal(value), raw(_TYPES.get(name, "text")))
        for name, value in values.items()
    }
    cursor = await connection.execute(raw(templates.query(FILE, query)).format(**literals))
    return await cursor.fetchall()

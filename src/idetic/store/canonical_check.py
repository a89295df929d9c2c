"""Whether the tables a spec points at are there, with the columns it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from idetic.spec.memory_spec import MemorySpec
from idetic.store.database import Connection

ANY_TYPE = "of any type"


@dataclass(frozen=True, slots=True)
class CanonicalProblem:
    """What a canonical table lacks."""

    table: str
    message: str


async def problems_with_canonicals(
    connection: Connection, spec: MemorySpec, provided: set[str]
) -> list[CanonicalProblem]:
    """Everything that keeps the spec's canonical tables from being referenced."""
    found = []
    for table, columns in _needs(spec):
        if table.split(".", 1)[0] in provided:
            continue
        have = await _columns(connection, table)
        missing = {c: t for c, t in columns.items() if c not in have}
        wrong = {c: t for c, t in columns.items() if c in have and t not in (have[c], ANY_TYPE)}
        if not have:
            wanted = ", ".join(f"{c} {t}" for c, t in columns.items())
            found.append(CanonicalProblem(table, f"there is no such table; it needs ({wanted})"))
        elif missing:
            wanted = ", ".join(f"{c} {t}" for c, t in missing.items())
            found.append(CanonicalProblem(table, f"it lacks the column(s) {wanted}"))
        elif wrong:
            wanted = ", ".join(f"{c} is {have[c]}, not {t}" for c, t in wrong.items())
            found.append(CanonicalProblem(table, f"a column has another type: {wanted}"))
    return found


def _needs(spec: MemorySpec) -> Iterator[tuple[str, dict[str, str]]]:
    tenant = {spec.anchor.tenant.name: spec.anchor.tenant.type.value}
    root = spec.anchor.root
    if root:
        yield root.table, {k.name: k.type.value for k in spec.anchor.keys} | {root.key: "uuid"}
    for canonical in spec.references.canonical:
        columns = tenant | {canonical.key: "uuid"}
        if canonical.body:
            columns[canonical.body] = "text"
        if canonical.strength:
            columns[canonical.strength] = ANY_TYPE
        if canonical.scope:
            columns[canonical.scope] = "uuid"
        if canonical.versions and canonical.version:
            pin = {canonical.version: "integer"}
            yield canonical.versions, tenant | {canonical.key: "uuid"} | pin
            columns |= pin
        yield canonical.table, columns


async def _columns(connection: Connection, table: str) -> dict[str, str]:
    cursor = await connection.execute(
        # By name and not with to_regclass, which needs rights on a schema that is not ours.
        """SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
           JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped""",
        table.split(".", 1),
    )
    columns: dict[str, str] = dict(await cursor.fetchall())
    return columns

"""What applying a spec would change in a database: shown first, and never a dropped row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from idetic.spec.memory_spec import MemorySpec
from idetic.store.canonical_check import problems_with_canonicals
from idetic.store.compiler import DatabaseObject, Extensions, compile_spec
from idetic.store.database import Connection
from idetic.store.family_migration import DEPENDENT, STRUCTURAL, FamilyMigration, pending

CONTEXT_OWNER = "@context"


class Action(StrEnum):
    """What a step of a plan does."""

    MIGRATE = "migrate"
    CREATE = "create"
    REPLACE = "replace"
    KEEP = "keep"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan, and why."""

    action: Action
    kind: str
    name: str
    why: str
    object: DatabaseObject | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """A canonical context that ships with Idetic: a schema's name and the SQL that makes it."""

    schema: str
    ddl: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that applying the spec would do, in order."""

    spec: MemorySpec
    from_version: int | None
    to_version: int
    steps: tuple[Step, ...]
    extensions: Extensions
    # What a release has to do to the family's tables first, which only `idetic upgrade` does.
    migrations: tuple[FamilyMigration, ...] = ()

    @property
    def changes(self) -> tuple[Step, ...]:
        """The steps that touch the database."""
        return tuple(s for s in self.steps if s.action in (Action.CREATE, Action.REPLACE))

    @property
    def refusals(self) -> tuple[Step, ...]:
        """The steps that cannot be taken without losing data or sense."""
        return tuple(s for s in self.steps if s.action is Action.REFUSE)

    @property
    def empty(self) -> bool:
        """Whether applying would change nothing at all, not even the stored version."""
        touched = self.changes or self.refusals or self.migrations
        return not touched and self.from_version == self.to_version


async def make_plan(connection: Connection, spec: MemorySpec, contexts: Sequence[Context]) -> Plan:
    """Compare a spec with what the database holds."""
    known = await _known(connection, spec.agent)
    version, digest = await latest_version(connection, spec.agent)
    wanted = [c for c in contexts if c.schema in _schemas(spec)]
    extensions = await extensions_of(connection)
    new_contexts = await _context_steps(connection, wanted)
    provided = {step.name for step in new_contexts}
    waiting = await pending(connection, spec, extensions) if version else []
    steps = [
        *[Step(Action.MIGRATE, "family", m.name, "this release changes tables") for m in waiting],
        *new_contexts,
        *[
            Step(Action.REFUSE, "canonical", p.table, p.message)
            for p in await problems_with_canonicals(connection, spec, provided)
        ],
        *await _foreign_family(connection, spec),
        *_steps(spec, compile_spec(spec, extensions), known, waiting),
    ]
    to_version = version if version and digest == spec.digest else (version or 0) + 1
    return Plan(spec, version, to_version, tuple(steps), extensions, tuple(waiting))


def _schemas(spec: MemorySpec) -> set[str]:
    tables = [c.table for c in spec.references.canonical]
    if spec.anchor.root:
        tables.append(spec.anchor.root.table)
    return {table.split(".", 1)[0] for table in tables}


def _steps(
    spec: MemorySpec,
    objects: list[DatabaseObject],
    known: dict[tuple[str, str], str],
    waiting: Sequence[FamilyMigration],
) -> Iterator[Step]:
    altered = {name for migration in waiting for name in migration.alters}
    dropped = {name for migration in waiting for name in migration.drops}
    for item in objects:
        digest = known.get((item.kind, item.name))
        if (item.kind, item.name) in altered:
            continue
        if digest is None:
            yield Step(Action.CREATE, item.kind, item.name, "new", item, spec.agent)
        elif digest != item.digest and item.kind in STRUCTURAL:
            yield Step(
                Action.REFUSE,
                item.kind,
                item.name,
                "its columns or keys would change; anchor, root and canonical keys are structural. "
                "Give the changed spec a new `agent` and `backend.family` and move entries over",
            )
        elif digest != item.digest:
            yield Step(
                Action.REPLACE, item.kind, item.name, "its definition changed", item, spec.agent
            )
        elif waiting and item.kind in DEPENDENT:
            yield Step(
                Action.REPLACE, item.kind, item.name, "made again over tables that change", item,
                spec.agent,
            )  # fmt: skip
    compiled = {(item.kind, item.name) for item in objects}
    for kind, name in sorted(known.keys() - compiled - dropped):
        yield Step(Action.KEEP, kind, name, "the spec no longer asks for it; nothing is dropped")


async def _context_steps(connection: Connection, contexts: Sequence[Context]) -> list[Step]:
    known = await _known(connection, CONTEXT_OWNER)
    return [
        Step(
            Action.CREATE,
            "context",
            context.schema,
            "the reference canonical context",
            DatabaseObject("context", context.schema, context.ddl, "owner", context.schema),
            CONTEXT_OWNER,
        )
        for context in contexts
        if ("context", context.schema) not in known
    ]


async def _foreign_family(connection: Connection, spec: MemorySpec) -> list[Step]:
    """Another agent's tables are not ours to replace, even if the names would be the same."""
    cursor = await connection.execute(
        """SELECT agent FROM idetic.spec_versions
           WHERE agent <> %s AND spec -> 'backend' ->> 'schema' = %s
             AND spec -> 'backend' ->> 'family' = %s LIMIT 1""",
        (spec.agent, spec.backend.schema_, spec.backend.family),
    )
    row = await cursor.fetchone()
    if row is None:
        return []
    why = f"this family belongs to the agent {row[0]!r}; choose another `backend.family`"
    return [Step(Action.REFUSE, "family", spec.backend.family, why)]


async def _known(connection: Connection, agent: str) -> dict[tuple[str, str], str]:
    cursor = await connection.execute(
        "SELECT kind, name, digest FROM idetic.compiled_objects WHERE agent = %s", (agent,)
    )
    return {(kind, name): digest for kind, name, digest in await cursor.fetchall()}


async def latest_version(connection: Connection, agent: str) -> tuple[int | None, str | None]:
    """The newest stored version of an agent's spec and its digest, or nothing."""
    cursor = await connection.execute(
        """SELECT version, digest FROM idetic.spec_versions WHERE agent = %s
           ORDER BY version DESC LIMIT 1""",
        (agent,),
    )
    row = await cursor.fetchone()
    return (row[0], row[1]) if row else (None, None)


async def extensions_of(connection: Connection) -> Extensions:
    """Where this database keeps the extensions that we name."""
    cursor = await connection.execute(
        """SELECT e.extname, n.nspname FROM pg_extension e
           JOIN pg_namespace n ON n.oid = e.extnamespace
           WHERE e.extname IN ('citus', 'pg_trgm', 'vector')"""
    )
    found: dict[str, str] = dict(await cursor.fetchall())
    return Extensions(trgm=found["pg_trgm"], vector=found["vector"], citus="citus" in found)

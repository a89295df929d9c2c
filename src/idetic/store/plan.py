"""The plan of a spec: what applying it would change in a database, and never a dropped row."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from idetic.spec.memory_spec import MemorySpec
from idetic.store.compiler import DatabaseObject, Extensions, compile_spec
from idetic.store.database import Connection, fetch
from idetic.store.family import tables_outside
from idetic.store.family_migration import DEPENDENT, STRUCTURAL, FamilyMigration, pending

FILE = "queries/registry.sql"
CONTEXT_OWNER = "@context"
# What a compiled family gets when `spec migrate` begins to move its memory elsewhere.
CLOSED = "closed"
_ANY_TYPE = "of any type"


class PlanAction(StrEnum):
    """What a step of a plan does."""

    MIGRATE = "migrate"
    CREATE = "create"
    REPLACE = "replace"
    KEEP = "keep"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan, and why."""

    action: PlanAction
    kind: str
    name: str
    why: str
    object: DatabaseObject | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceContext:
    """A canonical context that ships with Idetic: a schema's name and the SQL that makes it."""

    schema: str
    ddl: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that applying the spec would do, in order."""

    spec: MemorySpec
    from_version: int | None
    to_version: int
    steps: tuple[PlanStep, ...]
    extensions: Extensions
    # What a release has to do to the family's tables first, which only `idetic upgrade` does.
    migrations: tuple[FamilyMigration, ...] = ()
    # `spec migrate` moves the family's memory elsewhere, or has moved it: it is only read.
    closed: bool = False
    # The newest stored version; above `to_version` for a spec whose family has been left.
    newest: int = 0

    @property
    def changes(self) -> tuple[PlanStep, ...]:
        """The steps that touch the database."""
        made = (PlanAction.CREATE, PlanAction.REPLACE)
        return tuple(step for step in self.steps if step.action in made)

    @property
    def refusals(self) -> tuple[PlanStep, ...]:
        """The steps that cannot be taken without losing data or sense."""
        return tuple(step for step in self.steps if step.action is PlanAction.REFUSE)

    @property
    def grouped(self) -> dict[tuple[PlanAction, str, str], list[str]]:
        """The names of what is touched, by action, kind and reason; in the order of the actions."""
        found: dict[tuple[PlanAction, str, str], list[str]] = {}
        for step in sorted(self.steps, key=lambda each: list(PlanAction).index(each.action)):
            found.setdefault((step.action, step.kind, step.why), []).append(step.name)
        return found

    @property
    def empty(self) -> bool:
        """Whether applying would change nothing at all, not even the stored version."""
        touched = self.changes or self.refusals or self.migrations
        return not touched and self.from_version == self.to_version

    @property
    def reasons(self) -> str:
        """Why the plan is refused: every reason once, with all it applies to."""
        by_reason: dict[str, list[str]] = {}
        for step in self.refusals:
            by_reason.setdefault(step.why, []).append(f"{step.kind} {step.name}")
        return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items()) + "."


async def make_plan(
    connection: Connection,
    spec: MemorySpec,
    contexts: Sequence[ReferenceContext],
    *,
    moving: bool = False,
) -> Plan:
    """Compare a spec with what the database holds.

    `moving` takes the spec for one whose family the agent's memory is to move to.
    """
    known = await _known(connection, spec.agent)
    latest = await fetch(connection, FILE, "latest", agent=spec.agent)
    version, digest, home = latest[0] if latest else (None, None, spec.backend.place)
    extensions = await extensions_of(connection)
    closed = (CLOSED, spec.backend.place) in known
    if closed and home != spec.backend.place:
        return await _left_behind(connection, spec, extensions, version or 0, home)
    new_contexts = await _context_steps(connection, spec, contexts)
    provided = {step.name for step in new_contexts}
    waiting = await pending(connection, spec, extensions) if version else []
    why = "this release changes tables"
    steps = [
        *(PlanStep(PlanAction.MIGRATE, "family", each.name, why) for each in waiting),
        *new_contexts,
        *[step async for step in _misfits(connection, spec, provided)],
        *await _foreign_family(connection, spec),
        *(() if moving else _strayed(spec, home)),
        *_object_steps(spec, compile_spec(spec, extensions), known, waiting),
    ]
    to_version = version if version and digest == spec.digest else (version or 0) + 1
    return Plan(spec, version, to_version, tuple(steps), extensions, tuple(waiting), closed)


async def _left_behind(
    connection: Connection, spec: MemorySpec, extensions: Extensions, version: int, home: str
) -> Plan:
    """The plan of a spec whose family has been left: one that is stored can be read, no more."""
    given = {"agent": spec.agent, "digest": spec.digest}
    for (stored,) in await fetch(connection, FILE, "version_of", **given):
        return Plan(spec, stored, stored, (), extensions, closed=True, newest=version)
    why = f"its memory has moved to {home}; write the change into the spec of that family"
    step = PlanStep(PlanAction.REFUSE, "family", spec.backend.place, why)
    return Plan(spec, version, version + 1, (step,), extensions, closed=True)


def _strayed(spec: MemorySpec, home: str) -> Iterator[PlanStep]:
    """Refuse another family than the one that memory is in: it would begin empty."""
    if home != spec.backend.place:
        why = f"the memory of {spec.agent} is in {home}; `idetic spec migrate` moves it"
        yield PlanStep(PlanAction.REFUSE, "family", spec.backend.place, why)


def _object_steps(
    spec: MemorySpec,
    objects: list[DatabaseObject],
    known: dict[tuple[str, str], str],
    waiting: Sequence[FamilyMigration],
) -> Iterator[PlanStep]:
    """What is to be done about each object: made, made again, refused, or kept though unasked."""
    altered = {name for migration in waiting for name in migration.alters}
    dropped = {name for migration in waiting for name in migration.drops}
    for item in objects:
        kind, name = item.kind, item.name
        digest = known.get((kind, name))
        # The waiting migration changes it, and records it as changed.
        if (kind, name) in altered:
            continue
        if digest is None:
            yield PlanStep(PlanAction.CREATE, kind, name, "new", item, spec.agent)
        elif digest != item.digest and kind in STRUCTURAL:
            why = (
                "its columns or keys would change; anchor, root and canonical keys are structural. "
                "Give the changed spec another `backend.family`, and `idetic spec migrate` moves "
                "the memory there"
            )
            yield PlanStep(PlanAction.REFUSE, kind, name, why)
        elif digest != item.digest:
            why = "its definition changed"
            yield PlanStep(PlanAction.REPLACE, kind, name, why, item, spec.agent)
        elif waiting and kind in DEPENDENT:
            why = "made again over tables that change"
            yield PlanStep(PlanAction.REPLACE, kind, name, why, item, spec.agent)
    compiled = {(item.kind, item.name) for item in objects}
    for kind, name in sorted(known.keys() - compiled - dropped):
        if kind == CLOSED:
            continue
        why = "the spec no longer asks for it; nothing is dropped"
        yield PlanStep(PlanAction.KEEP, kind, name, why)


async def _context_steps(
    connection: Connection, spec: MemorySpec, contexts: Sequence[ReferenceContext]
) -> list[PlanStep]:
    """The reference contexts that the spec points at and that are not there."""
    known = await _known(connection, CONTEXT_OWNER)
    wanted = {table.split(".", 1)[0] for table in tables_outside(spec)}
    return [
        PlanStep(
            PlanAction.CREATE,
            "context",
            context.schema,
            "the reference canonical context",
            DatabaseObject("context", context.schema, context.ddl, "owner", context.schema),
            CONTEXT_OWNER,
        )
        for context in contexts
        if context.schema in wanted and ("context", context.schema) not in known
    ]


async def _misfits(
    connection: Connection, spec: MemorySpec, provided: set[str]
) -> AsyncIterator[PlanStep]:
    """Refuse tables that the spec points at and that lack what it names."""
    for table, columns in _needed_columns(spec):
        if table.split(".", 1)[0] in provided:
            continue
        have: dict[str, str] = dict(await fetch(connection, FILE, "columns", table=table))
        lacking = ", ".join(f"{c} {t}" for c, t in columns.items() if c not in have)
        wrong = [c for c, t in columns.items() if c in have and t not in (have[c], _ANY_TYPE)]
        if not have:
            why = f"there is no such table; it needs ({lacking})"
        elif lacking:
            why = f"it lacks the column(s) {lacking}"
        elif wrong:
            told = ", ".join(f"{c} is {have[c]}, not {columns[c]}" for c in wrong)
            why = f"a column has another type: {told}"
        else:
            continue
        yield PlanStep(PlanAction.REFUSE, "canonical", table, why)


def _needed_columns(spec: MemorySpec) -> Iterator[tuple[str, dict[str, str]]]:
    """Each table outside that the spec points at, with the columns and types it has to have."""
    tenant = {spec.anchor.tenant.name: spec.anchor.tenant.type.value}
    root = spec.anchor.root
    if root:
        yield root.table, {k.name: k.type.value for k in spec.anchor.keys} | {root.key: "uuid"}
    for canonical in spec.references.canonical:
        columns = tenant | {canonical.key: "uuid"}
        if canonical.body:
            columns[canonical.body] = "text"
        if canonical.strength:
            columns[canonical.strength] = _ANY_TYPE
        if canonical.scope:
            columns[canonical.scope] = "uuid"
        if canonical.versions and canonical.version:
            pin = {canonical.version: "integer"}
            yield canonical.versions, tenant | {canonical.key: "uuid"} | pin
            columns |= pin
        yield canonical.table, columns


async def _foreign_family(connection: Connection, spec: MemorySpec) -> list[PlanStep]:
    """Another agent's tables are not ours to replace, even if the names would be the same."""
    schema, family = spec.backend.schema_, spec.backend.family
    given = {"agent": spec.agent, "schema": schema, "family": family}
    return [
        PlanStep(
            PlanAction.REFUSE,
            "family",
            family,
            f"this family belongs to the agent {agent!r}; choose another `backend.family`",
        )
        for (agent,) in await fetch(connection, FILE, "family_owner", **given)
    ]


async def _known(connection: Connection, agent: str) -> dict[tuple[str, str], str]:
    """The digest of every object that this agent has in the database, by kind and name."""
    rows = await fetch(connection, FILE, "known", agent=agent)
    return {(kind, name): digest for kind, name, digest in rows}


async def extensions_of(connection: Connection) -> Extensions:
    """Where this database keeps the extensions that we name."""
    found: dict[str, str] = dict(await fetch(connection, FILE, "extensions"))
    return Extensions(trgm=found["pg_trgm"], vector=found["vector"], citus="citus" in found)

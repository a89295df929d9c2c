"""The queue from the store's side: jobs in, what waits, how far work has come; and its tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from idetic.errors import DatabaseUnsupported, InputError
from idetic.model import Scope, Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.database import Connection, Database, fetch
from idetic.store.driver import Rows
from idetic.store.family import Family
from idetic.store.scope import anchor_of, quoted
from idetic.store.templates import BoundStatement, Fillers, filled, named_query, raw, statement

WORKER_ROLE = "idetic_worker"
_FILE = "queries/queue.sql"
_TASK = re.compile(r"[a-z][a-z_]{0,63}\Z")
_ID_LENGTH = 200
MOST = 1_000
SCHEMA = "idetic_jobs"


class JobState(StrEnum):
    """The state of a job; finished jobs are removed."""

    WAITING = "waiting"
    RUNNING = "running"
    FAILED = "failed"


# What the queue calls it.
STATUS = {JobState.WAITING: "todo", JobState.RUNNING: "doing", JobState.FAILED: "failed"}
_STATES = {status: state for state, status in STATUS.items()}


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a scope.

    `since` is when it was enqueued or first due, when it began to run, or when it failed for good.
    `about` has the job's other ids, by name. They are always UUIDs, so no text that somebody put
    into the queue is shown.
    """

    id: int
    task: str
    state: JobState
    since: datetime | None
    attempts: int
    error: str | None = None
    reason: str | None = None
    anchor: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskBacklog:
    """The jobs of one task in the queue."""

    task: str
    waiting: int
    running: int
    failed: int
    oldest_seconds: float | None
    last_error: str | None
    last_reason: str | None


@dataclass(frozen=True, slots=True)
class Queue:
    """Jobs of one database: enqueue within a scope, look at all of them."""

    database: Database

    async def enqueue(
        self, scope: Scope, task: str, *, at: datetime | None = None, **ids: Any
    ) -> int | None:
        """Enqueue a task for the scope's anchor; None if an equal job waits already."""
        rows = await self.database.run_all(scope, [enqueue_statement(scope, task, at=at, **ids)])
        job: int | None = rows[0][0]
        return job

    async def backlog(self, scope: Scope | None = None) -> list[TaskBacklog]:
        """Per task: waiting, running, failed, the oldest one's age, why the last failure was.

        Of one scope, if one is given: what waits elsewhere is not told there.
        """
        which = "true" if scope is None else templates.query(_FILE, "jobs_of")
        values = {} if scope is None else _named(scope)
        rows = await self._as_worker("backlog", {"which": which}, values)
        return [TaskBacklog(*row) for row in rows]

    async def jobs(
        self, scope: Scope, task: str | None, state: JobState | None, limit: int, after: int | None
    ) -> list[Job]:
        """The jobs of one scope that wait, run or failed, the oldest first; after one of them."""
        if task is not None:
            _check_task(task)
        wanted = [STATUS[one] for one in ([state] if state else JobState)]
        values = {"task": task, "status": wanted, "after": after, "limit": limit}
        which = templates.query(_FILE, "jobs_of")
        rows = await self._as_worker("jobs", {"which": which}, _named(scope) | values)
        return [_job(*row) for row in rows]

    async def sweep_moved(self, spec: MemorySpec, task: str, *, limit: int = MOST) -> int:
        """Enqueue a task wherever an agent's chains have moved since it last finished there."""
        return await self._sweep(spec, task, "moved", limit)

    async def sweep_aged(
        self, spec: MemorySpec, task: str, before: datetime, *, limit: int = MOST
    ) -> int:
        """Enqueue a task wherever it last finished before a moment, or never."""
        return await self._sweep(spec, task, "aged", limit, before=before)

    async def sweep_grown(
        self, spec: MemorySpec, task: str, least: int, *, limit: int = MOST
    ) -> int:
        """The same as `sweep_moved`, only where a chain has so many links."""
        return await self._sweep(spec, task, "grown", limit, least=least)

    async def sweep_open(
        self, spec: MemorySpec, task: str, opened: datetime, before: datetime, *, limit: int = MOST
    ) -> int:
        """The same, only where a scope is open that was opened before another moment."""
        return await self._sweep(spec, task, "open", limit, opened=opened, before=before)

    async def _sweep(
        self, spec: MemorySpec, task: str, where: str, limit: int, **bounds: datetime | int
    ) -> int:
        """Enqueue a task at every anchor that meets a named condition; says at how many."""
        family = Family(spec)
        tables = [family.table_name(noun) for noun in ("anchors", "marks")]
        looked = {"schema": family.schema, "tables": tables}
        # An older release's family has no marks until its spec is applied again.
        if not (await self._as_worker("sweepable", {}, looked))[0][0]:
            return 0
        names = family.names()
        names["condition"] = filled(templates.query(_FILE, f"sweep_{where}"), names)
        pairs = (f"{sql.Literal(key).as_string(None)}, a.{quoted(key)}" for key in family.keys)
        names["pairs"] = ", ".join(pairs)
        values = {"task": task, "agent": spec.agent, "limit": limit, **bounds}
        count: int = (await self._as_worker("sweep", names, values))[0][0]
        return count

    async def anchors_of(self, spec: MemorySpec, tenant: object) -> list[dict[str, Any]]:
        """The anchors of one tenant that have memory."""
        family = Family(spec)
        names = family.names() | {"keys": ", ".join(f"a.{quoted(key)}" for key in family.keys)}
        rows = await self._as_worker("anchors_of", names, {"tenant": str(tenant)})
        return [dict(zip(family.keys, row, strict=True)) for row in rows]

    async def opened_elsewhere(
        self, spec: MemorySpec, scope: Scope, tiers: Sequence[Tier]
    ) -> list[tuple[dict[str, Any], UUID, UUID]]:
        """The open scopes of a principal at other anchors of its tenant, sessions first.

        Each with its anchor's keys, its session and itself.
        """
        family = Family(spec)
        names = family.names() | {"keys": ", ".join(f"a.{quoted(key)}" for key in family.keys)}
        values = {
            "tenant": str(scope.tenant),
            "anchor_id": anchor_of(scope),
            "opener": f"{scope.principal.kind}:{scope.principal.name}",
            "tiers": [tier.value for tier in tiers],
        }
        rows = await self._as_worker("opened_elsewhere", names, values)
        return [(dict(zip(family.keys, row[2:], strict=True)), row[0], row[1]) for row in rows]

    async def _as_worker(self, query: str, names: Fillers, values: dict[str, Any]) -> Rows:
        """Run one query over all tenants."""
        made = statement(filled(templates.query(_FILE, query), names))
        return await self.database.run_all(None, [BoundStatement(made, values)], role=WORKER_ROLE)


@dataclass(frozen=True, slots=True)
class Marks:
    """How far background work has come in each anchor of one agent."""

    database: Database
    family: Family

    async def position(self, scope: Scope) -> int:
        """Where the anchor's chain ends now; 0 if it has none. To be read before the work."""
        rows = await self.database.run_all(
            scope, [self.family.call("queue", "position", scope, {})]
        )
        return rows[0][0] if rows else 0

    async def reached(self, scope: Scope, task: str) -> int:
        """The position up to which a task has dealt with all; 0 where it never ran."""
        call = self.family.call("queue", "reached", scope, {}, task=task)
        rows = await self.database.run_all(scope, [call])
        return rows[0][0] if rows else 0

    async def mark(self, scope: Scope, task: str, position: int, at: datetime) -> None:
        """Note that a task has dealt with all up to a position. Zero is not worth a row."""
        if not position:
            return
        values = {"task": task, "position": position, "at": at}
        await self.database.run_all(scope, [self.family.call("queue", "mark", scope, {}, **values)])


def enqueue_statement(
    scope: Scope, task: str, *, at: datetime | None = None, **ids: Any
) -> BoundStatement:
    """The call that enqueues; in a write's transaction it commits with the write."""
    _check_task(task)
    refused = [name for name, value in ids.items() if not _is_id(value)]
    if refused:
        raise InputError(
            f"A job takes ids and no content; {', '.join(refused)} is not an id.",
            remedy=f"Give a UUID, a number or a text of at most {_ID_LENGTH} characters.",
        )
    args = {**ids, "agent": scope.agent, "anchor": dict(scope.anchor)}
    values = {"task": task, "args": _as_json(args), "at": at}
    return BoundStatement(named_query(_FILE, "enqueue"), values)


def _check_task(task: object) -> None:
    """Refuse what cannot be the name of a task."""
    if not isinstance(task, str) or not _TASK.match(task):
        raise InputError(f"{task!r} is not the name of a task.")


def _named(scope: Scope) -> dict[str, Any]:
    """The scope as jobs name it; a key that it leaves open is any."""
    bound = {key: value for key, value in scope.anchor.items() if value is not None}
    return {"agent": scope.agent, "anchor": _as_json(bound)}


def _as_json(value: dict[str, Any]) -> str:
    """Arguments as a job keeps them, with ids and moments as texts."""
    return json.dumps(value, default=str, ensure_ascii=False)


def _job(
    job_id: int,
    task: str,
    status: str,
    since: datetime | None,
    attempts: int,
    error: str | None,
    reason: str | None,
    args: dict[str, Any],
) -> Job:
    """One row of the queue as a job; of its arguments only UUIDs are told, and no other text."""
    ids = {name: _uuid(value) for name, value in args.items() if name not in ("agent", "anchor")}
    about = {name: value for name, value in ids.items() if value is not None}
    state, anchor = _STATES[status], args["anchor"]
    return Job(job_id, task, state, since, attempts, error, reason, anchor, about)


def _uuid(value: object) -> UUID | None:
    """The value as a UUID, if it is one written out."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _is_id(value: object) -> bool:
    """Whether a value is small and plain enough for a job, which takes ids and no content."""
    if isinstance(value, str):
        return len(value) <= _ID_LENGTH and value.isprintable()
    return value is None or isinstance(value, int | UUID)


# --- the tables: procrastinate's own, made from whatever release of it is installed -------------


@cache
def carried() -> tuple[str, ...]:
    """The migrations of the installed procrastinate, in order.

    Found without importing it: every open asks, and the import takes a third of a second.
    """
    found = find_spec("procrastinate")
    places = found.submodule_search_locations if found else None
    if not places:
        raise DatabaseUnsupported(
            "The package procrastinate is not installed.", remedy="Run `pip install procrastinate`."
        )
    return tuple(sorted(f.name for f in Path(places[0], "sql", "migrations").glob("*.sql")))


async def applied(connection: Connection) -> set[str]:
    """The migrations of procrastinate that this database has."""
    cursor = await connection.execute("SELECT name FROM idetic.queue_migrations")
    return {name for (name,) in await cursor.fetchall()}


async def is_current(connection: Connection) -> bool:
    """Whether the queue has all that the installed procrastinate needs."""
    return set(carried()) <= await applied(connection)


async def check_known(connection: Connection) -> None:
    """Refuse to work a queue that a newer procrastinate has set up."""
    unknown = await applied(connection) - set(carried())
    if unknown:
        raise DatabaseUnsupported(
            f"A newer procrastinate has set this queue up ({max(unknown)}).",
            remedy="Upgrade the `procrastinate` package on this machine, then start the worker.",
        )


async def install(connection: Connection) -> list[str]:
    """Make or upgrade the queue's tables, as idetic_owner; says which migrations were new.

    A new database gets procrastinate's schema, which is the sum of its migrations; an older one
    gets the migrations that it lacks.
    """
    await fetch(connection, "queries/queue.sql", "schema")
    known = await applied(connection)
    missing = [name for name in carried() if name not in known]
    if not missing:
        return []
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 - slow, and rarely needed

    folder = Path(SchemaManager.get_migrations_path())
    scripts = [(folder / name).read_text("utf-8") for name in missing] if known else []
    # procrastinate names no schema, so its statements run with one as their search path.
    cursor = await connection.execute("SELECT current_setting('search_path')")
    before = await cursor.fetchone() or ("",)
    path = "SELECT set_config('search_path', %s, true)"
    await connection.execute(path, (SCHEMA,))
    for script in scripts or [SchemaManager.get_schema()]:
        await _run(connection, script, newest=max(known, default="none"))
    await connection.execute(path, before)
    for name in missing:
        await connection.execute("INSERT INTO idetic.queue_migrations (name) VALUES (%s)", (name,))
    return missing


async def _run(connection: Connection, script: str, *, newest: str) -> None:
    """Run a script of procrastinate's; where it fails, name the release that would fit."""
    try:
        await connection.execute(raw(script))
    except psycopg.Error as error:
        raise DatabaseUnsupported(
            f"The queue cannot follow the installed procrastinate: {error.diag.message_primary}.",
            remedy=f"Nothing was changed. Stop every worker and try again, or install the "
            f"procrastinate whose newest migration is {newest}.",
        ) from None

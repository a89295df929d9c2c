"""The queue from the store's side: jobs in, what waits, and how far each kind of work has come."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.errors import InputError
from idetic.model import Scope
from idetic.spec.memory_spec import MemorySpec
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.backlog import STATUS, Job, JobState, job_of
from idetic.store.database import Database, Rows
from idetic.store.family import Family
from idetic.store.templates import raw

WORKER_ROLE = "idetic_worker"
_FILE = "queries/queue.sql"
_TASK = re.compile(r"[a-z][a-z_]{0,63}\Z")
_ID_LENGTH = 200
MOST = 1_000


@dataclass(frozen=True, slots=True)
class TaskBacklog:
    """What the queue holds of one task."""

    task: str
    waiting: int
    running: int
    failed: int
    oldest_seconds: float | None
    last_error: str | None
    last_reason: str | None


class Queue:
    """Jobs of one database: enqueue within a scope, look at all of them."""

    def __init__(self, database: Database):
        self._database = database

    async def enqueue(
        self, scope: Scope, task: str, *, at: datetime | None = None, **ids: Any
    ) -> int | None:
        """Enqueue a task for the scope's anchor; None if an equal job waits already."""
        rows = await self._database.run(scope, enqueue_statement(scope, task, at=at, **ids))
        job: int | None = rows[0][0]
        return job

    async def backlog(self, scope: Scope | None = None) -> list[TaskBacklog]:
        """Per task: waiting, running, failed, the oldest one's age, why the last failure was.

        Of one scope, if one is given: what waits elsewhere is not told there.
        """
        which = raw("true") if scope is None else _jobs_of(scope)
        rows = await self._as_worker(_compose("backlog", which=which))
        return [TaskBacklog(*row) for row in rows]

    async def jobs(
        self, scope: Scope, task: str | None, state: JobState | None, limit: int, after: int | None
    ) -> list[Job]:
        """The jobs of one scope that wait, run or failed, the oldest first; after one of them."""
        if task is not None:
            _check_task(task)
        wanted = [STATUS[one] for one in ([state] if state else JobState)]
        values = {"task": task, "status": wanted, "after": after, "limit": limit}
        literals = {name: sql.Literal(value) for name, value in values.items()}
        rows = await self._as_worker(_compose("jobs", which=_jobs_of(scope), **literals))
        return [job_of(row) for row in rows]

    async def sweep_moved(self, spec: MemorySpec, task: str, *, limit: int = MOST) -> int:
        """Enqueue a task wherever an agent's chains have moved since it last finished there."""
        return await self._sweep(spec, task, "moved", limit)

    async def sweep_aged(
        self, spec: MemorySpec, task: str, before: datetime, *, limit: int = MOST
    ) -> int:
        """Enqueue a task wherever it last finished before a moment, or never."""
        return await self._sweep(spec, task, "aged", limit, before=sql.Literal(before))

    async def sweep_open(
        self, spec: MemorySpec, task: str, opened: datetime, before: datetime, *, limit: int = MOST
    ) -> int:
        """The same, only where a scope is open that was opened before another moment."""
        moments = {"opened": sql.Literal(opened), "before": sql.Literal(before)}
        return await self._sweep(spec, task, "open", limit, **moments)

    async def _sweep(
        self, spec: MemorySpec, task: str, where: str, limit: int, **values: Composable
    ) -> int:
        family = Family(spec)
        tables = {f"{t}_text": sql.Literal(family.table_name(t)) for t in ("anchors", "marks")}
        schema = sql.Literal(family.schema)
        rows = await self._as_worker(_compose("sweepable", schema_text=schema, **tables))
        if not rows[0][0]:
            return 0
        pairs = [raw("{}, {}").format(sql.Literal(k), sql.Identifier("a", k)) for k in family.keys]
        names = family.names()
        condition = raw(templates.query(_FILE, f"sweep_{where}")).format(**names, **values)
        rows = await self._as_worker(
            _compose(
                "sweep",
                **names,
                task=sql.Literal(task),
                agent=sql.Literal(spec.agent),
                pairs=raw(", ").join(pairs),
                condition=condition,
                limit=sql.Literal(limit),
            )
        )
        count: int = rows[0][0]
        return count

    async def anchors_of(self, spec: MemorySpec, tenant: object) -> list[dict[str, Any]]:
        """The anchors of one tenant that have memory."""
        family = Family(spec)
        names = family.names() | {"tenant_value": sql.Literal(str(tenant))}
        rows = await self._as_worker(_compose("anchors_of", **names))
        return [dict(zip(family.keys, row, strict=True)) for row in rows]

    async def _as_worker(self, statement: str) -> Rows:
        """Run one statement over all tenants. The role ends with the message, as in `run`."""
        query = raw(f"SET LOCAL ROLE {WORKER_ROLE}; {statement}")
        async with self._database.reading() as connection:
            cursor = await connection.execute(query)
            while cursor.nextset():
                pass
            return await cursor.fetchall()


class Marks:
    """How far background work has come in each anchor of one agent."""

    def __init__(self, database: Database, spec: MemorySpec):
        self._database = database
        self._family = Family(spec)

    async def position(self, scope: Scope) -> int:
        """Where the anchor's chain ends now; 0 if it has none. To be read before the work."""
        predicate = scoping.predicate(scope, "a")
        statement = _compose("position", **self._family.names(), scope_a=predicate)
        rows = await self._database.run(scope, statement)
        return rows[0][0] if rows else 0

    async def mark(self, scope: Scope, task: str, position: int, at: datetime) -> None:
        """Note that a task has dealt with all up to a position. Zero is not worth a row."""
        if not position:
            return
        names = self._family.names() | {
            "values": raw(scoping.arguments(scope)),
            "task": sql.Literal(task),
            "position": sql.Literal(position),
            "at": sql.Literal(at),
        }
        await self._database.run(scope, _compose("mark", **names))


def enqueue_statement(scope: Scope, task: str, *, at: datetime | None = None, **ids: Any) -> str:
    """The statement that enqueues; added to a write's message it commits with the write."""
    _check_task(task)
    refused = [name for name, value in ids.items() if not _is_id(value)]
    if refused:
        raise InputError(
            f"A job takes ids and no content; {', '.join(refused)} is not an id.",
            remedy=f"Give a UUID, a number or a text of at most {_ID_LENGTH} characters.",
        )
    args = {**ids, "agent": scope.agent, "anchor": dict(scope.anchor)}
    text = sql.Literal(json.dumps(args, default=str, ensure_ascii=False))
    return _compose(
        "enqueue", task=sql.Literal(task), args=raw("{}::jsonb").format(text), at=sql.Literal(at)
    )


def _check_task(task: object) -> None:
    if not isinstance(task, str) or not _TASK.match(task):
        raise InputError(f"{task!r} is not the name of a task.")


def _jobs_of(scope: Scope) -> Composable:
    bound = {key: value for key, value in scope.anchor.items() if value is not None}
    anchor = sql.Literal(json.dumps(bound, default=str, ensure_ascii=False))
    text = raw(templates.query(_FILE, "jobs_of"))
    return text.format(agent=sql.Literal(scope.agent), anchor=anchor)


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _ID_LENGTH and value.isprintable()
    return value is None or isinstance(value, int | UUID)


def _compose(query: str, **names: Composable) -> str:
    return raw(templates.query(_FILE, query)).format(**names).as_string(None)

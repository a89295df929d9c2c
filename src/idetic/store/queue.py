"""The queue from the store's side: jobs in, what waits, and how far each kind of work has come."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql

from idetic.errors import InputError
from idetic.model import Scope
from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.backlog import STATUS, Job, JobState, TaskBacklog
from idetic.store.database import Database
from idetic.store.family import Family
from idetic.store.pipeline import Rows
from idetic.store.scope import quoted
from idetic.store.templates import BoundStatement, Fillers, filled, named_query, statement

WORKER_ROLE = "idetic_worker"
_FILE = "queries/queue.sql"
_TASK = re.compile(r"[a-z][a-z_]{0,63}\Z")
_ID_LENGTH = 200
_STATES = {status: state for state, status in STATUS.items()}
MOST = 1_000


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

    async def sweep_open(
        self, spec: MemorySpec, task: str, opened: datetime, before: datetime, *, limit: int = MOST
    ) -> int:
        """The same, only where a scope is open that was opened before another moment."""
        return await self._sweep(spec, task, "open", limit, opened=opened, before=before)

    async def _sweep(
        self, spec: MemorySpec, task: str, where: str, limit: int, **moments: datetime
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
        values = {"task": task, "agent": spec.agent, "limit": limit, **moments}
        count: int = (await self._as_worker("sweep", names, values))[0][0]
        return count

    async def anchors_of(self, spec: MemorySpec, tenant: object) -> list[dict[str, Any]]:
        """The anchors of one tenant that have memory."""
        family = Family(spec)
        names = family.names() | {"keys": ", ".join(f"a.{quoted(key)}" for key in family.keys)}
        rows = await self._as_worker("anchors_of", names, {"tenant": str(tenant)})
        return [dict(zip(family.keys, row, strict=True)) for row in rows]

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

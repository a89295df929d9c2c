"""How memory stands: its numbers, and the list behind each of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from idetic.lifecycle.overview import MAX_DAYS, MAX_JOB, OpenSession, Overview
from idetic.model import LedgerRecord, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.store.backlog import Job, JobState
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import Moment
from idetic.surfaces.http.routes.reading import Cursor, Limit, Page, page
from idetic.surfaces.http.shapes import shape

router = routes("overseeing")
From = Annotated[Moment, Query(description="With a time zone.")]
Until = Annotated[Moment, Query(description="With a time zone; not itself part of it.")]


@router.get("/overview", response_model=shape(Overview), operation_id="overview")
async def overview(memory: Bound, days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = 30) -> Response:
    """How memory stands: what it holds, what waits, what was refused; numbers alone."""
    return answer(await memory.overview(days=days))


@router.get("/kept", response_model=shape(Page), operation_id="kept")
async def kept(
    memory: Bound, state: RetentionState, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """The entries in one retention state, newest first."""
    return page(await memory.kept(state, limit=limit, before=cursor), limit)


@router.get("/written", response_model=shape(Page), operation_id="written")
async def written(
    memory: Bound,
    since: From,
    until: Until,
    tier: Tier | None = None,
    typology: Typology | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The entries that were written within some time, whatever became of them, newest first."""
    found = await memory.written(
        since, until, tier=tier, typology=typology, limit=limit, before=cursor
    )
    return page(found, limit)


@router.get("/unembedded", response_model=shape(Page), operation_id="unembedded")
async def unembedded(memory: Bound, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The entries that wait for a vector, newest first."""
    return page(await memory.unembedded(limit=limit, before=cursor), limit)


@router.get("/refusals", response_model=shape(list[LedgerRecord]), operation_id="refusals")
async def refusals(
    memory: Bound, since: From | None = None, until: Until | None = None, limit: Limit = 100
) -> Response:
    """What the guard refused, newest first: who tried, when, over which canonical row."""
    return answer(await memory.refusals(since=since, until=until, limit=limit))


@router.get("/jobs", response_model=shape(list[Job]), operation_id="jobs")
async def jobs(
    memory: Bound,
    task: Annotated[str | None, Query(max_length=64)] = None,
    state: JobState | None = None,
    limit: Limit = 100,
    after: Annotated[int | None, Query(ge=0, le=MAX_JOB, description="A job's `id`.")] = None,
) -> Response:
    """The background work of this memory that waits, runs or failed, oldest first."""
    return answer(await memory.jobs(task=task, state=state, limit=limit, after=after))


@router.get("/sessions", response_model=shape(list[OpenSession]), operation_id="sessions")
async def sessions(memory: Bound, limit: Limit = 100) -> Response:
    """The sessions that are open, with their open interactions, the newest first."""
    return answer(await memory.sessions(limit=limit))

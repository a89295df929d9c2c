"""Overview: what there is, what waits, what was refused; and the lists of jobs and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from idetic.library.health import CheckVerdict, vital
from idetic.lifecycle.overview import Overview
from idetic.store.queue import Job, JobState
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.drawings import DailyChart, DayTally
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import as_text, options, tail, words

_SPANS = (7, 30, 90)
_LATEST = 10
_JOBS = 100
_REFUSALS = 1_000
_KIND_OF_VERDICT = {
    CheckVerdict.GOOD: "good",
    CheckVerdict.WARNING: "warn",
    CheckVerdict.BAD: "bad",
}
_KIND_OF_JOB = {JobState.WAITING: "", JobState.RUNNING: "good", JobState.FAILED: "bad"}
# Ids of a job that lead to an entry; the others are named.
_ENTRY_IDS = ("entry_id", "memory_id")


async def build(context: PageContext) -> None:
    """Build the overview; every number leads to its list."""
    given = context.asked("days")
    span = int(given) if given.isdecimal() and int(given) in _SPANS else 30
    memory = await context.memory()
    seen = await memory.overview(days=span)
    days = seen.since.date(), seen.at.date()
    show(
        "overview.html",
        seen=seen,
        tiles=_tiles(seen),
        spans=_SPANS,
        span=span,
        written=seen.written and DailyChart(list(_written(seen)), *days),
        refused=seen.refused and DailyChart(list(_refused(seen)), *days),
        latest=await memory.refusals(limit=_LATEST) if seen.refused else [],
        jobs=[job for job in seen.jobs if job.waiting or job.running or job.failed],
        checks=await vital(context.db),
        verdict_kinds=_KIND_OF_VERDICT,
    )


def _tiles(seen: Overview) -> tuple[tuple[str, int, str, bool], ...]:
    """Return the numbers that somebody should act on; those that wait stand out."""
    return (
        ("Entries", seen.entries, at("/explore"), False),
        ("Due for disposition", seen.due, at("/queues", queue="disposition"), True),
        ("Contradictions", seen.contradictions, at("/queues", queue="contradictions"), True),
        ("Candidates", seen.candidates, at("/queues", queue="candidates"), False),
        ("Quarantines", seen.quarantines, at("/queues", queue="quarantine"), True),
    )


def _written(seen: Overview) -> Iterator[DayTally]:
    """Yield what was written on each day, by tier and typology."""
    for each in seen.written:
        query = {"tier": each.tier, "typology": each.typology}
        name = f"{words(each.tier)} {words(each.typology)}"
        yield DayTally(each.day.date(), name, each.count, query)


def _refused(seen: Overview) -> Iterator[DayTally]:
    """Yield what the guard refused on each day, by its reason."""
    for each in seen.refused:
        yield DayTally(each.day.date(), words(each.reason), each.count, {"reason": each.reason})


async def build_refusals(context: PageContext) -> None:
    """Build the list of refusals of some days, newest first."""
    days, reason = context.days(), context.asked("reason")
    since, until = days.moments(context.now())
    memory = await context.memory()
    found = await memory.refusals(since=since, until=until, limit=_REFUSALS)
    title = ("Refused", words(reason), str(days) if days else "")
    show(
        "refusals.html",
        title=" ".join(filter(None, title)),
        shown=[each for each in found if not reason or each.reason == reason],
        full=_REFUSALS if len(found) == _REFUSALS else 0,
    )


async def build_jobs(context: PageContext) -> None:
    """Build the list of jobs that wait, run or failed, and why; of one task or state if asked."""
    task, after = context.asked("task"), context.asked("after")
    known = f"It is {', '.join(JobState)}."
    state = context.parsed("state", JobState, "A job is in no such state.", known)
    place = int(after) if after.isdecimal() else None
    memory = await context.memory()
    found = await memory.jobs(task=task or None, state=state, limit=_JOBS, after=place)
    # A login that reaches several anchors is told which one each job is of.
    anchored = not context.whole
    full = len(found) == _JOBS
    show(
        "jobs.html",
        found=[(job, *_about(job, anchored=anchored)) for job in found],
        task=task,
        state=state,
        states=options(JobState),
        job_kinds=_KIND_OF_JOB,
        following=at("/jobs", task=task, state=state, after=found[-1].id) if full else None,
    )


def _about(job: Job, *, anchored: bool) -> tuple[list[UUID], str]:
    """Return the entries that a job is about, and everything else by name."""
    told = [f"{words(name)} {value}" for name, value in as_text(job.anchor).items() if anchored]
    entries = []
    for name, about in job.about.items():
        if name in _ENTRY_IDS:
            entries.append(about)
        else:
            told.append(f"{words(name).removesuffix(' id')} {tail(about)}")
    return entries, ", ".join(told) or ("" if job.about else "the whole memory")

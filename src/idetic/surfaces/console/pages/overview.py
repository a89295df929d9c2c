"""Overview: what is remembered lately, what needs somebody, whether it is healthy; and lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from idetic.library.handles import Memory
from idetic.library.health import CheckVerdict, vital
from idetic.library.persona import is_persona, persona_access
from idetic.lifecycle.overview import Overview
from idetic.model import Capability, Entry, Tier, Typology
from idetic.store.queue import Job, JobState
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.drawings import DailyChart, DayTally
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.pages.queues import lengths
from idetic.surfaces.console.wording import as_text, options, refusal_of, tail, words

_SPANS = (7, 30, 90)
_LATEST = 10
_LATELY = 8
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
    """Build the overview: what is remembered lately; then, in their own time, all that is counted.

    Counting reads every entry, and the newest sentences are found by an index.
    """
    given = context.asked("days")
    span = int(given) if given.isdecimal() and int(given) in _SPANS else 30
    lately = await _lately(context, await context.memory())
    with el.text("div", cls="columns"):
        show("lately.html", lately=lately)
        needs = el.text("div", data_pending="")
    charts = el.text("div", cls="page", data_pending="")

    async def count() -> None:
        """Show the numbers."""
        told = await _counted(context, span)
        for place, template in ((needs, "needs.html"), (charts, "overview.html")):
            with place:
                show(template, **told)
            place.props(remove="data-pending")

    el.afterwards(count)


async def _lately(context: PageContext, memory: Memory) -> Sequence[Entry]:
    """Return the newest entries; of a log what was made of it, where there is anything."""
    found: list[Entry] = []
    if is_persona(context.spec):
        found += await memory.list(tier=Tier.SESSION, limit=_LATELY)
    elif context.spec.backend.log is not None:
        for made in (Typology.SEMANTIC, Typology.PROCEDURAL):
            found += await memory.list(typology=made, limit=_LATELY)
    newest = sorted(found, key=lambda entry: entry.id, reverse=True)[:_LATELY]
    return newest or await memory.list(limit=_LATELY)


async def _counted(context: PageContext, span: int) -> dict[str, Any]:
    """Return what waits, whether it is healthy, and the charts of some days."""
    memory = await context.memory()
    seen = await memory.overview(days=span)
    days = seen.since.date(), seen.at.date()
    return {
        "seen": seen,
        "needs": _needs(await lengths(context, seen)),
        "spans": _SPANS,
        "span": span,
        "written": seen.written and DailyChart(list(_written(seen)), *days),
        "refused": seen.refused and DailyChart(list(_refused(seen)), *days),
        "latest": await memory.refusals(limit=_LATEST) if seen.refused else [],
        "texts": await _texts(memory) if seen.refused else {},
        "jobs": [job for job in seen.jobs if job.waiting or job.running or job.failed],
        "checks": await vital(context.db),
        "verdict_kinds": _KIND_OF_VERDICT,
        "logged": context.spec.backend.log is not None,
        **await _log(context, memory),
    }


async def _log(context: PageContext, memory: Memory) -> dict[str, Any]:
    """Return the numbers of an agent with a log: of each persona, or of its conversations."""
    log = context.spec.backend.log is not None
    if log and is_persona(context.spec):
        whole = (await persona_access(context.db, memory)).whole
        return {"persona": whole and await whole.subconscious.coverage(), "log": None}
    if log and context.whole and context.may(Capability.READ_ACROSS):
        return {"persona": None, "log": (await memory.anchors(limit=1))[0]}
    return {"persona": None, "log": None}


# What waits in each queue, and what is decided there.
_NEEDS = {
    "disposition": ("due for a decision", "Confirm, exempt or archive these entries."),
    "contradictions": ("against a rule", "Say whether the entry or the rule is right."),
    "candidates": ("not confirmed yet", "Promote these candidates, or wait for more sources."),
    "quarantine": ("in quarantine", "Release these sources, or leave them out of recall."),
    "proposals": ("proposed as a rule, or to change one", "Accept or decline these proposals."),
}


def _needs(waiting: Mapping[str, int]) -> list[tuple[str, int, str, str]]:
    """Return what waits for a decision: its name, how much, where, and what is decided there."""
    return [
        (_NEEDS[queue][0], count, at("/queues", queue=queue), _NEEDS[queue][1])
        for queue, count in waiting.items()
    ]


def _written(seen: Overview) -> Iterator[DayTally]:
    """Yield what was written on each day, by tier and typology."""
    for each in seen.written:
        query = {"tier": each.tier, "typology": each.typology}
        name = f"{words(each.tier)} {words(each.typology)}"
        yield DayTally(each.day.date(), name, each.count, query)


def _refused(seen: Overview) -> Iterator[DayTally]:
    """Yield what the guard refused on each day, by its reason."""
    for each in seen.refused:
        name = refusal_of(each.reason)
        yield DayTally(each.day.date(), name, each.count, {"reason": each.reason})


async def _texts(memory: Memory) -> dict[str, str]:
    """Return the canonical content that refused notes came near to, by its id."""
    return {str(one.id): one.text for one in await memory.refused_over(limit=_REFUSALS)}


async def build_refusals(context: PageContext) -> None:
    """Build the list of refusals of some days, newest first."""
    days, reason = context.days(), context.asked("reason")
    since, until = days.moments(context.now())
    memory = await context.memory()
    found = await memory.refusals(since=since, until=until, limit=_REFUSALS)
    why = f"({refusal_of(reason)})" if reason else ""
    title = ("Refused notes", str(days) if days else "", why)
    show(
        "refusals.html",
        title=" ".join(filter(None, title)),
        shown=[each for each in found if not reason or each.reason == reason],
        texts=await _texts(memory) if found else {},
        full=_REFUSALS if len(found) == _REFUSALS else 0,
    )


async def build_jobs(context: PageContext) -> None:
    """Build the list of jobs that wait, run or failed, and why; of one task or state if asked."""
    task, after = context.asked("task"), context.asked("after")
    known = f"Choose one of {', '.join(JobState)}."
    state = context.parsed("state", JobState, "There is no such state of a job.", known)
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

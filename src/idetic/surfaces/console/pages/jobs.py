"""Background work: each job of this memory that waits, runs or failed, and why."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request

from idetic.errors import InputError
from idetic.store.backlog import Job, JobState
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import as_text, tail, words

PAGE = 100
_KINDS = {JobState.WAITING: "", JobState.RUNNING: "good", JobState.FAILED: "bad"}
# Ids that lead somewhere; the others are told.
_ENTRIES = ("entry_id", "memory_id")


async def build(desk: Desk, request: Request) -> None:
    """The page: the jobs, of one task and state if the address names them."""
    given = request.query_params
    task, state = given.get("task") or None, _state(given.get("state"))
    after = given.get("after", "")
    memory = await desk.memory()
    found = await memory.jobs(
        task=task, state=state, limit=PAGE, after=int(after) if after.isdecimal() else None
    )
    _form(task, state)
    open_scope = any(value is None for value in desk.anchor.values())
    with parts.card("Jobs"):
        if found:
            head = ("Task", "State", "Since", "Attempts", "Why it failed", "About")
            rows = [_cells(job, open_scope=open_scope) for job in found]
            parts.table(head, rows, caption="Jobs of this memory, oldest first")
        else:
            parts.empty("No such job.", "What is done is gone; a worker does what comes.")
    with parts.row():
        if len(found) == PAGE:
            more = at("/jobs", task=task, state=state, after=found[-1].id)
            parts.link("Next", more, "button")
        parts.link("Overview", at("/overview"))


def _state(given: str | None) -> JobState | None:
    try:
        return JobState(given) if given else None
    except ValueError:
        raise InputError(
            "A job is in no such state.", remedy=f"It is {', '.join(JobState)}."
        ) from None


def _form(task: str | None, state: JobState | None) -> None:
    with parts.card(cls="filters"), parts.asking(at("/jobs")):
        parts.entry_field("task", "Task", task or "", placeholder="all")
        states = {"": "all"} | {each.value: words(each) for each in JobState}
        parts.choice("state", "State", states, state)
        parts.text("button", "Show", "button primary", type="submit")
        if task or state:
            parts.link("Clear", at("/jobs"), "button plain")


def _cells(job: Job, *, open_scope: bool) -> tuple[parts.Cell, ...]:
    return (
        words(job.task),
        partial(parts.badge, words(job.state), _KINDS[job.state]),
        partial(parts.moment, job.since),
        f"{job.attempts:,}",
        ". ".join(part for part in (job.error, job.reason) if part) or "-",
        partial(_about, job, job.anchor if open_scope else {}),
    )


def _about(job: Job, anchor: Mapping[str, Any]) -> None:
    """The ids it was given; and its anchor, where a login reaches several."""
    told = [f"{words(name)} {value}" for name, value in as_text(anchor).items()]
    for name, found in job.about.items():
        if name in _ENTRIES:
            parts.link(f"entry {tail(found)}", at(f"/entries/{found}"))
        else:
            told.append(f"{words(name).removesuffix(' id')} {tail(found)}")
    if told or not job.about:
        parts.text("span", ", ".join(told) or "the whole memory", "quiet")

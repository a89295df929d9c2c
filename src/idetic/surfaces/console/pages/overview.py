"""Overview: what there is, what waits, what was refused; and the lists of jobs and refusals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from idetic.library.health import Check, CheckVerdict, vital
from idetic.lifecycle.overview import Overview
from idetic.model import LedgerRecord
from idetic.store.queue import Job, JobState
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.drawings import DayTally, daily_chart
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
    latest = await memory.refusals(limit=_LATEST) if seen.refused else []
    _tiles(seen)
    with el.text("div", cls="columns"):
        _written(seen, span)
        _refused(seen, latest)
        _cells(seen)
        _states(seen)
        _backlog(seen)
        _health(await vital(context.db))


def _tiles(seen: Overview) -> None:
    """Show the numbers that somebody should act on; those that wait stand out."""
    tiles = (
        ("Entries", seen.entries, at("/explore"), False),
        ("Due for disposition", seen.due, at("/queues", queue="disposition"), True),
        ("Contradictions", seen.contradictions, at("/queues", queue="contradictions"), True),
        ("Candidates", seen.candidates, at("/queues", queue="candidates"), False),
        ("Quarantines", seen.quarantines, at("/queues", queue="quarantine"), True),
    )
    with el.text("ul", cls="tiles"):
        for name, count, address, waits in tiles:
            with el.text("li"), el.link("", address, "tile"):
                el.text("span", f"{count:,}", f"tile-count {'warn' if waits and count else ''}")
                el.text("span", name, "quiet")


def _written(seen: Overview, span: int) -> None:
    """Show what was written on each day, and links to other spans."""
    with el.card("Written"):
        with el.row("small"):
            for length in _SPANS:
                here = "true" if length == span else None
                el.link(f"{length} days", at("/overview", days=length), aria_current=here)
        if not seen.written:
            el.empty("Nothing was written in these days.", "Choose more days.")
            return
        tallies = [
            DayTally(
                each.day.date(),
                f"{words(each.tier)} {words(each.typology)}",
                each.count,
                {"tier": each.tier, "typology": each.typology},
            )
            for each in seen.written
        ]
        days = seen.since.date(), seen.at.date()
        daily_chart("Entries written on each day", tallies, *days, "/explore")


def _refused(seen: Overview, latest: Sequence[LedgerRecord]) -> None:
    """Show what the guard refused on each day, and the latest refusals."""
    with el.card("Refused by the guard"):
        if not seen.refused:
            el.empty("Nothing was refused.", "Notes that restate canonical content are.")
            return
        tallies = [
            DayTally(each.day.date(), words(each.reason), each.count, {"reason": each.reason})
            for each in seen.refused
        ]
        days = seen.since.date(), seen.at.date()
        daily_chart("Refusals on each day", tallies, *days, "/refusals")
        with el.aside(f"The latest {len(latest)}"):
            _refusals(latest)


def _cells(seen: Overview) -> None:
    """Show how many current entries and candidates each tier and typology has."""
    rows = [
        (
            words(cell.tier),
            words(cell.typology),
            _number(cell.count, at("/explore", tier=cell.tier, typology=cell.typology)),
            _number(cell.candidates, at("/queues", queue="candidates")),
        )
        for cell in seen.cells
    ]
    el.table_card(
        "By tier and typology",
        ("Tier", "Typology", "Entries", "Candidates"),
        rows,
        "Current entries by tier and typology",
        "Nothing is remembered yet.",
        "What the agent observes appears here.",
    )


def _number(count: int, address: str) -> el.Cell:
    """Return a count that leads to its list; 0 leads nowhere."""
    return partial(el.link, f"{count:,}", address) if count else "0"


def _states(seen: Overview) -> None:
    """Show how many entries are in each state, as shares of all."""
    with el.card("Retention"):
        total = sum(seen.states.values()) or 1
        for state, count in seen.states.items():
            name, address = state.value.lower(), at("/explore", state=state)
            el.bar(name, count / total, f"{count:,}", address=address)
        if not seen.states:
            el.empty("Nothing is kept yet.", "What memory keeps is counted here.")


def _backlog(seen: Overview) -> None:
    """Show what waits for a vector, and the jobs that wait, run or failed."""
    with el.card("Background work"):
        if seen.unembedded and seen.unembedded_since is not None:
            since = f"{seen.unembedded_since:%Y-%m-%d %H:%M}"
            with el.text("p"):
                el.link(f"{seen.unembedded:,} entries", at("/explore", vectorless="1"))
                el.text("span", f" wait for a vector, since {since} UTC.")
        rows = []
        for job in seen.jobs:
            counts = zip(JobState, (job.waiting, job.running, job.failed), strict=True)
            cells = [_number(n, at("/jobs", task=job.task, state=state)) for state, n in counts]
            if job.waiting or job.running or job.failed:
                rows.append((words(job.task), *cells, _age(job.oldest_seconds)))
        if not rows:
            el.empty("Nothing waits.", "A worker does what comes.")
            return
        head = ("Task", "Waiting", "Running", "Failed", "Oldest")
        el.table(head, rows, "Jobs of this memory that wait, run or failed")


def _age(seconds: float | None) -> str:
    """Return an age in the largest unit that fits; a dash for none."""
    if seconds is None:
        return "-"
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"


def _health(checks: Iterable[Check]) -> None:
    """Show the checks of the database, and the remedy of each that is not good."""
    with el.card("Health"), el.text("ul", cls="checks"):
        for check in checks:
            with el.text("li"):
                with el.row():
                    el.badge(check.verdict.value, _KIND_OF_VERDICT[check.verdict])
                    el.text("strong", check.name)
                    el.text("span", check.found, "quiet")
                if check.verdict is not CheckVerdict.GOOD and check.remedy:
                    el.text("p", check.remedy, "small")


async def build_refusals(context: PageContext) -> None:
    """Build the list of refusals of some days, newest first."""
    days, reason = context.days(), context.asked("reason")
    since, until = days.moments(context.now())
    memory = await context.memory()
    found = await memory.refusals(since=since, until=until, limit=_REFUSALS)
    shown = [each for each in found if not reason or each.reason == reason]
    title = ("Refused", words(reason), str(days) if days else "")
    with el.card(" ".join(filter(None, title))):
        if len(found) == _REFUSALS:
            el.text("p", f"The newest {_REFUSALS:,}; ask for fewer days to see others.", "quiet")
        if shown:
            _refusals(shown)
        else:
            el.empty("Nothing was refused then.", "Notes that restate canonical content are.")
    with el.row():
        el.link("Overview", at("/overview"))


def _refusals(records: Sequence[LedgerRecord]) -> None:
    """Show refusals as a table, with the canonical row each came near; no text of it was kept."""
    rows = []
    for one in records:
        noun, ref = one.detail.get("noun"), one.detail.get("id")
        over = f"{words(noun)} …{str(ref)[-8:]}" if noun and ref else "-"
        rows.append((one.at, one.actor, words(one.reason), over))
    el.table(("When", "Who", "Why", "Over"), rows, "What the guard refused, newest first")


async def build_jobs(context: PageContext) -> None:
    """Build the list of jobs that wait, run or failed, and why; of one task or state if asked."""
    task, after = context.asked("task") or None, context.asked("after")
    known = f"It is {', '.join(JobState)}."
    state = context.parsed("state", JobState, "A job is in no such state.", known)
    place = int(after) if after.isdecimal() else None
    memory = await context.memory()
    found = await memory.jobs(task=task, state=state, limit=_JOBS, after=place)
    with el.card(cls="filters"), el.address_form(at("/jobs")):
        el.field("Task", name="task", value=task or "", placeholder="all")
        el.choice("state", "State", options(JobState), state)
        el.submit("Show")
        if task or state:
            el.link("Clear", at("/jobs"), "button plain")
    several = any(value is None for value in context.scope.anchor.values())
    el.table_card(
        "Jobs",
        ("Task", "State", "Since", "Attempts", "Why it failed", "About"),
        [_job(job, anchored=several) for job in found],
        "Jobs of this memory, oldest first",
        "No such job.",
        "What is done is gone; a worker does what comes.",
    )
    with el.row():
        if len(found) == _JOBS:
            more = at("/jobs", task=task, state=state, after=found[-1].id)
            el.link("Next", more, "button")
        el.link("Overview", at("/overview"))


def _job(job: Job, *, anchored: bool) -> el.Row:
    """Return the cells of a job; `anchored` names its anchor, where a login reaches several."""

    def about() -> None:
        """Show what a job is about: its entries as links, everything else by name."""
        anchor = as_text(job.anchor) if anchored else {}
        told = [f"{words(name)} {value}" for name, value in anchor.items()]
        for name, found in job.about.items():
            if name in _ENTRY_IDS:
                el.link(f"entry {tail(found)}", at(f"/entries/{found}"))
            else:
                told.append(f"{words(name).removesuffix(' id')} {tail(found)}")
        if told or not job.about:
            el.text("span", ", ".join(told) or "the whole memory", "quiet")

    return (
        words(job.task),
        partial(el.badge, words(job.state), _KIND_OF_JOB[job.state]),
        job.since,
        job.attempts,
        ". ".join(part for part in (job.error, job.reason) if part) or "-",
        about,
    )

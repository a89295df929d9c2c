"""Overview: what there is, what waits, what was refused, and whether everything is well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from starlette.requests import Request

from idetic.library.health import Check, CheckVerdict, vital
from idetic.lifecycle.overview import Overview
from idetic.model import LedgerRecord
from idetic.store.backlog import JobState
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.chart import Day, days
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.pages.refusals import refused
from idetic.surfaces.console.wording import words

SPANS = (7, 30, 90)
LATEST = 10
_KINDS = {CheckVerdict.GOOD: "good", CheckVerdict.WARNING: "warn", CheckVerdict.BAD: "bad"}


async def build(desk: Desk, request: Request) -> None:
    """The page."""
    given = request.query_params.get("days", "")
    span = int(given) if given.isdecimal() and int(given) in SPANS else 30
    memory = await desk.memory()
    seen = await memory.overview(days=span)
    _tiles(seen)
    with parts.text("div", cls="columns"):
        _written(seen, span)
        _refused(seen, await memory.refusals(limit=LATEST) if seen.refused else [])
        _cells(seen)
        _states(seen)
        _backlog(seen)
        _health(await vital(desk.db))


def _tiles(seen: Overview) -> None:
    """The numbers that somebody should act on; each leads to its list."""
    with parts.text("ul", cls="tiles"):
        _tile("Entries", seen.entries, at("/explore"))
        _tile("Due for disposition", seen.due, at("/queues", queue="disposition"), waits=True)
        _tile(
            "Contradictions", seen.contradictions, at("/queues", queue="contradictions"), waits=True
        )
        _tile("Candidates", seen.candidates, at("/queues", queue="candidates"))
        _tile("Quarantines", seen.quarantines, at("/queues", queue="quarantine"), waits=True)


def _tile(name: str, count: int, address: str, *, waits: bool = False) -> None:
    with parts.text("li"), parts.link("", address, "tile"):
        parts.text("span", f"{count:,}", "tile-count warn" if waits and count else "tile-count")
        parts.text("span", name, "quiet")


def _every_day(seen: Overview) -> dict[str, Day]:
    """A column for each day of the overview, those without anything too."""
    count = (seen.at.date() - seen.since.date()).days + 1
    made = [Day((seen.since + timedelta(days=number)).date()) for number in range(count)]
    return {f"{day.day}": day for day in made}


def _written(seen: Overview, span: int) -> None:
    with parts.card("Written"):
        with parts.row("small"):
            for length in SPANS:
                here = "true" if length == span else None
                parts.link(f"{length} days", at("/overview", days=length), aria_current=here)
        if not seen.written:
            parts.empty("Nothing was written in these days.", "Choose more days.")
            return
        columns, series = _every_day(seen), dict[str, str]()
        for each in seen.written:
            day, name = columns[f"{each.day.date()}"], f"{words(each.tier)} {words(each.typology)}"
            day.counts[name] = day.counts.get(name, 0) + each.count
            day.address = at("/explore", since=day.day, until=day.day)
            cell = {"tier": each.tier, "typology": each.typology}
            day.leads[name] = at("/explore", since=day.day, until=day.day, **cell)
            series[name] = at("/explore", **_span(seen), **cell)
        days(list(columns.values()), series, label="Entries written on each day")


def _refused(seen: Overview, latest: Sequence[LedgerRecord]) -> None:
    with parts.card("Refused by the guard"):
        if not seen.refused:
            parts.empty("Nothing was refused.", "Notes that restate canonical content are.")
            return
        columns, series = _every_day(seen), dict[str, str]()
        for each in seen.refused:
            day = columns[f"{each.day.date()}"]
            name, here = words(each.reason), {"since": day.day, "until": day.day}
            day.counts[name] = day.counts.get(name, 0) + each.count
            day.address = at("/refusals", **here)
            day.leads[name] = at("/refusals", **here, reason=each.reason)
            series[name] = at("/refusals", **_span(seen), reason=each.reason)
        days(list(columns.values()), series, label="Refusals on each day")
        with parts.text("details", cls="aside"):
            parts.text("summary", f"The latest {len(latest)}")
            refused(latest)


def _span(seen: Overview) -> dict[str, date]:
    return {"since": seen.since.date(), "until": seen.at.date()}


def _cells(seen: Overview) -> None:
    with parts.card("By tier and typology"):
        if not seen.cells:
            parts.empty("Nothing is remembered yet.", "What the agent observes appears here.")
            return
        parts.table(
            ("Tier", "Typology", "Entries", "Candidates"),
            [
                (
                    words(cell.tier),
                    words(cell.typology),
                    _number(cell.count, at("/explore", tier=cell.tier, typology=cell.typology)),
                    _number(cell.candidates, at("/queues", queue="candidates")),
                )
                for cell in seen.cells
            ],
            caption="Current entries by tier and typology",
        )


def _number(count: int, address: str) -> parts.Cell:
    if not count:
        return "0"
    return lambda: parts.link(f"{count:,}", address)


def _states(seen: Overview) -> None:
    with parts.card("Retention"):
        total = sum(seen.states.values()) or 1
        for state, count in seen.states.items():
            name, said = state.value.lower(), f"{count:,}"
            parts.bar(name, count / total, said, address=at("/explore", state=state))
        if not seen.states:
            parts.empty("Nothing is kept yet.", "What memory keeps is counted here.")


def _backlog(seen: Overview) -> None:
    with parts.card("Background work"):
        waiting = [job for job in seen.jobs if job.waiting or job.running or job.failed]
        if seen.unembedded and seen.unembedded_since is not None:
            since = f"{seen.unembedded_since:%Y-%m-%d %H:%M}"
            with parts.text("p"):
                parts.link(f"{seen.unembedded:,} entries", at("/explore", vectorless="1"))
                parts.text("span", f" wait for a vector, since {since} UTC.")
        if not waiting:
            parts.empty("Nothing waits.", "A worker does what comes.")
            return
        parts.table(
            ("Task", "Waiting", "Running", "Failed", "Oldest"),
            [
                (
                    words(job.task),
                    _jobs(job.task, JobState.WAITING, job.waiting),
                    _jobs(job.task, JobState.RUNNING, job.running),
                    _jobs(job.task, JobState.FAILED, job.failed),
                    _age(job.oldest_seconds),
                )
                for job in waiting
            ],
            caption="Jobs of this memory that wait, run or failed",
        )


def _jobs(task: str, state: JobState, count: int) -> parts.Cell:
    return _number(count, at("/jobs", task=task, state=state))


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"


def _health(checks: Iterable[Check]) -> None:
    with parts.card("Health"), parts.text("ul", cls="checks"):
        for check in checks:
            with parts.text("li"):
                with parts.row():
                    parts.badge(check.verdict.value, _KINDS[check.verdict])
                    parts.text("strong", check.name)
                    parts.text("span", check.found, "quiet")
                if check.verdict is not CheckVerdict.GOOD and check.remedy:
                    parts.text("p", check.remedy, "small")

"""Explorer: search with the reasons for each hit, lists by time, filters, the past, and export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from nicegui import ui
from pydantic import BaseModel, BeforeValidator

from idetic.library.handles import Memory
from idetic.model import Entry, Origin, Tier, Typology, plain, standing
from idetic.recall.floors import above_floors
from idetic.recall.hits import Hit
from idetic.spec.retention import RetentionState
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import Days, parsed, utc
from idetic.surfaces.console.drawings import Timeline
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import minute

_LISTED = 20
# How far the slider goes back; the field beside it takes any moment.
_FARTHEST_DAYS = 90
# As a browser sends a box that is ticked, and a moment.
_Ticked = Annotated[bool, BeforeValidator(lambda value: value == "1")]
_Moment = Annotated[datetime, BeforeValidator(utc)]
_MEDIA = {"csv": "text/csv", "json": "application/json"}
_COLUMNS = "id text kind state relevance trust written_at written_by".split()
# A spreadsheet runs a cell that begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CELL = {"tier": Tier, "typology": Typology, "origin": Origin}


class Search(BaseModel, frozen=True):
    """The question and the filters of an address, by the names that they have there."""

    q: str = ""
    tier: Tier | None = None
    typology: Typology | None = None
    origin: Origin | None = None
    trust: int = 0
    as_of: _Moment | None = None
    archived: _Ticked = False
    candidates: _Ticked = False
    state: RetentionState | None = None
    vectorless: _Ticked = False
    before: UUID | None = None
    days: Days = Days()

    @property
    def narrowed(self) -> bool:
        """Whether anything but the place in the list is asked for."""
        return self != Search(before=self.before)

    @property
    def filtered(self) -> bool:
        """Whether one of the folded filters is set, so that they must be seen."""
        shown: dict[str, Any] = {"q": self.q, "before": self.before, "state": self.state}
        return self != Search(**shown, vectorless=self.vectorless)

    def fits(self, entry: Entry) -> bool:
        """Whether an entry passes the filters that a list by time does not apply."""
        same = all(getattr(self, name) in (None, getattr(entry, name)) for name in _CELL)
        return same and entry.trust >= self.trust


async def build(context: PageContext) -> None:
    """Build the page: a question with its filters, and what was found."""
    given = {name: value for name in Search.model_fields if (value := context.asked(name))}
    wrong = "This address has a filter with a value that does not exist."
    again = "Open the Explorer from the menu, and choose its filters there."
    search = parsed(given | {"days": context.days()}, Search.model_validate, wrong, again)
    memory = await context.memory()
    if search.q:
        found = await _recalled(memory, search)
    else:
        found = await _newest(context, memory, search)
    now = context.now()
    back = 0 if search.as_of is None else min(max((now - search.as_of).days, 0), _FARTHEST_DAYS)
    show(
        "explorer.html",
        search=search,
        kinds=_CELL,
        now=now,
        back=back,
        farthest=_FARTHEST_DAYS,
        **found,
    )
    _exports(context, _rows(found["shown"], [*found["hits"], *found["unrelated"]]))


def _exports(context: PageContext, found: Sequence[dict[str, object]]) -> None:
    """Show the buttons that save what the page shows."""

    async def save(kind: str) -> None:
        """Have the browser save the rows; a login that ended saves nothing."""
        await context.memory()
        text = _as_csv(found) if kind == "csv" else json.dumps(found, indent=2, ensure_ascii=False)
        ui.download.content(text, f"memory.{kind}", _MEDIA[kind])

    if found:
        with el.row():
            el.text("span", "Save what is shown:", "quiet")
            for kind in _MEDIA:
                el.button(kind.upper(), partial(save, kind), "small")


def _rows(entries: Sequence[Entry], hits: Sequence[Hit]) -> list[dict[str, object]]:
    """Return a row of plain data for each entry, and for each hit with its relevance."""
    found: list[tuple[Entry, float | None]] = [(hit.entry, hit.relevance) for hit in hits]
    found += [(entry, None) for entry in entries]
    return [
        {
            "id": str(entry.id),
            "text": entry.body_text,
            "kind": standing(entry).value,
            "state": entry.state.value,
            "relevance": relevance,
            "trust": entry.trust,
            "written_at": plain(entry.created_at),
            "written_by": entry.created_by,
        }
        for entry, relevance in found
    ]


def _as_csv(found: Sequence[dict[str, object]]) -> str:
    """Write rows as CSV; a text that a spreadsheet would run as a formula is quoted."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS)
    writer.writeheader()
    for row in found:
        writer.writerow({name: _inert(value) for name, value in row.items()})
    return out.getvalue()


def _inert(value: object) -> object:
    """Return a value that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


async def _recalled(memory: Memory, search: Search) -> dict[str, Any]:
    """Return what a recall finds, best first, and why each entry was found."""
    found = await memory.recall(
        search.q,
        limit=_LISTED,
        tiers=(search.tier,) if search.tier else tuple(Tier),
        typologies=(search.typology,) if search.typology else (),
        origins=(search.origin,) if search.origin else (),
        min_trust=search.trust,
        as_of=search.as_of,
        include_archived=search.archived,
        include_candidates=search.candidates,
    )
    remedy = "Clear a filter, or add entries that are no longer valid or not confirmed."
    told, _ = above_floors(found)
    related = list(told.hits) if told else []
    return {
        "title": "Found",
        "recall": found,
        "nothing": None if found.hits else ("No entry was found.", remedy),
        "hits": related,
        "unrelated": [hit for hit in found.hits if hit not in related],
        "shown": [],
        "older": None,
        "lanes": Timeline.of(found.entries, found.at),
    }


async def _newest(context: PageContext, memory: Memory, search: Search) -> dict[str, Any]:
    """Return a list, newest first: without words there is nothing to rank."""
    now = context.now()
    title, found = await _listed(memory, search, now)
    remedy = "Clear a filter." if search.narrowed else "What the agent observes appears here."
    nothing = ("No entry is in this list.", "The list ends here." if search.before else remedy)
    shown = [each for each in found if search.fits(each)]
    full = len(found) == _LISTED
    return {
        "title": title,
        "recall": None,
        "nothing": None if found else nothing,
        "hits": [],
        "unrelated": [],
        "shown": shown,
        "older": context.again("/explore", before=found[-1].id) if full else None,
        "lanes": Timeline.of(shown, now),
    }


async def _listed(memory: Memory, search: Search, now: datetime) -> tuple[str, Sequence[Entry]]:
    """Return the title and the entries of the list that was asked for."""
    place: dict[str, Any] = {"limit": _LISTED, "before": search.before}
    cell: dict[str, Any] = {"tier": search.tier, "typology": search.typology}
    if search.days:
        since, until = search.days.moments(now)
        title = f"Written {search.days}, with entries that are no longer valid"
        return title, await memory.written(since, until, **cell, **place)
    if search.vectorless:
        return "Waiting for a vector", await memory.unembedded(**place)
    if search.state is not None:
        title = f"Retention: {search.state.value.lower()}"
        return title, await memory.kept(search.state, **place)
    if search.as_of is not None:
        title = f"As memory was on {minute(search.as_of)} UTC"
        return title, await memory.as_of(search.as_of, **place)
    return "Newest", await memory.list(**cell, **place)

"""Explorer: search with the score of every signal, lists by time, filters, and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, BeforeValidator

from idetic.library.handles import Memory
from idetic.model import Entry, Origin, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.surfaces.console.addresses import Days, parsed, utc
from idetic.surfaces.console.drawings import Timeline
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext

_LISTED = 25
# As a browser sends a box that is ticked, and a moment.
_Ticked = Annotated[bool, BeforeValidator(lambda value: value == "1")]
_Moment = Annotated[datetime, BeforeValidator(utc)]
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

    def fits(self, entry: Entry) -> bool:
        """Whether an entry passes the filters that a list by time does not apply."""
        same = all(getattr(self, name) in (None, getattr(entry, name)) for name in _CELL)
        return same and entry.trust >= self.trust


async def build(context: PageContext) -> None:
    """Build the page: a question with its filters, and what was found."""
    given = {name: value for name in Search.model_fields if (value := context.asked(name))}
    wrong = "This address asks for something that cannot be."
    again = "Begin again from the Explorer in the menu."
    search = parsed(given | {"days": context.days()}, Search.model_validate, wrong, again)
    memory = await context.memory()
    if search.q:
        found = await _recalled(memory, search)
    else:
        found = await _newest(context, memory, search)
    show("explorer.html", search=search, kinds=_CELL, **found)


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
    remedy = "Take a filter away, or look at what ended and at candidates too."
    return {
        "title": "Found",
        "recall": found,
        "nothing": None if found.hits else ("Nothing was found.", remedy),
        "hits": found.hits,
        "shown": [],
        "older": None,
        "lanes": Timeline.of(found.entries, found.at),
    }


async def _newest(context: PageContext, memory: Memory, search: Search) -> dict[str, Any]:
    """Return a list, newest first: without words there is nothing to rank."""
    now = context.now()
    title, found = await _listed(memory, search, now)
    remedy = "Take a filter away." if search.narrowed else "What the agent observes appears here."
    nothing = ("There is nothing here.", "These were all of them." if search.before else remedy)
    shown = [each for each in found if search.fits(each)]
    full = len(found) == _LISTED
    return {
        "title": title,
        "recall": None,
        "nothing": None if found else nothing,
        "hits": [],
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
        title = f"Written {search.days}, whatever became of it"
        return title, await memory.written(since, until, **cell, **place)
    if search.vectorless:
        return "Waiting for a vector", await memory.unembedded(**place)
    if search.state is not None:
        title = f"Retention: {search.state.value.lower()}"
        return title, await memory.kept(search.state, **place)
    if search.as_of is not None:
        title = f"As it stood at {search.as_of:%Y-%m-%d %H:%M} UTC"
        return title, await memory.as_of(search.as_of, **place)
    return "Newest", await memory.list(**cell, **place)

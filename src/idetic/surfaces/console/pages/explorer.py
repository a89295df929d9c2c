"""Explorer: search with the score of every signal, lists by time, filters, and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import cycle
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, BeforeValidator

from idetic.library.handles import Memory
from idetic.model import Entry, Origin, Tier, Typology
from idetic.recall.hits import Hit, Recall
from idetic.spec.retention import RetentionState
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import Days, at, parsed, utc
from idetic.surfaces.console.drawings import timeline
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import not_used, options, summary, words

_LISTED = 25
_COLOURS = ("", "second", "third", "fourth")
# As a browser sends a box that is ticked, and a moment.
_Ticked = Annotated[bool, BeforeValidator(lambda value: value == "1")]
_Moment = Annotated[datetime, BeforeValidator(utc)]


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
        names = ("tier", "typology", "origin")
        same = all(getattr(self, name) in (None, getattr(entry, name)) for name in names)
        return same and entry.trust >= self.trust


async def build(context: PageContext) -> None:
    """Build the page: a question with its filters, and what was found."""
    given = {name: value for name in Search.model_fields if (value := context.asked(name))}
    wrong = "This address asks for something that cannot be."
    again = "Begin again from the Explorer in the menu."
    search = parsed(given | {"days": context.days()}, Search.model_validate, wrong, again)
    _form(search)
    memory = await context.memory()
    if search.q:
        await _recalled(memory, search)
    else:
        await _newest(context, memory, search)


def _form(search: Search) -> None:
    """Show the question with its filters, as they were asked last."""
    with el.card(cls="filters"), el.address_form(at("/explore"), role="search"):
        label = "What are you looking for?"
        el.field(label, wide=True, name="q", type="search", value=search.q, id="query")
        el.choice("tier", "Tier", options(Tier), search.tier)
        el.choice("typology", "Typology", options(Typology), search.typology)
        el.choice("origin", "Origin", options(Origin), search.origin)
        trust = {"": "any", "40": "40 or more", "60": "60 or more", "80": "80 or more"}
        el.choice("trust", "Trust", trust, str(search.trust or ""))
        moment = f"{search.as_of:%Y-%m-%dT%H:%M}" if search.as_of else ""
        el.field("As of (UTC)", name="as_of", value=moment, type="datetime-local")
        for name, label in (("since", "Written from (UTC)"), ("until", "Written to")):
            el.field(label, name=name, value=str(getattr(search.days, name) or ""), type="date")
        el.tick("archived", "with what ended", search.archived)
        el.tick("candidates", "with candidates", search.candidates)
        el.submit("Search")
        if search.narrowed:
            el.link("Clear", at("/explore"), "button plain")


async def _recalled(memory: Memory, search: Search) -> None:
    """Show what a recall finds, best first, and why each entry was found."""
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
    not_used("This search did without", found.not_used)
    if search.days or search.vectorless or search.state:
        el.text("p", "A search looks at all days and states; a list keeps to them.", "quiet")
    if not found.hits:
        el.empty(
            "Nothing was found.",
            "Take a filter away, or look at what ended and at candidates too.",
        )
        return
    with el.card("Found"):
        with el.row("quiet"):
            count = f"{len(found)} of {found.considered:,} entries"
            el.text("span", f"{count}, fused by {words(found.fusion)}.")
            el.link("See them on a timeline", "#timeline")
        with el.text("ol", cls="hits"):
            for hit in found:
                with el.text("li", cls="hit"):
                    summary(hit.entry)
                    _explained(hit, found)
    _timeline(found.entries, found.at)


def _timeline(entries: Sequence[Entry], now: datetime) -> None:
    """Show the card that the link above the hits leads to."""
    with el.card("Timeline of validity and supersession", id="timeline"):
        timeline(entries, now)


def _explained(hit: Hit, found: Recall) -> None:
    """Show what every signal says of a hit: its value, its rank, and its share of the score."""
    with el.text("div", cls="explained", role="group", aria_label="Why this was found"):
        el.text("p", f"Score {hit.score:.4f}", "small quiet")
        for colour, signal in zip(cycle(_COLOURS), found.weights, strict=False):
            score = hit.signals.get(signal)
            if score is None or score.rank is None:
                el.bar(words(signal), 0, "no word on it")
                continue
            share = score.contribution / hit.score if hit.score else 0.0
            value = "" if score.value is None else f"{score.value:.2f}, "
            said = f"{value}rank {score.rank}, {share:.0%} of the score"
            el.bar(words(signal), share if score.value is None else score.value, said, kind=colour)
        if hit.reranked is not None:
            el.bar("reranker", hit.reranked, f"{hit.reranked:.2f}")


async def _newest(context: PageContext, memory: Memory, search: Search) -> None:
    """Show a list, newest first: without words there is nothing to rank."""
    now = context.now()
    title, found = await _listed(memory, search, now)
    if not found:
        remedy = (
            "Take a filter away." if search.narrowed else "What the agent observes appears here."
        )
        el.empty("There is nothing here.", "These were all of them." if search.before else remedy)
        return
    shown = [each for each in found if search.fits(each)]
    with el.card(title):
        if not shown:
            el.empty("Nothing on this page fits.", "Go on to older entries.")
        with el.text("ol", cls="hits"):
            for entry in shown:
                with el.text("li", cls="hit"):
                    summary(entry)
    if len(found) == _LISTED:
        with el.row():
            el.link("Older", context.again("/explore", before=found[-1].id), "button")
    _timeline(shown, now)


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

"""Explorer: search with the score of every signal, lists by time, filters, and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import cycle
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, PlainSerializer, ValidationError

from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.model import Entry, Origin, Tier, Typology
from idetic.recall.hits import Hit, Recall
from idetic.spec.retention import RetentionState
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import Days, at, utc
from idetic.surfaces.console.drawings import timeline
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import not_used, options, summary, words

_LISTED = 25
_COLOURS = ("", "second", "third", "fourth")
# As a browser sends a box that is ticked, and a moment.
_Ticked = Annotated[bool, BeforeValidator(lambda v: v == "1"), PlainSerializer(lambda _: "1")]
_Moment = Annotated[
    datetime, BeforeValidator(utc), PlainSerializer(lambda moment: f"{moment:%Y-%m-%dT%H:%M}")
]


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

    @property
    def narrowed(self) -> bool:
        """Whether anything but the place in the list is asked for."""
        return self != Search(before=self.before)

    def fits(self, entry: Entry) -> bool:
        """Whether an entry passes the filters that a list by time does not apply."""
        return (
            (self.tier is None or entry.tier is self.tier)
            and (self.typology is None or entry.typology is self.typology)
            and (self.origin is None or entry.origin is self.origin)
            and entry.trust >= self.trust
        )


async def build(context: PageContext) -> None:
    """Build the page: a question with its filters, and what was found."""
    asked = {name: context.asked(name) for name in Search.model_fields}
    days = context.days()
    try:
        search = Search.model_validate({name: value for name, value in asked.items() if value})
    except ValidationError:
        raise InputError(
            "This address asks for something that cannot be.",
            remedy="Begin again from the Explorer in the menu.",
        ) from None
    _form(search, days)
    memory = await context.memory()
    if search.q:
        await _recalled(memory, search, days)
    else:
        await _newest(memory, search, days, context.now())


def _form(search: Search, days: Days) -> None:
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
        el.field("Written from (UTC)", name="since", value=str(days.since or ""), type="date")
        el.field("Written to", name="until", value=str(days.until or ""), type="date")
        el.tick("archived", "with what ended", search.archived)
        el.tick("candidates", "with candidates", search.candidates)
        el.submit("Search")
        if search.narrowed or days:
            el.link("Clear", at("/explore"), "button plain")


async def _recalled(memory: Memory, search: Search, days: Days) -> None:
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
    if days or search.vectorless or search.state:
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


async def _newest(memory: Memory, search: Search, days: Days, now: datetime) -> None:
    """Show a list, newest first: without words there is nothing to rank."""
    title, found = await _listed(memory, search, days, now)
    if not found:
        el.empty("There is nothing here.", _remedy(search, days))
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
        asked = search.model_dump(exclude_defaults=True) | {"before": found[-1].id}
        with el.row():
            el.link("Older", at("/explore", since=days.since, until=days.until, **asked), "button")
    _timeline(shown, now)


async def _listed(
    memory: Memory, search: Search, days: Days, now: datetime
) -> tuple[str, Sequence[Entry]]:
    """Return the title and the entries of the list that was asked for."""
    place: dict[str, Any] = {"limit": _LISTED, "before": search.before}
    cell: dict[str, Any] = {"tier": search.tier, "typology": search.typology}
    if days:
        title, (since, until) = f"Written {days}, whatever became of it", days.moments(now)
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


def _remedy(search: Search, days: Days) -> str:
    if search.before is not None:
        return "These were all of them."
    narrowed = search.narrowed or days
    return "Take a filter away." if narrowed else "What the agent observes appears here."

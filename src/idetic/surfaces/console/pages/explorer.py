"""Explorer: what memory holds. Search with every signal's word, filters, and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import cycle

from starlette.requests import Request

from idetic.library.handles import Memory
from idetic.model import Entry, Tier
from idetic.recall.hits import Hit, Recall
from idetic.spec.primitives import Signal
from idetic.surfaces.console import parts
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.entries import summary
from idetic.surfaces.console.searching import Asked, asked_of, form
from idetic.surfaces.console.timeline import timeline
from idetic.surfaces.console.wording import words

PAGE = 25
_COLOURS = ("", "second", "third", "fourth")


async def build(desk: Desk, request: Request) -> None:
    """The page: a question with its filters, and what was found."""
    asked = asked_of(request)
    form(asked)
    memory = await desk.memory()
    if asked.query:
        await _search(memory, asked)
    else:
        await _newest(memory, asked)


async def _search(memory: Memory, asked: Asked) -> None:
    found = await memory.recall(
        asked.query,
        limit=PAGE,
        tiers=(asked.tier,) if asked.tier else tuple(Tier),
        typologies=(asked.typology,) if asked.typology else (),
        origins=(asked.origin,) if asked.origin else (),
        min_trust=asked.min_trust,
        as_of=asked.as_of,
        include_archived=asked.archived,
        include_candidates=asked.candidates,
    )
    _did_without(found)
    if asked.days or asked.vectorless or asked.state:
        parts.text("p", "A search looks at all days and states; a list keeps to them.", "quiet")
    if not found.hits:
        parts.empty(
            "Nothing was found.",
            "Take a filter away, or look at what ended and at candidates too.",
        )
        return
    said = f"{len(found)} of {found.considered:,} entries, fused by {words(found.fusion)}."
    with parts.card("Found"):
        with parts.row("quiet"):
            parts.text("span", said)
            parts.link("See them on a timeline", "#timeline")
        with parts.text("ol", cls="hits"):
            for hit in found:
                with parts.text("li", cls="hit"):
                    summary(hit.entry)
                    _explained(hit, found)
    _timeline(found.entries, found.at)


def _timeline(entries: Sequence[Entry], now: datetime) -> None:
    with parts.card() as made:
        made.props["id"] = "timeline"
        parts.heading("Timeline of validity and supersession")
        timeline(entries, now)


def _did_without(found: Recall) -> None:
    if not found.not_used:
        return
    with parts.text("details", cls="aside"):
        names = ", ".join(words(each.what) for each in found.not_used)
        parts.text("summary", f"This search did without: {names}")
        for each in found.not_used:
            parts.text("p", f"{words(each.what).capitalize()}: {each.why}. {each.remedy}", "small")


def _explained(hit: Hit, found: Recall) -> None:
    """Every signal's word on a hit: how strong, at which rank, and its share of the score."""
    with parts.text("div", cls="explained", role="group", aria_label="Why this was found"):
        parts.text("p", f"Score {hit.score:.4f}", "small quiet")
        for colour, signal in zip(cycle(_COLOURS), found.weights, strict=False):
            _signal(signal, hit, colour)
        if hit.reranked is not None:
            parts.bar("reranker", hit.reranked, f"{hit.reranked:.2f}")


def _signal(signal: Signal, hit: Hit, colour: str) -> None:
    score = hit.signals.get(signal)
    if score is None or score.rank is None:
        parts.bar(words(signal), 0, "no word on it")
        return
    share = score.contribution / hit.score if hit.score else 0.0
    value = "" if score.value is None else f"{score.value:.2f}, "
    said = f"{value}rank {score.rank}, {share:.0%} of the score"
    parts.bar(words(signal), share if score.value is None else score.value, said, kind=colour)


async def _newest(memory: Memory, asked: Asked) -> None:
    """Without words there is nothing to rank: the list itself, newest first."""
    now = memory.agent.engine.clock.now()
    if asked.days:
        found = await memory.written(
            *asked.days.moments(now),
            tier=asked.tier,
            typology=asked.typology,
            limit=PAGE,
            before=asked.before,
        )
        title = f"Written {asked.days}, whatever became of it"
    elif asked.vectorless:
        found = await memory.unembedded(limit=PAGE, before=asked.before)
        title = "Waiting for a vector"
    elif asked.state is not None:
        found = await memory.kept(asked.state, limit=PAGE, before=asked.before)
        title = f"Retention: {asked.state.value.lower()}"
    elif asked.as_of is not None:
        found = await memory.as_of(asked.as_of, limit=PAGE, before=asked.before)
        title = f"As it stood at {asked.as_of:%Y-%m-%d %H:%M} UTC"
    else:
        found = await memory.list(
            tier=asked.tier, typology=asked.typology, limit=PAGE, before=asked.before
        )
        title = "Newest"
    if not found:
        parts.empty("There is nothing here.", _what_to_do(asked))
        return
    shown = [each for each in found if _fits(each, asked)]
    _listed(title, shown)
    if len(found) == PAGE:
        with parts.row():
            parts.link("Older", asked.address(before=found[-1].id), "button")
    _timeline(shown, now)


def _fits(entry: Entry, asked: Asked) -> bool:
    """The filters that a list by time knows nothing of."""
    return (
        (asked.tier is None or entry.tier is asked.tier)
        and (asked.typology is None or entry.typology is asked.typology)
        and (asked.origin is None or entry.origin is asked.origin)
        and entry.trust >= asked.min_trust
    )


def _listed(title: str, entries: Sequence[Entry]) -> None:
    with parts.card(title):
        if not entries:
            parts.empty("Nothing on this page fits.", "Go on to older entries.")
        with parts.text("ol", cls="hits"):
            for entry in entries:
                with parts.text("li", cls="hit"):
                    summary(entry)


def _what_to_do(asked: Asked) -> str:
    if asked.before is not None:
        return "These were all of them."
    if asked.narrowed:
        return "Take a filter away."
    return "What the agent observes appears here."

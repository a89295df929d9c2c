"""Explorer: what memory holds. Search with every signal's word, filters, and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from starlette.requests import Request

from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.model import Entry, Origin, Tier, Typology
from idetic.recall.hits import Hit, Recall
from idetic.spec.primitives import Signal
from idetic.spec.retention import RetentionState
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.entries import summary
from idetic.surfaces.console.timeline import timeline
from idetic.surfaces.console.wording import words

PAGE = 25
_COLOURS = ("", "second", "third", "fourth")
_EVERY = {"": "all"}


@dataclass(frozen=True)
class Asked:
    """What the address asks for."""

    query: str
    tier: Tier | None
    typology: Typology | None
    origin: Origin | None
    min_trust: int
    as_of: datetime | None
    archived: bool
    candidates: bool
    state: RetentionState | None
    before: UUID | None

    @property
    def narrowed(self) -> bool:
        """Whether anything but the place in the list is asked for."""
        return self != Asked("", None, None, None, 0, None, False, False, None, self.before)

    def address(self, **changed: Any) -> str:
        """This question again, with something changed."""
        asked = {
            "q": self.query,
            "tier": self.tier,
            "typology": self.typology,
            "origin": self.origin,
            "trust": self.min_trust or None,
            "as_of": f"{self.as_of:%Y-%m-%dT%H:%M}" if self.as_of else None,
            "archived": "1" if self.archived else None,
            "candidates": "1" if self.candidates else None,
            "state": self.state,
        }
        return at("/explore", **(asked | changed))


async def build(desk: Desk, request: Request) -> None:
    """The page: a question with its filters, and what was found."""
    asked = _asked(request)
    _form(asked)
    memory = await desk.memory()
    if asked.query:
        await _search(memory, asked)
    else:
        await _newest(memory, asked)


def _asked(request: Request) -> Asked:
    given = request.query_params
    try:
        return Asked(
            query=given.get("q", "").strip(),
            tier=Tier(given["tier"]) if given.get("tier") else None,
            typology=Typology(given["typology"]) if given.get("typology") else None,
            origin=Origin(given["origin"]) if given.get("origin") else None,
            min_trust=int(given.get("trust") or 0),
            as_of=_moment(given.get("as_of")),
            archived=given.get("archived") == "1",
            candidates=given.get("candidates") == "1",
            state=RetentionState(given["state"]) if given.get("state") else None,
            before=UUID(given["before"]) if given.get("before") else None,
        )
    except ValueError:
        raise InputError(
            "This address asks for something that cannot be.",
            remedy="Begin again from the Explorer in the menu.",
        ) from None


def _moment(given: str | None) -> datetime | None:
    """A moment as the browser's field writes it; the ledger's time is UTC, and so is this."""
    return datetime.fromisoformat(given).replace(tzinfo=UTC) if given else None


def _form(asked: Asked) -> None:
    with parts.card(cls="filters"), parts.asking(at("/explore"), role="search"):
        with parts.text("label", cls="field wide"):
            parts.text("span", "What are you looking for?")
            parts.text("input", name="q", type="search", value=asked.query, id="query")
        parts.choice("tier", "Tier", _EVERY | _options(Tier), asked.tier)
        parts.choice("typology", "Typology", _EVERY | _options(Typology), asked.typology)
        parts.choice("origin", "Origin", _EVERY | _options(Origin), asked.origin)
        trust = {"": "any", "40": "40 or more", "60": "60 or more", "80": "80 or more"}
        parts.choice("trust", "Trust", trust, str(asked.min_trust or ""))
        moment = f"{asked.as_of:%Y-%m-%dT%H:%M}" if asked.as_of else ""
        parts.entry_field("as_of", "As of (UTC)", moment, type="datetime-local")
        _tick("archived", "with what ended", asked.archived)
        _tick("candidates", "with candidates", asked.candidates)
        parts.text("button", "Search", "button primary", type="submit")
        if asked.narrowed:
            parts.link("Clear", at("/explore"), "button plain")


def _options(kind: Any) -> dict[str, str]:
    return {each.value: words(each) for each in kind}


def _tick(name: str, label: str, chosen: bool) -> None:
    with parts.text("label", cls="field check"):
        checked = True if chosen else None
        parts.text("input", name=name, type="checkbox", value="1", checked=checked)
        parts.text("span", label)


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
        for colour, signal in zip(_COLOURS, found.weights, strict=False):
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
    if asked.state is not None:
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
    _timeline(shown, memory.agent.rooms.clock.now())


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
    return "What the agent observes appears here; `memory.observe` writes the first entry."

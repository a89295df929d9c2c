"""A search as its address says it: reading it, writing it, and the form that asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from starlette.requests import Request

from idetic.errors import InputError
from idetic.model import Origin, Tier, Typology
from idetic.spec.retention import RetentionState
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.days import NO_DAYS, Days, days_of
from idetic.surfaces.console.wording import words

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
    days: Days = NO_DAYS
    vectorless: bool = False

    @property
    def narrowed(self) -> bool:
        """Whether anything but the place in the list is asked for."""
        plain = Asked("", None, None, None, 0, None, False, False, None, self.before)
        return self != plain

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
            "since": self.days.since,
            "until": self.days.until,
            "vectorless": "1" if self.vectorless else None,
        }
        return at("/explore", **(asked | changed))


def asked_of(request: Request) -> Asked:
    """What an address asks for; raises InputError for what cannot be."""
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
            days=days_of(request),
            vectorless=given.get("vectorless") == "1",
        )
    except ValueError:
        raise InputError(
            "This address asks for something that cannot be.",
            remedy="Begin again from the Explorer in the menu.",
        ) from None


def _moment(given: str | None) -> datetime | None:
    """A moment as the browser's field writes it; the ledger's time is UTC, and so is this."""
    return datetime.fromisoformat(given).replace(tzinfo=UTC) if given else None


def form(asked: Asked) -> None:
    """A question with its filters, as they were asked last."""
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
        for name, label in (("since", "Written from (UTC)"), ("until", "Written to")):
            parts.entry_field(name, label, str(getattr(asked.days, name) or ""), type="date")
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

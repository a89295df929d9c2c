"""A timeline: from when to when each entry held, and what came in its place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from idetic.model import Entry, EntryState
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.wording import KIND_OF_STATE, titled, words

# Else an entry of a moment ago would have no width to be seen by.
_LEAST = 1.5


def timeline(entries: Sequence[Entry], now: datetime) -> None:
    """A lane for each entry, those about the same beside each other, oldest first."""
    if not entries:
        return
    first = min(begins(entry) for entry in entries)
    whole = max(now - first, timedelta(seconds=1))
    with parts.text("ol", cls="timeline"):
        for entry in sorted(entries, key=_order):
            _lane(entry, first, whole, now)
    with parts.text("div", cls="timeline-axis", aria_hidden="true"):
        parts.text("span", f"{first.astimezone(UTC):%Y-%m-%d %H:%M}")
        parts.text("span", "now")


def begins(entry: Entry) -> datetime:
    """From when an entry holds."""
    return entry.valid_at or entry.created_at


def ends(entry: Entry) -> datetime | None:
    """Until when it held; None if it still does."""
    ended = (
        entry.invalid_at,
        entry.superseded_at,
        entry.invalidated_at,
        entry.archived_at,
        entry.deleted_at,
    )
    return min((each for each in ended if each is not None), default=None)


def _order(entry: Entry) -> tuple[str, datetime]:
    about = entry.claim
    return (" ".join(about.key) if about else "~", begins(entry))


def _lane(entry: Entry, first: datetime, whole: timedelta, now: datetime) -> None:
    start, end = begins(entry), ends(entry)
    left = max(0.0, (start - first) / whole * 100)
    width = max(_LEAST, ((end or now) - start) / whole * 100)
    left = min(left, 100 - min(width, 100))
    with parts.text("li"):
        with parts.text("div", cls="timeline-said"):
            parts.link(titled(entry), at(f"/entries/{entry.id}"))
            parts.text("span", _span(start, end), "quiet small")
            parts.badge(words(entry.state), KIND_OF_STATE[entry.state])
            if entry.superseded_by is not None:
                parts.link("what came in its place", at(f"/entries/{entry.superseded_by}"), "small")
        with parts.text("div", cls="timeline-track", aria_hidden="true"):
            past = "" if entry.state is EntryState.CURRENT else "past"
            style = f"left: {left:.2f}%; width: {min(width, 100 - left):.2f}%"
            parts.text("div", cls=f"timeline-bar {past}", style=style)


def _span(start: datetime, end: datetime | None) -> str:
    said = f"from {start.astimezone(UTC):%Y-%m-%d %H:%M}"
    return said if end is None else f"{said} until {end.astimezone(UTC):%Y-%m-%d %H:%M}"

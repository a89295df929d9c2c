"""An entry as pages show it in a list: what it says, what it is, where it leads."""

from __future__ import annotations

from idetic.model import Entry, EntryState
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.wording import KIND_OF_STATE, words


def summary(entry: Entry) -> None:
    """Its words, its kind and its source; the time leads to its page."""
    parts.note(entry.body_text)
    with parts.row("small"):
        marks(entry)
        parts.text("span", f"{words(entry.origin)}, trust {entry.trust}", "quiet")
        with parts.link("", at(f"/entries/{entry.id}")):
            parts.text("span", "Entry of ")
            parts.moment(entry.created_at)


def marks(entry: Entry) -> None:
    """Tier, typology, and whatever is special about it."""
    parts.badge(f"{words(entry.tier)} · {words(entry.typology)}")
    if entry.state is not EntryState.CURRENT:
        parts.badge(words(entry.state), KIND_OF_STATE[entry.state])
    if entry.candidate:
        parts.badge("candidate", "warn")
    if entry.exempt_at is not None:
        parts.badge("exempt from decay")

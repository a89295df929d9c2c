"""From an event to its long-term entry: pure, and never in the way of the log.

A compactor may be anybody's code, a model behind it even. Whatever it does wrong costs an event its
entry until the next dream, and never the event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from idetic.gateway.substance import substance
from idetic.ids import uuid7_text
from idetic.persona.compactor import compact, importance, summarise_loop
from idetic.persona.events import Event

_SUMMARY_MAX = 4_000


@dataclass(frozen=True, slots=True)
class Derivation:
    """How entries are derived, under a name: with a new name, a dream derives them all again."""

    name: str = "extractive-1"
    compact: Callable[[Event], str] = compact
    grade: Callable[[Event], float] = importance
    summarise: Callable[[Sequence[Event]], str] = summarise_loop


IMPORTED = "imported"
"""The name of the way of entries whose summary came with an import: no dream replaces it."""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """A long-term entry that was made elsewhere: its id, and as much else as is known of it."""

    id: UUID
    summary: str | None = None
    importance: float | None = None


class Deriver:
    """Derives the entries of one persona."""

    def __init__(self, derivation: Derivation):
        self._derivation = derivation

    @property
    def name(self) -> str:
        """Which way of deriving this is."""
        return self._derivation.name

    @property
    def reasoned(self) -> str:
        """The same, where a reasoner compacted."""
        return f"{self.name}+reasoned"

    @property
    def settled(self) -> tuple[str, ...]:
        """The ways of entries that need not be derived again."""
        return (self.name, self.reasoned, IMPORTED)

    def item(self, event: Event, reasoned: str | None = None) -> dict[str, Any] | None:
        """The long-term entry of an event, as the database takes it; None if that failed.

        `reasoned` is a reasoner's text, in the place of the compactor's.
        """
        try:
            summary = self._derivation.compact(event) if reasoned is None else reasoned
            grade = float(self._derivation.grade(event))
            said = substance(summary)
        except Exception:  # noqa: BLE001 - a compactor is anybody's code, and the log goes on
            return None
        if not storable(summary) or not 0.0 <= grade <= 1.0:
            return None
        return {
            "ltm": uuid7_text(),
            "id": str(event.id),
            "position": event.position,
            "loop_id": str(event.loop_id),
            "ts": event.ts.isoformat(),
            "kind": event.kind.value,
            "visibility": event.visibility.value,
            "summary": summary,
            "substance": said,
            "importance": grade,
            "derivation": self.name if reasoned is None else self.reasoned,
        }

    def kept(self, event: Event, entry: KeptEntry | None) -> dict[str, Any] | None:
        """The long-term entry of an event that was made elsewhere: under its own id, saying what
        it said there; what is not known of it is derived."""
        made = self.item(event)
        if entry is None or made is None:
            return made
        made["ltm"] = str(entry.id)
        if entry.summary is not None and storable(entry.summary):
            said = {"summary": entry.summary, "substance": substance(entry.summary)}
            made |= {**said, "derivation": IMPORTED}
            made["importance"] = (
                made["importance"] if entry.importance is None else entry.importance
            )
        return made

    def summary(self, events: Sequence[Event]) -> str:
        """A loop in few words; the shipped way, where the given one fails."""
        try:
            made = self._derivation.summarise(events)
        except Exception:  # noqa: BLE001 - as above: a loop always gets its entry
            made = ""
        return made if storable(made) else summarise_loop(events)


def storable(text: object) -> bool:
    """Whether the database can hold it as a summary."""
    if not isinstance(text, str) or not text.strip() or len(text) > _SUMMARY_MAX or "\x00" in text:
        return False
    return not any("\ud800" <= c <= "\udfff" for c in text)

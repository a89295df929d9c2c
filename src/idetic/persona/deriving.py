"""From an event to its long-term entry: pure, and never in the way of the log.

A compactor may be anybody's code, a model behind it even. Whatever it does wrong costs an event its
entry until the next dream, and never the event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from idetic.evidence import Lineage, Relation
from idetic.model import Origin, Tier, Typology
from idetic.persona.compactor import compact, importance, summarise_loop
from idetic.persona.events import Event, EventKind
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import BODY_TEXT_MAX, DERIVATION
from idetic.store.steps import AddStep

# Whose words an event is; what is not named here, the agent said or did itself.
_ORIGINS = {
    EventKind.USER_INPUT: Origin.USER,
    EventKind.FEEDBACK: Origin.USER,
    EventKind.TOOL_RESULT: Origin.TOOL,
}


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


@dataclass(frozen=True, slots=True)
class LoopPart:
    """One event of a loop, and the long-term entry that a summary of the loop is made of."""

    event: Event
    entry_id: UUID | None
    origin: Origin | None
    trust: int | None


class Deriver:
    """Derives the entries of one agent's log, as steps that the store settles."""

    def __init__(self, derivation: Derivation, spec: MemorySpec):
        self._derivation = derivation
        self._spec = spec

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

    def entry(self, event: Event, reasoned: str | None = None) -> AddStep | None:
        """The step that adds an event's long-term entry; None if deriving it failed.

        `reasoned` is a reasoner's text, in the place of the compactor's.
        """
        name = self.name if reasoned is None else self.reasoned
        try:
            summary = self._derivation.compact(event) if reasoned is None else reasoned
            grade = float(self._derivation.grade(event))
        except Exception:  # noqa: BLE001 - a compactor is anybody's code, and the log goes on
            return None
        return self._step(event, summary, grade, name)

    def kept(self, event: Event, entry: KeptEntry | None) -> AddStep | None:
        """The long-term entry of an event that was made elsewhere: under its own id, saying what
        it said there; what is not known of it is derived."""
        made = self.entry(event)
        if entry is None or made is None:
            return made
        if entry.summary is not None and self.storable(entry.summary):
            grade = made.importance if entry.importance is None else entry.importance
            made = self._step(event, entry.summary, grade, IMPORTED) or made
        return replace(made, new_id=entry.id)

    def summary(self, events: Sequence[Event]) -> str:
        """A loop in few words; the shipped way, where the given one fails."""
        try:
            made = self._derivation.summarise(events)
        except Exception:  # noqa: BLE001 - as above: a loop always gets its entry
            made = ""
        return made if self.storable(made) else summarise_loop(events)

    def loop(self, loop_id: UUID, ended: datetime, text: str, parts: Sequence[LoopPart]) -> AddStep:
        """The step that adds a loop's short-term entry, made of its long-term entries."""
        lineage = [
            Lineage(p.entry_id, Relation.SUMMARISED, p.origin, p.trust, p.event.ts, loop_id)
            for p in parts
            if p.entry_id is not None and p.origin is not None and p.trust is not None
        ]
        own = self._spec.trust_of(Origin.AGENT)
        return AddStep(
            "summarised",
            "one entry per loop",
            detail={"loop": str(loop_id)},
            tier=Tier.SESSION,
            typology=Typology.EPISODIC,
            text=text,
            envelope={},
            origin=Origin.AGENT,
            trust=min([own, *(one.trust for one in lineage)]),
            valid_at=ended,
            lineage=lineage,
            provenance={DERIVATION: self.name},
            session_id=loop_id,
            loop_id=loop_id,
        )

    def _step(self, event: Event, summary: str, grade: float | None, name: str) -> AddStep | None:
        if not self.storable(summary) or grade is None or not 0.0 <= grade <= 1.0:
            return None
        origin = _ORIGINS.get(event.kind, Origin.AGENT)
        return AddStep(
            "derived",
            "one entry per event",
            detail={"event": str(event.id)},
            tier=Tier.PERSISTENT,
            typology=Typology.EPISODIC,
            text=summary,
            envelope={"kind": event.kind.value, "visibility": event.visibility.value},
            origin=origin,
            trust=self._spec.trust_of(origin),
            valid_at=event.ts,
            lineage=(),
            provenance={DERIVATION: name},
            session_id=event.loop_id,
            event=event.id,
            importance=grade,
        )

    def storable(self, text: object) -> bool:
        """Whether the database can hold it as an entry."""
        return storable(text, self._spec.backend.body_text_max)


def storable(text: object, most: int = BODY_TEXT_MAX) -> bool:
    """Whether a text can be an entry of at most so many characters."""
    if not isinstance(text, str) or not text.strip() or len(text) > most or "\x00" in text:
        return False
    return not any("\ud800" <= c <= "\udfff" for c in text)

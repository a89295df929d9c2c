"""Derivation of long-term and short-term entries from events. Pure: the stores write the steps.

A compactor may be anybody's code, or a model. When it fails, an event has no entry until the
next dream; the event itself is never lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from idetic.evidence import Lineage
from idetic.model import Origin, Tier, Typology
from idetic.persona.compactor import compact, importance, summarise_loop
from idetic.persona.events import Event, EventKind
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.plain import storable
from idetic.spec.primitives import DERIVATION
from idetic.store.steps import AddStep

# Origin of an event by its kind; all others are the agent's own.
_ORIGINS = {
    EventKind.USER_INPUT: Origin.USER,
    EventKind.FEEDBACK: Origin.USER,
    EventKind.TOOL_RESULT: Origin.TOOL,
}


log = logging.getLogger("idetic.persona")
# Ends the name of a derivation that failed, where the shipped one stands in for it.
INSTEAD = "+instead"


@dataclass(frozen=True, slots=True)
class Derivation:
    """A named way to derive entries. Under a new name, a dream derives them all again."""

    name: str = "extractive-1"
    compact: Callable[[Event], str] = compact
    grade: Callable[[Event], float] = importance
    summarise: Callable[[Sequence[Event]], str] = summarise_loop


@dataclass(frozen=True, slots=True)
class Deriver:
    """Derives the entries of one agent's log, as steps for the anchor's transaction."""

    derivation: Derivation
    spec: MemorySpec

    @property
    def name(self) -> str:
        """The derivation's name."""
        return self.derivation.name

    @property
    def settled(self) -> tuple[str, str]:
        """The derivations whose entries need not be derived again: plain and reasoned."""
        return (self.name, f"{self.name}+reasoned")

    def entry(self, event: Event, reasoned: str | None = None) -> AddStep | None:
        """The step that adds an event's long-term entry; None if deriving it failed.

        `reasoned` is a reasoner's text, in the place of the compactor's.
        """
        plain_name, reasoned_name = self.settled
        try:
            summary = self.derivation.compact(event) if reasoned is None else reasoned
            grade = float(self.derivation.grade(event))
        except Exception as error:  # noqa: BLE001 - a compactor is anybody's code; the log goes on
            self._log_failure(event, type(error).__name__)
            return None
        if not self._storable(summary) or not 0.0 <= grade <= 1.0:
            self._log_failure(event, "nothing that can be kept")
            return None
        origin = _ORIGINS.get(event.kind, Origin.AGENT)
        return AddStep(
            "derived",
            "one entry per event",
            detail={"event": str(event.id)},
            event=event.id,
            importance=grade,
            tier=Tier.PERSISTENT,
            typology=Typology.EPISODIC,
            text=summary,
            envelope=_envelope(event),
            origin=origin,
            trust=self.spec.trust_of(origin),
            valid_at=event.ts,
            provenance={DERIVATION: plain_name if reasoned is None else reasoned_name},
            session_id=event.loop_id,
        )

    def _log_failure(self, event: Event, why: str) -> None:
        """Say that an event has no entry: coverage counts it, and the next dream tries again."""
        facts = {"event": str(event.id), "derivation": self.name, "error": why}
        log.warning("an event could not be derived", extra=facts)

    def summary(self, events: Sequence[Event]) -> tuple[str, str]:
        """The summary of a loop, and how it was made.

        Where the derivation's own fails it is the shipped compactor's, under a name by which
        coverage tells it and the next dream makes it again.
        """
        try:
            made = self.derivation.summarise(events)
        except Exception as error:  # noqa: BLE001 - as above: a loop always gets its entry
            facts = {"derivation": self.name, "error": type(error).__name__}
            log.warning("a loop could not be summarised", extra=facts)
            made = ""
        if self._storable(made):
            return made, self.name
        return summarise_loop(events), f"{self.name}{INSTEAD}"

    def loop(
        self,
        loop_id: UUID,
        ended: datetime,
        text: str,
        lineage: Sequence[Lineage],
        made_by: str | None = None,
    ) -> AddStep:
        """The step that adds a loop's short-term entry; `lineage` are its long-term entries."""
        own = self.spec.trust_of(Origin.AGENT)
        return AddStep(
            "summarised",
            "one entry per loop",
            detail={"loop": str(loop_id)},
            loop_id=loop_id,
            tier=Tier.SESSION,
            typology=Typology.EPISODIC,
            text=text,
            envelope={},
            origin=Origin.AGENT,
            trust=min([own, *(one.trust for one in lineage)]),
            valid_at=ended,
            lineage=lineage,
            provenance={DERIVATION: made_by or self.name},
            session_id=loop_id,
        )

    def _storable(self, text: object) -> bool:
        """Whether the database can hold a text as an entry's body."""
        if not isinstance(text, str) or not text.strip() or not storable(text):
            return False
        return len(text) <= self.spec.backend.body_text_max


def _envelope(event: Event) -> dict[str, str]:
    """What an event's entry is about: its kind, who may see it, and who said it, if known."""
    about = {"kind": event.kind.value, "visibility": event.visibility.value}
    speaker = event.metadata.get("speaker")
    return about | {"speaker": speaker} if isinstance(speaker, str) and speaker.strip() else about

"""Events that were made elsewhere come into one persona's log: ids, loops and order as they were.

Each batch looks first at what is there, so an import that was interrupted is simply run again. What
is there says what it says: an event that differs is told, one that was erased since stays empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from idetic.audit.chain import EMPTIED
from idetic.errors import InputError
from idetic.persona.deriving import IMPORTED, KeptEntry
from idetic.persona.drafts import REDACTED, Draft
from idetic.persona.events import Event
from idetic.persona.layers import Layers
from idetic.spec.primitives import DERIVATION
from idetic.store.steps import AddStep


class Fate(StrEnum):
    """What became of an event that was brought."""

    WRITTEN = "written"
    THERE = "there"
    ERASED = "erased"
    DIFFERS = "differs"
    REFUSED = "refused"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Brought:
    """An event from elsewhere: a draft with its id and moment, its loop, its long-term entry.

    `own` are metadata that only Idetic writes: what could not be taken over as it was.
    """

    draft: Draft
    loop_id: UUID
    own: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ltm: KeptEntry | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one event; `entry_kept` says that its long-term entry was taken over."""

    fate: Fate
    why: str = ""
    redacted: bool = False
    entry_kept: bool = False


async def bring(layers: Layers, batch: Sequence[Brought], *, write: bool) -> list[Outcome]:
    """Bring a batch, in one transaction; without `write`, say what would become of it."""
    events = [_checked(layers, each) for each in batch]
    ids = [event.id for event in events if isinstance(event, Event)]
    held = await layers.log.held(ids) if ids else {}
    outcomes: list[Outcome] = []
    new: dict[UUID, tuple[Event, AddStep | None]] = {}
    for each, event in zip(batch, events, strict=True):
        if isinstance(event, str):
            outcomes.append(Outcome(Fate.REFUSED, event))
            continue
        fate = Fate.REPEATED if event.id in new else _fate(event, held.get(event.id))
        item, gated = _entry(layers, event, each.ltm) if fate is Fate.WRITTEN else (None, False)
        if fate is Fate.WRITTEN:
            new[event.id] = (event, item)
        kept = item is not None and item.provenance[DERIVATION] == IMPORTED
        outcomes.append(Outcome(fate, "", gated or REDACTED in event.metadata, kept))
    if write and new and not await layers.writer.bring(list(new.values())):
        return [replace(outcome, entry_kept=False) for outcome in outcomes]
    return outcomes


def _checked(layers: Layers, each: Brought) -> Event | str:
    """The event, or why it cannot be one."""
    try:
        return layers.writer.checked(each.draft, each.loop_id, each.own)
    except InputError as error:
        return error.message


def _fate(event: Event, held: Event | None) -> Fate:
    if held is None:
        return Fate.WRITTEN
    if held.content == EMPTIED and not held.metadata:
        return Fate.ERASED
    return Fate.THERE if _said(event) == _said(held) else Fate.DIFFERS


def _said(event: Event) -> tuple[object, ...]:
    """What an event says, as the record function compares it."""
    known = (event.loop_id, event.kind, event.visibility, event.content)
    return (*known, dict(event.metadata))


def _entry(layers: Layers, event: Event, ltm: KeptEntry | None) -> tuple[AddStep | None, bool]:
    """The long-term entry as the database takes it: its summary passes the gate like the event."""
    gated = False
    if ltm is not None and ltm.summary is not None:
        text, gated = layers.writer.gated(ltm.summary)
        ltm = KeptEntry(ltm.id, text, ltm.importance)
    return layers.common.deriver.kept(event, ltm), gated

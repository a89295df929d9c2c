"""Erasing somebody from persona memory: both logs, and all that was derived from them.

An event that names the subject is emptied with its long-term entry, its vector and its loop's
summary, which is then made anew from what is left. The log says that this happened, so that
`verify` can tell an erased event from a tampered one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from idetic.erasure import Subject
from idetic.errors import Busy, InputError
from idetic.gateway.content import SHORT, check_text
from idetic.ids import uuid7
from idetic.lifecycle.mentions import Mentions
from idetic.persona.chain import ERASED
from idetic.persona.events import Event, EventKind, Persona, Visibility
from idetic.persona.layers import Layers
from idetic.store.database import Database
from idetic.store.persona_erasing import ErasedRows
from idetic.store.persona_tables import PersonaTables, scope_of

# Whoever writes about the subject meanwhile is found by looking again.
PASSES = 3
# So many ids fit into the metadata of one event.
_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class PersonaErased:
    """What an erasure emptied: ids by `persona.table`. Nothing found is said plainly."""

    removed: Mapping[str, tuple[UUID, ...]] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        """Whether there was anything to empty."""
        return bool(self.removed)

    def __str__(self) -> str:
        """The receipt in one line."""
        if not self.found:
            return "Nothing found: nothing was removed."
        parts = (f"{len(ids)} in {table}" for table, ids in self.removed.items())
        return f"Removed: {', '.join(parts)}."


class PersonaErasure:
    """Erases subjects from the persona memory of one agent."""

    def __init__(
        self, both: Sequence[Layers], databases: Mapping[Persona, Database], app: Database
    ):
        self._both = both
        self._rows = {
            layers.persona: ErasedRows(
                _tables(layers, databases[layers.persona]), _tables(layers, app)
            )
            for layers in both
        }

    async def erase(self, subject: Subject | str | Iterable[str], *, reason: str) -> PersonaErased:
        """Empty all that names a subject, in both personas' memory; this is for good."""
        whom = subject if isinstance(subject, Subject) else Subject(subject)
        mentions, reason = Mentions(whom), check_text(reason, SHORT, "reason")
        if mentions.within(reason):
            raise InputError(
                "The reason names the subject; it is kept for good.",
                remedy="Give the number of the request instead. Nothing was erased.",
            )
        removed: dict[str, list[UUID]] = {}
        for _ in range(PASSES):
            if not await self._pass(mentions, reason, removed):
                return PersonaErased({table: tuple(ids) for table, ids in removed.items()})
        raise Busy(
            "Somebody goes on writing about the subject.",
            remedy="Stop what writes, and erase again; what was found is empty.",
        )

    async def _pass(self, mentions: Mentions, reason: str, removed: dict[str, list[UUID]]) -> bool:
        """Look once, empty what is found; whether anything was."""
        found = False
        for layers in self._both:
            rows = self._rows[layers.persona]
            events = [
                event_id async for event_id, *texts in rows.events() if mentions.within(*texts)
            ]
            for first in range(0, len(events), _NAMED):
                part = events[first : first + _NAMED]
                await _record(layers, part, reason)
                _add(removed, layers.persona, await rows.empty(part))
            touched = set(removed.get(f"{layers.persona}.stm", ())) if events else set()
            touched |= {loop for loop, text in await rows.loops() if mentions.within(text)}
            for loop_id in touched:
                await layers.stm.close(loop_id, layers.common.deriver)
            found = found or bool(events)
        return await self._notes(mentions, removed) or found

    async def _notes(self, mentions: Mentions, removed: dict[str, list[UUID]]) -> bool:
        rows = self._rows[Persona.ACTOR]
        named = [note_id for note_id, body in await rows.notes() if mentions.within(body)]
        if named:
            _add(removed, Persona.ACTOR, {"operational_notes": await rows.empty_notes(named)})
        return bool(named)


async def _record(layers: Layers, events: Sequence[UUID], reason: str) -> None:
    """Say in the log what is about to be emptied, in a loop of its own."""
    loop_id, common = uuid7(), layers.common
    told = {ERASED: [str(one) for one in events], "reason": reason}
    said = f"Erased {len(events)} events."
    made = Event(
        uuid7(), common.clock.now(), common.agent_id, layers.persona, loop_id,
        EventKind.SYSTEM_EVENT, Visibility.INTERNAL, said, told,
    )  # fmt: skip
    await layers.writer.record(made)
    await layers.stm.close(loop_id, common.deriver)


def _add(
    removed: dict[str, list[UUID]], persona: Persona, gone: Mapping[str, Iterable[UUID]]
) -> None:
    for table, ids in gone.items():
        known = removed.setdefault(f"{persona}.{table}", [])
        known += [one for one in ids if one not in known]


def _tables(layers: Layers, database: Database) -> PersonaTables:
    common = layers.common
    return PersonaTables(database, layers.persona, scope_of(common.tenant, common.agent_id))

"""Erasure in persona memory: where a subject is named, and emptying what names it.

Reading goes through a persona's role, as everything does; emptying through the application's, which
alone may ask the keeper for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from idetic.store.persona_tables import PersonaTables
from idetic.store.pipeline import Rows

_LOG, _NOTES = "persona_log", "persona_notes"
_PAGE = 1_000


class ErasedRows:
    """One persona's rows, read with its rights and emptied with the application's."""

    def __init__(self, reading: PersonaTables, emptying: PersonaTables):
        self._reading = reading
        self._emptying = emptying

    async def events(self) -> AsyncIterator[tuple[UUID, str, Any, str | None]]:
        """Every event: its id, what it says, its metadata, and its long-term entry."""
        after = 0
        while rows := await self._reading.rows(_LOG, "derived_texts", after=after, limit=_PAGE):
            for _, event_id, content, metadata, summary in rows:
                yield event_id, content, metadata, summary
            after = rows[-1][0]

    async def loops(self) -> Rows:
        """Every loop's summary."""
        return await self._reading.rows(_LOG, "loop_texts")

    async def notes(self) -> Rows:
        """Every note to the Actor."""
        return await self._reading.rows(_NOTES, "note_texts")

    async def empty(self, events: Sequence[UUID]) -> dict[str, list[UUID]]:
        """Empty events and what was derived from them; what went, as ids by table."""
        rows = await self._emptying.rows(_LOG, "erase", events=list(events))
        return {table: list(ids) for table, ids in rows if ids}

    async def empty_notes(self, notes: Sequence[UUID]) -> list[UUID]:
        """Empty notes to the Actor."""
        rows = await self._emptying.rows(_NOTES, "erase_notes", ids=list(notes))
        return [note_id for (note_id,) in rows]

"""Operational notes as rows, and all that a note is compared with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from idetic.store.persona_tables import PersonaTables
from idetic.store.pipeline import Rows

_FILE = "persona_notes"
_PAGE = 2_000


class NoteRows:
    """The notes of one agent, seen through one persona's pool and with its rights."""

    def __init__(self, tables: PersonaTables):
        self._tables = tables

    async def put(self, note_id: UUID, ts: datetime, body: str) -> None:
        """Leave a note; only the Subconscious's role may."""
        await self._tables.rows(_FILE, "put_note", note_id=note_id, ts=ts, body=body)

    async def latest(self, limit: int) -> Rows:
        """The last notes, newest first."""
        return await self._tables.rows(_FILE, "notes", limit=limit)

    async def said(self) -> AsyncIterator[str]:
        """All that this persona said or kept: events, their entries, summaries of loops."""
        after = 0
        while rows := await self._tables.rows(_FILE, "said", after=after, limit=_PAGE):
            for _, content, summary in rows:
                yield content
                if summary is not None and summary != content:
                    yield summary
            after = rows[-1][0]
        for (summary,) in await self._tables.rows(_FILE, "said_of_loops"):
            yield summary

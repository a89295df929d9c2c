"""Exact questions from afar: by a claim's subject, by a key of the envelope, by reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any
from uuid import UUID

from idetic.client.line import Line
from idetic.client.questions import listed
from idetic.model import Entry


class RemoteLookups:
    """The verbs that need no ranking, of a memory that a server holds."""

    _line: Line

    async def about(self, subjects: Iterable[str]) -> list[Entry]:
        """The current entries whose claim is about one of the subjects, oldest first."""
        return await self._line.ask(
            "/v1/lookups/about", list[Entry], {"subjects": listed(subjects)}
        )

    async def tally(self, key: str, *, where: Mapping[str, Any] | None = None) -> dict[str, int]:
        """The values that a key of the envelope has among current entries, and how often each."""
        body = {"key": key, "where": where}
        return await self._line.ask("/v1/lookups/tally", dict[str, int], body)

    async def note_read(self, entries: Iterable[UUID]) -> None:
        """Record that entries were put before this key's principal, as `context` does."""
        await self._line.do("/v1/reads", NoneType, {"entries": listed(entries)})

    async def last_read(self, entries: Iterable[UUID]) -> dict[UUID, datetime]:
        """When each of the entries was last read; one that never was is not in the answer."""
        body = {"entries": listed(entries)}
        return await self._line.ask("/v1/reads/last", dict[UUID, datetime], body)

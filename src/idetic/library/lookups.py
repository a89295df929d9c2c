"""Looking entries up by what they carry: a claim's subject, a key of the envelope, their reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.errors import EnvelopeRefused, InputError
from idetic.gateway.binding import require, require_whole_anchor
from idetic.gateway.content import SHORT, check_text, check_uuid
from idetic.library.questions import Questions
from idetic.model import Capability, Claim, Entry
from idetic.spec.primitives import EnvelopeType

MAX_LOOKED_UP = 1_000


class Lookups(Questions):
    """Exact questions, which need no ranking."""

    async def about(self, subjects: Iterable[str]) -> list[Entry]:
        """The current entries whose claim is about one of the subjects, oldest first.

        A subject is compared as claims are: case, width and spacing make no difference.
        """
        require(self._spec, self.scope, Capability.READ)
        wanted = [check_text(s, SHORT, "subject") for s in _few(subjects, "subjects")]
        keys = [Claim(subject, "", "").key[0] for subject in wanted]
        return await self._rooms.entries.about(self.scope, keys) if keys else []

    async def tally(self, key: str, *, where: Mapping[str, Any] | None = None) -> dict[str, int]:
        """The values that a key of the envelope has among current entries, and how often each."""
        require(self._spec, self.scope, Capability.READ)
        declared = self._spec.retrieval.envelope.get(key)
        if declared is None or declared.type is EnvelopeType.LIST:
            raise EnvelopeRefused(
                f"The envelope key {key!r} cannot be tallied.",
                remedy="Name a declared scalar or hierarchy; see `retrieval.envelope` in the spec.",
            )
        return await self._rooms.entries.tally(self.scope, key, self._about(where))

    async def note_read(self, entries: Iterable[UUID]) -> None:
        """Record that entries were put before this scope's principal, as `context` does."""
        require(self._spec, self.scope, Capability.READ)
        require_whole_anchor(self.scope)
        ids = [check_uuid(entry, "entry id") for entry in _few(entries, "entries")]
        await self._rooms.embeddings.read(self.scope, self.place, ids, self._rooms.clock.now())

    async def last_read(self, entries: Iterable[UUID]) -> dict[UUID, datetime]:
        """When each of the entries was last read; one that never was is not in the answer."""
        require(self._spec, self.scope, Capability.READ)
        ids = [check_uuid(entry, "entry id") for entry in _few(entries, "entries")]
        return await self._rooms.entries.last_read(self.scope, ids) if ids else {}


def _few(values: Iterable[Any], what: str) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} is a list.")
    found = list(values)
    if len(found) > MAX_LOOKED_UP:
        raise InputError(f"At most {MAX_LOOKED_UP:,} {what} per call; split them.")
    return found

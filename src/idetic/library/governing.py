"""What a user does where memory ends: erase a person, quarantine a source, let a pattern out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from idetic.erasure import Erased, Subject
from idetic.evidence import Aggregated
from idetic.lifecycle.quarantine import Quarantined, QuarantineRecord
from idetic.model import LedgerRecord, Origin, Principal, Receipt, Scope

if TYPE_CHECKING:
    from idetic.library.handles import Agent


class Governing:
    """The verbs of erasure, quarantine and aggregation, for one agent's memory within one scope."""

    agent: Agent
    scope: Scope

    async def erase(
        self,
        subject: Subject | str | Iterable[str],
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Empty everything that names a subject, and what was made of it; this is for good."""
        return await self.agent.rooms.erasure.erase(
            self.scope, subject, reason=reason, key=idempotency_key
        )

    async def patterns(self, entries: Iterable[UUID], *, reason: str) -> Aggregated:
        """What some entries say without whose they are, for a proposal that leaves this anchor."""
        return await self.agent.rooms.aggregation.patterns(self.scope, entries, reason=reason)

    async def quarantine(
        self,
        *,
        reason: str,
        origin: Origin | None = None,
        created_by: Principal | str | None = None,
        session_id: UUID | None = None,
        since: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Quarantined:
        """Take a source and all that came of it out of recall, in one call that can be undone."""
        source = {
            "origin": origin,
            "created_by": created_by,
            "session_id": session_id,
            "since": since,
        }
        return await self.agent.rooms.quarantine.quarantine(
            self.scope, **source, reason=reason, key=idempotency_key
        )

    async def quarantines(self, *, limit: int = 100) -> list[QuarantineRecord]:
        """What was quarantined, newest first; what was released since says so."""
        return await self.agent.rooms.quarantine.records(self.scope, limit)

    async def release(
        self,
        what: Quarantined | Receipt | LedgerRecord | int,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Put back what a quarantine took out, as it was."""
        return await self.agent.rooms.quarantine.release(
            self.scope, what, reason=reason, key=idempotency_key
        )

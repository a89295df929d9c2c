"""Governance and audit from afar: erase, quarantine, verify, explain, read the spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ActionExplanation, ActionRecord, ReadReceipt
from idetic.audit.findings import Verified
from idetic.client.line import Line, Progress, part
from idetic.erasure import Erased, Subject
from idetic.errors import InputError
from idetic.evidence import Aggregated
from idetic.lifecycle.quarantine import Quarantined, QuarantineRecord
from idetic.model import LedgerRecord, Origin, Principal, Receipt


@dataclass(frozen=True, slots=True)
class ActionPage:
    """One page of actions, and where the next begins."""

    actions: tuple[ActionRecord, ...]
    next_cursor: UUID | None


class RemoteGoverning:
    """The verbs of erasure, quarantine and audit, of a memory that a server holds."""

    _line: Line

    async def erase(
        self,
        subject: Subject | str | Iterable[str],
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Empty everything that names a subject, and what was made of it; this is for good."""
        named = subject if isinstance(subject, Subject) else Subject(subject)
        body = {"identifiers": list(named.identifiers), "reason": reason}
        return await self._line.write("/v1/erasures", Erased, body, idempotency_key)

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
        who = created_by
        if isinstance(who, Principal):
            who = f"{who.kind}:{who.name}"
        body: dict[str, Any] = {"reason": reason, "origin": origin, "created_by": who}
        body |= {"session_id": session_id, "since": since}
        return await self._line.write("/v1/quarantines", Quarantined, body, idempotency_key)

    async def release(
        self,
        what: Quarantined | Receipt | LedgerRecord | int,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Put back what a quarantine took out, as it was."""
        known = what.receipt if isinstance(what, Quarantined) else what
        position = known.position if isinstance(known, Receipt | LedgerRecord) else known
        if type(position) is not int:
            raise InputError("release takes a quarantine, its receipt, or its position.")
        path = f"/v1/quarantines/{position}/release"
        return await self._line.write(path, Receipt, {"reason": reason}, idempotency_key)

    async def quarantines(self, *, limit: int = 100) -> list[QuarantineRecord]:
        """What was quarantined, newest first; what was released since says so."""
        return await self._line.read("/v1/quarantines", list[QuarantineRecord], {"limit": limit})

    async def patterns(self, entries: Iterable[UUID], *, reason: str) -> Aggregated:
        """What some entries say without whose they are, for a proposal that leaves this anchor."""
        body = {"entries": list(entries), "reason": reason}
        return await self._line.do("/v1/patterns", Aggregated, body)

    async def head(self) -> ChainHead:
        """Where the chain of this anchor ends now: keep it elsewhere, for `verify`."""
        return await self._line.read("/v1/chain/head", ChainHead)

    async def verify(
        self, head: ChainHead | None = None, progress: Progress | None = None
    ) -> Verified:
        """Check every link of the chain, its end, and that entries say what they said."""
        body = {"head": None if head is None else head.as_data()}
        return await self._line.follow("/v1/chain/verify", Verified, body, progress)

    async def explain_action(self, action_id: UUID) -> ActionExplanation:
        """What an action rested on, as it stood then, and everything behind that."""
        path = f"/v1/actions/{part(action_id)}/explanation"
        return await self._line.read(path, ActionExplanation)

    async def actions(self, *, limit: int = 100, before: UUID | None = None) -> list[ActionRecord]:
        """The actions that rest on this memory, newest first; `before` is a page's last id."""
        page = await self._line.read("/v1/actions", ActionPage, {"limit": limit, "cursor": before})
        return list(page.actions)

    async def readers(self, entry_id: UUID, *, limit: int = 100) -> list[ReadReceipt]:
        """Who was shown an entry, newest first."""
        path = f"/v1/entries/{part(entry_id)}/readers"
        return await self._line.read(path, list[ReadReceipt], {"limit": limit})

    async def spec(self) -> dict[str, Any]:
        """The spec of the agent whose memory this is, as data."""
        return await self._line.read("/v1/spec", dict[str, Any])

"""Quarantine: a source and all that came of it leave recall; what it displaced comes back.

One transaction and one receipt, so that a release puts it all back as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.errors import InputError
from idetic.gates.gate import Gates
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.lifecycle.rollback import CAUSE, Rollback
from idetic.lifecycle.undoing import QUARANTINED, Undoing
from idetic.model import (
    Capability,
    LedgerRecord,
    Origin,
    Principal,
    Receipt,
    Scope,
)
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.quarantine import Source, Sourcing
from idetic.verbs.arguments import SHORT, check_moment, check_text, check_uuid
from idetic.verbs.authorization import require, require_whole_anchor

MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Quarantined:
    """What a quarantine took out of recall, and what came back in its place.

    `restored` are entries that it had displaced, `demoted` those that were promoted on its word
    alone, `withdrawn` the corroborations it had given to others.
    """

    receipt: Receipt
    entries: tuple[UUID, ...] = ()
    restored: tuple[UUID, ...] = ()
    demoted: tuple[UUID, ...] = ()
    withdrawn: tuple[UUID, ...] = ()

    @classmethod
    def of(cls, receipt: Receipt) -> Quarantined:
        """What a receipt of a quarantine says."""
        return cls(receipt, **_parts(receipt.detail))


@dataclass(frozen=True, slots=True)
class QuarantineRecord:
    """A quarantine as the ledger has it: who took which source out and why, and its release.

    `source` are the parts that were given: origin, created_by, session, since.
    """

    position: int
    at: datetime
    by: str
    reason: str
    source: Mapping[str, str]
    entries: tuple[UUID, ...] = ()
    restored: tuple[UUID, ...] = ()
    demoted: tuple[UUID, ...] = ()
    withdrawn: tuple[UUID, ...] = ()
    released_at: datetime | None = None
    released_by: str | None = None
    released_because: str | None = None

    @property
    def standing(self) -> bool:
        """Whether it still holds."""
        return self.released_at is None


class Quarantine:
    """Takes sources of one agent's memory out of it, and puts them back."""

    def __init__(
        self,
        spec: MemorySpec,
        gateway: Gateway,
        sourcing: Sourcing,
        undoing: Undoing,
        gates: Gates,
        clock: Clock,
    ):
        self._spec = spec
        self._gateway = gateway
        self._sourcing = sourcing
        self._undoing = undoing
        self._gates = gates
        self._clock = clock

    async def quarantine(
        self, scope: Scope, source: Source, *, reason: str, key: str | None
    ) -> Quarantined:
        """Archive what comes from a source, and reverse what it did; all of it or nothing."""
        require(self._spec, scope, Capability.ARCHIVE)
        require_whole_anchor(scope)
        reason = self._gateway.said(reason)
        call = {"verb": CAUSE, "source": _told(source), "reason": reason}
        async with self._sourcing.hold(scope, self._clock.now()) as held:

            async def decide() -> list[Step]:
                work = Rollback(self._spec, self._gates, held, reason)
                await work.run(source)
                return work.decided(_told(source))

            receipt = await self._gateway.settle_once(held, call, key, decide)
        return Quarantined.of(receipt)

    async def records(self, scope: Scope, limit: int) -> list[QuarantineRecord]:
        """What was quarantined, newest first, and what of it was released since."""
        require(self._spec, scope, Capability.READ)
        if type(limit) is not int or not 1 <= limit <= MAX_LISTED:
            raise InputError(f"limit is a whole number from 1 to {MAX_LISTED:,}.")
        async with self._sourcing.look(scope, self._clock.now()) as seen:
            return [_recorded(*row) for row in await seen.quarantines(limit)]

    async def release(
        self,
        scope: Scope,
        what: Quarantined | Receipt | LedgerRecord | int,
        *,
        reason: str,
        key: str | None,
    ) -> Receipt:
        """Put a quarantine back as it was, but for what was erased or went with its scope."""
        require(self._spec, scope, Capability.ARCHIVE)
        receipt = what.receipt if isinstance(what, Quarantined) else what
        return await self._undoing.take_back(scope, receipt, reason, key, of=QUARANTINED)


def source_of(
    origin: Origin | str | None,
    created_by: Principal | str | None,
    session_id: UUID | None,
    since: datetime | None,
) -> Source:
    """A source as it is given, checked; one of the first three must be there."""
    if origin is None and created_by is None and session_id is None:
        raise InputError(
            "A quarantine needs a source.",
            remedy="Give origin=, created_by= or session_id=; since= only narrows it.",
        )
    try:
        wanted = None if origin is None else Origin(origin)
    except ValueError:
        raise InputError(f"origin is one of {', '.join(Origin)}.") from None
    if isinstance(created_by, Principal):
        created_by = f"{created_by.kind}:{created_by.name}"
    check_moment(since, "since")
    return Source(
        wanted,
        None if created_by is None else check_text(created_by, 2 * SHORT, "created_by"),
        None if session_id is None else check_uuid(session_id, "session_id"),
        since,
    )


def _parts(detail: Mapping[str, Any]) -> dict[str, tuple[UUID, ...]]:
    parts = ("entries", "restored", "demoted", "withdrawn")
    return {part: tuple(map(UUID, detail[part])) for part in parts}


def _recorded(
    link: LedgerRecord, at: datetime | None, by: str | None, because: str | None
) -> QuarantineRecord:
    return QuarantineRecord(
        link.position,
        link.at,
        f"{link.actor_kind}:{link.actor}",
        link.reason,
        link.detail["source"],
        **_parts(link.detail),
        released_at=at,
        released_by=by,
        released_because=because,
    )


def _told(source: Source) -> dict[str, Any]:
    """A source for the ledger: no content in it, only where content came from."""
    parts = {
        "origin": None if source.origin is None else source.origin.value,
        "created_by": source.created_by,
        "session": None if source.session_id is None else str(source.session_id),
        "since": None if source.since is None else source.since.isoformat(),
    }
    return {name: value for name, value in parts.items() if value is not None}

"""Quarantine: a source and all that came of it leave recall; what it displaced comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import InputError
from idetic.lifecycle.quarantine_effects import CAUSE, PARTS, QuarantineEffects
from idetic.lifecycle.undo import QUARANTINED, Position, position_of, take_back
from idetic.model import Capability, LedgerRecord, Origin, Principal, Receipt
from idetic.store.quarantine_rows import QuarantineSource, quarantine_links
from idetic.verbs.arguments import SHORT, Limit, Wire, check_text
from idetic.verbs.declaration import get, post, verb

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


def _quarantine_position(what: object) -> int:
    """Where a quarantine stands in the ledger, given as its result or a position."""
    return position_of(what.receipt if isinstance(what, Quarantined) else what)


def _author(created_by: Principal | str | None) -> str | None:
    """A principal as the ledger names it."""
    if isinstance(created_by, Principal):
        return f"{created_by.kind}:{created_by.name}"
    return created_by


QuarantineRef = Annotated[
    Quarantined | Receipt | LedgerRecord | int, Wire("position", Position, _quarantine_position)
]
Author = Annotated[Principal | str | None, Wire("created_by", str | None, _author)]


@verb(
    capability=Capability.ARCHIVE,
    writes=True,
    http=post("/quarantines", "governing"),
    examples=('idetic quarantine --session-id SESSION_ID --reason "poisoned" {scope}',),
)
async def quarantine(
    binding: Binding,
    *,
    reason: str,
    origin: Origin | None = None,
    created_by: Author = None,
    session_id: UUID | None = None,
    since: datetime | None = None,
    idempotency_key: str | None = None,
) -> Quarantined:
    """Take a source and all that came of it out of recall, in one call that can be undone."""
    if origin is None and created_by is None and session_id is None:
        raise InputError(
            "A quarantine needs a source.",
            remedy="Give origin=, created_by= or session_id=; since= only narrows it.",
        )
    author = _author(created_by)
    if author is not None:
        check_text(author, 2 * SHORT, "created_by")
    source = QuarantineSource(origin, author, session_id, since)
    reason = binding.gated_reason(reason)
    call = {"verb": CAUSE, "source": _told(source), "reason": reason}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return Quarantined.of(known)
        effects = QuarantineEffects(binding.engine.gates, tx, reason)
        await effects.run(source)
        steps = effects.decided(_told(source))
        return Quarantined.of(await binding.settle_once(tx, steps, idempotency_key, call))


@verb(capability=Capability.READ, http=get("/quarantines", "governing"))
async def quarantines(binding: Binding, *, limit: Limit = 100) -> list[QuarantineRecord]:
    """List what was quarantined, newest first; what was released since says so."""
    async with binding.look() as tx:
        found = await quarantine_links(tx, limit)
    return [
        QuarantineRecord(
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
        for link, at, by, because in found
    ]


@verb(
    capability=Capability.ARCHIVE,
    writes=True,
    http=post("/quarantines/{position}/release", "governing"),
    examples=('idetic release 42 --reason "it was sound" {scope}',),
)
async def release(
    binding: Binding,
    what: QuarantineRef,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Receipt:
    """Put back what a quarantine took out, as it was."""
    position = _quarantine_position(what)
    return await take_back(binding, position, reason, idempotency_key, of=QUARANTINED)


def _parts(detail: Mapping[str, Any]) -> dict[str, tuple[UUID, ...]]:
    """The ids in a quarantine's ledger link, by what happened to them."""
    return {part: tuple(map(UUID, detail[part])) for part in PARTS}


def _told(source: QuarantineSource) -> dict[str, Any]:
    """A source for the ledger: no content in it, only where content came from."""
    parts = {
        "origin": None if source.origin is None else source.origin.value,
        "created_by": source.created_by,
        "session": None if source.session_id is None else str(source.session_id),
        "since": None if source.since is None else source.since.isoformat(),
    }
    return {name: value for name, value in parts.items() if value is not None}

"""Quarantine: a source and all that came of it leave recall; what it displaced comes back.

One transaction and one receipt, so that a release puts it all back as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import InputError
from idetic.evidence import PromotionGate
from idetic.gates.gate import Gates
from idetic.ids import uuid7
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import (
    SupportedEntry,
    beside,
    policy_of,
    supported_entries,
)
from idetic.lifecycle.undo import (
    QUARANTINED,
    WITHDRAWN,
    Position,
    columns_before,
    is_unchanged,
    position_of,
    take_back,
)
from idetic.model import (
    Capability,
    Decision,
    Entry,
    EntryState,
    LedgerRecord,
    Origin,
    Principal,
    Receipt,
    Tier,
)
from idetic.spec.primitives import Boundary
from idetic.spec.typology import ArchiveCause
from idetic.store import quarantine_rows
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.quarantine_rows import QuarantineSource, quarantine_links
from idetic.store.steps import LinkStep, TurnStep, WithdrawStep
from idetic.verbs.arguments import SHORT, Limit, Wire, check_text
from idetic.verbs.declaration import get, post, verb

CAUSE = "quarantine"
PARTS = ("entries", "restored", "demoted", "withdrawn")
_GONE = (EntryState.SUPERSEDED, EntryState.INVALIDATED)
_COUNTED = (PromotionGate.CORROBORATION, PromotionGate.CROSS_CONTEXT)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """The result of a quarantine: what left recall, and what returned to it.

    `restored` are entries that the source had displaced, `demoted` entries that were promoted only
    because of it, and `withdrawn` its corroborations of other entries.
    """

    receipt: Receipt
    entries: tuple[UUID, ...] = ()
    restored: tuple[UUID, ...] = ()
    demoted: tuple[UUID, ...] = ()
    withdrawn: tuple[UUID, ...] = ()

    @classmethod
    def of(cls, receipt: Receipt) -> Quarantined:
        """Read the result of a quarantine from its receipt."""
        return cls(receipt, **_parts(receipt.detail))


@dataclass(frozen=True, slots=True)
class QuarantineRecord:
    """A quarantine from the ledger: who quarantined which source and why, and its release.

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
        """Whether the quarantine is still in effect."""
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
    """Take a source's entries, and all that was made from them, out of recall; can be undone."""
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
    """List quarantines, newest first, released ones included."""
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
    """End a quarantine: put its entries back as they were."""
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


# --- what it does: which entries go, what comes back, what no longer counts ----------------------


@dataclass(slots=True)
class QuarantineEffects:
    """One quarantine, as it is decided."""

    gates: Gates
    tx: AnchorTransaction
    reason: str
    receipt: UUID = field(default_factory=uuid7)
    steps: list[LinkStep] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=lambda: {part: [] for part in PARTS})
    now: dict[UUID, Entry] = field(default_factory=dict)

    async def run(self, source: QuarantineSource) -> None:
        """Everything of it, in an order that can be reversed."""
        own = await quarantine_rows.sourced(self.tx, source)
        await self._read(own)
        for entry in [e for e in self.now.values() if e.state is EntryState.CURRENT]:
            self._turn(entry, {"archived_at": self.tx.at}, "archived", "entries")
        shaken = await self._withdraw(source, own)
        await self._demote(shaken, own)
        await self._restore(own)
        await self._heal(source, own)

    def decided(self, source: dict[str, Any]) -> list[LinkStep]:
        """The steps, behind one link that says what it was about and how much it did."""
        told = {"source": source, "links": len(self.steps) + 1, **self.told}
        decision = Decision.UPDATE if self.steps else Decision.NOOP
        why = self.reason if self.steps else "nothing found"
        first = LinkStep(QUARANTINED, why, decision=decision, receipt=self.receipt, detail=told)
        return [first, *self.steps]

    async def _read(self, ids: Iterable[UUID]) -> None:
        """Read entries not read yet; those turned here stay as this quarantine has them."""
        for stored in await self.tx.stored(one for one in ids if one not in self.now):
            self.now[stored.id] = stored.entry

    async def _withdraw(self, source: QuarantineSource, own: set[UUID]) -> set[UUID]:
        """What the source said for others no longer counts."""
        found = await quarantine_rows.vouched(self.tx, source, own)
        await self._read(entry_id for _, entry_id in found)
        for row_id, entry_id in found:
            entry, told = self.now[entry_id], {"cause": CAUSE}
            self.steps.append(
                WithdrawStep(WITHDRAWN, self.reason, row_id, entry=entry, receipt=self.receipt,
                             detail=told)
            )  # fmt: skip
            self.told["withdrawn"].append(str(row_id))
        return {entry_id for _, entry_id in found}

    async def _demote(self, shaken: set[UUID], own: set[UUID]) -> None:
        """Promotions that the gates would not pass without what was withdrawn."""
        here = [one for one in shaken if self.now[one].state is EntryState.CURRENT]
        links = await quarantine_rows.last_links(self.tx, here, "promoted")
        for supported in await supported_entries(self.tx, await self.tx.stored(links)):
            if self.now[supported.id].candidate or await self._holds(supported, own):
                continue
            for link in reversed(await self.tx.links(links[supported.id].position)):
                part = "demoted" if link.entry_id == supported.id else "restored"
                await self._reverse(link, own, part)

    async def _holds(self, supported: SupportedEntry, own: set[UUID]) -> bool:
        """Whether a promotion would still pass without what the quarantined source said for it."""
        gone = set(self.told["withdrawn"])
        about = [one for one in await beside(self.tx, supported) if one.id not in own]
        for one in (supported, *about):
            one.sources = [s for s in one.sources if str(s.id) not in gone]
        pipeline = self.gates.at(Boundary.PROMOTION)
        found = PromotionPass(self.tx.spec, pipeline, self.tx.at).gates(supported, about)
        # Sources went, so only the gates that count them are asked again.
        return all(gate.passed for gate in found if gate.gate in _COUNTED)

    async def _restore(self, own: set[UUID]) -> None:
        """What gave way to the source comes back, through any number of its own statements."""
        ends = {one for one in own if (e := self.now.get(one)) and e.state not in _GONE}
        ends |= {UUID(one) for one in self.told["entries"]}
        seen: set[UUID] = set()
        while ends:
            seen |= ends
            links = await quarantine_rows.replaced(self.tx, ends)
            await self._read(link.entry_id for link in links if link.entry_id)
            ends = {link.entry_id for link in links if link.entry_id in own} - seen - {None}
            for link in reversed(links):
                await self._reverse(link, own, "restored")

    async def _heal(self, source: QuarantineSource, own: set[UUID]) -> None:
        """What was archived because sources said otherwise, and too few others did."""
        against = await quarantine_rows.opposed(self.tx, source, own)
        links = await quarantine_rows.last_links(self.tx, against, "archived")
        cause = ArchiveCause.FAILED_CORROBORATIONS.value
        worn = {one: link for one, link in links.items() if link.detail.get("cause") == cause}
        await self._read(worn)
        failures = await self.tx.failures(worn)
        for entry_id, link in worn.items():
            typology = self.now[entry_id].typology
            policy = self.tx.spec.lifecycle_of(Tier.PERSISTENT, typology)
            said = failures.get(entry_id, {}).items()
            left = [voice for one, voice in said if one not in against[entry_id]]
            if policy_of(self.tx.spec).independence.counted(left) < policy.failed_corroborations:
                await self._reverse(link, own, "restored")

    async def _reverse(self, link: LedgerRecord, own: set[UUID], part: str) -> None:
        """Undo one link, if its entry is no part of the source and has not changed since."""
        if link.entry_id is None or link.entry_id in own or link.decision is Decision.NOOP:
            return
        await self._read([link.entry_id])
        entry = self.now.get(link.entry_id)
        if entry is None or not is_unchanged(entry, link):
            return
        if link.state_from is None:
            self._turn(entry, {"archived_at": self.tx.at}, "undone", part)
        elif "was" in link.detail or link.transition == "superseded":
            self._turn(entry, columns_before(link), "undone", part)

    def _turn(self, entry: Entry, changes: dict[str, Any], transition: str, part: str) -> None:
        """Add the step that turns an entry, and go on with the entry as it is after it."""
        told = {"cause": CAUSE}
        step = TurnStep(
            transition, self.reason, changes, entry=entry, receipt=self.receipt, detail=told
        )
        self.now[entry.id] = step.after
        self.steps.append(step)
        self.told[part].append(str(entry.id))

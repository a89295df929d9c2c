"""What taking a source out of memory does: what goes, what comes back, what no longer counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from idetic.evidence import PromotionGate
from idetic.gates.gate import Gates
from idetic.gateway import steps
from idetic.gateway.steps import Step, state_of
from idetic.ids import uuid7
from idetic.lifecycle import reversal
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.subject import Subject
from idetic.lifecycle.undoing import QUARANTINED, WITHDRAWN
from idetic.lifecycle.weighing import Weighing
from idetic.model import Decision, Entry, EntryState, LedgerRecord, Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import ArchiveCause
from idetic.store.known import Known
from idetic.store.quarantine import Source, Sourced

CAUSE = "quarantine"
_GONE = (EntryState.SUPERSEDED, EntryState.INVALIDATED)
_COUNTED = (PromotionGate.CORROBORATION, PromotionGate.CROSS_CONTEXT)


@dataclass(slots=True)
class Rollback:
    """One quarantine, as it is decided."""

    spec: MemorySpec
    gates: Gates
    held: Sourced
    reason: str
    receipt: UUID = field(default_factory=uuid7)
    steps: list[Step] = field(default_factory=list)
    told: dict[str, list[str]] = field(
        default_factory=lambda: {k: [] for k in ("entries", "restored", "demoted", "withdrawn")}
    )
    now: dict[UUID, Entry] = field(default_factory=dict)

    async def run(self, source: Source) -> None:
        """Everything of it, in an order that can be reversed."""
        own = await self.held.sourced(source)
        await self._read(own)
        for entry in [e for e in self.now.values() if e.state is EntryState.CURRENT]:
            self._turn(entry, {"archived_at": self.held.at}, "archived", "entries")
        shaken = await self._withdraw(source, own)
        await self._demote(shaken, own)
        await self._restore(own)
        await self._heal(source, own)

    def decided(self, source: dict[str, Any]) -> list[Step]:
        """The steps, behind one link that says what it was about and how much it did."""
        told = {"source": source, "links": len(self.steps) + 1, **self.told}
        decision = Decision.UPDATE if self.steps else Decision.NOOP
        why = self.reason if self.steps else "nothing found"
        first = steps.link(QUARANTINED, decision, why, receipt=self.receipt, detail=told)
        return [first, *self.steps]

    async def _read(self, ids: Iterable[UUID]) -> None:
        wanted = [one for one in ids if one not in self.now]
        if wanted:
            for known in await self.held.known("named", ids=wanted):
                self.now[known.id] = known.entry

    async def _withdraw(self, source: Source, own: set[UUID]) -> set[UUID]:
        """What the source said for others no longer counts."""
        found = await self.held.vouched(source, own)
        await self._read(entry_id for _, entry_id in found)
        for row_id, entry_id in found:
            step = steps.link(
                WITHDRAWN, Decision.UPDATE, self.reason, entry=self.now[entry_id],
                receipt=self.receipt, detail={"corroboration": str(row_id), "cause": CAUSE},
            )  # fmt: skip
            self.steps.append(step | {"op": "withdraw", "row_id": str(row_id)})
            self.told["withdrawn"].append(str(row_id))
        return {entry_id for _, entry_id in found}

    async def _demote(self, shaken: set[UUID], own: set[UUID]) -> None:
        """Promotions that the gates would not pass without what was withdrawn."""
        here = [one for one in shaken if self.now[one].state is EntryState.CURRENT]
        links = await self.held.turned(here, "promoted") if here else {}
        reader = Reader(self.spec, self.held, None)
        for subject in await reader.subjects(await self._known(links)):
            if self.now[subject.id].candidate or await self._holds(reader, subject, own):
                continue
            for link in reversed(await self.held.links(links[subject.id].position)):
                await self._reverse(
                    link, own, "demoted" if link.entry_id == subject.id else "restored"
                )

    async def _known(self, ids: Iterable[UUID]) -> list[Known]:
        wanted = list(ids)
        return await self.held.known("named", ids=wanted) if wanted else []

    async def _holds(self, reader: Reader, subject: Subject, own: set[UUID]) -> bool:
        gone = set(self.told["withdrawn"])
        about = [one for one in await reader.beside(subject) if one.id not in own]
        for one in (subject, *about):
            one.sources = [s for s in one.sources if str(s.id) not in gone]
        pipeline = self.gates.at(Boundary.PROMOTION)
        found = Weighing(self.spec, pipeline, self.held.at, "").gates(subject, about)
        return all(gate.passed for gate in found if gate.gate in _COUNTED)

    async def _restore(self, own: set[UUID]) -> None:
        """What gave way to the source comes back, through any number of its own statements."""
        ends = {one for one in own if (e := self.now.get(one)) and e.state not in _GONE}
        ends |= {UUID(one) for one in self.told["entries"]}
        seen: set[UUID] = set()
        while ends:
            seen |= ends
            links = await self.held.replaced(ends)
            await self._read(link.entry_id for link in links if link.entry_id)
            ends = {link.entry_id for link in links if link.entry_id in own} - seen - {None}
            for link in reversed(links):
                await self._reverse(link, own, "restored")

    async def _heal(self, source: Source, own: set[UUID]) -> None:
        """What was archived because sources said otherwise, and too few others did."""
        against = await self.held.opposed(source, own)
        links = await self.held.turned(against, "archived") if against else {}
        cause = ArchiveCause.FAILED_CORROBORATIONS.value
        worn = {one: link for one, link in links.items() if link.detail.get("cause") == cause}
        await self._read(worn)
        failures = await self.held.failures(worn)
        for entry_id, link in worn.items():
            policy = self.spec.lifecycle_of(Tier.PERSISTENT, self.now[entry_id].typology)
            left = failures.get(entry_id, set()) - against[entry_id]
            if len(left) < policy.failed_corroborations:
                await self._reverse(link, own, "restored")

    async def _reverse(self, link: LedgerRecord, own: set[UUID], part: str) -> None:
        """Turn one link round, if its entry is no part of the source and still as it left it."""
        if link.entry_id is None or link.entry_id in own or link.decision is Decision.NOOP:
            return
        await self._read([link.entry_id])
        entry = self.now.get(link.entry_id)
        if entry is None or not reversal.stands(entry, link):
            return
        if link.state_from is None:
            changes: dict[str, Any] = {"archived_at": self.held.at}
        elif "was" in link.detail or link.transition == "superseded":
            changes = reversal.was(link)
        else:
            return
        self._turn(entry, changes, "undone", part)

    def _turn(self, entry: Entry, changes: dict[str, Any], transition: str, part: str) -> None:
        after = replace(entry, **changes)
        self.now[entry.id] = after
        self.steps.append(
            steps.turn(entry, changes, transition, self.reason, to=state_of(after),
                       receipt=self.receipt, detail={"cause": CAUSE})
        )  # fmt: skip
        self.told[part].append(str(entry.id))

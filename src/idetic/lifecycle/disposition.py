"""Disposition: what time puts before somebody, and what they may decide, one or many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from idetic.errors import EntryNotFound, InputError, TransitionRefused
from idetic.evidence import Corroboration, Disposition, Outcome, SourceType
from idetic.gates.gate import Gates
from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.lifecycle import conflict
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.subject import Subject
from idetic.lifecycle.weighing import Weighing
from idetic.model import Capability, Decision, Receipt, Scope, Tier, Typology
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import require, require_whole_anchor

MAX_BULK = 1_000
_NEEDS = {
    Outcome.PROMOTE: Capability.PROMOTE,
    Outcome.RECORROBORATE: Capability.CORROBORATE,
    Outcome.EXEMPT: Capability.EXEMPT,
    Outcome.ARCHIVE: Capability.ARCHIVE,
}


class Dispositions:
    """The forcing function of one agent: a queue, and the four ways out of it."""

    def __init__(
        self, spec: MemorySpec, gateway: Gateway, holding: Holding, gates: Gates, clock: Clock
    ):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._gates = gates
        self._clock = clock

    async def queue(self, scope: Scope, limit: int) -> list[Disposition]:
        """What is due now, the hardest pressed first."""
        require(self._spec, scope, Capability.READ)
        if type(limit) is not int or not 1 <= limit <= MAX_BULK:
            raise InputError(f"limit is a whole number from 1 to {MAX_BULK:,}.")
        return await self._holding.due(scope, self._clock.now(), limit)

    async def mark(self, scope: Scope, limit: int = MAX_BULK) -> int:
        """Say in the history of each entry that fell due that it did; how many did."""
        require(self._spec, scope, Capability.MAINTAIN)
        require_whole_anchor(scope)
        async with self._holding.hold(scope, self._clock.now()) as held:
            ids = await held.due_unmarked(limit)
            known = await held.known("named", ids=ids) if ids else []
            made = [
                steps.link("disposition_due", Decision.NOOP, "it waits for a disposition",
                           entry=one.entry)
                for one in known
            ]  # fmt: skip
            await self._gateway.settle(held, made)
            return len(made)

    async def dispose(
        self, scope: Scope, entries: Iterable[UUID], outcome: Outcome, *, reason: str
    ) -> list[Receipt]:
        """Decide about entries, all of them or none; each gets a receipt of its own."""
        chosen = _outcome(outcome)
        require(self._spec, scope, _NEEDS[chosen])
        require_whole_anchor(scope)
        reason = self._gateway.said(reason)
        ids = _ids(entries)
        async with self._holding.hold(scope, self._clock.now()) as held:
            known = {one.id: one for one in await held.known("named", ids=ids)}
            missing = [one for one in ids if one not in known]
            if missing:
                raise EntryNotFound(f"There is no entry {missing[0]} in this scope.")
            subjects = await Reader(self._spec, held, None).subjects([known[one] for one in ids])
            # What one decision of this call does to an entry, the next one sees.
            seen = {subject.id: subject for subject in subjects}
            made: list[Step] = []
            for subject in subjects:
                made += await self._one(held, subject, chosen, reason, seen)
            receipts = await self._gateway.settle(held, made)
            return _first_of_each(ids, receipts)

    async def _one(
        self, held: Held, subject: Subject, outcome: Outcome, reason: str, seen: dict[UUID, Subject]
    ) -> list[Step]:
        entry = subject.entry
        if entry.tier is not Tier.PERSISTENT or entry.state.value != "current":
            raise TransitionRefused(
                f"Entry {entry.id} is {entry.state} at the {entry.tier} tier.",
                remedy="Only current persistent entries are disposed of.",
            )
        if outcome is Outcome.ARCHIVE:
            return [steps.turn(entry, {"archived_at": held.at}, "archived", reason, to="archived",
                               detail={"cause": "disposition"})]  # fmt: skip
        if outcome is Outcome.EXEMPT:
            return [steps.turn(entry, {"exempt_at": held.at}, "exempted", reason,
                               to=steps.state_of(entry))]  # fmt: skip
        if outcome is Outcome.RECORROBORATE:
            return self._confirm(held, subject, reason)
        return await self._promote(held, subject, reason, seen)

    def _confirm(self, held: Held, subject: Subject, reason: str) -> list[Step]:
        if not self._spec.references.corroborations:
            raise TransitionRefused(
                f"{self._spec.title} keeps no corroborations.",
                remedy="Exempt the entry, or archive it.",
            )
        who = held.scope.principal
        found = Corroboration(
            uuid7(), SourceType.OPERATOR_INPUT, uuid7(), held.at, f"{who.kind}:{who.name}",
            who.origin, notes=reason,
        )  # fmt: skip
        return [steps.corroborate(subject.entry, found, reason)]

    async def _promote(
        self, held: Held, subject: Subject, reason: str, seen: dict[UUID, Subject]
    ) -> list[Step]:
        """An operator's word stands for the gates; the link still says what each of them saw."""
        entry = subject.entry
        if not entry.candidate and entry.typology is not Typology.EPISODIC:
            raise TransitionRefused(
                f"Entry {entry.id} is no candidate; there is nothing to promote it to.",
                remedy="Recorroborate it, exempt it, or archive it.",
            )
        beside = await Reader(self._spec, held, None).beside(subject)
        about = [seen.setdefault(one.id, one) for one in beside]
        if any(conflict.twin(one, subject) for one in about):
            raise TransitionRefused(
                f"Another entry states what {entry.id} does.",
                remedy="Archive the candidate, or archive the other one first.",
            )
        who = held.scope.principal
        work = Weighing(
            self._spec, self._gates.at(Boundary.PROMOTION), held.at, f"{who.kind}:{who.name}"
        )
        work.weigh(subject, about, forced=reason)
        if entry.candidate and self._spec.references.corroborations:
            # The word is a source too; without it the fact could be due again the same day.
            return work.steps + self._confirm(held, subject, reason)
        return work.steps


def _outcome(value: Any) -> Outcome:
    try:
        return Outcome(value)
    except ValueError:
        raise InputError(f"outcome is one of {', '.join(Outcome)}.") from None


def _ids(entries: Any) -> list[UUID]:
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        raise InputError("entries is a list of entry ids.")
    ids = list(dict.fromkeys(check_uuid(one, "entry id") for one in entries))
    if not 0 < len(ids) <= MAX_BULK:
        raise InputError(f"One call disposes of 1 to {MAX_BULK:,} entries.")
    return ids


def _first_of_each(ids: Sequence[UUID], receipts: Sequence[Receipt]) -> list[Receipt]:
    first: dict[UUID, Receipt] = {}
    for receipt in receipts:
        if receipt.entry_id is not None:
            first.setdefault(receipt.entry_id, receipt)
    # A promoted episode's receipt is that of the fact it became; the episode's own is its archive.
    return [first[one] for one in ids]

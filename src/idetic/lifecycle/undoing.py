"""Undo: an automatic decision, or a verb, taken back; the ledger keeps both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from idetic.errors import InputError, NotFound, TransitionRefused
from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step, state_of
from idetic.ids import uuid7
from idetic.lifecycle import resolutions, reversal
from idetic.model import Capability, Decision, Entry, EntryState, LedgerRecord, Receipt, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.known import Known
from idetic.verbs.authorization import require, require_whole_anchor

QUARANTINED = "quarantined"
WITHDRAWN = "corroboration_withdrawn"
_ADDED = ("proposed", "promoted", "compounded", "merged", "preferred")


class Undoing:
    """Takes decisions of one agent back."""

    def __init__(self, spec: MemorySpec, gateway: Gateway, holding: Holding, clock: Clock):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._clock = clock

    async def undo(
        self, scope: Scope, what: Receipt | LedgerRecord | int, *, reason: str, key: str | None
    ) -> Receipt:
        """Put back what one decision changed, if nothing has built on it since."""
        require(self._spec, scope, Capability.UNDO)
        return await self.take_back(scope, what, reason, key)

    async def take_back(
        self,
        scope: Scope,
        what: Receipt | LedgerRecord | int,
        reason: str,
        key: str | None,
        *,
        of: str | None = None,
    ) -> Receipt:
        """The same for a verb with a right of its own, which takes back one kind of decision."""
        require_whole_anchor(scope)
        position = _position(what)
        reason = self._gateway.said(reason)
        call = {"verb": "undo", "position": position, "reason": reason}
        async with self._holding.hold(scope, self._clock.now()) as held:

            async def decide() -> list[Step]:
                links = await held.links(position)
                if not links or of not in (None, links[0].transition):
                    raise NotFound("There is no such receipt in this scope.")
                return await self._reverse(held, links, reason)

            return await self._gateway.settle_once(held, call, key, decide)

    async def _reverse(self, held: Held, links: list[LedgerRecord], reason: str) -> list[Step]:
        ids = {link.entry_id for link in links if link.entry_id is not None}
        known = {one.id: one for one in await held.known("named", ids=list(ids))} if ids else {}
        # What has gone from a quarantine since does not keep the rest of it in there.
        if links[0].transition == QUARANTINED:
            known = {one.id: one for one in known.values() if _there(one.entry)}
            links = [link for link in links if link.entry_id is None or link.entry_id in known]
        if any(one.entry.deleted_at and not one.entry.body_text for one in known.values()):
            raise TransitionRefused(
                "What was disposed of cannot come back: its content is not kept.",
                remedy="The history of the entry says when its grace was over.",
            )
        await self._check_withdrawn(held, links)
        made: list[Step] = []
        # One receipt for all of it, so that an undo is undone as a whole too.
        receipt, told = str(uuid7()), {"undone": links[0].position}
        for link in reversed(links):
            entry_id = link.entry_id
            if entry_id is None or link.decision in (Decision.NOOP, Decision.REJECT):
                continue
            if entry_id not in known:
                raise TransitionRefused(
                    "What went with its scope cannot come back: its content is not kept.",
                    remedy="The history of the entry names what it went into.",
                )
            step, after = await self._back(held, link, known[entry_id].entry, reason, told)
            made.append(step | {"receipt": receipt})
            known[entry_id] = replace(known[entry_id], entry=after)
        if not made:
            raise TransitionRefused(
                "This decision changed nothing, so there is nothing to undo.",
                remedy="See the entry's history for the decision you mean.",
            )
        await self._check_claims(held, list(known.values()))
        return made

    async def _back(
        self, held: Held, link: LedgerRecord, entry: Entry, reason: str, told: dict[str, Any]
    ) -> tuple[Step, Entry]:
        """One link's opposite, and the entry as it then stands."""
        if resolutions.concerns(link):
            return await resolutions.back(self._spec, held, link, entry, reason, told), entry
        if link.transition == "corroborated":
            reversal.check(entry, link, {})
            row_id = link.detail["corroboration"]
            more = told | {"corroboration": row_id}
            step = steps.link("undone", Decision.UPDATE, reason, entry=entry, detail=more)
            return step | {"op": "withdraw", "row_id": row_id}, entry
        if link.transition == WITHDRAWN:
            reversal.check(entry, link, {})
            more = told | {"corroboration": link.detail["corroboration"]}
            step = steps.link("undone", Decision.UPDATE, reason, entry=entry, detail=more)
            return step | {"op": "reinstate", "row_id": more["corroboration"]}, entry
        if link.transition in _ADDED and link.state_from is None:
            changes: dict[str, Any] = {"archived_at": held.at}
            reversal.check(entry, link, {})
        else:
            changes = reversal.was(link)
            reversal.check(entry, link, link.detail.get("set", {}))
        after = replace(entry, **changes)
        step = steps.turn(
            entry, changes, "undone", reason, to=state_of(after), detail=told
        )  # fmt: skip
        return step, after

    async def _check_withdrawn(self, held: Held, links: list[LedgerRecord]) -> None:
        """A corroboration is withdrawn once, and the time of it stays."""
        rows = {link.detail["corroboration"] for link in links if link.transition == "corroborated"
                and link.decision is not Decision.NOOP}  # fmt: skip
        found = await held.corroborations({link.entry_id for link in links if link.entry_id})
        for one in (one for many in found.values() for one in many):
            if str(one.id) in rows and one.withdrawn_at is not None:
                raise TransitionRefused(
                    "This corroboration was withdrawn already.",
                    remedy="See the entry's history for the decision you mean.",
                )

    async def _check_claims(self, held: Held, known: list[Known]) -> None:
        """Two current statements of one claim would be a conflict that nobody resolved."""
        claims = [k.entry.claim for k in known if k.entry.claim and _stands(k.entry)]
        if not claims:
            return
        subjects, attributes = map(list, zip(*(c.key for c in claims), strict=True))
        after = {k.id: k.entry for k in known}
        found = await held.known("claimed", subjects=subjects, attributes=attributes)
        entries = [after.get(k.id, k.entry) for k in found] + list(after.values())
        standing: dict[Any, set[UUID]] = {}
        for entry in entries:
            if entry.claim and _stands(entry) and entry.tier.value == "persistent":
                at = (*entry.claim.key, entry.typology)
                standing.setdefault(at, set()).add(entry.id)
        if any(len(ids) > 1 for ids in standing.values()):
            raise TransitionRefused(
                "Another value of the same claim holds by now.",
                remedy="Archive it first, or undo the decision that brought it.",
            )


def _position(what: object) -> int:
    if isinstance(what, Receipt | LedgerRecord):
        return what.position
    if type(what) is int and what > 0:
        return what
    raise InputError("undo takes a receipt, a record of a history, or its position.")


def _there(entry: Entry) -> bool:
    return bool(entry.body_text) or entry.deleted_at is None


def _stands(entry: Entry) -> bool:
    return entry.state is EntryState.CURRENT and not entry.candidate

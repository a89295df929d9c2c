"""The gateway: the only write path. It enforces the spec, then hands over to the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from uuid import UUID

from idetic.errors import IdempotencyConflict, IdeticError, InputError, WritePolicyRefused
from idetic.gates.gate import Gates
from idetic.gateway.echoes import EchoCheck
from idetic.gateway.items import ItemMaker, with_key
from idetic.gateway.refusals import passed
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.model import (
    Capability,
    Observation,
    Place,
    Receipt,
    Scope,
    Tier,
    Typology,
)
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.store.held import Held
from idetic.store.writes import Item, Unjudged, Writes
from idetic.telemetry import Metric, Name, count, recording, traced
from idetic.verbs.arguments import SHORT, check_text, check_uuid
from idetic.verbs.authorization import require, require_whole_anchor

MAX_BATCH = 10_000
Decide = Callable[[], Awaitable[Sequence[Step]]]
MAX_LINKED = 1_000
# The transitions by which an entry moves up.
_UPWARD = frozenset({"proposed", "promoted", "meta_promoted"})


class Gateway:
    """Every write of one agent. Policy first, then one transaction, then a receipt."""

    def __init__(
        self,
        spec: MemorySpec,
        version: int,
        writes: Writes,
        echoes: EchoCheck,
        gates: Gates,
        clock: Clock,
    ):
        self._spec = spec
        self._echoes = echoes
        self._gates = gates
        self._version = version
        self._writes = writes
        self._clock = clock

    async def observe(
        self, scope: Scope, place: Place, seen: Observation, typology: Typology
    ) -> Receipt:
        """Write one observation. A refusal by the guard is an error that carries its receipt."""
        (receipt,) = await self.observe_many(scope, place, [seen], typology)
        return passed(receipt)

    @traced("observe")
    async def observe_many(
        self, scope: Scope, place: Place, seen: Sequence[Observation], typology: Typology
    ) -> list[Receipt]:
        """Write many observations in one transaction; refusals come back as REJECT receipts."""
        require(self._spec, scope, Capability.OBSERVE)
        self._check_cell(place.tier, typology, WriteMode.AUTOMATIC)
        return await self._admit(scope, place, seen, typology, "observed")

    @traced("prefer")
    async def prefer(self, scope: Scope, place: Place, stated: Observation) -> Receipt:
        """State a preference; it supersedes the one with the same claim key."""
        (receipt,) = await self.prefer_many(scope, place, [stated])
        return passed(receipt)

    async def prefer_many(
        self, scope: Scope, place: Place, stated: Sequence[Observation]
    ) -> list[Receipt]:
        """State many preferences in one transaction; refusals come back as REJECT receipts."""
        require(self._spec, scope, Capability.PREFER)
        self._check_cell(Tier.PERSISTENT, Typology.PROCEDURAL, WriteMode.EXPLICIT)
        return await self._admit(
            scope, Place(place.session_id), stated, Typology.PROCEDURAL, "preferred",
            tier=Tier.PERSISTENT,
        )  # fmt: skip

    async def _admit(
        self,
        scope: Scope,
        place: Place,
        seen: Sequence[Observation],
        typology: Typology,
        transition: str,
        *,
        tier: Tier | None = None,
    ) -> list[Receipt]:
        require_whole_anchor(scope)
        if len(seen) > MAX_BATCH:
            raise InputError(f"At most {MAX_BATCH:,} observations per call; split them.")
        maker = self._maker(scope, tier or place.tier, typology, transition)
        admitted = await self._told_apart(scope, place, (maker.make(item) for item in seen))
        return [_replayed(receipt, item["receipt"]) for item, receipt in admitted]

    async def _told_apart(
        self, scope: Scope, place: Place, items: Iterator[Item]
    ) -> list[tuple[Item, Receipt]]:
        """Admit; in a session that was shown entries, only once echoes are told apart.

        The database says when that is needed, so a session that was shown nothing pays nothing.
        """
        made: list[Item] = []
        try:
            return await self._writes.admit(
                scope, place, self._clock.now(), self._version, _kept(items, made)
            )
        except Unjudged:
            judged = await self._echoes.judge(scope, place, chain(made, items))
            return await self._writes.admit(scope, place, self._clock.now(), self._version, judged)

    def check(self, scope: Scope, tier: Tier, seen: Observation, typology: Typology) -> None:
        """Raise what observing this would raise before the database is asked."""
        require(self._spec, scope, Capability.OBSERVE)
        self._check_cell(tier, typology, WriteMode.AUTOMATIC)
        require_whole_anchor(scope)
        self._maker(scope, tier, typology, "observed").make(seen)

    @traced("adopt")
    async def adopt(
        self, scope: Scope, place: Place, seen: Sequence[Observation], *, write: bool
    ) -> list[Receipt | IdeticError | None]:
        """Take in what another store remembered, each on its own: a receipt, or why not.

        Without `write` only what needs no database is checked, and None stands for "would go on".
        """
        require(self._spec, scope, Capability.IMPORT)
        require_whole_anchor(scope)
        self._check_cell(place.tier, Typology.EPISODIC, WriteMode.AUTOMATIC)
        maker = self._maker(scope, place.tier, Typology.EPISODIC, "imported")
        made = [_tried(maker, one) for one in seen]
        items = [item for item in made if not isinstance(item, IdeticError)]
        if not write or not items:
            return [item if isinstance(item, IdeticError) else None for item in made]
        answers = iter(await self._adopt(scope, place, items))
        return [item if isinstance(item, IdeticError) else next(answers) for item in made]

    async def _adopt(
        self, scope: Scope, place: Place, items: Sequence[Item]
    ) -> list[Receipt | IdeticError]:
        """All at once; one by one where a key was used for something else, to find out which."""
        try:
            admitted = await self._told_apart(scope, place, iter(items))
        except IdempotencyConflict as error:
            if len(items) == 1:
                return [error]
            return [(await self._adopt(scope, place, [item]))[0] for item in items]
        return [_replayed(receipt, item["receipt"]) for item, receipt in admitted]

    def _maker(self, scope: Scope, tier: Tier, typology: Typology, transition: str) -> ItemMaker:
        ingest = self._gates.at(Boundary.INGEST)
        return ItemMaker(self._spec, scope, tier, typology, transition, ingest)

    def _check_cell(self, tier: Tier, typology: Typology, mode: WriteMode) -> None:
        if typology not in self._spec.typology.at(tier):
            mix = ", ".join(self._spec.typology.at(tier)) or "nothing"
            raise WritePolicyRefused(
                f"{self._spec.title} holds no {typology} memory at the {tier} tier.",
                remedy=f"That tier holds: {mix}. See primitive 2 in `idetic spec render`.",
            )
        if self._spec.writes_of(tier, typology).mode is not mode:
            raise WritePolicyRefused(
                f"{typology.capitalize()} memory at the {tier} tier is not written this way.",
                remedy=_HOW[self._spec.writes_of(tier, typology).mode],
            )

    @traced("link_action")
    async def link_action(
        self,
        scope: Scope,
        action_id: UUID,
        kind: str,
        entries: Iterable[UUID],
        *,
        reason: str,
        key: str | None,
    ) -> Receipt:
        """Record that an action rested on entries; they cannot go from beneath it."""
        require(self._spec, scope, Capability.LINK_ACTION)
        if kind not in self._spec.audit.action_kinds:
            raise InputError(
                f"{kind!r} is not an action kind of {self._spec.agent}.",
                remedy=f"Declared under `audit`: {', '.join(self._spec.audit.action_kinds)}.",
            )
        if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
            raise InputError("entries is a list of entry ids.")
        memories = sorted({str(check_uuid(entry, "entry id")) for entry in entries})
        if not 0 < len(memories) <= MAX_LINKED:
            raise InputError(f"An action rests on 1 to {MAX_LINKED:,} entries.")
        call: dict[str, Any] = {"action": str(check_uuid(action_id, "action_id")), "kind": kind}
        call |= {"memories": memories, "reason": self.said(reason)}
        return await self._one(scope, "link_action", call, key)

    @traced("archive")
    async def archive(
        self, scope: Scope, entry_id: UUID, *, reason: str, key: str | None
    ) -> Receipt:
        """Take an entry out of the current view; the row and its history stay."""
        require(self._spec, scope, Capability.ARCHIVE)
        return await self._turn(scope, "archive", entry_id, reason, key)

    @traced("exempt")
    async def exempt(
        self, scope: Scope, entry_id: UUID, *, reason: str, key: str | None
    ) -> Receipt:
        """Mark an entry exempt from decay and disposition."""
        require(self._spec, scope, Capability.EXEMPT)
        return await self._turn(scope, "exempt", entry_id, reason, key)

    async def _turn(
        self, scope: Scope, verb: str, entry_id: UUID, reason: str, key: str | None
    ) -> Receipt:
        call = {"verb": verb, "memory": str(check_uuid(entry_id, "entry_id"))}
        call |= {"reason": self.said(reason)}
        return await self._one(scope, "turn", call, key)

    @traced("open")
    async def open_scope(self, scope: Scope, place: Place) -> Receipt:
        """Open the session or interaction that a place names."""
        require(self._spec, scope, Capability.OBSERVE)
        call = {
            "tier": place.tier.value,
            "scope": str(place.interaction_id or place.session_id),
            "session": str(place.session_id),
            "reason": "opened",
        }
        return await self._one(scope, "scope_turn", call, None)

    def said(self, text: str, what: str = "reason", limit: int = SHORT) -> str:
        """A reason or a note as it may be kept.

        The ledger's links can never change, so what the ingest gate removes must not reach them.
        """
        text = check_text(text, limit, what)
        return self._gates.at(Boundary.INGEST).apply(text).text[:limit]

    @traced("settle")
    async def settle(self, held: Held, steps: Sequence[Step]) -> list[Receipt]:
        """Write what a pass decided about an anchor while it held it."""
        for step in steps if recording() else ():
            if (kind := step.get("transition")) in _UPWARD:
                count(Metric.PROMOTIONS, agent=Name(held.scope.agent), transition=Name(kind))
        return await held.settle(self._version, steps)

    async def settle_once(
        self, held: Held, call: dict[str, Any], key: str | None, decide: Decide
    ) -> Receipt:
        """The same for one verb with an idempotency key: a repeat gives the first receipt.

        The first step is the verb's own; what it sets in motion follows with receipts of its own.
        """
        asked = with_key(call, key)
        if key is not None and (known := await held.replay(key, asked["digest"])) is not None:
            return replace(known, replayed=True)
        receipts = await self.settle(held, await decide())
        if key is not None:
            await held.remember(key, asked["digest"], receipts[0].position)
        return receipts[0]

    async def _one(
        self, scope: Scope, function: str, call: dict[str, Any], key: str | None
    ) -> Receipt:
        require_whole_anchor(scope)
        asked = self._call(scope, receipt=str(uuid7()), **with_key(call, key))
        receipt = await self._writes.call(scope, function, asked)
        return _replayed(receipt, asked["receipt"])

    def _call(self, scope: Scope, /, **more: Any) -> dict[str, Any]:
        principal = scope.principal
        actor = {"kind": principal.kind.value, "name": principal.name}
        return {"actor": actor, "at": self._clock.now().isoformat(), **more}


_HOW = {
    WriteMode.AUTOMATIC: "Use `observe`.",
    WriteMode.PROMOTION_ONLY: "Observe it in a session; the promotion engine writes it once "
    "independent observations agree.",
    WriteMode.EXPLICIT: "Use `prefer`.",
}


def _kept(items: Iterable[Item], made: list[Item]) -> Iterator[Item]:
    """The same items, remembered: they hold random ids and must not be made twice."""
    for item in items:
        made.append(item)
        yield item


def _tried(maker: ItemMaker, one: Observation) -> Item | IdeticError:
    try:
        return maker.make(one)
    except IdeticError as error:
        return error


def _replayed(receipt: Receipt, asked: str) -> Receipt:
    return receipt if str(receipt.id) == asked else replace(receipt, replayed=True)

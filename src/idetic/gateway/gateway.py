"""The gateway: the only write path. It enforces the spec, then hands over to the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from anyio import to_thread

from idetic.errors import (
    IdempotencyConflict,
    IdeticError,
    InputError,
    RecordRefused,
    Refused,
    RetriesSpent,
    ShadowRefused,
    WritePolicyRefused,
)
from idetic.gates.crossing import check_amount, cross
from idetic.gates.gate import Gates
from idetic.gateway.own_keys import own_key
from idetic.gateway.write_items import ItemMaker, WriteItem
from idetic.ids import Clock, uuid7_text
from idetic.model import Decision, Observation, Place, Receipt, Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.store import scope as scoping
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.database import Database
from idetic.store.driver import Rows
from idetic.store.entry_content import call_digest, placed, plain_json
from idetic.store.family import Family
from idetic.store.steps import LinkStep, Step
from idetic.store.templates import BoundStatement, Statement, Values
from idetic.telemetry import (
    Metric,
    Name,
    count_receipts,
    measure,
    receipt_facts,
    recording,
    span,
)
from idetic.verbs.arguments import SHORT, check_text

MAX_BATCH = 10_000
CHUNK = 1_000
# The transitions by which an entry moves up.
_UPWARD = frozenset({"proposed", "promoted", "meta_promoted"})
_INSTEAD = {
    WriteMode.AUTOMATIC: "Use `observe`.",
    WriteMode.PROMOTION_ONLY: "Observe it in a session; the promotion engine writes it once "
    "independent observations agree.",
    WriteMode.EXPLICIT: "Use `prefer`.",
}

# Marks each item as compared with what its session was shown, and echoes with what they repeat.
EchoCheck = Callable[[Scope, Place, Sequence[WriteItem]], Awaitable[Sequence[WriteItem]]]


class _Unjudged(Exception):
    """Nothing was written: the session was shown entries that the items may only repeat."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's key, with the digest of the call that it stands for."""

    key: str
    digest: str

    @classmethod
    def of(cls, scope: Scope, key: str | None, call: Mapping[str, Any]) -> IdempotencyKey | None:
        """The key of a call; None where the caller gave none."""
        if key is None:
            return None
        return cls(own_key(scope.principal, key), call_digest(call))


@dataclass(frozen=True, slots=True)
class Gateway:
    """Every write of one agent. Policy first, then one transaction, then a receipt."""

    spec: MemorySpec
    version: int
    database: Database
    family: Family
    check_echoes: EchoCheck
    gates: Gates
    clock: Clock

    def items(
        self,
        scope: Scope,
        tier: Tier,
        typology: Typology,
        seen: Sequence[Observation],
        transition: str = "observed",
    ) -> list[WriteItem]:
        """Observations as items of one cell, all of them checked; nothing is written."""
        if len(seen) > MAX_BATCH:
            raise InputError(f"At most {MAX_BATCH:,} observations per call; split them.")
        mode = WriteMode.EXPLICIT if transition == "preferred" else WriteMode.AUTOMATIC
        make = self.maker(scope, tier, typology, transition, mode).make
        return [make(one) for one in seen]

    async def prepared(
        self,
        scope: Scope,
        tier: Tier,
        typology: Typology,
        seen: Sequence[Observation],
        transition: str = "observed",
    ) -> list[WriteItem]:
        """The same, beside the event loop where there is much to read: others are not held up."""
        # A text beyond its own bound is refused by that, so that the error names it.
        most = self.spec.backend.body_text_max
        amount = check_amount(sum(min(_length(one), most) for one in seen), "The observations")
        return await cross(amount, lambda: self.items(scope, tier, typology, seen, transition))

    def maker(
        self, scope: Scope, tier: Tier, typology: Typology, transition: str, mode: WriteMode
    ) -> ItemMaker:
        """What makes the items of one cell; refused where the spec does not write it this way."""
        if typology not in self.spec.typology.at(tier):
            mix = ", ".join(self.spec.typology.at(tier)) or "nothing"
            raise WritePolicyRefused(
                f"{self.spec.title} holds no {typology} memory at the {tier} tier.",
                remedy=f"That tier holds: {mix}. See primitive 2 in `idetic spec render`.",
            )
        if self.spec.writes_of(tier, typology).mode is not mode:
            raise WritePolicyRefused(
                f"{typology.capitalize()} memory at the {tier} tier is not written this way.",
                remedy=_INSTEAD[self.spec.writes_of(tier, typology).mode],
            )
        ingest = self.gates.at(Boundary.INGEST)
        return ItemMaker(self.spec, scope, tier, typology, transition, ingest)

    async def admit(self, scope: Scope, place: Place, items: Sequence[WriteItem]) -> list[Receipt]:
        """Write items in one transaction; what the guard refuses comes back as a REJECT receipt.

        In a session that was shown entries, only once echoes are told apart: the database says
        when that is needed, so a session that was shown nothing pays nothing. The guard's trigger
        refuses with an error that undoes the transaction, so the refusal itself is recorded by a
        second attempt that asks the guard before it writes.
        """
        await self.database.check_clock(self.clock)
        receipts: list[Receipt] = []
        careful = False
        while items and not receipts:
            asked = self._asked(scope, place, careful)
            try:
                if len(items) > CHUNK:
                    receipts = await self._admit_chunks(scope, asked, items)
                    continue
                chunk = await _encoded(asked, items)
                call = BoundStatement(self._statement(scope, "admit"), chunk.values)
                receipts = chunk.receipts(await self.database.run_all(scope, [call]))
            except _Unjudged:
                items = await self.check_echoes(scope, place, items)
            except ShadowRefused:
                if careful:
                    raise
                careful = True
        count_receipts(scope, receipts)
        return receipts

    async def _admit_chunks(
        self, scope: Scope, asked: Values, items: Sequence[WriteItem]
    ) -> list[Receipt]:
        """Many items in one transaction, a thousand to a statement."""
        statement = self._statement(scope, "admit")
        receipts: list[Receipt] = []
        async with self.database.transaction(scope) as run:
            chunk = await to_thread.run_sync(_Chunk.of, asked, items[:CHUNK])
            task = asyncio.ensure_future(run(statement, chunk.values))
            try:
                for first in range(CHUNK, len(items), CHUNK):
                    # While the server writes one chunk, the next is encoded.
                    following = await to_thread.run_sync(
                        _Chunk.of, asked, items[first : first + CHUNK]
                    )
                    receipts += chunk.receipts(await task)
                    chunk, task = following, asyncio.ensure_future(run(statement, following.values))
            finally:
                await asyncio.wait([task])
            return receipts + chunk.receipts(task.result())

    async def admit_each(
        self, scope: Scope, place: Place, seen: Sequence[Observation], *, write: bool
    ) -> list[Receipt | IdeticError | None]:
        """Take in what another store remembered, each on its own: a receipt, or why not.

        Without `write` only what needs no database is checked, and None stands for "would go on".
        """
        cell = (place.tier, Typology.EPISODIC)
        make = self.maker(scope, *cell, "imported", WriteMode.AUTOMATIC).make

        def tried(one: Observation) -> WriteItem | IdeticError:
            """The item of an observation, or why it is none."""
            try:
                return make(one)
            except IdeticError as error:
                return error

        amount = sum(map(_length, seen))
        made = await cross(amount, lambda: [tried(one) for one in seen])
        items = [item for item in made if isinstance(item, WriteItem)]
        answers = iter(await self._admit_separately(scope, place, items) if write else ())
        return [item if isinstance(item, IdeticError) else next(answers, None) for item in made]

    async def _admit_separately(
        self, scope: Scope, place: Place, items: Sequence[WriteItem]
    ) -> list[Receipt | IdeticError]:
        """All at once; one by one where a key was used for something else, to find out which."""
        try:
            return [*await self.admit(scope, place, items)]
        except IdempotencyConflict as error:
            if len(items) == 1:
                return [error]
            return [(await self._admit_separately(scope, place, [item]))[0] for item in items]

    def _asked(self, scope: Scope, place: Place, careful: bool) -> dict[str, Any]:
        """What each admission tells the database: where, when, who, and by which spec's version."""
        return scoping.bound(scope) | {
            "at": self.clock.now(),
            "kind": scope.principal.kind.value,
            "name": scope.principal.name,
            "session": place.session_id,
            "interaction": place.interaction_id,
            "version": self.version,
            "careful": careful,
        }

    async def call(
        self, scope: Scope, function: str, call: Mapping[str, Any], key: str | None = None
    ) -> Receipt:
        """BoundStatement another writing function of the family: one call, one receipt."""
        await self.database.check_clock(self.clock)
        once, receipt_id = IdempotencyKey.of(scope, key, call), uuid7_text()
        actor = {"kind": scope.principal.kind.value, "name": scope.principal.name}
        asked = {**call, "actor": actor, "at": self.clock.now().isoformat(), "receipt": receipt_id}
        if once is not None:
            asked |= {"key": once.key, "digest": once.digest}
        values = scoping.bound(scope) | {"call": plain_json(asked)}
        written = BoundStatement(self._statement(scope, function), values)
        (row,) = await self.database.run_all(scope, [written])
        receipt = _receipt(row, receipt_id)
        count_receipts(scope, [receipt])
        return receipt

    def _statement(self, scope: Scope, function: str) -> Statement:
        """The prepared call of one of the family's functions, within a scope."""
        return self.family.statement("gateway", function, scope, prepared=True)

    def gated_reason(self, text: str, what: str = "reason", limit: int = SHORT) -> str:
        """A reason or a note as it may be kept.

        The ledger's links can never change, so what the ingest gate removes must not reach them.
        """
        text = check_text(text, limit, what)
        return self.gates.at(Boundary.INGEST).apply(text).text[:limit]

    async def settle(self, tx: AnchorTransaction, steps: Sequence[Step]) -> list[Receipt]:
        """Write what was decided about an anchor while it was held."""
        agent = tx.scope.agent
        with span("settle", scope=tx.scope) as told:
            for step in steps if recording() else ():
                if isinstance(step, LinkStep) and step.transition in _UPWARD:
                    transition = Name(step.transition)
                    measure(Metric.PROMOTIONS, agent=Name(agent), transition=transition)
            receipts = await tx.settle(self.version, steps)
            count_receipts(tx.scope, receipts)
            told.tell(**receipt_facts(receipts))
            return receipts


def _length(seen: Observation) -> int:
    """How much there is to read of an observation; what is none is told so where it is checked."""
    text = getattr(seen, "text", None)
    return len(text) if isinstance(text, str) else 0


def raise_if_rejected(receipt: Receipt) -> Receipt:
    """The receipt of what was written; a refusal is raised and carries its receipt."""
    if receipt.decision is not Decision.REJECT:
        return receipt
    raise _refusal(receipt)


_RESTATED = {
    "decorated": "Under its decoration the note restates",
    "quoted": "The note quotes",
    "together": "With what was written before it, the note restates",
}
_FORMS = {
    "json": "as JSON",
    "fields": "as named fields",
    "row": "as a row of values",
    "sql": "as SQL",
}


def _refusal(receipt: Receipt) -> Refused:
    """Which canonical row or kind of record a refused note repeats, never its text."""
    told = receipt.detail
    if "form" in told:
        written = _FORMS.get(told["form"], told["form"])
        return RecordRefused(
            f"The note is a record, written out {written}.", form=told["form"], receipt=receipt
        )
    noun, canonical, how = told["noun"], told["id"], told.get("how", "copied")
    about = {"noun": noun, "id": canonical, "similarity": told["similarity"], "how": how}
    if receipt.reason == "retries":
        return RetriesSpent(
            f"This session was refused too often over {noun} {canonical}.", receipt=receipt, **about
        )
    remedy = f"Reference the {noun} and write only what you concluded about it."
    if receipt.reason == "record":
        return RecordRefused(
            f"The note is the text of {noun} {canonical}.", remedy=remedy, receipt=receipt, **about
        )
    start = _RESTATED.get(how, "The note restates")
    return ShadowRefused(
        f"{start} {noun} {canonical} (similarity {told['similarity']:.2f}, the bound is 0.85).",
        remedy=remedy,
        receipt=receipt,
        **about,
    )


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Items with the ids that they are written under, encoded for one statement."""

    items: Sequence[WriteItem]
    ids: Sequence[tuple[str, str]]
    values: Values

    @classmethod
    def of(cls, asked: Values, items: Sequence[WriteItem]) -> _Chunk:
        """The next items, under new ids: an attempt that failed has written nothing."""
        ids = [(uuid7_text(), uuid7_text()) for _ in items]
        plain = len(items) > 1 and not asked["careful"] and all(item.plain for item in items)
        encoded = [item.encoded(*own) for item, own in zip(items, ids, strict=True)]
        told = placed(asked["version"], asked["session"], asked["interaction"])
        for one in encoded:
            one["detail"] |= told
        # Item by item: one call for all of them would not let another thread run meanwhile.
        told_items = f"[{','.join(map(plain_json, encoded))}]"
        return cls(items, ids, {**asked, "plain": plain, "items": told_items})

    def receipts(self, rows: Rows) -> list[Receipt]:
        """The receipts of what was written."""
        if rows[0][2] is None and rows[0][4] == "unjudged":
            raise _Unjudged
        if len(rows) == 1:
            # A chunk of plain items gives one row, for the last; the others precede it.
            last, *rest = rows[0]
            rows = [(last - len(self.items) + n, *rest) for n in range(1, len(self.items) + 1)]
        return [_admitted(*one) for one in zip(rows, self.items, self.ids, strict=True)]


async def _encoded(asked: Values, items: Sequence[WriteItem]) -> _Chunk:
    """Items as a statement takes them; many are encoded beside the event loop."""
    amount = sum(len(item.body) for item in items)
    return await cross(amount, lambda: _Chunk.of(asked, items))


def _admitted(row: tuple[Any, ...], item: WriteItem, ids: tuple[str, str]) -> Receipt:
    """For what was simply added only position and time come back."""
    if row[2] is not None:
        return _receipt(row, ids[0])
    told = {"removed": item.removed} if item.removed else {}
    receipt_id, entry_id = UUID(ids[0]), UUID(ids[1])
    return Receipt(receipt_id, Decision.ADD, "new", row[0], row[1], entry_id=entry_id, detail=told)


def _receipt(row: tuple[Any, ...], asked: str) -> Receipt:
    """A receipt from its columns; another id than was asked for is an earlier call's."""
    position, at, receipt_id, decision, reason, memory_id, superseded, detail = row
    receipt = Receipt(
        receipt_id,
        Decision(decision),
        reason,
        position,
        at,
        entry_id=memory_id,
        superseded=UUID(superseded) if superseded else None,
        detail=detail or {},
    )
    return receipt if str(receipt_id) == asked else replace(receipt, replayed=True)

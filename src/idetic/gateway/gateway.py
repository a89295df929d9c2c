"""The gateway: the only write path. It enforces the spec, then hands over to the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anyio import to_thread

from idetic.errors import (
    IdempotencyConflict,
    IdeticError,
    InputError,
    RecordRefused,
    Refused,
    RetriesSpent,
    ShadowRefused,
)
from idetic.gates.crossing import check_amount, cross
from idetic.gates.gate import Gates
from idetic.gateway.admission import (
    APART,
    UNJUDGED,
    Admission,
    AdmissionCall,
    AskedAgain,
    Terms,
    calls_of,
    is_apart,
    receipt_of,
)
from idetic.gateway.convoys import Convoys, carried
from idetic.gateway.own_keys import own_key
from idetic.gateway.write_items import ItemMaker, WriteCell, WriteItem
from idetic.gateway.write_policy import check_written_here, sampled, write_cell
from idetic.ids import Clock, uuid7_text
from idetic.model import Decision, Observation, Place, Receipt, Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.store import scope as scoping
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.database import Database
from idetic.store.entry_content import call_digest, plain_json
from idetic.store.family import Family
from idetic.store.steps import LinkStep, Step
from idetic.store.templates import BoundStatement, Statement
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
# So many to a statement: while the server writes them, the next are encoded.
CHUNK = 250
# A call with more items travels by itself.
FEW = 50
# The transitions by which an entry moves up.
_UPWARD = frozenset({"proposed", "promoted", "meta_promoted"})
# Marks each item as compared with what its session was shown, and echoes with what they repeat.
EchoCheck = Callable[[Scope, Place, Sequence[WriteItem]], Awaitable[Sequence[WriteItem]]]


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
    convoys: Convoys[Admission, list[Receipt]] = field(default_factory=Convoys)
    _cells: dict[tuple[Any, ...], WriteCell] = field(default_factory=dict, repr=False)

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
        maker = self.maker(scope, tier, typology, transition, mode)
        return [*sampled(maker.cell, [maker.make(one) for one in seen])]

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
        check_written_here(self.spec, scope)
        key = (tier, typology, transition, mode)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = write_cell(self.spec, *key)
        return ItemMaker(self.spec, scope, cell, self.gates.at(Boundary.INGEST))

    async def admit(self, scope: Scope, place: Place, items: Sequence[WriteItem]) -> list[Receipt]:
        """Write items in one transaction; what the guard refuses comes back as a REJECT receipt.

        In a session that was shown entries, only once echoes are told apart: the database says
        when that is needed, so a session that was shown nothing pays nothing. The guard's trigger
        refuses with an error that undoes the transaction, so the refusal itself is recorded by a
        second attempt that asks the guard before it writes.
        """
        await self.database.check_clock(self.clock)
        # Many travel by themselves, and on Citus there is no statement for several calls.
        terms = Terms(apart=self.database.citus, waits=len(items) > FEW)
        while items:
            try:
                if len(items) > CHUNK:
                    receipts = await self._admit_chunks(scope, place, items, terms)
                else:
                    made = await self._encoded(scope, place, items, terms)
                    if (lane := self._lane(scope, items, terms)) in self.convoys:
                        receipts = await self.convoys.follow(lane, made)
                    else:
                        with self.convoys.leading(lane, self._travel):
                            receipts = _own(await self._travel([made]))
            except AskedAgain as again:
                if again.reason == UNJUDGED:
                    items = await self.check_echoes(scope, place, items)
                terms = terms.after(again.reason)
            except ShadowRefused:
                if terms.careful:
                    raise
                terms = replace(terms, careful=True)
            else:
                count_receipts(scope, receipts)
                return receipts
        return []

    async def _encoded(
        self, scope: Scope, place: Place, items: Sequence[WriteItem], terms: Terms
    ) -> Admission:
        """One attempt to admit items; much text is encoded beside the event loop."""
        amount = sum(len(item.body) for item in items)
        return await cross(amount, lambda: self._admission(scope, place, items, terms))

    def _lane(self, scope: Scope, items: Sequence[WriteItem], terms: Terms) -> Hashable:
        """The lane of a call: its tenant's, where nobody waits for an anchor that is held.

        Who must wait does so in a lane of that anchor, and whoever comes there meanwhile behind.
        Many items are a convoy by themselves.
        """
        if len(items) > FEW:
            return object()
        tenant, anchor = (scope.agent, scope.tenant), (scope.agent, *scope.anchor.values())
        return anchor if terms.waits or anchor in self.convoys else tenant

    def _admission(
        self, scope: Scope, place: Place, items: Sequence[WriteItem], terms: Terms
    ) -> Admission:
        """One attempt to admit items."""
        now = self.clock.now()
        return Admission.of(scope, place, items, version=self.version, at=now, terms=terms)

    async def _travel(self, crowd: Sequence[Admission]) -> list[list[Receipt] | Exception]:
        """Send admissions of one tenant in one round trip and one transaction.

        Those that cannot share a statement go again at once, each with its own: whoever came after
        them is not to be written before them.
        """
        calls = calls_of(crowd)
        found = await self.database.run_together([(one.scope, [self._sent(one)]) for one in calls])
        answered = {
            id(part): answer
            for call, (rows,) in zip(calls, found, strict=True)
            for part, answer in zip(call.parts, call.answers(rows), strict=True)
        }
        apart = [one for one in crowd if is_apart(answered[id(one)])]
        if apart:
            again = [replace(one, terms=one.terms.after(APART)) for one in apart]
            told = zip(apart, await carried(again, self._travel), strict=True)
            answered |= {id(one): answer for one, answer in told}
        return [answered[id(one)] for one in crowd]

    def _sent(self, call: AdmissionCall) -> BoundStatement:
        """The statement that a call is."""
        return BoundStatement(self._statement(call.scope, call.query), call.values)

    async def _admit_chunks(
        self, scope: Scope, place: Place, items: Sequence[WriteItem], terms: Terms
    ) -> list[Receipt]:
        """Many items in one transaction, some hundreds to a statement."""
        receipts: list[Receipt] = []

        def made(first: int) -> Admission:
            return self._admission(scope, place, items[first : first + CHUNK], terms)

        async with self.database.transaction(scope) as run:

            async def admitted(one: Admission) -> list[Receipt]:
                """The receipts of a chunk; by itself if it cannot go in with one statement."""
                call = AdmissionCall([[one]])
                sent = self._sent(call)
                (answer,) = call.answers(await run(sent.statement, sent.values))
                if is_apart(answer):
                    return await admitted(replace(one, terms=one.terms.after(APART)))
                return _own([answer])

            task = asyncio.ensure_future(admitted(await to_thread.run_sync(made, 0)))
            try:
                for first in range(CHUNK, len(items), CHUNK):
                    # While the server writes one chunk, the next is encoded.
                    following = await to_thread.run_sync(made, first)
                    receipts += await task
                    task = asyncio.ensure_future(admitted(following))
            finally:
                await asyncio.wait([task])
            return receipts + task.result()

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
        receipt = receipt_of(row, receipt_id)
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


def _own(answers: Sequence[list[Receipt] | Exception]) -> list[Receipt]:
    """The one answer to a call that travelled alone."""
    (answer,) = answers
    if isinstance(answer, Exception):
        raise answer
    return answer


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

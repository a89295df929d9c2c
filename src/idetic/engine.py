"""The engine of one agent, and a binding of it: what every use case is given.

An engine holds what an agent's memory consists of, composed once. A binding is the engine within
one scope and place; the verbs are functions over it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from idetic import folding
from idetic.extract.port import Extractor
from idetic.gates.crossing import cross
from idetic.gates.gate import Gates
from idetic.gates.reading import ReadingGate, length
from idetic.gateway.gateway import Gateway, IdempotencyKey
from idetic.ids import Clock, random_bytes
from idetic.model import Place, Receipt, Scope
from idetic.reason.port import Reasoner
from idetic.recall.embedding import EmbeddingRun
from idetic.recall.engine import RecallEngine
from idetic.spec.memory_spec import MemorySpec
from idetic.store.anchor_transaction import Anchors, AnchorTransaction
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries
from idetic.store.entry_content import key_hash
from idetic.store.queue import Marks, Queue
from idetic.store.steps import LinkStep, Step
from idetic.store.word_index import WordIndex

V = TypeVar("V")
ReasonerFactory = Callable[[], AbstractAsyncContextManager[Reasoner]]
ExtractorFactory = Callable[[], AbstractAsyncContextManager[Extractor]]


@dataclass(frozen=True, slots=True)
class Engine:
    """One agent's memory: its spec, its database, and what works on it."""

    spec: MemorySpec
    version: int
    clock: Clock
    gates: Gates
    anchors: Anchors
    gateway: Gateway
    recall: RecallEngine
    embedding: EmbeddingRun
    embeddings: Embeddings
    queue: Queue
    marks: Marks
    words: WordIndex
    reasoner: ReasonerFactory | None = None
    # What draws claims out of what was said; the one by rules, if none is chosen.
    extractor: ExtractorFactory | None = None
    embed_inline: bool = False

    @property
    def entries(self) -> Entries:
        """Reads entries without a transaction of their own."""
        return self.anchors.entries


@dataclass(frozen=True, slots=True)
class Binding:
    """An engine within one scope, at one place of it."""

    engine: Engine
    scope: Scope
    place: Place = field(default_factory=Place)

    @property
    def spec(self) -> MemorySpec:
        """The agent's spec."""
        return self.engine.spec

    def hold(self) -> AbstractAsyncContextManager[AnchorTransaction]:
        """The anchor, locked until the block ends: to decide and write."""
        return self.engine.anchors.hold(self.scope)

    @asynccontextmanager
    async def erasing(self) -> AsyncIterator[AnchorTransaction]:
        """The anchor, locked, to erase of it; then this process keeps nothing that it read."""
        try:
            async with self.hold() as tx:
                yield tx
        finally:
            self.engine.recall.recalls.forget(self.scope)
            folding.words.cache_clear()

    def look(self) -> AbstractAsyncContextManager[AnchorTransaction]:
        """The anchor without its lock: to know."""
        return self.engine.anchors.look(self.scope)

    def snapshot(self) -> AbstractAsyncContextManager[AnchorTransaction]:
        """The anchor as it is at one moment: to compare one part of it with another."""
        return self.engine.anchors.snapshot(self.scope)

    async def shown(self, answer: V) -> V:
        """An answer as the gate before this scope's principal lets it be shown."""
        gate = ReadingGate.of(self.engine.gates, self.scope)
        if gate is None:
            return answer
        return await cross(length(answer), lambda: gate.passed(answer))

    def gated_reason(self, text: str, what: str = "reason", limit: int = 200) -> str:
        """A reason or a note as the ingest gate lets the ledger keep it."""
        return self.engine.gateway.gated_reason(text, what, limit)

    async def settle(self, tx: AnchorTransaction, steps: Sequence[Step]) -> list[Receipt]:
        """Write what was decided; one receipt for each step that leaves a link."""
        return await self.engine.gateway.settle(tx, steps)

    async def replayed(
        self, tx: AnchorTransaction, key: str | None, call: Mapping[str, Any]
    ) -> Receipt | None:
        """The receipt of the first call with this idempotency key; None if this is the first."""
        once = IdempotencyKey.of(self.scope, key, call)
        known = None if once is None else await tx.replay(once.key, once.digest)
        return None if known is None else replace(known, replayed=True)

    async def settle_once(
        self,
        tx: AnchorTransaction,
        steps: Sequence[Step],
        key: str | None,
        call: Mapping[str, Any],
    ) -> Receipt:
        """Write what a verb decided, and remember its idempotency key.

        The first step is the verb's own, and its receipt is the answer; what it sets in motion
        follows with receipts of its own.
        """
        once = IdempotencyKey.of(self.scope, key, call)
        if once is None:
            return (await self.settle(tx, steps))[0]
        # The link that the key stands for says so, by a hash with a salt.
        salt = random_bytes(16)
        told = {"key_hash": key_hash(salt, once.key, once.digest)}
        first, *rest = steps
        if isinstance(first, LinkStep):
            first = replace(first, detail={**first.detail, **told})
        receipts = await self.settle(tx, [first, *rest])
        await tx.remember(once.key, once.digest, receipts[0].position, salt)
        return receipts[0]


async def in_batches(
    binding: Binding, decide: Callable[[AnchorTransaction], Awaitable[Sequence[Step]]], size: int
) -> list[Receipt]:
    """Settle decisions batch by batch, each in a transaction: no anchor is held for a whole run.

    `decide` gives the steps of the next batch; one with fewer than `size` is the last.
    """
    receipts: list[Receipt] = []
    while True:
        async with binding.hold() as tx:
            steps = await decide(tx)
            receipts += await binding.settle(tx, steps)
        if len(steps) < size:
            return receipts

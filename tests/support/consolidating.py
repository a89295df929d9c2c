"""A house that is consolidated: facts that overlap as a test chooses, and all of them in full."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from psycopg import sql

from idetic import Idetic, Observation, Principal
from idetic.embed.port import EmbeddingModel
from idetic.engine import ReasonerFactory
from idetic.library.handles import Memory
from idetic.lifecycle.consolidation import Consolidated
from idetic.reason import Caps, Endpoint, Meter, OpenAICompatible, Prices
from idetic.store.scope import anchor_id
from tests.conftest import TestDatabase, World
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.llm_server import Behaviour, LlmServer
from tests.support.voices import another

PRICES = Prices(Decimal("0.15"), Decimal("0.60"))


class Near:
    """An embedder whose cosines are chosen; a text that nobody placed is near no other."""

    def __init__(self, name: str = "bge-small-en-v1.5", model: str = "chosen"):
        self.profile = EmbeddingModel(name, 384, 512, "fp32", model, model)
        self._vectors: dict[str, Any] = {}
        self._axis = 0

    def place(self, texts: Sequence[str], cosine: float = 0.86) -> None:
        """Every two of these texts have this cosine."""
        shared = self._unit()
        for text in texts:
            self._vectors[text] = np.sqrt(cosine) * shared + np.sqrt(1 - cosine) * self._unit()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        made = [self._vectors.setdefault(text, self._unit()) for text in texts]
        return np.asarray(made, dtype=np.float32)

    def _unit(self) -> Any:
        self._axis += 1
        return np.eye(384)[self._axis]


@dataclass
class House:
    """A world without a model at first: its facts get their vectors when somebody consolidates."""

    world: World
    clock: SettableClock
    database: TestDatabase
    db: Idetic
    llm: LlmServer
    # One for a test: a new connection takes longer than what is asked through it.
    admin: psycopg.Connection[dict[str, Any]]
    near: Near = field(default_factory=Near)
    family: str = "world_agent"

    @property
    def agent(self) -> Memory:
        return self.world.memory

    @property
    def operator(self) -> Memory:
        return self.world.operator

    async def fact(self, said: Observation | str, memory: Memory | None = None) -> UUID:
        """A fact: what three threads of two sessions said."""
        one = Observation(said) if isinstance(said, str) else said
        await hear(memory or self.agent, one, one)
        self.clock.advance(minutes=1)
        (made,) = await hear(memory or self.agent, one)
        return made

    async def facts(self, texts: Sequence[str], cosine: float = 0.86) -> list[UUID]:
        self.near.place(texts, cosine)
        return [await self.fact(text) for text in texts]

    def asking(self, caps: Caps | None = None, **endpoint: Any) -> ReasonerFactory:
        """A reasoner for each run, which asks the test's server."""
        where = Endpoint("small-model", self.llm.url, **endpoint)
        return lambda: OpenAICompatible(where, Meter(caps, PRICES))

    @asynccontextmanager
    async def keeper(
        self, reasoner: ReasonerFactory | None = None, embed: bool = True
    ) -> AsyncIterator[Memory]:
        """Whoever keeps house: with the model, and perhaps with a reasoner."""
        # Through the connections that are open: others would plan every statement anew.
        here = view_of(self.db, self.clock, self.near)
        here.reasoner = reasoner
        memory = (await here.agent(self.world.agent.spec)).bind(
            org_id=self.world.org_id, domain_id=self.world.domain_id,
            principal=Principal.maintenance("keeper"),
        )  # fmt: skip
        if embed:
            await memory.embed()
        yield memory

    async def consolidate(
        self, reasoner: ReasonerFactory | None = None, embed: bool = True
    ) -> Consolidated:
        self.clock.advance(minutes=1)
        async with self.keeper(reasoner, embed) as memory:
            return await memory.consolidate()

    async def ask(self, *script: Behaviour, caps: Caps | None = None, **more: Any) -> Consolidated:
        """Consolidate with a reasoner whose server behaves as told."""
        self.llm.requests.clear()
        self.llm.script(*script)
        return await self.consolidate(self.asking(caps, **more))

    def rows(self, table: str, but: Sequence[str] = ()) -> list[dict[str, Any]]:
        """A table's rows of this anchor, past every policy."""
        named = sql.Identifier("worlds", f"{self.family}_{table}")
        query = sql.SQL("SELECT * FROM {} WHERE anchor_id = %s").format(named)
        anchor = (anchor_id([self.world.org_id, self.world.domain_id]),)
        found = self.admin.execute(query, anchor).fetchall()
        return [{k: v for k, v in row.items() if k not in but} for row in found]

    def memories(self) -> dict[UUID, dict[str, Any]]:
        """Every persistent entry, with what supports it and what it refers to and was made of."""
        rows = self.rows("memory", but=["embedding_id"])
        found = {row["memory_id"]: row for row in rows if row["tier"] == "persistent"}
        for row in found.values():
            row |= {"supported": set(), "lineage": set(), "refs": set()}
        for row in self.rows("memory_corroborations"):
            if row["withdrawn_at"] is None and row["memory_id"] in found:
                source = (row["source_type"], row["source_ref"])
                found[row["memory_id"]]["supported"].add(source)
        for row in self.rows("memory_lineage"):
            if row["memory_id"] not in found:
                continue
            found[row["memory_id"]]["lineage"].add((row["source_id"], row["relation"]))
        for row in self.rows("memory_rule_refs"):
            if row["memory_id"] not in found:
                continue
            found[row["memory_id"]]["refs"].add((row["rule_id"], row["rule_version"]))
        return found

    def position(self) -> int:
        return max((row["position"] for row in self.rows("memory_ledger")), default=0)

    async def touch(self, entry_id: UUID) -> None:
        """Make a fact one that changed, without changing it."""
        receipt = await self.operator.exempt(entry_id, reason="by mistake")
        await self.operator.undo(receipt, reason="it was a mistake")


async def hear(memory: Memory, *threads: Observation) -> list[UUID]:
    """One session with a thread for each statement; the facts that its close promoted."""
    async with another(memory).session() as session:
        for said in threads:
            async with session.interaction() as turn:
                await turn.observe_many([said])
        return (await session.close()).entries("promoted")


def changed(
    before: dict[UUID, dict[str, Any]], after: dict[UUID, dict[str, Any]]
) -> dict[UUID, set[str]]:
    """Which columns of which entries differ; an entry that is new differs in all of them."""
    found = {}
    for one, row in after.items():
        was = before.get(one, {})
        if keys := {key for key in row if row[key] != was.get(key, ...)}:
            found[one] = keys
    return found

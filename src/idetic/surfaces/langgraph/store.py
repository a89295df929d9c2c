"""`IdeticStore`: LangGraph's store on one scope of governed memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.documents import Document, Put, Shelf
from idetic.surfaces.langgraph.matching import matches, satisfies
from idetic.verbs.handle import SyncHandle

Found = tuple[Document, float | None]
SWEEP_MINUTES = 5
PAGE = 100


class IdeticStore(BaseStore):
    """A `BaseStore` whose tenant is bound when it is made, and never an argument.

    `put` supersedes and keeps what was there, `delete` archives, and every value comes back as it
    was put. Made from a `Memory` of `framework_agent`, or from one of `open_sync`.
    """

    supports_ttl = True

    def __init__(self, memory: Memory | SyncHandle, *, ttl: TTLConfig | None = None):
        self._bridge = Bridge(memory)
        self._shelf = Shelf(self._bridge.memory)
        self._sweeper: asyncio.Task[None] | None = None
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations from code that cannot await them."""
        asked = list(ops)
        return self._bridge.blocking(lambda: self._answers(asked))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads first, which see what was there before, then writes together."""
        asked = list(ops)
        return await self._bridge.awaited(lambda: self._answers(asked))

    async def sweep_ttl(self) -> int:
        """Archive what has expired; says how many items that were."""
        return await self._bridge.awaited(self._sweep)

    async def start_ttl_sweeper(
        self, sweep_interval_minutes: float | None = None
    ) -> asyncio.Task[None]:
        """Sweep every so many minutes, until stopped; the first time at once."""
        if self._sweeper is None or self._sweeper.done():
            config = self.ttl_config or {}
            every = sweep_interval_minutes or config.get("sweep_interval_minutes") or SWEEP_MINUTES
            self._sweeper = asyncio.create_task(self._keep_sweeping(every * 60))
        return self._sweeper

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - LangGraph's own signature
        """Stop sweeping; says whether it ended in time."""
        task, self._sweeper = self._sweeper, None
        if task is None:
            return True
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=timeout)
        return task in done

    async def _keep_sweeping(self, seconds: float) -> None:
        while True:
            await self.sweep_ttl()
            await asyncio.sleep(seconds)

    async def _sweep(self) -> int:
        over = await self._shelf.over()
        await self._shelf.delete_many([(d.namespace, d.key) for d in over], "expired")
        return len(over)

    async def _answers(self, ops: Sequence[Op]) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = [None] * len(ops)
        gets = [(n, op) for n, op in enumerate(ops) if isinstance(op, GetOp)]
        for (n, _), item in zip(gets, await self._get([op for _, op in gets]), strict=True):
            results[n] = item
        for n, op in enumerate(ops):
            if isinstance(op, SearchOp):
                results[n] = await self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[n] = await self._namespaces(op)
            elif not isinstance(op, GetOp | PutOp):
                raise InputError(f"A {type(op).__name__} is not an operation of a store.")
        await self._put([op for op in ops if isinstance(op, PutOp)])
        return results

    async def _get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        found = await self._shelf.get_many([(op.namespace, op.key) for op in ops])
        there = {d.entries[0] for d in await self._unexpired([d for d in found if d])}
        shown = [d if d and d.entries[0] in there else None for d in found]
        await self._shelf.touch(d for op, d in zip(ops, shown, strict=True) if d and op.refresh_ttl)
        return [_item(d) if d else None for d in shown]

    async def _put(self, ops: Sequence[PutOp]) -> None:
        last = {(op.namespace, op.key): op for op in ops}
        puts = [
            Put(op.namespace, op.key, op.value, op.ttl, ranked=op.index is not False)
            for op in last.values()
            if op.value is not None
        ]
        await self._shelf.put_many(puts)
        await self._shelf.delete_many([name for name, op in last.items() if op.value is None])

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        """What a query ranks, then the rest, the newest first: as many as are asked for."""
        end = op.offset + op.limit
        ranked = await self._ranked(op) if op.query else []
        seen = {d.entries[0] for d, _ in ranked}
        found: list[Found] = ranked[:end]
        if len(found) < end:
            pages = self._shelf.pages(op.namespace_prefix, at_once=max(end, PAGE))
            async with aclosing(pages):
                async for page in pages:
                    fresh = [d for d in page if d.entries[0] not in seen]
                    found += [(d, None) for d in await self._wanted(op, fresh)]
                    if len(found) >= end:
                        break
        shown = found[op.offset : end]
        if op.refresh_ttl:
            await self._shelf.touch(d for d, _ in shown)
        return [_search_item(d, score) for d, score in shown]

    async def _ranked(self, op: SearchOp) -> list[Found]:
        scored = await self._shelf.search(op.namespace_prefix, op.query or "")
        score = {d.entries[0]: s for d, s in scored}
        wanted = await self._wanted(op, [d for d, _ in scored])
        return [(d, score[d.entries[0]]) for d in wanted]

    async def _wanted(self, op: SearchOp, documents: Sequence[Document]) -> list[Document]:
        return await self._unexpired([d for d in documents if satisfies(d.value, op.filter)])

    async def _unexpired(self, documents: Sequence[Document]) -> list[Document]:
        """Without what has expired, if the store is to omit it before it is swept."""
        if not (self.ttl_config or {}).get("omit_expired"):
            return list(documents)
        over = {d.entries[0] for d in await self._shelf.expired(documents)}
        return [d for d in documents if d.entries[0] not in over]

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        counted = await self._shelf.namespaces()
        if (self.ttl_config or {}).get("omit_expired"):
            for one in await self._shelf.over():
                counted[one.namespace] -= 1
        kept = [
            namespace[: op.max_depth]
            for namespace, count in counted.items()
            if count > 0 and all(matches(namespace, c) for c in op.match_conditions or ())
        ]
        return sorted(set(kept))[op.offset : op.offset + op.limit]


def _item(found: Document) -> Item:
    return Item(
        value=found.value,
        key=found.key,
        namespace=found.namespace,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def _search_item(found: Document, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=found.namespace,
        key=found.key,
        value=found.value,
        created_at=found.created_at,
        updated_at=found.updated_at,
        score=score,
    )

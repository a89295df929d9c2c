"""LangGraph on Idetic: the store, and the checkpointer in a schema of its own.

The state of a running graph is not memory: it is replaced at every step, and its tables are the
framework's. They lie in the same database, so that one backup holds both, and in the schema that an
agent's spec names for them, so that neither knows of the other (primitive 4).
"""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from itertools import islice
from typing import Any, Literal, cast
from urllib.parse import quote

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from idetic.errors import InputError
from idetic.gateway.convoys import Convoys
from idetic.library.handles import Agent, Memory
from idetic.library.idetic import Idetic
from idetic.model import Capability
from idetic.store.checkpoints import CheckpointPool, Checkpoints
from idetic.store.database import Database
from idetic.store.threads import thread_prefix
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.documents import Put, StoredDocument
from idetic.surfaces.shelf import Shelf
from idetic.surfaces.sweeper import Sweeper
from idetic.verbs.authorization import require, require_whole_anchor
from idetic.verbs.handle import SyncHandle

Found = tuple[StoredDocument, float | None]
SWEEP_MINUTES = 5
PAGE = 100
SCHEMA = "langgraph"
# Puts of so many callers are one batch at most.
AT_ONCE = 1_000
# One store is one scope: all of it is one lane.
_LANE = "documents"
# What shares a call; as a union it is made anew for each question.
_QUICK = (GetOp, PutOp)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class IdeticStore(BaseStore):
    """A `BaseStore` whose tenant is bound when it is made, and never an argument.

    `put` supersedes and keeps what was there, `delete` archives, and every value comes back as it
    was put. Made from a `Memory` of `framework_agent`, or from one of `open_sync`.
    """

    supports_ttl = True

    def __init__(self, memory: Memory | SyncHandle, *, ttl: TTLConfig | None = None):
        self._bridge = Bridge(memory)
        self._shelf = Shelf(self._bridge.memory)
        self._sweeper = Sweeper(self._bridge, self._sweep)
        self._convoys: Convoys[Sequence[Op], list[Result]] = Convoys(AT_ONCE, AT_ONCE)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations from code that cannot await them."""
        asked = list(ops)
        return self._bridge.blocking(lambda: self._joined(asked))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads first, which see what was there before, then writes together."""
        asked = list(ops)
        return await self._bridge.awaited(lambda: self._joined(asked))

    # Awaited in a coroutine, and done on return in blocking code: no one type says both.
    def sweep_ttl(self) -> Any:
        """Archive what has expired; says how many items that were."""
        return self._sweeper.once()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Any:
        """Sweep every so many minutes, until stopped; the first time at once."""
        config = self.ttl_config or {}
        every = sweep_interval_minutes or config.get("sweep_interval_minutes") or SWEEP_MINUTES
        return self._sweeper.start(every * 60)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> Any:
        """Stop sweeping; says whether it ended in time."""
        return self._sweeper.stop(timeout)

    async def _sweep(self) -> int:
        """Find and archive what has expired, on the loop where the database was opened."""
        over = await self._shelf.over()
        await self._shelf.delete_many([(d.namespace, d.key) for d in over], "expired")
        return len(over)

    async def _joined(self, ops: Sequence[Op]) -> list[Result]:
        """The results of one caller's operations; puts and gets that arrive together share a call.

        A search takes its time, and nobody who puts is to wait for it.
        """
        if not all(isinstance(op, _QUICK) for op in ops):
            return await self._answers(ops)
        if _LANE in self._convoys:
            return await self._convoys.follow(_LANE, ops)
        with self._convoys.leading(_LANE, self._together):
            return await self._answers(ops)

    async def _together(self, crowd: Sequence[Sequence[Op]]) -> list[list[Result]]:
        """The results of each caller's operations.

        Of two callers who put under one name the first is written before the second comes: its
        value was acknowledged, and has to have been there.
        """
        results: list[list[Result]] = []
        for callers in _without_repeats(crowd):
            found = iter(await self._answers([op for ops in callers for op in ops]))
            results += [list(islice(found, len(ops))) for ops in callers]
        return results

    async def _answers(self, ops: Sequence[Op]) -> list[Result]:
        """The results in the order of the operations; every write comes after every read."""
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
            elif not isinstance(op, _QUICK):
                raise InputError(f"A {type(op).__name__} is not an operation of a store.")
        await self._put([op for op in ops if isinstance(op, PutOp)])
        return results

    async def _get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        """The item of each name, or None; those that are found begin their TTL anew if asked."""
        found = await self._shelf.get_many([(op.namespace, op.key) for op in ops])
        there = {d.entries[0] for d in await self._unexpired([d for d in found if d])}
        shown = [d if d and d.entries[0] in there else None for d in found]
        await self._shelf.touch(d for op, d in zip(ops, shown, strict=True) if d and op.refresh_ttl)
        return [Item(**_told(d)) if d else None for d in shown]

    async def _put(self, ops: Sequence[PutOp]) -> None:
        """Write the last value of each name; a last value of None archives what lies there."""
        last = {(op.namespace, op.key): op for op in ops}
        # In LangGraph `index=False` keeps a value out of what queries rank.
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
        found: list[Found] = []
        if op.query:
            scored = await self._shelf.search(op.namespace_prefix, op.query)
            score = {d.entries[0]: s for d, s in scored}
            found = [
                (d, score[d.entries[0]]) for d in await self._wanted(op, [d for d, _ in scored])
            ]
        seen = {d.entries[0] for d, _ in found}
        found = found[:end]
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
        return [SearchItem(**_told(d), score=score) for d, score in shown]

    async def _wanted(
        self, op: SearchOp, documents: Sequence[StoredDocument]
    ) -> list[StoredDocument]:
        """The documents that fit a search's filter, less the expired if those are omitted."""
        return await self._unexpired([d for d in documents if satisfies(d.value, op.filter)])

    async def _unexpired(self, documents: Sequence[StoredDocument]) -> list[StoredDocument]:
        """Without what has expired, if the store is to omit it before it is swept."""
        if not (self.ttl_config or {}).get("omit_expired"):
            return list(documents)
        over = {d.entries[0] for d in await self._shelf.expired(documents)}
        return [d for d in documents if d.entries[0] not in over]

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        """One page of the namespaces that fit, each cut to the depth asked for and named once."""
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


def _without_repeats(crowd: Iterable[Sequence[Op]]) -> Iterator[list[Sequence[Op]]]:
    """Callers in runs in which no two of them put under the same name."""
    run: list[Sequence[Op]] = []
    taken: set[tuple[Any, str]] = set()
    for ops in crowd:
        own = {(op.namespace, op.key) for op in ops if isinstance(op, PutOp)}
        if own & taken:
            yield run
            run, taken = [], set()
        run.append(ops)
        taken |= own
    if run:
        yield run


def _told(found: StoredDocument) -> dict[str, Any]:
    """What LangGraph's items take of a document."""
    names = ("namespace", "key", "value", "created_at", "updated_at")
    return {name: getattr(found, name) for name in names}


def satisfies(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value has every field that a filter asks for, as it asks for it."""
    return all(_field(value.get(name), asked) for name, asked in (wanted or {}).items())


def _field(found: Any, asked: Any) -> bool:
    """Whether a field is as asked: by operators, key by key, item by item, or equal."""
    if isinstance(asked, Mapping):
        if any(str(name).startswith("$") for name in asked):
            return all(_compared(found, name, operand) for name, operand in asked.items())
        return isinstance(found, Mapping) and all(
            _field(found.get(name), part) for name, part in asked.items()
        )
    if isinstance(asked, list | tuple):
        same = isinstance(found, list | tuple) and len(found) == len(asked)
        return same and all(map(_field, found, asked))
    return _equal(found, asked)


def _compared(found: Any, name: str, operand: Any) -> bool:
    """Whether a field passes one operator of a filter; raises InputError for an unknown one."""
    if name == "$eq":
        return _equal(found, operand)
    if name == "$ne":
        return not _equal(found, operand)
    if name not in _ORDER:
        raise InputError(
            f"{name!r} is not an operator of a filter.",
            remedy=f"Use one of $eq, $ne, {', '.join(_ORDER)}.",
        )
    # Numbers are compared with numbers and texts with texts; anything else has no order.
    numbers = _is_number(found) and _is_number(operand)
    texts = isinstance(found, str) and isinstance(operand, str)
    return (numbers or texts) and _ORDER[name](found, operand)


def _equal(found: Any, asked: Any) -> bool:
    """As JSON has it: true is not 1."""
    return bool(found == asked) and isinstance(found, bool) == isinstance(asked, bool)


def _is_number(value: Any) -> bool:
    """Whether a value is a number; to Python a bool is one too, to JSON it is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def matches(namespace: Sequence[str], condition: MatchCondition) -> bool:
    """Whether a namespace begins or ends as a condition says; `*` is any one label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise InputError(f"{condition.match_type!r} is neither prefix nor suffix.")
    return all(asked in ("*", label) for label, asked in zip(part, path, strict=True))


class Saver(AsyncPostgresSaver):
    """LangGraph's own, on connections that are lent for one transaction each."""

    def __init__(self, pool: CheckpointPool, snapshots: CheckpointPool):
        super().__init__(pool)
        self._snapshots = snapshots

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Prune threads. What it reads has to be of one moment, and a transaction that has begun
        can no longer be made so."""
        await AsyncPostgresSaver(self._snapshots).aprune(thread_ids, strategy=strategy)


def checkpoints_of(database: Database, agent: Agent | None) -> Checkpoints:
    """The checkpoints of an agent: in the schema that its spec names."""
    return Checkpoints(database, SCHEMA if agent is None else agent.spec.backend.checkpointer)


@asynccontextmanager
async def open_saver(
    db: Idetic, agent: Agent | None = None, *, pool_size: int = 4
) -> AsyncIterator[AsyncPostgresSaver]:
    """`async with open_saver(db) as saver`: its tables made or brought up to date, then open.

    In the schema that the agent's spec names for them (`backend.checkpointer`), which is where an
    erasure looks; without an agent in `langgraph`. Making them takes the admin login; using them
    does not.
    """
    checkpoints = checkpoints_of(db.database, agent)
    if not await checkpoints.is_current(len(AsyncPostgresSaver.MIGRATIONS) - 1):
        async with checkpoints.preparing(db.administration) as connection:
            # It names its row factory itself, whatever the connection's is.
            await AsyncPostgresSaver(cast("Any", connection)).setup()
    pools = checkpoints.pool(pool_size), checkpoints.pool(1, snapshot=True)
    async with pools[0] as pool, pools[1] as snapshots:
        yield Saver(pool, snapshots)


def thread(memory: Memory, thread_id: str) -> RunnableConfig:
    """The configuration of a thread that belongs to a scope.

    LangGraph's tables know no tenant. A thread id that begins with the scope keeps two tenants'
    threads of one name apart.
    """
    if not isinstance(thread_id, str) or not thread_id:
        raise InputError("A thread id must be a text of at least one character.")
    named = f"{thread_prefix(memory.scope)}{quote(thread_id, safe='')}"
    return {"configurable": {"thread_id": named}}


async def prune(
    memory: Memory,
    saver: AsyncPostgresSaver,
    *,
    silent_for: timedelta,
    strategy: Literal["delete", "keep_latest"] = "keep_latest",
) -> list[str]:
    """Prune the threads of a scope of which nothing was saved for so long; says which.

    `memory` is bound for maintenance, and no thread beyond its scope is looked at. `keep_latest`
    leaves each thread where it stands and takes the steps that led there; `delete` takes the
    thread.
    """
    engine, scope = memory.agent.engine, memory.scope
    require(engine.spec, scope, Capability.MAINTAIN)
    require_whole_anchor(scope)
    if silent_for < timedelta(0):
        raise InputError("silent_for must not be negative.")
    moment = engine.clock.now() - silent_for
    checkpoints = Checkpoints(engine.anchors.database, engine.spec.backend.checkpointer)
    threads = await checkpoints.silent_since(moment, thread_prefix(scope))
    if threads:
        await saver.aprune(threads, strategy=strategy)
    return threads

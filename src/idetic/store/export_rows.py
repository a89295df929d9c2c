"""An anchor's rows for an export and from one: one snapshot when they leave, one transaction when
they land. What they mean, and whether they may be believed, is for `idetic.transfer` to say.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from idetic.errors import Busy
from idetic.model import Scope
from idetic.store import templates
from idetic.store.anchor_transaction import Anchors, AnchorTransaction
from idetic.store.database import Transaction
from idetic.store.embeddings import activation, active, known
from idetic.store.family import Family, left_out, moved, note_columns, noun, take_function
from idetic.store.scope import quoted
from idetic.store.templates import Values, filled

MOVING = "moving"
_PATH = "queries/moving.sql"
SPECS, PROFILES, SUPERSESSIONS = "specs", "profiles", "supersessions"
VECTORS = "embeddings"
# Less than half of a pool, and of one tenant half of that.
MOST_EXPORTS, MOST_OF_A_TENANT = 4, 2
# Rows print alike everywhere: in UTC, bytes as hexadecimal.
_PRINTED = {"timezone": "UTC", "bytea_output": "hex", "extra_float_digits": "1"}


@dataclass(frozen=True, slots=True)
class RowKind:
    """One kind of row of an export: its name, its columns, the query that gives it, with values."""

    name: str
    columns: frozenset[str]
    query: str
    values: Values


@asynccontextmanager
async def leaving(anchors: Anchors, scope: Scope) -> AsyncIterator[AnchorTransaction]:
    """The anchor as it is at one moment, to be exported; nothing is locked.

    An export keeps its connection until its reader has taken all of it, so there is room for few.
    """
    database, tenant = anchors.database, str(next(iter(scope.anchor.values()), ""))
    under_way = database.exports
    if under_way.total() >= MOST_EXPORTS or under_way[tenant] >= MOST_OF_A_TENANT:
        raise Busy("Too many exports are under way.", remedy="Let one of them end, then try again.")
    under_way[tenant] += 1
    try:
        async with _printed(anchors, scope, database.snapshot(scope)) as tx:
            yield tx
    finally:
        under_way[tenant] -= 1
        if not under_way[tenant]:
            # A tenant that exports nothing takes no room.
            del under_way[tenant]


def landing(anchors: Anchors, scope: Scope) -> AbstractAsyncContextManager[AnchorTransaction]:
    """The anchor, to be filled until the block ends; an error takes all of it back."""
    return _printed(anchors, scope, anchors.database.transaction(scope))


@asynccontextmanager
async def _printed(
    anchors: Anchors, scope: Scope, within: AbstractAsyncContextManager[Transaction]
) -> AsyncIterator[AnchorTransaction]:
    """An anchor's transaction in which rows print alike on every server."""
    async with anchors.within(scope, within) as tx:
        tx.run.set(_PRINTED)
        yield tx


async def row_kinds(tx: AnchorTransaction, *, vectors: bool) -> list[RowKind]:
    """Every kind of row that makes up an anchor's memory, in the order of a file."""
    tables = moved(tx.family)
    rows = await tx.ask(MOVING, "shape", schema=tx.family.schema, tables=tables)
    shapes = {row[0]: row[1:] for row in rows}
    spec_columns = frozenset({"version", "digest", "spec"})
    found = [RowKind(SPECS, spec_columns, _text(tx, "specs"), {"agent": tx.scope.agent})]
    for table in tables:
        called = noun(tx.family, table)
        if called == VECTORS and not vectors:
            continue
        if called == VECTORS:
            columns = frozenset({"profile", "name", "fingerprint", "dimensions", "active"})
            found.append(RowKind(PROFILES, columns, _text(tx, "profiles"), {}))
        found.append(_kind(tx, table, called, shapes[table], vectors=vectors))
        if called == "memory":
            columns = frozenset({"memory_id", "superseded_at", "superseded_by"})
            found.append(RowKind(SUPERSESSIONS, columns, _text(tx, "supersessions"), {}))
    return found


def _kind(
    tx: AnchorTransaction, table: str, called: str, shape: tuple[Any, ...], *, vectors: bool
) -> RowKind:
    """How the rows of one table are exported: which columns, in which order, by which query."""
    columns, keys, texts = (list(part) for part in shape)
    without = left_out(tx.family, table)
    order = [
        # By bytes, so that the order does not depend on the database's collation.
        f'm.{quoted(key)} COLLATE "C"' if key in texts else f"m.{quoted(key)}"
        for key in keys
        if key not in without
    ]
    if called == "memory" and not vectors:
        # It points at a vector that stays behind.
        without.add("embedding_id")
    if called == "scopes":
        # Sessions before their interactions, which point at them.
        order.insert(0, "m.session_id <> m.scope_id")
    query = _text(
        tx,
        VECTORS if called == VECTORS else "rows",
        table=tx.family.qualified(table).as_string(None),
        order=", ".join(order),
    )
    extra = {"profile"} if called == VECTORS else set()
    shown = frozenset(set(columns) - without | extra)
    return RowKind(called, shown, query, {"without": sorted(without)})


def _text(tx: AnchorTransaction, query: str, **parts: str) -> str:
    """A query of this file for one anchor, with its names in place."""
    names = {**tx.family.names(), **tx.family.scope_names(tx.scope), **parts}
    return filled(templates.query(_PATH, query), names)


async def count(tx: AnchorTransaction, kind: RowKind) -> int:
    """How many rows of a kind there are."""
    ((found,),) = await tx.ask(MOVING, "count", {"rows": kind.query}, **kind.values)
    return int(found)


async def batches(tx: AnchorTransaction, kind: RowKind) -> AsyncIterator[list[str]]:
    """The rows of a kind as JSON texts, a few at a time."""
    await tx.ask(MOVING, "open", {"rows": kind.query}, **kind.values)
    while batch := await tx.ask(MOVING, "fetch"):
        yield [row[0] for row in batch]
    await tx.ask(MOVING, "close")


async def begin(tx: AnchorTransaction) -> int:
    """Take the anchor to fill it; the position of its chain, which is 0 if it has no memory."""
    ((position,),) = await tx.ask(MOVING, "begin")
    return int(position)


async def spec_texts(tx: AnchorTransaction) -> list[str]:
    """The versions of the agent's spec that this database holds, as a file would have them."""
    return [row[0] for row in await tx.ask(MOVING, "specs", agent=tx.scope.agent)]


def note_parts(family: Family) -> list[dict[str, str]]:
    """The columns with notes about entries, as the query that reads them names them."""
    return [
        {"table": family.qualified(table).as_string(None), "column": column}
        for table, columns in note_columns(family).items()
        for column in columns
    ]


async def register(tx: AnchorTransaction, profile: Mapping[str, Any]) -> None:
    """Make the model of some vectors known here; a tenant without a profile uses it."""
    model = (profile[part] for part in ("name", "dimensions", "fingerprint"))
    profile_id = await known(tx.run, *model)
    asking = active(tx.family, tx.scope)
    if profile["active"] and not await tx.run(asking.statement, asking.values):
        call = activation(tx.family, tx.scope, profile_id, tx.at)
        await tx.run(call.statement, call.values)


async def fill(tx: AnchorTransaction, called: str, rows: Sequence[str], *, vectors: bool) -> None:
    """Put rows of a kind into their table."""
    tables = {noun(tx.family, table): table for table in moved(tx.family)}
    function = (
        f"{tx.family.prefix}_take_{SUPERSESSIONS}_v1"
        if called == SUPERSESSIONS
        else take_function(tx.family, tables[called])
    )
    without = [] if vectors else ["embedding_id"]
    taken = {"rows": f"[{','.join(rows)}]", "without": without}
    await tx.ask(MOVING, "take", {"function": function}, **taken)

"""An anchor's rows on their way out and in: one snapshot when they leave, one transaction when
they land. What they mean, and whether they may be believed, is for `idetic.transfer` to say.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import sql
from psycopg.sql import Composable

from idetic.ids import uuid7
from idetic.model import Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.audit import Audited, Auditing
from idetic.store.database import Rows
from idetic.store.disposal import noun
from idetic.store.taking import left_out, moved, take_function
from idetic.store.templates import raw

FILE = "queries/moving.sql"
SPECS, PROFILES, SUPERSESSIONS = "specs", "profiles", "supersessions"
VECTORS = "embeddings"
FETCHED = 500


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row of an export: what it is called, its columns, the query that gives it."""

    name: str
    columns: frozenset[str]
    query: Composable


class Moved(Audited):
    """One anchor within one transaction, with the kinds of rows that make up its memory."""

    async def kinds(self, *, vectors: bool) -> list[Kind]:
        """Every kind of row, in the order in which a file holds them."""
        shapes = {row[0]: row[1:] for row in await self._shapes()}
        spec_columns = frozenset({"version", "digest", "spec"})
        found = [Kind(SPECS, spec_columns, self._text("specs", agent=self._agent()))]
        for table in moved(self.family):
            called = noun(self.family, table)
            if called == VECTORS and not vectors:
                continue
            if called == VECTORS:
                found.append(self._profiles())
            found.append(self._kind(table, called, shapes[table], vectors=vectors))
            if called == "memory":
                columns = frozenset({"memory_id", "superseded_at", "superseded_by"})
                found.append(Kind(SUPERSESSIONS, columns, self._text("supersessions")))
        return found

    def _profiles(self) -> Kind:
        columns = frozenset({"profile", "name", "fingerprint", "dimensions", "active"})
        return Kind(PROFILES, columns, self._text("profiles", scope_tenant_t=self._tenant("t")))

    def _kind(self, table: str, called: str, shape: tuple[Any, ...], *, vectors: bool) -> Kind:
        columns, keys, texts = (list(part) for part in shape)
        without = left_out(self.family, table)
        if called == "memory" and not vectors:
            # It points at a vector that stays behind.
            without.add("embedding_id")
        order = [_order(key, texts) for key in keys if key not in self.family.keys]
        if called == "scopes":
            # Sessions before their interactions, which point at them.
            order.insert(0, raw("m.session_id <> m.scope_id"))
        query = self._text(
            VECTORS if called == VECTORS else "rows",
            table=self.family.qualified(table),
            without=sql.Literal(sorted(without)),
            order=raw(", ").join(order),
        )
        extra = {"profile"} if called == VECTORS else set()
        return Kind(called, frozenset(set(columns) - without | extra), query)

    async def _shapes(self) -> Rows:
        return await self._do(
            "shape",
            schema_text=sql.Literal(self.family.schema),
            tables=sql.Literal(moved(self.family)),
        )

    def _agent(self) -> Composable:
        return sql.Literal(self.scope.agent)

    def _tenant(self, alias: str) -> Composable:
        return scoping.tenant_predicate(self.scope, alias)

    def _text(self, query: str, **values: Composable) -> Composable:
        return raw(templates.query(FILE, query)).format(**(self._names | values))

    async def _do(self, query: str, **values: Composable) -> Rows:
        return await self._run(self._text(query, **values).as_string(None))


class Leaving(Moved):
    """An anchor read for an export: every row of one moment, a few at a time."""

    async def count(self, kind: Kind) -> int:
        """How many rows of a kind there are."""
        ((count,),) = await self._do("count", rows=kind.query)
        found: int = count
        return found

    async def batches(self, kind: Kind) -> AsyncIterator[list[str]]:
        """The rows of a kind as JSON texts, in batches."""
        await self._do("open", rows=kind.query)
        while batch := await self._do("fetch", limit=sql.Literal(FETCHED)):
            yield [row[0] for row in batch]
        await self._do("close")


class Landing(Moved):
    """An anchor being filled from an export: all of it commits, or nothing."""

    async def begin(self) -> int:
        """Take the anchor; the position its chain is at, which is 0 if it has no memory."""
        ((position,),) = await self._do("begin")
        found: int = position
        return found

    async def specs(self) -> list[str]:
        """The versions of the agent's spec that this database holds, as a file would have them."""
        return [row[0] for row in await self._do("specs", agent=self._agent())]

    async def register(self, profile: Mapping[str, Any]) -> None:
        """Make the model of some vectors known here; a tenant without a profile uses it."""
        principal = self.scope.principal
        named = {key: sql.Literal(profile[key]) for key in ("name", "fingerprint")}
        dimensions = sql.Literal(profile["dimensions"])
        await self._do("register", profile_id=sql.Literal(uuid7()), dimensions=dimensions, **named)
        if profile["active"]:
            await self._do(
                "activate",
                tenant_value=sql.Literal(self.scope.tenant),
                activation_id=sql.Literal(uuid7()),
                at=sql.Literal(self.at),
                by=sql.Literal(f"{principal.kind}:{principal.name}"),
                scope_tenant_t=self._tenant("t"),
                **named,
            )

    async def fill(self, called: str, rows: Sequence[str], *, vectors: bool) -> None:
        """Put rows of a kind into their table."""
        tables = {noun(self.family, table): table for table in moved(self.family)}
        function = (
            self._names["take_supersessions"]
            if called == SUPERSESSIONS
            else take_function(self.family, tables[called])
        )
        without = [] if vectors else ["embedding_id"]
        await self._do(
            "take",
            function=function,
            rows=sql.Literal(f"[{','.join(rows)}]"),
            without=sql.Literal(without),
        )

    async def finish(self) -> None:
        """Let the guard look at what came, and move the anchor to the end of its chain."""
        await self._do("taken")


class Moving(Auditing):
    """Takes anchors of one family out of a database, and into one."""

    @asynccontextmanager
    async def leave(self, scope: Scope, now: datetime) -> AsyncIterator[Leaving]:
        """The anchor as it is at one moment; nothing is locked."""
        async with self._database.snapshot(scope) as run:
            await run(templates.query(FILE, "settings"))
            yield Leaving(self._family, self._entries, self._extensions, scope, run, now)

    @asynccontextmanager
    async def land(self, scope: Scope, now: datetime) -> AsyncIterator[Landing]:
        """The anchor, to be filled until the block ends; an error takes all of it back."""
        async with self._database.transaction(scope) as run:
            await run(templates.query(FILE, "settings"))
            yield Landing(self._family, self._entries, self._extensions, scope, run, now)


def _order(key: str, texts: Sequence[str]) -> Composable:
    plain = raw("m.{}").format(sql.Identifier(key))
    return raw('{} COLLATE "C"').format(plain) if key in texts else plain

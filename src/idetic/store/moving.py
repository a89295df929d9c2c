"""An anchor's rows on their way out and in: one snapshot when they leave, one transaction when
they land. What they mean, and whether they may be believed, is for `idetic.transfer` to say.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idetic.model import Scope
from idetic.store import templates
from idetic.store.audit import Audited, Auditing
from idetic.store.embeddings import activation, active, known
from idetic.store.payload_stripping import noun
from idetic.store.scope import quoted
from idetic.store.statement import Values, filled
from idetic.store.taking import left_out, moved, take_function

_FILE = "moving"
_PATH = "queries/moving.sql"
SPECS, PROFILES, SUPERSESSIONS = "specs", "profiles", "supersessions"
VECTORS = "embeddings"
# Rows print alike everywhere: in UTC, bytes as hexadecimal.
_PRINTED = {"timezone": "UTC", "bytea_output": "hex", "extra_float_digits": "1"}
_NO_PARTS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row of an export: its name, its columns, the query that gives it, with values."""

    name: str
    columns: frozenset[str]
    query: str
    values: Values


class Moved(Audited):
    """One anchor within one transaction, with the kinds of rows that make up its memory."""

    async def kinds(self, *, vectors: bool) -> list[Kind]:
        """Every kind of row, in the order in which a file holds them."""
        tables = moved(self.family)
        rows = await self.ask(_FILE, "shape", schema=self.family.schema, tables=tables)
        shapes = {row[0]: row[1:] for row in rows}
        spec_columns = frozenset({"version", "digest", "spec"})
        found = [Kind(SPECS, spec_columns, self._text("specs"), {"agent": self.scope.agent})]
        for table in tables:
            called = noun(self.family, table)
            if called == VECTORS and not vectors:
                continue
            if called == VECTORS:
                columns = frozenset({"profile", "name", "fingerprint", "dimensions", "active"})
                found.append(Kind(PROFILES, columns, self._text("profiles"), {}))
            found.append(self._kind(table, called, shapes[table], vectors=vectors))
            if called == "memory":
                columns = frozenset({"memory_id", "superseded_at", "superseded_by"})
                found.append(Kind(SUPERSESSIONS, columns, self._text("supersessions"), {}))
        return found

    def _kind(self, table: str, called: str, shape: tuple[Any, ...], *, vectors: bool) -> Kind:
        columns, keys, texts = (list(part) for part in shape)
        without = left_out(self.family, table)
        order = [_order(key, texts) for key in keys if key not in without]
        if called == "memory" and not vectors:
            # It points at a vector that stays behind.
            without.add("embedding_id")
        if called == "scopes":
            # Sessions before their interactions, which point at them.
            order.insert(0, "m.session_id <> m.scope_id")
        query = self._text(
            VECTORS if called == VECTORS else "rows",
            table=self.family.qualified(table).as_string(None),
            order=", ".join(order),
        )
        extra = {"profile"} if called == VECTORS else set()
        shown = frozenset(set(columns) - without | extra)
        return Kind(called, shown, query, {"without": sorted(without)})

    def _text(self, query: str, **parts: str) -> str:
        names = {**self.family.names(), **self.family.scope_names(self.scope), **parts}
        return filled(templates.query(_PATH, query), names)


class Leaving(Moved):
    """An anchor read for an export: every row of one moment, a few at a time."""

    async def count(self, kind: Kind) -> int:
        """How many rows of a kind there are."""
        ((count,),) = await self.ask(_FILE, "count", {"rows": kind.query}, **kind.values)
        found: int = count
        return found

    async def batches(self, kind: Kind) -> AsyncIterator[list[str]]:
        """The rows of a kind as JSON texts, in batches."""
        await self.ask(_FILE, "open", {"rows": kind.query}, **kind.values)
        while batch := await self.ask(_FILE, "fetch"):
            yield [row[0] for row in batch]
        await self.ask(_FILE, "close")


class Landing(Moved):
    """An anchor being filled from an export: all of it commits, or nothing."""

    async def begin(self) -> int:
        """Take the anchor; the position its chain is at, which is 0 if it has no memory."""
        ((position,),) = await self.ask(_FILE, "begin")
        found: int = position
        return found

    async def specs(self) -> list[str]:
        """The versions of the agent's spec that this database holds, as a file would have them."""
        return [row[0] for row in await self.ask(_FILE, "specs", agent=self.scope.agent)]

    async def register(self, profile: Mapping[str, Any]) -> None:
        """Make the model of some vectors known here; a tenant without a profile uses it."""
        model = (profile[part] for part in ("name", "dimensions", "fingerprint"))
        profile_id = await known(self.run, *model)
        asking = active(self.family, self.scope)
        if profile["active"] and not await self.run(asking.statement, asking.values):
            call = activation(self.family, self.scope, profile_id, self.at)
            await self.run(call.statement, call.values)

    async def fill(self, called: str, rows: Sequence[str], *, vectors: bool) -> None:
        """Put rows of a kind into their table."""
        tables = {noun(self.family, table): table for table in moved(self.family)}
        function = (
            f"{self.family.prefix}_take_{SUPERSESSIONS}_v1"
            if called == SUPERSESSIONS
            else take_function(self.family, tables[called])
        )
        without = [] if vectors else ["embedding_id"]
        taken = {"rows": f"[{','.join(rows)}]", "without": without}
        await self.ask(_FILE, "take", {"function": function}, **taken)

    async def finish(self) -> None:
        """Let the guard look at what came, and move the anchor to the end of its chain."""
        await self.ask(_FILE, "taken")


class Moving(Auditing):
    """Takes anchors of one family out of a database, and into one."""

    @asynccontextmanager
    async def leave(self, scope: Scope, now: datetime) -> AsyncIterator[Leaving]:
        """The anchor as it is at one moment; nothing is locked."""
        async with self._database.snapshot(scope) as run:
            await run.set(_PRINTED)
            yield Leaving(self._family, self._entries, self._extensions, scope, run, now)

    @asynccontextmanager
    async def land(self, scope: Scope, now: datetime) -> AsyncIterator[Landing]:
        """The anchor, to be filled until the block ends; an error takes all of it back."""
        async with self._database.transaction(scope) as run:
            await run.set(_PRINTED)
            yield Landing(self._family, self._entries, self._extensions, scope, run, now)


def _order(key: str, texts: Sequence[str]) -> str:
    return f'm.{quoted(key)} COLLATE "C"' if key in texts else f"m.{quoted(key)}"

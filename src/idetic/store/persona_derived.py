"""What is derived from one persona's log: long-term entries, vectors and short-term entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.sql import Composable

from idetic.store.database import Rows
from idetic.store.persona_tables import PersonaTables, as_json, literal
from idetic.store.templates import raw

_FILE = "persona_derived"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A long-term entry that waits for its vector."""

    ltm_id: UUID
    summary: str
    position: int


class DerivedRows:
    """The derived layers of one persona, as rows."""

    def __init__(self, tables: PersonaTables, vector_schema: str):
        self._tables = tables
        self._vector = sql.Identifier(vector_schema, "halfvec")

    async def derive(self, items: Sequence[dict[str, Any]]) -> None:
        """Put long-term entries; an entry that an older way made is replaced."""
        await self._tables.rows(_FILE, "derive", items=as_json(list(items)))

    async def underived(self, derivations: Sequence[str], after: int, limit: int) -> Rows:
        """Events whose long-term entry is missing, or made in another way than these."""
        return await self._tables.rows(
            _FILE, "underived", derivations=list(derivations), after=after, limit=limit
        )

    async def unreasoned(self, derivation: str, longer_than: int, after: int, limit: int) -> Rows:
        """Long events whose entry was only extracted."""
        return await self._tables.rows(
            _FILE, "unreasoned", derivation=derivation, longer_than=longer_than, after=after,
            limit=limit,
        )  # fmt: skip

    async def waiting(self, profile_id: UUID, after: int, limit: int) -> list[Waiting]:
        """Entries without a vector of this profile."""
        rows = await self._tables.rows(
            _FILE, "waiting", profile=profile_id, after=after, limit=limit
        )
        return [Waiting(*row) for row in rows]

    async def waiting_in_loop(self, loop_id: UUID, after: int, limit: int) -> list[Waiting]:
        """Entries of one loop that wait for a vector."""
        rows = await self._tables.rows(
            _FILE, "waiting_in_loop", loop_id=loop_id, after=after, limit=limit
        )
        return [Waiting(*row) for row in rows]

    async def embedded(
        self, profile_id: UUID, found: Iterable[tuple[UUID, Sequence[float]]]
    ) -> None:
        """Keep vectors, and say of their entries that they have them: both or neither."""
        pairs = list(found)
        rows = raw(", ").join(self._vector_row(profile_id, *pair) for pair in pairs)
        await self._tables.run(
            self._tables.compose(_FILE, "store_vectors", rows=rows),
            self._settled([ltm_id for ltm_id, _ in pairs], "embedded", None),
        )

    async def failed(self, ltm_ids: Sequence[UUID], error: str) -> None:
        """Say of entries that embedding them failed, and how; a dream tries again."""
        await self._tables.run(self._settled(ltm_ids, "failed", error))

    def _settled(self, ltm_ids: Sequence[UUID], status: str, error: str | None) -> Composable:
        return self._tables.compose(
            _FILE,
            "settle",
            status=literal(status),
            error=literal(error),
            ids=literal(list(ltm_ids)),
        )

    def _vector_row(self, profile_id: UUID, ltm_id: UUID, vector: Sequence[float]) -> Composable:
        anchor = map(sql.Literal, self._tables.scope.anchor.values())
        numbers = sql.Literal("[" + ",".join(f"{x:.6g}" for x in vector) + "]")
        return raw("({}, {}, {}, {}::{})").format(
            raw(", ").join(anchor), *map(sql.Literal, (ltm_id, profile_id)), numbers, self._vector
        )

    async def entry(self, ltm_id: UUID) -> Rows:
        """One long-term entry, or nothing."""
        return await self._tables.rows(_FILE, "entry", ltm_id=ltm_id)

    async def of_event(self, event_id: UUID) -> Rows:
        """The long-term entry of one event, or nothing."""
        return await self._tables.rows(_FILE, "of_event", event_id=event_id)

    async def loop_entries(self, loop_id: UUID) -> Rows:
        """A loop's events, each after the id of its long-term entry."""
        return await self._tables.rows(_FILE, "loop_entries", loop_id=loop_id)

    async def put_stm(
        self,
        loop_id: UUID,
        ts: datetime,
        summary: str,
        paired: Sequence[tuple[UUID, str, str]],
    ) -> None:
        """The one short-term entry of a loop, with id, kind and visibility of each event."""
        kinds, shown = [kind for _, kind, _ in paired], [visible for _, _, visible in paired]
        await self._tables.rows(
            _FILE,
            "put_stm",
            loop_id=loop_id,
            ts=ts,
            summary=summary,
            ltm_ids=raw("{}::uuid[]").format(sql.Literal([ltm_id for ltm_id, _, _ in paired])),
            kinds=raw("{}::idetic.event_kind[]").format(sql.Literal(kinds)),
            visibilities=raw("{}::idetic.event_visibility[]").format(sql.Literal(shown)),
        )

    async def window(self, limit: int) -> Rows:
        """The last short-term entries, newest first."""
        return await self._tables.rows(_FILE, "window", limit=limit)

    async def stray_loops(self) -> list[UUID]:
        """Loops without a short-term entry that names all their long-term entries."""
        return [loop_id for (loop_id,) in await self._tables.rows(_FILE, "stray_loops")]

    async def coverage(self, profile_id: UUID | None) -> tuple[int, int, int, int, int]:
        """Events, long-term entries, vectors, loops, short-term entries."""
        (row,) = await self._tables.rows(
            _FILE, "coverage", profile=raw("{}::uuid").format(sql.Literal(profile_id))
        )
        events, ltm, vectors, loops, stm = row
        return events, ltm, vectors, loops, stm

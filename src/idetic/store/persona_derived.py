"""What is derived from one persona's log: long-term entries, vectors and short-term entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.store.persona_tables import PersonaTables, as_json
from idetic.store.pipeline import Rows
from idetic.store.scope import quoted
from idetic.store.statement import Call

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
        self._vector = f"{quoted(vector_schema)}.halfvec"

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
        await self._tables.run(
            self._stored(profile_id, pairs),
            self._settled([ltm_id for ltm_id, _ in pairs], "embedded", None),
        )

    async def failed(self, ltm_ids: Sequence[UUID], error: str) -> None:
        """Say of entries that embedding them failed, and how; a dream tries again."""
        await self._tables.run(self._settled(ltm_ids, "failed", error))

    def _settled(self, ltm_ids: Sequence[UUID], status: str, error: str | None) -> Call:
        values = {"status": status, "error": error, "ids": list(ltm_ids)}
        return self._tables.call(_FILE, "settle", {}, **values)

    def _stored(self, profile_id: UUID, pairs: Sequence[tuple[UUID, Sequence[float]]]) -> Call:
        """Several rows in one statement, as VALUES: Citus takes no unnest under our policies."""
        rows, values = [], dict[str, Any]()
        for number, (ltm_id, vector) in enumerate(pairs):
            ours = f"%(ltm_{number})s, %(profile)s, %(vector_{number})s::{self._vector}"
            rows.append(f"(%(tenant)s, %(agent_id)s, {ours})")
            values[f"ltm_{number}"] = ltm_id
            values[f"vector_{number}"] = "[" + ",".join(f"{x:.6g}" for x in vector) + "]"
        parts = {"rows": ", ".join(rows)}
        return self._tables.call(_FILE, "store_vectors", parts, profile=profile_id, **values)

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
            ltm_ids=[ltm_id for ltm_id, _, _ in paired],
            kinds=kinds,
            visibilities=shown,
        )

    async def window(self, limit: int) -> Rows:
        """The last short-term entries, newest first."""
        return await self._tables.rows(_FILE, "window", limit=limit)

    async def stray_loops(self) -> list[UUID]:
        """Loops without a short-term entry that names all their long-term entries."""
        return [loop_id for (loop_id,) in await self._tables.rows(_FILE, "stray_loops")]

    async def coverage(self, profile_id: UUID | None) -> tuple[int, int, int, int, int]:
        """Events, long-term entries, vectors, loops, short-term entries."""
        (row,) = await self._tables.rows(_FILE, "coverage", profile=profile_id)
        events, ltm, vectors, loops, stm = row
        return events, ltm, vectors, loops, stm

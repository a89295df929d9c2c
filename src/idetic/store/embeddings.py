"""Embedding profiles and vectors: which model made which, and which entries have none yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.ids import Clock, uuid7
from idetic.model import PREVIEW, Place, Principal, PrincipalKind, Scope, Tier, Typology
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import Database, Transaction
from idetic.store.driver import Rows
from idetic.store.entries import anchor_of, key_columns
from idetic.store.family import Family
from idetic.store.scope import quoted
from idetic.store.templates import BoundStatement, Values, filled, named_query

_FILE = "embeddings"
_PATH = "queries/embeddings.sql"
# How many rows one INSERT brings: each number of rows is a statement of its own, and is kept.
_ROWS = 64
# A crash of the server may lose the reads of its last moment, and with them nothing that rests on
# them: what is committed later, an action or a note, flushes them first. Waiting for the disk took
# a third of a recall.
UNAWAITED = {"synchronous_commit": "off"}
_NO_PARTS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Pending:
    """An entry that has no vector in a profile yet, and how often it failed to get one."""

    anchor: Mapping[str, Any]
    memory_id: UUID
    tier: Tier
    typology: Typology
    body_text: str
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the overlapping pieces of an entry's text; a short text is its only piece."""

    entry: Pending
    number: int
    text: str


async def known(run: Transaction, name: str, dimensions: int, fingerprint: str) -> UUID:
    """The profile of a model, made known within a transaction if it is not yet."""
    model = {"name": name, "fingerprint": fingerprint}
    find = named_query(_PATH, "find")
    rows = await run(find, model)
    if not rows:
        await run(named_query(_PATH, "lock"), model)
        rows = await run(find, model)
    if not rows:
        rows = [(uuid7(),)]
        made = {"profile_id": rows[0][0], "dimensions": dimensions}
        await run(named_query(_PATH, "register"), model | made)
    profile_id: UUID = rows[0][0]
    return profile_id


def activation(family: Family, scope: Scope, profile_id: UUID, at: datetime) -> BoundStatement:
    """The call that switches a tenant's recalls to a profile."""
    values = {"activation_id": uuid7(), "profile": profile_id, "at": at}
    return family.call(_FILE, "activate", scope, {}, by=_by(scope.principal), **values)


def active(family: Family, scope: Scope) -> BoundStatement:
    """The call that asks for the profile of a tenant's recalls."""
    return family.call(_FILE, "active", scope, {})


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The retrievable table of one family, and the profiles its tenants use."""

    database: Database
    family: Family
    vector_schema: str

    async def register(self, name: str, dimensions: int, fingerprint: str) -> UUID:
        """The profile of a model, made known to the database if it is not yet."""
        async with self.database.transaction(None) as run:
            return await known(run, name, dimensions, fingerprint)

    async def active(self, scope: Scope) -> UUID | None:
        """The profile this tenant's recalls use, if any."""
        rows = await self.database.run_all(scope, [active(self.family, scope)])
        return rows[0][0] if rows else None

    async def activate(self, scope: Scope, profile_id: UUID, clock: Clock) -> None:
        """Switch the tenant's recalls to a profile."""
        await self.database.check_clock(clock)
        bound = activation(self.family, scope, profile_id, clock.now())
        await self.database.run_all(scope, [bound])

    async def pending(
        self,
        scope: Scope,
        profile_id: UUID,
        limit: int,
        *,
        session_id: UUID | None = None,
        after: UUID | None = None,
        attempts: int | None = None,
    ) -> list[Pending]:
        """The oldest entries of the scope, or of one session, without a vector in the profile.

        With `attempts`, without those that failed so often.
        """
        keys = "".join(f", {key}" for key in key_columns(self.family, scope))
        wanted = {"profile": profile_id, "limit": limit, "session_id": session_id, "after": after}
        rows = await self._rows(scope, "pending", {"keys": keys}, **wanted, attempts=attempts)
        return [
            Pending(anchor_of(scope, found), memory_id, Tier(tier), Typology(typology), body, tried)
            for memory_id, tier, typology, body, tried, *found in rows
        ]

    async def count_pending(self, scope: Scope, profile_id: UUID) -> int:
        """How many entries of the scope have no vector in the profile."""
        ((count,),) = await self._rows(scope, "count_pending", profile=profile_id)
        return int(count)

    async def anchors(self, scope: Scope) -> list[dict[str, Any]]:
        """The anchors with memory that the scope can see."""
        keys = ", ".join(f"a.{quoted(key)}" for key in self.family.keys)
        rows = await self._rows(scope, "anchors", {"keys": keys})
        return [dict(zip(self.family.keys, row, strict=True)) for row in rows]

    async def store(
        self,
        scope: Scope,
        profile_id: UUID,
        made: Sequence[tuple[Piece, Sequence[float]]],
        at: datetime,
        *,
        point: bool,
    ) -> None:
        """Keep vectors; storing twice is storing once. `point` makes the entries refer to them."""
        rows = [_row(piece, vector) for piece, vector in made]
        calls = [*self._inserts(scope, "store", rows, {"profile": profile_id, "at": at})]
        if point:
            ids = list({piece.entry.memory_id: None for piece, _ in made})
            point_call = self.family.call(_FILE, "point", scope, {}, profile=profile_id, ids=ids)
            calls.append(point_call)
        await self.database.run_all(scope, calls)

    async def failed(self, scope: Scope, found: Sequence[Pending], error: str, most: int) -> None:
        """Say of entries that giving them a vector failed, and how; counted up to `most`."""
        ids = [entry.memory_id for entry in found]
        await self._rows(scope, "failed", ids=ids, error=error, most=most)

    async def read(
        self,
        scope: Scope,
        place: Place,
        ids: Iterable[UUID],
        at: datetime,
        *,
        always: bool = True,
        preview: bool = False,
    ) -> None:
        """Record that entries were put before the scope's principal, at a place."""
        if found := list(ids):
            receipt = self.receipt(scope, place, found, at, always=always, preview=preview)
            await self.database.run_all(scope, [receipt], settings=UNAWAITED)

    def receipt(
        self,
        scope: Scope,
        place: Place,
        ids: Sequence[UUID],
        at: datetime,
        *,
        always: bool = True,
        preview: bool = False,
    ) -> BoundStatement:
        """What records that entries were put before the scope's principal, at a place.

        Outside any session it counts for each that the principal has open, a `preview` for none;
        unless it is `always` recorded, only if there is one. What an agent previews it was shown.
        """
        agent = scope.principal.kind is PrincipalKind.AGENT
        values: dict[str, Any] = {
            **scoping.bound(scope),
            "read": uuid7(),
            "ids": _array(ids),
            "always": always,
            "session_id": None if preview else place.session_id,
            "interaction_id": None if preview else place.interaction_id,
            "at": at,
            "by": _by(scope.principal) + (PREVIEW if preview and not agent else ""),
        }
        # Nearly every recall ends with it: each connection prepares it once.
        return BoundStatement(self.family.statement(_FILE, "read", scope, prepared=True), values)

    def _inserts(
        self, scope: Scope, query: str, rows: Sequence[Values], same: Values
    ) -> Iterator[BoundStatement]:
        """The calls that insert rows, with the values that all of them have.

        As many VALUES: Citus takes no INSERT … SELECT FROM unnest() under row-level security.
        """
        form, vector = templates.query(_PATH, f"{query}_row"), quoted(self.vector_schema)
        for first in range(0, len(rows), _ROWS):
            batch = rows[first : first + _ROWS]
            texts = (filled(form, {"n": str(n), "vector": vector}) for n in range(len(batch)))
            own = {f"{name}_{n}": v for n, row in enumerate(batch) for name, v in row.items()}
            parts = {"rows": ", ".join(texts)}
            yield self.family.call(_FILE, query, scope, parts, **same, **own)

    async def _rows(
        self, scope: Scope, query: str, parts: Mapping[str, str] = _NO_PARTS, **values: Any
    ) -> Rows:
        """The rows of one query about vectors, within a scope."""
        call = self.family.call(_FILE, query, scope, parts, **values)
        return await self.database.run_all(scope, [call])


def _row(piece: Piece, vector: Sequence[float]) -> Values:
    """One vector as the insert reads it, with its numbers as pgvector's text."""
    entry = piece.entry
    return {
        "anchor_id": scoping.anchor_id(tuple(entry.anchor.values())),
        "embedding_id": uuid7(),
        "memory_id": entry.memory_id,
        "tier": entry.tier.value,
        "typology": entry.typology.value,
        "piece": piece.number,
        # Six digits are more than half precision keeps, and a shorter text to send.
        "vector": "[" + ",".join(f"{x:.6g}" for x in vector) + "]",
    }


def _array(ids: Iterable[UUID]) -> str:
    """Ids as the text of an array: sent faster than one by one."""
    return f"{{{','.join(map(str, ids))}}}"


def _by(principal: Principal) -> str:
    """The principal as rows name it: its kind and its name."""
    return f"{principal.kind}:{principal.name}"

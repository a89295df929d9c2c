"""The writing side of one agent's family: each verb is one call of one server function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, islice
from typing import Any
from uuid import UUID

from idetic.errors import ShadowRefused
from idetic.model import Decision, Place, Receipt, Scope
from idetic.store import scope as scoping
from idetic.store.database import Database
from idetic.store.family import Family
from idetic.store.pipeline import Rows
from idetic.store.statement import Statement, Values

Item = dict[str, Any]
CHUNK = 1000
# What keeps an item from being simply added: it has to be looked into first.
_SPECIAL = {"key", "refs", "supersede", "echo", "form"}


class Unjudged(Exception):
    """Nothing was written: the session was shown entries that the items may only repeat."""


class Writes:
    """Hands a finished write to the database and brings its receipts back."""

    def __init__(self, database: Database, family: Family):
        self._database = database
        self._family = family

    async def admit(
        self, scope: Scope, place: Place, at: datetime, version: int, items: Iterable[Item]
    ) -> list[tuple[Item, Receipt]]:
        """Admit entries. A refusal by the shadow guard comes back as a REJECT receipt.

        Raises Unjudged for a session that was shown entries, until each item says that it was
        compared with them; see `store/shown.py`.

        The trigger refuses with an error that undoes the transaction, so the refusal itself is
        recorded by a second attempt that asks the guard before it writes.
        """
        asked = scoping.bound(scope) | {
            "at": at,
            "kind": scope.principal.kind.value,
            "name": scope.principal.name,
            "session": place.session_id,
            "interaction": place.interaction_id,
            "version": version,
        }
        made: list[list[Item]] = []
        try:
            rows = await self._attempt(scope, asked, _kept(_chunks(items), made), careful=False)
        except ShadowRefused:
            chunks = chain(list(made), _kept(_chunks(items), made))
            rows = await self._attempt(scope, asked, chunks, careful=True)
        return list(zip(chain.from_iterable(made), rows, strict=True))

    async def _attempt(
        self, scope: Scope, asked: Values, chunks: Iterator[list[Item]], *, careful: bool
    ) -> list[Receipt]:
        first, second = next(chunks, []), next(chunks, [])
        if not first:
            return []
        statement = self._statement(scope, "admit")
        if not second:
            rows = await self._database.run(scope, statement, _values(asked, first, careful))
            return _receipts(rows, first)
        receipts: list[Receipt] = []
        async with self._database.transaction(scope) as run:
            # While the server writes one chunk, the next is made here: two cores, half the time.
            task = asyncio.ensure_future(run(statement, _values(asked, first, careful)))
            before = first
            try:
                for chunk in chain([second], chunks):
                    values = _values(asked, chunk, careful)
                    receipts += _receipts(await task, before)
                    before, task = chunk, asyncio.ensure_future(run(statement, values))
                    await asyncio.sleep(0)
            finally:
                await asyncio.wait([task])
            return receipts + _receipts(task.result(), before)

    async def call(self, scope: Scope, function: str, call: Mapping[str, Any]) -> Receipt:
        """Call another writing function of the family; one call, one receipt."""
        values = scoping.bound(scope) | {"call": _json(call)}
        (row,) = await self._database.run(scope, self._statement(scope, function), values)
        return _receipt(row)

    def _statement(self, scope: Scope, function: str) -> Statement:
        return self._family.statement("gateway", function, scope, prepared=True)


def _values(asked: Values, items: list[Item], careful: bool) -> Values:
    plain = len(items) > 1 and not careful and not any(_SPECIAL & i.keys() for i in items)
    return {**asked, "careful": careful, "plain": plain, "items": _json(items)}


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    source = iter(items)
    while chunk := list(islice(source, CHUNK)):
        yield chunk


def _kept(chunks: Iterable[list[Item]], made: list[list[Item]]) -> Iterator[list[Item]]:
    """The same chunks, remembered: items hold random ids and must not be made twice."""
    for chunk in chunks:
        made.append(chunk)
        yield chunk


def _receipts(rows: Rows, items: list[Item]) -> list[Receipt]:
    if rows[0][2] is None and rows[0][4] == "unjudged":
        raise Unjudged
    if len(rows) == 1:
        # A chunk of plain items gives one row, for the last; the others precede it.
        last, *rest = rows[0]
        rows = [(last - len(items) + n, *rest) for n in range(1, len(items) + 1)]
    return [_admitted(row, item) for row, item in zip(rows, items, strict=True)]


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _admitted(row: tuple[Any, ...], item: Item) -> Receipt:
    """For what was simply added only position and time come back."""
    if row[2] is not None:
        return _receipt(row)
    asked, entry = UUID(item["receipt"]), UUID(item["memory"])
    removed = item["detail"].get("removed")
    told = {"removed": removed} if removed else {}
    return Receipt(asked, Decision.ADD, "new", row[0], row[1], entry_id=entry, detail=told)


def _receipt(row: tuple[Any, ...]) -> Receipt:
    position, at, receipt_id, decision, reason, memory_id, superseded, detail = row
    return Receipt(
        receipt_id,
        Decision(decision),
        reason,
        position,
        at,
        entry_id=memory_id,
        superseded=UUID(superseded) if superseded else None,
        detail=detail or {},
    )

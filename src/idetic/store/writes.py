"""The writing side of one agent's family: each verb is one call of one server function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg import sql

from idetic.errors import ShadowRefused
from idetic.model import Decision, Receipt, Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.family import Family
from idetic.store.templates import raw


class Writes:
    """Hands a finished write to the database and brings its receipts back."""

    def __init__(self, database: Database, family: Family):
        self._database = database
        self._names = family.names()

    async def admit(self, scope: Scope, call: Mapping[str, Any]) -> list[Receipt]:
        """Admit entries. A refusal by the shadow guard comes back as a REJECT receipt.

        The trigger refuses with an error that undoes the transaction, so the refusal itself is
        recorded by a second call that asks the guard before it writes.
        """
        try:
            return await self.call(scope, "admit", call)
        except ShadowRefused:
            return await self.call(scope, "admit", {**call, "careful": True})

    async def call(self, scope: Scope, function: str, call: Mapping[str, Any]) -> list[Receipt]:
        """Call a writing function of the family in one round trip."""
        text = json.dumps(call, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        statement = raw(templates.query("queries/gateway.sql", "write")).format(
            function=self._names[function],
            anchor=scoping.arguments(scope.anchor),
            call=sql.Literal(text),
        )
        return [_receipt(row) for row in await self._database.run(scope, statement)]


def _receipt(row: tuple[Any, ...]) -> Receipt:
    receipt_id, decision, reason, position, at, memory_id, superseded, detail = row
    return Receipt(
        receipt_id,
        Decision(decision),
        reason,
        position,
        at,
        entry_id=memory_id,
        superseded=UUID(superseded) if superseded else None,
        detail=detail,
    )

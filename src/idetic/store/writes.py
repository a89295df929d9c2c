"""The writing side of one agent's family: each verb is one call of one server function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from string import Formatter
from typing import Any
from uuid import UUID

from psycopg.sql import quote

from idetic.errors import ShadowRefused
from idetic.model import Decision, Place, Receipt, Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.family import Family
from idetic.store.templates import raw


class Writes:
    """Hands a finished write to the database and brings its receipts back."""

    def __init__(self, database: Database, family: Family):
        self._database = database
        self._admit = _opened(family, "admit", "admit")
        self._statements = {
            name: _opened(family, "write", name) for name in ("turn", "link_action", "scope_turn")
        }

    async def admit(
        self,
        scope: Scope,
        place: Place,
        at: datetime,
        version: int,
        items: list[dict[str, Any]],
    ) -> list[Receipt]:
        """Admit entries. A refusal by the shadow guard comes back as a REJECT receipt.

        The trigger refuses with an error that undoes the transaction, so the refusal itself is
        recorded by a second call that asks the guard before it writes.
        """
        asked = {
            "anchor": scoping.arguments(scope),
            "at": quote(at.isoformat()),
            "kind": quote(scope.principal.kind.value),
            "name": quote(scope.principal.name),
            "session": _uuid(place.session_id),
            "interaction": _uuid(place.interaction_id),
            "version": str(version),
            "items": quote(_json(items)),
        }
        try:
            rows = await self._database.run(scope, self._admit.format(careful="false", **asked))
        except ShadowRefused:
            rows = await self._database.run(scope, self._admit.format(careful="true", **asked))
        return [_admitted(row, item) for row, item in zip(rows, items, strict=True)]

    async def call(self, scope: Scope, function: str, call: Mapping[str, Any]) -> Receipt:
        """Call another writing function of the family; one call, one receipt."""
        statement = self._statements[function].format(
            anchor=scoping.arguments(scope), call=quote(_json(call))
        )
        (row,) = await self._database.run(scope, statement)
        return _receipt(row)


def _opened(family: Family, query: str, function: str) -> str:
    """A statement with its values left open, for str.format. Composing it anew for every write
    cost as much as the write itself."""
    text = templates.query("queries/gateway.sql", query)
    holes = {name: raw(f"{{{name}}}") for _, name, _, _ in Formatter().parse(text) if name}
    return raw(text).format(**{**holes, "function": family.names()[function]}).as_string(None)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _uuid(value: UUID | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def _admitted(row: tuple[Any, ...], item: Mapping[str, Any]) -> Receipt:
    """For what was simply added only position and time come back."""
    if row[2] is not None:
        return _receipt(row)
    asked, entry = UUID(item["receipt"]), UUID(item["memory"])
    return Receipt(asked, Decision.ADD, "new", row[0], row[1], entry_id=entry)


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

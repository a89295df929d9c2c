"""Writing a reference context: as the curator role, within one tenant."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID

from idetic.model import Principal, Scope
from idetic.ports import Clock
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.queue import enqueue_statement
from idetic.store.statement import BoundStatement, statement

CURATOR_ROLE = "idetic_curator"


class Opened(Protocol):
    """What a context needs of an open Idetic: its database and its clock."""

    @property
    def database(self) -> Database:
        """The open database."""
        ...

    @property
    def clock(self) -> Clock:
        """Where now comes from."""
        ...


class Curation:
    """Runs one context's named queries for one tenant at a time."""

    def __init__(self, opened: Opened, context: str, tenant_key: str):
        self._opened = opened
        self._package = f"idetic.context.{context}"
        self._context = context
        self._tenant_key = tenant_key

    async def run(
        self, *queries: str, tenant: UUID, changes: tuple[str, UUID] | None = None, **values: Any
    ) -> Any:
        """Run queries in one transaction; the answer is the single value that the last one gives.

        `changes` names the table and row whose content they change: memory that refers to it, or
        restates it, is looked at again by a job that commits with the change.
        """
        scope = Scope(
            f"@{self._context}", {self._tenant_key: tenant}, Principal.operator("curator")
        )
        given = {self._tenant_key: tenant, "at": self._opened.clock.now(), **values}
        calls = [self._call(query, given) for query in queries]
        if changes is not None:
            table, ref_id = changes
            calls.insert(0, enqueue_statement(scope, "canon", table=table, ref_id=ref_id))
        rows = await self._opened.database.run_all(scope, calls, role=CURATOR_ROLE)
        return rows[0][0]

    def _call(self, query: str, values: dict[str, Any]) -> BoundStatement:
        return BoundStatement(
            statement(templates.query("queries.sql", query, self._package)), values
        )

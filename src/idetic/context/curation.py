"""Writing a reference context: as the curator role, within one tenant."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID

from psycopg import sql

from idetic.model import Principal, Scope
from idetic.ports import Clock
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.queue import enqueue_statement
from idetic.store.templates import raw

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
        self, query: str, tenant: UUID, *, changes: tuple[str, UUID] | None = None, **values: Any
    ) -> Any:
        """Run a query; the answer is the single value it ends with.

        `changes` names the table and row whose content it changes: memory that refers to it, or
        restates it, is looked at again by a job that commits with the change.
        """
        scope = Scope(
            f"@{self._context}", {self._tenant_key: tenant}, Principal.operator("curator")
        )
        at = self._opened.clock.now()
        literals = {
            name: sql.Literal(value)
            for name, value in {self._tenant_key: tenant, "at": at, **values}.items()
        }
        text = templates.query("queries.sql", query, self._package)
        statement = raw(text).format(**literals).as_string(None)
        if changes is not None:
            table, ref_id = changes
            job = enqueue_statement(scope, "canon", table=table, ref_id=ref_id)
            statement = f"{job}; {statement}"
        rows = await self._opened.database.run(scope, statement, role=CURATOR_ROLE)
        return rows[0][0]

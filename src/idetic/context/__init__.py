"""Canonical contexts that ship with Idetic as references for users' own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from idetic.model import Principal, Scope
from idetic.ports import Clock
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.plan import ReferenceContext
from idetic.store.queue import enqueue_statement
from idetic.store.statement import BoundStatement, statement

CURATOR_ROLE = "idetic_curator"


def shipped_contexts() -> tuple[ReferenceContext, ...]:
    """Every context this package can create where a spec points at it and it is not there."""
    return tuple(
        ReferenceContext(name, templates.read(f"{name}/schema.sql", __name__))
        for name in ("operations", "worlds")
    )


class ContextHost(Protocol):
    """What a context needs of an open Idetic: its database and its clock."""

    @property
    def database(self) -> Database:
        """The open database."""

    @property
    def clock(self) -> Clock:
        """Where now comes from."""


@dataclass(frozen=True, slots=True)
class Curation:
    """Writes one context as the curator role, by its named queries, one tenant at a time."""

    host: ContextHost
    context: str
    tenant_key: str

    async def run(
        self, *queries: str, tenant: UUID, changes: tuple[str, UUID] | None = None, **values: Any
    ) -> Any:
        """Run queries in one transaction; the answer is the single value that the last one gives.

        `changes` names the table and row whose content they change: memory that refers to it, or
        restates it, is looked at again by a job that commits with the change.
        """
        curator = Principal.operator("curator")
        scope = Scope(f"@{self.context}", {self.tenant_key: tenant}, curator)
        given = {self.tenant_key: tenant, "at": self.host.clock.now(), **values}
        texts = [templates.query(f"{self.context}/queries.sql", q, __name__) for q in queries]
        bound = [BoundStatement(statement(text), given) for text in texts]
        if changes is not None:
            table, ref_id = changes
            bound.insert(0, enqueue_statement(scope, "canon", table=table, ref_id=ref_id))
        rows = await self.host.database.run_all(scope, bound, role=CURATOR_ROLE)
        return rows[0][0]

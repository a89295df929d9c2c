"""Canonical contexts that ship with Idetic as references for users' own: worlds and operations.

Agents read canonical content; only these classes write it, as the curator role.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from idetic.ids import Clock, uuid7
from idetic.model import Principal, Ref, Rule, Scope
from idetic.spec.primitives import SourceStrength
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.plan import ReferenceContext
from idetic.store.queue import enqueue_statement
from idetic.store.templates import BoundStatement, statement

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
        await self.host.database.check_clock(self.host.clock)
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


class Worlds:
    """Worlds and rules: the canonical content that World Agent memory refers to."""

    def __init__(self, host: ContextHost):
        self._curation = Curation(host, "worlds", "org_id")

    async def register(self, org_id: UUID, domain_id: UUID, name: str) -> UUID:
        """Return the world of an (org, domain); create it if it is missing."""
        world_id: UUID = await self._curation.run(
            *("register", "registered"),
            tenant=org_id,
            domain_id=domain_id,
            world_id=uuid7(),
            name=name,
        )
        return world_id

    async def names(self, org_id: UUID) -> dict[UUID, str]:
        """The names of an organisation's worlds, by their domains."""
        found: dict[str, str] = await self._curation.run("names", tenant=org_id)
        return {UUID(domain): name for domain, name in found.items()}

    async def put_rule(
        self,
        org_id: UUID,
        world_id: UUID,
        body_text: str,
        *,
        strength: SourceStrength = SourceStrength.CURATED,
        rule_id: UUID | None = None,
        world_model_version: str | None = None,
    ) -> Ref:
        """Write a rule, or the next version of an existing one; returns a pinned reference."""
        rule_id = rule_id or uuid7()
        version: int = await self._curation.run(
            *("put_rule", "keep_rule", "rule_version"),
            tenant=org_id,
            changes=("worlds.rules", rule_id),
            world_id=world_id,
            rule_id=rule_id,
            body_text=body_text,
            strength=str(SourceStrength(strength)),
            world_model_version=world_model_version,
        )
        return Rule(rule_id, version)


async def anchor_names(host: ContextHost, table: str, tenant: Any) -> dict[Any, str]:
    """The names of a tenant's anchors, by their second key, if a shipped context has their root."""
    return await Worlds(host).names(tenant) if table == "worlds.worlds" else {}


class Runbooks:
    """Runbooks: the canonical content that operator agent memory refers to."""

    def __init__(self, host: ContextHost):
        self._curation = Curation(host, "operations", "operator_id")

    async def put_runbook(
        self,
        operator_id: UUID,
        body_text: str,
        *,
        strength: SourceStrength = SourceStrength.CURATED,
        runbook_id: UUID | None = None,
    ) -> Ref:
        """Write a runbook, or the next version of an existing one; returns a pinned reference."""
        runbook_id = runbook_id or uuid7()
        version: int = await self._curation.run(
            *("put_runbook", "keep_runbook", "runbook_version"),
            tenant=operator_id,
            changes=("operations.runbooks", runbook_id),
            runbook_id=runbook_id,
            body_text=body_text,
            strength=str(SourceStrength(strength)),
        )
        return Ref("runbook", runbook_id, version)

"""Worlds and rules: the canonical content that World Agent memory refers to."""

from __future__ import annotations

from uuid import UUID

from idetic.context import ContextHost, Curation
from idetic.ids import uuid7
from idetic.model import Ref, Rule
from idetic.spec.primitives import SourceStrength


class Worlds:
    """The reference canonical context. Agents read it; only this writes it."""

    def __init__(self, host: ContextHost):
        self._curation = Curation(host, "worlds", "org_id")

    async def register(self, org_id: UUID, domain_id: UUID, name: str) -> UUID:
        """The world of an (org, domain), made if it is not there yet."""
        world_id: UUID = await self._curation.run(
            *("register", "registered"),
            tenant=org_id,
            domain_id=domain_id,
            world_id=uuid7(),
            name=name,
        )
        return world_id

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
        """A new rule or, given the id of one that exists, its next version; pinned to it."""
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

"""Runbooks: the canonical content that operator agent memory refers to."""

from __future__ import annotations

from uuid import UUID

from idetic.context import ContextHost, Curation
from idetic.ids import uuid7
from idetic.model import Ref
from idetic.spec.primitives import SourceStrength


class Runbooks:
    """The reference canonical context of one operator's procedures."""

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
        """A new runbook or, given the id of one that exists, its next version; pinned to it."""
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

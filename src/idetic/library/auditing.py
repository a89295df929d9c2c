"""What an auditor does with memory: keep a chain's head, verify the chain, explain an action."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ActionExplanation, ActionRecord, ReadReceipt
from idetic.audit.findings import Verified
from idetic.audit.verify import Progress
from idetic.model import Scope

if TYPE_CHECKING:
    from idetic.library.handles import Agent


class Auditable:
    """The verbs of audit, for one agent's memory within one scope."""

    agent: Agent
    scope: Scope

    async def head(self) -> ChainHead:
        """Where the chain of this anchor ends now: keep it elsewhere, for `verify`."""
        return await self.agent.rooms.verifier.head(self.scope)

    async def verify(
        self, head: ChainHead | None = None, progress: Progress | None = None
    ) -> Verified:
        """Check every link of the chain, its end, and that entries say what they said."""
        return await self.agent.rooms.verifier.verify(self.scope, head, progress)

    async def explain_action(self, action_id: UUID) -> ActionExplanation:
        """What an action rested on, as it stood then, and everything behind that."""
        return await self.agent.rooms.explaining.action(self.scope, action_id)

    async def actions(self, *, limit: int = 100, before: UUID | None = None) -> list[ActionRecord]:
        """The actions that rest on this memory, newest first; `before` is a page's last id."""
        return await self.agent.rooms.explaining.actions(self.scope, limit, before)

    async def readers(self, entry_id: UUID, *, limit: int = 100) -> list[ReadReceipt]:
        """Who was shown an entry, newest first."""
        return await self.agent.rooms.explaining.readers(self.scope, entry_id, limit)

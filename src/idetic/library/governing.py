"""What a user does when memory must go or be mistrusted: erase a person, quarantine a source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from idetic.erasure import Erased, Subject
from idetic.model import Scope

if TYPE_CHECKING:
    from idetic.library.handles import Agent


class Governing:
    """The verbs of erasure and quarantine, for one agent's memory within one scope."""

    agent: Agent
    scope: Scope

    async def erase(
        self,
        subject: Subject | str | Iterable[str],
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Empty everything that names a subject, and what was made of it; this is for good."""
        return await self.agent.rooms.erasure.erase(
            self.scope, subject, reason=reason, key=idempotency_key
        )

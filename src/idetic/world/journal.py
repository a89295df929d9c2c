"""The loader's own log: which attempt was begun, which is complete, and what it came to.

It is persona memory like any other, in a tenant of its own. The id of an event follows from what it
says, and an id is written once: so only one process can begin an attempt, and one that died before
its last event is known to be incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idetic.errors import IdempotencyConflict
from idetic.library.idetic import Idetic
from idetic.persona.events import EventKind, Visibility
from idetic.persona.identity import Identity
from idetic.persona.persona_memory import PersonaMemory
from idetic.world.places import EDITION, identity

TENANT = "idetic-demo-world"


class Journal:
    """What is known about loads of the demo world into one database."""

    def __init__(self, memory: PersonaMemory) -> None:
        self._memory = memory

    @classmethod
    async def open(cls, db: Idetic) -> Journal:
        """The journal of a database. Nothing is derived from it: nobody searches it."""
        return cls(await db.persona(Identity(agent_id="loader"), tenant=TENANT, derive=False))

    async def begun(self, attempt: int) -> bool:
        """Whether somebody began an attempt."""
        return await self._memory.actor.get_by_id(identity("begun", attempt)) is not None

    async def complete(self, attempt: int) -> Mapping[str, Any] | None:
        """What a complete attempt came to, or None."""
        event = await self._memory.actor.get_by_id(identity("complete", attempt))
        return None if event is None else event.metadata

    async def begin(self, attempt: int) -> bool:
        """Claim an attempt; False if somebody else was faster."""
        async with self._memory.loop("load the demo world") as loop:
            try:
                # Another load has another loop, so its event is another one under the same id.
                await loop.append(
                    EventKind.SYSTEM_EVENT,
                    f"Loading edition {EDITION} begins, attempt {attempt}.",
                    visibility=Visibility.INTERNAL,
                    id=identity("begun", attempt),
                )
            except IdempotencyConflict:
                return False
        return True

    async def end(self, attempt: int, came_to: Mapping[str, Any]) -> None:
        """Say that an attempt is complete, and what it came to."""
        async with self._memory.loop("load the demo world") as loop:
            await loop.append(
                EventKind.SYSTEM_EVENT,
                f"Loading edition {EDITION} is complete, attempt {attempt}.",
                visibility=Visibility.INTERNAL,
                metadata=dict(came_to),
                id=identity("complete", attempt),
            )

"""A world with keys to it, and the clock of its database."""

from __future__ import annotations

from datetime import datetime

import pytest

from idetic import ApiKey, Capability, CreatedKey, Idetic, Principal, errors
from tests.conftest import World
from tests.support.clock import SettableClock


class House:
    """A world, the clock of its database, and keys to it."""

    def __init__(self, db: Idetic, world: World, clock: SettableClock):
        self.db, self.world, self.clock = db, world, clock
        self.anchor = {"org_id": world.org_id, "domain_id": world.domain_id}

    async def key(
        self,
        principal: Principal | None = None,
        only: list[Capability] | None = None,
        expires_at: datetime | None = None,
    ) -> CreatedKey:
        return await self.db.keys.create(
            agent="world_agent",
            principal=principal or Principal.operator("ada"),
            anchor=self.anchor,
            capabilities=only,
            expires_at=expires_at,
        )

    async def known(self, made: CreatedKey) -> ApiKey:
        (found,) = [each for each in await self.db.keys.list() if each.id == made.id]
        return found

    async def refused(self, key: str) -> str:
        with pytest.raises(errors.KeyRefused) as caught:
            await self.db.authenticate(key)
        return str(caught.value)

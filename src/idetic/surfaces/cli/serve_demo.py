"""The world that `idetic serve --demo` loads, and keys to it that end with the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from idetic.library.idetic import Idetic
from idetic.surfaces.cli.demo_world import loaded_world
from idetic.world import Login

# For a server that was killed and could not revoke them.
_AT_MOST = timedelta(days=7)


@dataclass(frozen=True)
class DemoKey:
    """A key to the demo world: whose, and where it leads."""

    organisation: str
    domain: str | None
    agent: str
    principal: str
    key: str = field(repr=False)
    id: UUID


@asynccontextmanager
async def demo_keys(db: Idetic, *, wanted: bool, quiet: bool) -> AsyncIterator[list[DemoKey]]:
    """Load the demo world if it is not there, and hand out a key for each of its logins."""
    if not wanted:
        yield []
        return
    world = await loaded_world(db, quiet=quiet)
    keys: list[DemoKey] = []
    try:
        for login in world.logins:
            keys.append(await _key(db, login))  # noqa: PERF401 - what was made is revoked, come what may
        yield keys
    finally:
        for each in keys:
            await db.keys.revoke(each.id)


async def _key(db: Idetic, login: Login) -> DemoKey:
    made = await db.keys.create(
        agent=login.agent,
        principal=login.principal,
        anchor=login.anchor,
        expires_at=db.clock.now() + _AT_MOST,
    )
    who = f"{login.principal.kind}:{login.principal.name}"
    return DemoKey(login.organisation, login.domain, login.agent, who, made.key, made.id)

"""The world that `idetic serve --demo` loads, and keys to it that end with the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from idetic.library.idetic import Idetic
from idetic.model import Principal, PrincipalKind
from idetic.surfaces.cli import demo_story as story
from idetic.surfaces.cli.demo_play import play

# For a server that was killed and could not revoke them.
_AT_MOST = timedelta(days=7)
_NAMES = {PrincipalKind.AGENT: story.EXPLORER, PrincipalKind.OPERATOR: story.OPERATOR}


@dataclass(frozen=True)
class DemoKey:
    """A key to the demo world."""

    principal: str
    key: str = field(repr=False)
    id: UUID


@asynccontextmanager
async def demo_keys(db: Idetic, *, wanted: bool) -> AsyncIterator[list[DemoKey]]:
    """Play the demo's story in a tenant of its own, and hand out a key for each principal."""
    if not wanted:
        yield []
        return
    world = (await play(db, lambda _: None)).world
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    spec = (await db.agent(story.AGENT)).spec
    keys: list[DemoKey] = []
    try:
        for kind in spec.visibility.principals:
            principal = Principal(kind, _NAMES.get(kind, "demo"))
            until = db.clock.now() + _AT_MOST
            made = await db.keys.create(
                agent=story.AGENT, principal=principal, anchor=anchor, expires_at=until
            )
            keys.append(DemoKey(f"{kind}:{principal.name}", made.key, made.id))
        yield keys
    finally:
        for each in keys:
            await db.keys.revoke(each.id)

"""What people call an anchor: a name that a canonical context knows, or its own keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from idetic.context import Worlds
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import KeyType

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic

_WORLDS = "worlds.worlds"
# Enough of an id to tell two apart at a glance.
_SHOWN = 8


class AnchorNames:
    """Names of the anchors of one database; what a context answered is remembered."""

    def __init__(self, db: Idetic):
        self._db = db
        self._worlds: dict[UUID, dict[UUID, str]] = {}

    async def of(self, spec: MemorySpec, anchor: Mapping[str, Any]) -> str:
        """The name of an anchor; of an open one, what it leaves open."""
        tenant, *others = spec.anchor.keys
        opened = [key.name for key in spec.anchor.keys if anchor.get(key.name) is None]
        if opened:
            return "all " + " and ".join(f"{name.removesuffix('_id')}s" for name in opened)
        if spec.anchor.root is not None and spec.anchor.root.table == _WORLDS and len(others) == 1:
            known = await self._world(anchor[tenant.name], anchor[others[0].name])
            if known is not None:
                return known
        # The tenant is the same for everybody who sees this, so the other keys say whose it is.
        shown = others or [tenant]
        parts = [_shown(key.type, anchor[key.name]) for key in shown]
        return " · ".join(parts)

    async def _world(self, org_id: UUID, domain_id: UUID) -> str | None:
        """The name of a world, asked of its context once; a new one is asked for again."""
        if domain_id not in self._worlds.get(org_id, {}):
            self._worlds[org_id] = await Worlds(self._db).names(org_id)
        return self._worlds[org_id].get(domain_id)


def _shown(kind: KeyType, value: Any) -> str:
    """A key's value: a text as it is, an id by its end."""
    return f"…{str(value)[-_SHOWN:]}" if kind is KeyType.UUID else str(value)

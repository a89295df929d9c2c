"""What people call an anchor: a name that a canonical context knows, or its own keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from idetic.context import anchor_names
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import KeyType

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic

# Enough of an id to tell two apart at a glance.
_SHOWN = 8


class AnchorNames:
    """Names of the anchors of one database; what a context answered is remembered."""

    def __init__(self, db: Idetic):
        self._db = db
        self._known: dict[Any, dict[Any, str]] = {}

    async def of(self, spec: MemorySpec, anchor: Mapping[str, Any]) -> str:
        """The name of an anchor; of an open one, what it leaves open."""
        tenant, *others = spec.anchor.keys
        opened = [key.name for key in spec.anchor.keys if anchor.get(key.name) is None]
        if opened:
            return "all " + " and ".join(f"{name.removesuffix('_id')}s" for name in opened)
        root = spec.anchor.root
        if root is not None and len(others) == 1:
            known = await self._name_in_context(
                root.table, anchor[tenant.name], anchor[others[0].name]
            )
            if known is not None:
                return known
        # The tenant is the same for everybody who sees this, so the other keys say whose it is.
        shown = others or [tenant]
        parts = [_key_shown(key.type, anchor[key.name]) for key in shown]
        return " · ".join(parts)

    async def _name_in_context(self, table: str, tenant: Any, key: Any) -> str | None:
        """The name that a context knows, asked for once; one that is missing is asked for again."""
        if key not in self._known.get(tenant, {}):
            self._known[tenant] = await anchor_names(self._db, table, tenant)
        return self._known[tenant].get(key)


def _key_shown(kind: KeyType, value: Any) -> str:
    """A key's value: a text as it is, an id by its end."""
    return f"…{str(value)[-_SHOWN:]}" if kind is KeyType.UUID else str(value)

"""Where a chain began: at its own anchor, or where it stood before `spec migrate` moved it.

A moved chain keeps its links to the byte, so it still begins with the hash of the family and anchor
that it was written for. The link that moved it says which those were, and where it moved to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

from idetic.audit.chain import ChainHead, genesis_hash
from idetic.model import Scope, plain
from idetic.store.audit_rows import chain_name
from idetic.store.family import Family

OriginQuery = Callable[[str], Awaitable[list[tuple[Any, ...]]]]
"""Runs the query `origin` within one anchor."""


@dataclass(frozen=True, slots=True)
class ChainPlace:
    """A family and an anchor of it: its keys with their values, in order."""

    agent: str
    family: str
    anchor: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, family: Family, scope: Scope) -> Self:
        """The place that a scope binds."""
        pairs = tuple((key, plain(value)) for key, value in scope.anchor.items())
        return cls(scope.agent, chain_name(family), pairs)

    @classmethod
    def read(cls, data: Any) -> Self | None:
        """A place as a link tells it; None for what somebody made of it since."""
        try:
            pairs = tuple((str(key), value) for key, value in data["anchor"])
            return cls(str(data["agent"]), str(data["family"]), pairs)
        except (KeyError, TypeError, ValueError):
            return None

    def as_data(self) -> dict[str, Any]:
        """The place as a link tells it."""
        return {"agent": self.agent, "family": self.family, "anchor": [*map(list, self.anchor)]}

    def genesis(self, *, log: bool = False) -> bytes:
        """What a chain that begins here begins with."""
        name = f"{self.family}_log" if log else self.family
        return genesis_hash(name, (value for _, value in self.anchor))

    def has(self, head: ChainHead) -> bool:
        """Whether a head was kept of the chain while it stood here."""
        return head.agent == self.agent and plain(head.anchor) == dict(self.anchor)


async def places(ask: OriginQuery, own: ChainPlace) -> list[ChainPlace | None]:
    """Where a chain has been, in order: the first began it, the last must be the anchor's own."""
    found = [ChainPlace.read(place) for row in await ask("origin") for place in row]
    return found or [own]

"""Whose memory a request is about. The connection says it; no argument does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from idetic.errors import KeyRefused
from idetic.keys import key_id_of
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic

# Where the HTTP surface leaves what it authenticated, in the request's own ASGI scope.
HELD = "idetic.held"


@dataclass(frozen=True, slots=True)
class Held:
    """A memory, and a name for whoever holds it: a key's id, or this machine."""

    memory: Memory
    name: str


class Holder(Protocol):
    """Says for each request whose memory it is about."""

    async def held(self, request: Any) -> Held:
        """The memory of a request; `request` is None where the transport has none."""
        ...


class Local:
    """Somebody at this machine, who named the scope when the server was started."""

    def __init__(self, memory: Memory):
        self._held = Held(_inline(memory), "local")

    async def held(self, request: Any) -> Held:
        """Always the same."""
        del request
        return self._held


class OneKey:
    """One API key for the whole connection; asked again each time, so a revocation holds."""

    def __init__(self, db: Idetic, key: str):
        self._db = db
        self._key = key
        self._name = str(key_id_of(key))

    async def held(self, request: Any) -> Held:
        """What the key stands for now."""
        del request
        return Held(_inline(await self._db.authenticate(self._key)), self._name)


class EachRequest:
    """The key of each request, as `http.py` authenticated it."""

    async def held(self, request: Any) -> Held:
        """What that key stands for; a request without one never gets here."""
        scope: Mapping[str, Any] = getattr(request, "scope", {})
        found = scope.get(HELD)
        if not isinstance(found, Held):
            raise KeyRefused
        return found


def _inline(memory: Memory) -> Memory:
    """The same memory, with vectors made as it is written: beside a stdio server no worker runs."""
    return memory.agent.embedding_inline().within(memory.scope)

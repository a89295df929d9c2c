"""The desk: what a page works with. Whose it is, what they may do, and their memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from idetic.errors import KeyRefused
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.library.persona import is_actor, is_persona
from idetic.model import Capability, Principal, PrincipalKind, Scope
from idetic.spec.memory_spec import MemorySpec
from idetic.surfaces.console.logins import Logins
from idetic.verbs.authorization import allows


@dataclass(frozen=True)
class Desk:
    """One login's place at the console, made anew for each page that is loaded.

    `scope`, `spec` and `version` are as they were when the page was loaded. Whatever reads or
    writes asks for `memory()` first: a key that was revoked meanwhile then ends here.
    """

    db: Idetic
    scope: Scope
    spec: MemorySpec
    version: int
    logins: Logins = field(repr=False)
    token: str = field(repr=False)

    async def memory(self) -> Memory:
        """The memory that the login's key stands for now; raises KeyRefused when it ended."""
        return await _authenticated(self.db, self.logins, self.token)

    def may(self, capability: Capability) -> bool:
        """Whether this login holds a capability; what it lacks has no control in a page."""
        return allows(self.spec, self.scope, capability)

    @property
    def principal(self) -> Principal:
        """Who is logged in."""
        return self.scope.principal

    @property
    def anchor(self) -> Mapping[str, Any]:
        """The anchor that the login's key is bound to."""
        return self.scope.anchor

    @property
    def personas(self) -> bool:
        """Whether this login is to persona memory."""
        return is_persona(self.spec)

    @property
    def actor(self) -> bool:
        """Whether this login is an Actor's, who is shown its own memory and nothing beside it."""
        return is_actor(self.spec, self.scope)

    @property
    def customer(self) -> bool:
        """Whether this is a customer's login, who asks and sees nothing else."""
        return self.principal.kind is PrincipalKind.CUSTOMER


async def open_desk(db: Idetic, logins: Logins, token: str | None) -> Desk:
    """The desk of a token; raises KeyRefused when nobody is logged in with it."""
    memory = await _authenticated(db, logins, token)
    agent = memory.agent
    return Desk(db, memory.scope, agent.spec, agent.version, logins, token or "")


async def _authenticated(db: Idetic, logins: Logins, token: str | None) -> Memory:
    try:
        return await db.authenticate(logins.key_of(token))
    except KeyRefused:
        logins.end(token)
        raise

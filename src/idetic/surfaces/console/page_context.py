"""The context of a page: who is logged in, what they may do, their memory, and what was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from starlette.requests import Request

from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.library.persona import is_actor
from idetic.model import Capability, PrincipalKind, Scope
from idetic.spec.memory_spec import MemorySpec
from idetic.surfaces.console import addresses
from idetic.surfaces.console.login import COOKIE, Logins
from idetic.verbs.authorization import allows

T = TypeVar("T")
# More than anybody reads on one page.
_MOST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class PageContext:
    """One login at one page, made anew whenever a page is loaded.

    Everything in it is as it was when the page was loaded, the chosen anchor too: another tab may
    look at another one. Whatever reads or writes asks for `memory()` first: there a key that was
    revoked meanwhile is refused. An `actor` is shown its own memory and nothing beside it; a
    `customer` asks and is shown nothing else. `whose` is what people call the anchor, and `several`
    says that the key covers more than one.
    """

    db: Idetic
    scope: Scope
    spec: MemorySpec
    version: int
    actor: bool
    customer: bool
    whose: str
    several: bool
    request: Request = field(repr=False)
    logins: Logins = field(repr=False)
    token: str = field(repr=False)

    async def memory(self) -> Memory:
        """Return the memory of this page's anchor; raises KeyRefused when the login has ended."""
        memory = await self.logins.memory(self.token)
        return memory.within(self.scope.anchor) if self.several else memory

    @property
    def whole(self) -> bool:
        """Whether this page is about one anchor, not about all that the key covers."""
        return None not in self.scope.anchor.values()

    def now(self) -> datetime:
        """Return the present moment by the database's clock."""
        return self.db.clock.now()

    def may(self, capability: Capability) -> bool:
        """Whether this login has a capability; a page has no control for what it lacks."""
        return allows(self.spec, self.scope, capability)

    def asked(self, name: str) -> str:
        """Return a value of the address's query; "" if it has none."""
        return self.request.query_params.get(name, "").strip()

    def parsed(self, name: str, kind: Callable[[str], T], wrong: str, remedy: str) -> T | None:
        """Return a value of the query converted; None if it is empty, InputError if refused."""
        given = self.asked(name)
        return addresses.parsed(given, kind, wrong, remedy) if given else None

    def path_id(self, name: str, wrong: str, remedy: str) -> UUID:
        """Return an id of the address's path; raises InputError if it is none."""
        return addresses.parsed(self.request.path_params[name], UUID, wrong, remedy)

    def again(self, path: str, **changed: object) -> str:
        """Write an address with the values of this one, some of them changed."""
        return addresses.at(path, **dict(self.request.query_params) | changed)

    def shown(self, first: int) -> int:
        """Return how many items of a list to show: a page of them, or as many as were asked for."""
        given = self.asked("shown")
        return max(first, min(int(given), _MOST_SHOWN)) if given.isdecimal() else first

    def days(self) -> addresses.Days:
        """Return the days that the address names."""
        return addresses.Days.read(self.asked("since"), self.asked("until"))


async def open_context(logins: Logins, request: Request) -> PageContext:
    """Open the context of a request; raises KeyRefused when nobody is logged in with its token."""
    token = request.cookies.get(COOKIE, "")
    memory = await logins.memory(token)
    several = None in memory.scope.anchor.values()
    if several:
        memory = memory.within(logins.chosen(token))
    spec, scope = memory.agent.spec, memory.scope
    return PageContext(
        db=logins.db,
        scope=scope,
        spec=spec,
        version=memory.agent.version,
        actor=is_actor(spec, scope),
        customer=scope.principal.kind is PrincipalKind.CUSTOMER,
        whose=await logins.names.of(spec, scope.anchor),
        several=several,
        request=request,
        logins=logins,
        token=token,
    )

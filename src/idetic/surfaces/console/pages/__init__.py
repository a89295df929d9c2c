"""The table of pages: what there is, for whom, and behind which capability."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request

from idetic.model import Capability, PrincipalKind
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.pages import overview

Build = Callable[[Desk, Request], Awaitable[None]]

# Whoever works with the agent; a customer asks, and sees nothing else.
STAFF = frozenset(PrincipalKind) - {PrincipalKind.CUSTOMER}


@dataclass(frozen=True)
class Page:
    """One page. `build` makes its elements; path parameters and the query are in the request.

    `needs` is the capability without which there is no such page, `kinds` are the principals it
    is for, and a page that is not `listed` is reached from another one.
    """

    path: str
    title: str
    icon: str
    build: Build
    needs: Capability | None = Capability.READ
    kinds: frozenset[PrincipalKind] = STAFF
    listed: bool = True

    def open_to(self, desk: Desk) -> bool:
        """Whether this login has the page at all."""
        allowed = self.needs is None or desk.may(self.needs)
        return allowed and desk.principal.kind in self.kinds


# In the order of the menu. The first that a login has is where it begins.
PAGES: tuple[Page, ...] = (Page("/overview", "Overview", "dashboard", overview.build),)

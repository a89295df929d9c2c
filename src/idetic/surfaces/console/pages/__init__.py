"""The table of pages: what there is, for whom, and behind which capability."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request

from idetic.model import Capability, PrincipalKind
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.pages import (
    action,
    actor,
    ask,
    audit,
    context,
    entry,
    explorer,
    jobs,
    overview,
    persona,
    queues,
    refusals,
    specification,
)

Build = Callable[[Desk, Request], Awaitable[None]]

# Whoever works with the agent; a customer asks, and sees nothing else.
STAFF = frozenset(PrincipalKind) - {PrincipalKind.CUSTOMER}
# Who is answered: an answer crosses the gate of its audience, and these two are audiences.
AUDIENCES = frozenset({PrincipalKind.OPERATOR, PrincipalKind.CUSTOMER})


def _not_actor(desk: Desk) -> bool:
    return not desk.actor


def _both_personas(desk: Desk) -> bool:
    return desk.personas and not desk.actor


def _actor(desk: Desk) -> bool:
    return desk.actor


@dataclass(frozen=True)
class Page:
    """One page. `build` makes its elements; path parameters and the query are in the request.

    `needs` is the capability without which there is no such page, `kinds` are the principals it
    is for, `who` says it of logins, and a page that is not `listed` is reached from another one.
    """

    path: str
    title: str
    icon: str
    build: Build
    needs: Capability | None = Capability.READ
    kinds: frozenset[PrincipalKind] = STAFF
    listed: bool = True
    who: Callable[[Desk], bool] = _not_actor

    def open_to(self, desk: Desk) -> bool:
        """Whether this login has the page at all."""
        allowed = self.needs is None or desk.may(self.needs)
        return allowed and desk.principal.kind in self.kinds and self.who(desk)


# In the order of the menu. The first that a login has is where it begins.
PAGES: tuple[Page, ...] = (
    Page("/overview", "Overview", "dashboard", overview.build),
    Page("/explore", "Explorer", "search", explorer.build),
    Page("/entries/{entry_id}", "Entry", "notes", entry.build, listed=False),
    Page("/queues", "Queues", "inbox", queues.build),
    Page("/jobs", "Background work", "work_history", jobs.build, listed=False),
    Page("/refusals", "Refusals", "block", refusals.build, listed=False),
    Page("/context", "Context", "article", context.build),
    Page("/audit", "Audit", "verified", audit.build, Capability.AUDIT),
    Page("/audit/{action_id}", "Action", "bolt", action.build, Capability.AUDIT, listed=False),
    Page("/persona", "Persona", "psychology", persona.build, who=_both_personas),
    Page("/spec", "Spec", "description", specification.build),
    Page("/ask", "Ask", "question_answer", ask.build, kinds=AUDIENCES),
    Page("/loops", "Loops", "timeline", actor.build, who=_actor),
)

"""The table of pages: which there are, for whom, and behind which capability."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from idetic.library.persona import is_persona
from idetic.model import Capability, PrincipalKind
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.pages import (
    answers,
    audit,
    entry,
    explorer,
    overview,
    person,
    persona,
    proposals,
    queues,
    spec,
    workshop,
)

# Whoever works with the agent; a customer asks, and sees nothing else.
STAFF = frozenset(PrincipalKind) - {PrincipalKind.CUSTOMER}
# Who is answered: an answer crosses the gate of its audience, and these two are audiences.
AUDIENCES = frozenset({PrincipalKind.OPERATOR, PrincipalKind.CUSTOMER})


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """One page of the console. `build` makes its elements.

    `needs` is the capability without which there is no such page, `kinds` are the principals that
    have it, and `who` narrows it to some logins: to all but Actors unless said otherwise. A page
    that is not `listed` is no item of the menu. `heading` stands above the page instead of its
    title, with the name of the anchor for `{whose}`.
    """

    path: str
    title: str
    icon: str
    build: Callable[[PageContext], Awaitable[None]]
    needs: Capability = Capability.READ
    kinds: frozenset[PrincipalKind] = STAFF
    listed: bool = True
    who: Callable[[PageContext], bool] = lambda context: not context.actor
    heading: str = ""

    def open_to(self, context: PageContext) -> bool:
        """Whether this login has the page at all."""
        allowed = context.may(self.needs) and context.scope.principal.kind in self.kinds
        return allowed and self.who(context)

    def titled(self, context: PageContext) -> str:
        """The heading for a login."""
        return self.heading.replace("{whose}", context.whose) or self.title


def _both_personas(context: PageContext) -> bool:
    """Whether this login sees both personas of an agent that has two."""
    return is_persona(context.spec) and not context.actor


def _one_anchor(context: PageContext) -> bool:
    """Whether this login sees one whole anchor: what is known is known about somebody."""
    return not context.actor and context.whole


# In the order of the menu. The first that a login has is where it begins.
PAGES: tuple[ConsolePage, ...] = (
    ConsolePage("/overview", "Overview", "dashboard", overview.build),
    ConsolePage("/explore", "Explorer", "search", explorer.build),
    ConsolePage("/entries/{entry_id}", "Entry", "notes", entry.build, listed=False),
    ConsolePage(
        *("/person", "What is known", "person", person.build),
        who=_one_anchor,
        heading="Everything known about {whose}",
    ),
    ConsolePage(
        *("/anchors", "Whose memory", "group", person.build_anchors, Capability.READ_ACROSS),
        who=lambda context: context.several,
    ),
    ConsolePage(
        "/conversations/{session_id}",
        "Conversation",
        "forum",
        entry.build_conversation,
        listed=False,
    ),
    ConsolePage("/queues", "Queues", "inbox", queues.build),
    ConsolePage("/proposals/{proposal_id}", "Proposal", "outbox", proposals.build, listed=False),
    ConsolePage("/jobs", "Background work", "work_history", overview.build_jobs, listed=False),
    ConsolePage("/refusals", "Refusals", "block", overview.build_refusals, listed=False),
    ConsolePage(
        *("/context", "Context", "article", answers.build_context),
        heading="What a prompt gets from memory",
    ),
    ConsolePage("/audit", "Audit", "verified", audit.build, Capability.AUDIT),
    ConsolePage(
        "/audit/{action_id}", "Action", "bolt", audit.build_action, Capability.AUDIT, listed=False
    ),
    ConsolePage("/persona", "Persona", "psychology", persona.build, who=_both_personas),
    ConsolePage("/spec", "Spec", "description", spec.build),
    ConsolePage(
        *("/workshop", "Spec workshop", "edit_note", workshop.build),
        who=workshop.open_to,
        listed=False,
    ),
    ConsolePage("/ask", "Ask", "question_answer", answers.build_ask, kinds=AUDIENCES),
    ConsolePage("/loops", "Loops", "timeline", persona.build_actor, who=lambda it: it.actor),
)

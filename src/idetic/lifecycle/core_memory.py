"""The core of memory: entries that stand in every prompt, paged in and out by hand.

A core is small, so that it can always be there: what would not fit its budget is refused, and
nothing is pushed out by itself. Being in it is a state of the entry. The chain witnesses it, `undo`
takes it back, and an entry that is archived or erased is in no prompt any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import CapabilityRefused, TransitionRefused
from idetic.model import Capability, Entry, EntryState, PrincipalKind, Receipt, Tier
from idetic.recall.context import CORE
from idetic.recall.evidence import heading, render, short_id
from idetic.recall.tokens import ConservativeCounter
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.quarantine_rows import last_links
from idetic.store.steps import LinkStep, TurnStep
from idetic.verbs.declaration import McpTool, get, post, verb

_PAGES = (Capability.OBSERVE, Capability.EXEMPT)


@verb(
    capability=Capability.READ,
    http=get("/core", "reading"),
    tool=McpTool("See the core", "The entries that stand in every prompt, oldest first."),
    examples=("idetic core {scope}",),
)
async def core(binding: Binding) -> list[Entry]:
    """List the entries of the core, which are in every prompt."""
    return await entries_of_core(binding)


@verb(
    capability=_PAGES,
    writes=True,
    http=post("/entries/{entry_id}/page-in", "writing"),
    tool=McpTool(
        "Put an entry into every prompt",
        "Page an entry into the core, so that it stands in every prompt whatever is asked. "
        "The core is small: page out what you no longer need.",
    ),
    examples=('idetic page-in ENTRY_ID --reason "needed in every case" {scope}',),
)
async def page_in(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Page an entry into the core: it is in every prompt until it is paged out."""
    return await _page(binding, "paged_in", entry_id, reason, idempotency_key)


@verb(
    capability=_PAGES,
    writes=True,
    http=post("/entries/{entry_id}/page-out", "writing"),
    tool=McpTool(
        "Take an entry out of every prompt",
        "Page an entry out of the core. It stays in memory, and is recalled when it is asked for.",
    ),
    examples=('idetic page-out ENTRY_ID --reason "the case is closed" {scope}',),
)
async def page_out(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Page an entry out of the core: from now on it is recalled when it is asked for."""
    return await _page(binding, "paged_out", entry_id, reason, idempotency_key)


async def entries_of_core(binding: Binding) -> list[Entry]:
    """What was paged in and is current, oldest first."""
    return await binding.engine.entries.entries(binding.scope, "core")


async def _page(
    binding: Binding, transition: str, entry_id: UUID, reason: str, key: str | None
) -> Receipt:
    """Move an entry into the core or out of it; where it is there already, nothing changes."""
    reason = binding.gated_reason(reason)
    call = {"verb": transition, "memory": str(entry_id), "reason": reason}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, key, call):
            return known
        entry, into = (await tx.entry(entry_id)).entry, transition == "paged_in"
        if into == (entry.core_at is not None):
            step = LinkStep(transition, reason, entry=entry)
        else:
            if into:
                await _check_fits(binding, tx, entry)
            else:
                await _check_own(tx, entry_id)
            turned = {"core_at": tx.at if into else None}
            step = TurnStep(transition, reason, turned, entry=entry)
        return await binding.settle_once(tx, [step], key, call)


async def _check_own(tx: AnchorTransaction, entry_id: UUID) -> None:
    """Refuse an agent that would take from every prompt what an operator put there."""
    if tx.scope.principal.kind is not PrincipalKind.AGENT:
        return
    link = (await last_links(tx, [entry_id], "paged_in")).get(entry_id)
    if link is not None and link.actor_kind is PrincipalKind.OPERATOR:
        raise CapabilityRefused(
            "An agent may not page out an entry that an operator paged in.",
            remedy="Ask an operator to page it out.",
        )


async def _check_fits(binding: Binding, tx: AnchorTransaction, entry: Entry) -> None:
    """Refuse what is not known for good, and what the core has no room for."""
    if (
        entry.tier is not Tier.PERSISTENT
        or entry.state is not EntryState.CURRENT
        or entry.candidate
    ):
        what = "a candidate" if entry.candidate else entry.state
        raise TransitionRefused(
            f"Entry {entry.id} is {what} at the {entry.tier} tier.",
            remedy="Page in what is current, confirmed and persistent.",
        )
    held = [one.entry for one in await tx.stored_where("paged_in")]
    budget = binding.spec.injection.core.budget
    needed = core_tokens([*held, entry])
    if needed > budget:
        names = (
            ", ".join(short_id(one.id) for one in held) or "nothing; raise `injection.core.budget`"
        )
        raise TransitionRefused(
            f"The core would need {needed} tokens; its budget is {budget}.",
            remedy=f"Page something out first. It holds: {names}.",
        )


def core_tokens(entries: Sequence[Entry]) -> int:
    """What these entries cost as the core of a prompt, counted cautiously."""
    count = ConservativeCounter().count
    return count(heading(CORE)) + sum(count(render(entry)) for entry in entries)

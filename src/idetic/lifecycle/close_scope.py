"""Closing a session or interaction: compound, promote, let go, in one transaction, exactly once.

A scope whose process died is found by its silence. The lease is the scope's own life: whatever is
opened, written or read in it renews it, and so does `renew`. Nobody has to write a heartbeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import ScopeClosed
from idetic.evidence import Closed, Decided
from idetic.lifecycle import promotion_gates
from idetic.lifecycle.compounding import compound, leaving
from idetic.lifecycle.promotion import PromotionPass, decisions, target
from idetic.lifecycle.promotion_inputs import (
    entries_by_claim,
    matches_by_words,
    session_statements,
)
from idetic.model import Capability, Place, Tier
from idetic.spec.primitives import Boundary
from idetic.store import anchor_scans
from idetic.store.anchor_transaction import AnchorTransaction, ScopeRow
from idetic.store.steps import CloseStep, LinkStep, Step, drop_steps
from idetic.verbs.authorization import require
from idetic.verbs.declaration import McpTool, post, verb

BATCH = 100


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    placed=True,
    http=post("/close", "sessions", at_place=True),
    tool=McpTool(
        "End the session",
        "End a session: what it holds is compounded and promoted, and the rest goes. Do this when "
        "the work is done; the next observation begins another session.",
        name="close_session",
        destructive=True,
        idempotent=True,
    ),
    command="close",
    examples=("idetic close SESSION_ID {scope}",),
)
async def close_scope(binding: Binding, reason: str = "closed") -> Closed:
    """End the scope: what it holds is compounded or promoted, the rest goes.

    It takes no more writes. Closing twice is fine: the second finds nothing to do.
    """
    return await close_at(binding, binding.gated_reason(reason))


async def close_at(binding: Binding, reason: str) -> Closed:
    """End the scope of a place; a second close finds nothing to do and says so."""
    require(binding.spec, binding.scope, Capability.OBSERVE)
    place = binding.place
    wanted = place.interaction_id or place.session_id
    if wanted is None or place.session_id is None:
        raise ScopeClosed("Persistent memory has no scope to close.")
    # The model runs before the anchor is held: other writers wait for the lock, not for it.
    profile_id = await binding.engine.embedding.session(binding.scope, place.session_id)
    async with binding.hold() as tx:
        rows = await tx.scopes(wanted)
        own = next((row for row in rows if row.id == wanted), None)
        if own is None:
            raise ScopeClosed("There is no such session or interaction in this scope.")
        if own.closed_at is not None:
            step = LinkStep(f"{own.tier.value}_closed", "it was closed already")
            return Closed((await binding.settle(tx, [step]))[0])
        await tx.let_transient_go(own.session_id)
        if own.tier is Tier.INTERACTION:
            return await _close_interaction(binding, tx, own, reason)
        return await _close_session(binding, tx, rows, own, reason, profile_id)


async def _close_interaction(
    binding: Binding, tx: AnchorTransaction, row: ScopeRow, reason: str
) -> Closed:
    place = {"session_id": row.session_id, "interaction_id": row.id}
    own = await tx.stored_where("in_interaction", **place)
    session = await tx.stored_where("in_session", session_id=row.session_id)
    gate = binding.engine.gates.at(Boundary.INTERACTION_END)
    steps = compound(tx.spec, gate, own, session, row.session_id)
    return await _closed(binding, tx, row, reason, steps)


async def _close_session(
    binding: Binding,
    tx: AnchorTransaction,
    rows: Sequence[ScopeRow],
    row: ScopeRow,
    reason: str,
    profile_id: UUID | None,
) -> Closed:
    """Its interactions first: a session is kept while one of them is open, and not longer."""
    decided: list[Decided] = []
    for inner in rows:
        if inner.tier is Tier.INTERACTION and inner.closed_at is None:
            decided += (await _close_interaction(binding, tx, inner, reason)).decided
    steps = await _promotion_steps(binding, tx, row.id, profile_id)
    closed = await _closed(binding, tx, row, reason, steps)
    # With the close or not at all: what it left to be embedded and consolidated.
    await tx.enqueue("embed")
    await tx.enqueue("consolidate")
    return Closed(closed.receipt, (*decided, *closed.decided))


async def _promotion_steps(
    binding: Binding, tx: AnchorTransaction, session_id: UUID, profile_id: UUID | None
) -> list[Step]:
    statements = await session_statements(tx, session_id)
    typology, policy = target(tx.spec, None), promotion_gates.policy_of(tx.spec)
    matches = {}
    if typology is not None:
        matches = await matches_by_words(tx, statements, profile_id, typology, policy)
    about = await entries_by_claim(tx, statements, matches)
    gate = binding.engine.gates.at(Boundary.SESSION_END, Boundary.PROMOTION)
    work = PromotionPass(tx.spec, gate, tx.at)
    for number, heard in enumerate(statements):
        match = matches.get(number)
        claim = heard.claim if match is None else match.entry.claim
        work.settle(heard, [] if claim is None else about.setdefault(claim.key, []), match)
    left = leaving(tx.spec, await tx.stored_where("transient", session_id=session_id))
    return work.steps + drop_steps(left, "its session ended", work.into)


async def _closed(
    binding: Binding, tx: AnchorTransaction, row: ScopeRow, reason: str, steps: list[Step]
) -> Closed:
    steps.append(CloseStep(f"{row.tier.value}_closed", reason, row.id, row.session_id))
    receipts = await binding.settle(tx, steps)
    return Closed(receipts[-1], tuple(decisions(steps, receipts)))


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    placed=True,
    needs_open=True,
    repeatable=True,
    http=post("/renew", "sessions", at_place=True),
    command=None,
)
async def renew_scope(binding: Binding) -> None:
    """Say that this scope is alive although nothing is written; else its lease runs out."""
    place = binding.place
    ids = [one for one in (place.session_id, place.interaction_id) if one is not None]
    async with binding.look() as tx:
        renewed = await tx.renew(ids)
    if len(renewed) != len(ids):
        raise ScopeClosed("This scope was closed; its lease had run out.")


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/recover", "upkeep"))
async def recover(binding: Binding) -> list[Closed]:
    """Close the scopes of this anchor whose process went away; what each close did."""
    closed = []
    for place in await _abandoned(binding):
        at = replace(binding, place=place)
        closed.append(await close_at(at, "its lease ran out"))
    return closed


async def _abandoned(binding: Binding) -> list[Place]:
    async with binding.look() as tx:
        since = _lease_start(binding, Tier.SESSION, tx.at)
        sessions = await anchor_scans.silent_sessions(tx, since, BATCH)
        since = _lease_start(binding, Tier.INTERACTION, tx.at)
        inner = await anchor_scans.silent_interactions(tx, since, BATCH)
    found = [Place(session_id) for session_id in sessions]
    return found + [Place(session, one) for one, session in inner if session not in sessions]


def _lease_start(binding: Binding, tier: Tier, now: datetime) -> datetime:
    """A scope of the tier that was silent since then has lost its lease."""
    return now - timedelta(minutes=binding.spec.tiers.at(tier).lease_minutes)

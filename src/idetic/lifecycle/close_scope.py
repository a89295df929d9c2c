"""Closing a session or interaction: compound, promote, let go, in one transaction, exactly once.

Compounding is deterministic: statements of an interaction that say the same become one entry of
its session, which names all of them; nothing is summarised, and no model is asked. A scope whose
process died is found by its silence. The lease is the scope's own life: whatever is opened, written
or read in it renews it, and so does `renew`. Nobody has to write a heartbeat.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import CapabilityRefused, ScopeClosed
from idetic.evidence import Closed, Decided, Lineage, Relation
from idetic.gates.crossing import cross
from idetic.gates.gate import Pipeline
from idetic.lifecycle.promotion import PromotionPass, decisions, target
from idetic.lifecycle.promotion_inputs import (
    Inherited,
    as_source,
    entries_by_claim,
    groups,
    length,
    matches_by_words,
    policy_of,
    session_statements,
)
from idetic.lifecycle.stated_patterns import stated_patterns
from idetic.model import (
    Capability,
    Decision,
    EntryState,
    Place,
    PrincipalKind,
    Tier,
    Typology,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import PromotionPath, ScopeEnd
from idetic.store.anchor_transaction import LIFECYCLE, AnchorTransaction, ScopeRow, StoredEntry
from idetic.store.steps import (
    AddStep,
    CloseStep,
    LinkStep,
    RecurStep,
    Step,
    drop_steps,
    evidence_steps,
)
from idetic.telemetry import span
from idetic.verbs.authorization import require
from idetic.verbs.declaration import McpTool, post, verb

BATCH = 100


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    operation="close",
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
    """Close a session or interaction: promote or merge its notes, and drop the rest.

    It takes no more writes. A second close changes nothing. An agent closes what it opened;
    operators and maintenance close anything.
    """
    return await close_at(binding, binding.gated_reason(reason), own=_closes_own_alone(binding))


def _closes_own_alone(binding: Binding) -> bool:
    """Whether the principal may end only what it began: others' work goes with their scope."""
    return binding.scope.principal.kind is PrincipalKind.AGENT


async def close_at(binding: Binding, reason: str, *, own: bool = False) -> Closed:
    """End the scope of a place; a second close finds nothing to do and says so.

    With `own` it must be the principal's own, or within a session that is.
    """
    require(binding.spec, binding.scope, Capability.OBSERVE)
    place = binding.place
    wanted = place.interaction_id or place.session_id
    if wanted is None or place.session_id is None:
        raise ScopeClosed("Persistent memory has no scope to close.")
    # The model runs before the anchor is held: other writers wait for the lock, not for it.
    profile_id = await binding.engine.embedding.session(binding.scope, place.session_id)
    async with binding.look() as tx:
        _, rows = await gather(tx.lock(), tx.scopes(wanted))
        if own:
            await _check_opened(tx, rows, wanted)
        return await _close(binding, tx, rows, wanted, reason, profile_id)


async def _check_opened(tx: AnchorTransaction, rows: Sequence[ScopeRow], wanted: UUID) -> None:
    """Refuse an agent that opened neither a scope nor its session; an unknown one is told later."""
    around, own = list(rows), [row for row in rows if row.id == wanted]
    for one in own:
        if one.session_id != wanted:
            # The session that the row names: the caller's place may name another.
            around += await tx.scopes(one.session_id)
    openers = {row.opened_by for row in around if own and row.id in (wanted, own[0].session_id)}
    if openers and tx.actor not in openers:
        raise CapabilityRefused(
            "An agent may close only its own sessions; another principal opened this one.",
            remedy="Close it as the principal that opened it, as an operator, or as maintenance.",
        )


async def _close(
    binding: Binding,
    tx: AnchorTransaction,
    rows: Sequence[ScopeRow],
    wanted: UUID,
    reason: str,
    profile_id: UUID | None,
) -> Closed:
    """Close a scope once; a second close changes nothing and leaves a link that says so."""
    own = next((row for row in rows if row.id == wanted), None)
    if own is None:
        raise ScopeClosed("There is no such session or interaction in this scope.")
    if own.closed_at is not None:
        about = {"scope": str(own.id), "session": str(own.session_id)}
        step = LinkStep(f"{own.tier.value}_closed", "it was closed already", detail=about)
        return Closed((await binding.settle(tx, [step]))[0])
    tx.let_transient_go(own.session_id)
    if own.tier is Tier.INTERACTION:
        return await _close_interaction(binding, tx, own, reason)
    return await _close_session(binding, tx, rows, own, reason, profile_id)


async def _close_interaction(
    binding: Binding, tx: AnchorTransaction, row: ScopeRow, reason: str
) -> Closed:
    """Carry an interaction's entries into its session, let the rest go, and close it."""
    place = {"session_id": row.session_id, "interaction_id": row.id}
    own = await tx.stored_where("in_interaction", **place)
    session = await tx.stored_where("in_session", session_id=row.session_id)
    gate = binding.engine.gates.at(Boundary.INTERACTION_END)
    compounded = partial(compound, tx.spec, gate, own, session, row.session_id)
    steps, into = await cross(length([*own, *session]), compounded)
    kept = {one.id for one in own if one.rests or one.built_on} | into.keys()
    steps += parting_steps(tx, own, kept, "its interaction ended", into)
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
    # With the close or not at all: what it left to be embedded and consolidated.
    await tx.enqueue("embed", "consolidate")
    tx.run.end_with_next()
    closed = await _closed(binding, tx, row, reason, steps)
    return Closed(closed.receipt, (*decided, *closed.decided))


async def _promotion_steps(
    binding: Binding, tx: AnchorTransaction, session_id: UUID, profile_id: UUID | None
) -> list[Step]:
    """Decide what of a session becomes persistent, and what goes with the session."""
    statements, (left, made_of) = await gather(
        session_statements(tx, session_id), _transient(tx, session_id)
    )
    statements += stated_patterns(tx.spec, statements)
    typology, policy = target(tx.spec, None), policy_of(tx.spec)
    stated = {one.claim.key for one in statements if one.claim is not None}
    matches, claimed = await gather(
        matches_by_words(tx, statements, profile_id, typology, policy), tx.claimed(stated)
    )
    about = await entries_by_claim(tx, stated, claimed, matches)
    gate = binding.engine.gates.at(Boundary.SESSION_END, Boundary.PROMOTION)
    work = PromotionPass(tx.spec, gate, tx.at)

    def settled() -> None:
        """Take each statement through its gates."""
        for number, heard in enumerate(statements):
            match = matches.get(number)
            # What matches an entry by its words speaks of that entry's claim.
            claim = heard.claim if match is None else match.entry.claim
            work.settle(heard, [] if claim is None else about.setdefault(claim.key, []), match)

    await cross(sum(length(heard.members) for heard in statements), settled)
    kept = {one.id for one in left if one.rests or one.built_on} | work.into.keys()
    # What stays keeps what it was made of.
    kept |= {one.source_id for entry in kept & made_of.keys() for one in made_of[entry]}
    return work.steps + parting_steps(tx, left, kept, "its session ended", work.into)


async def _transient(
    tx: AnchorTransaction, session_id: UUID
) -> tuple[list[StoredEntry], dict[UUID, list[Lineage]]]:
    """What a session holds in all its tiers, and what that was made of."""
    left = await tx.stored_where("transient", session_id=session_id)
    return left, await tx.lineage(one.id for one in left)


async def _closed(
    binding: Binding, tx: AnchorTransaction, row: ScopeRow, reason: str, steps: list[Step]
) -> Closed:
    """Settle the steps of a close, the close itself last; its receipt stands for the whole."""
    steps.append(close_step(tx.spec, row, reason))
    receipts = await binding.settle(tx, steps)
    return Closed(receipts[-1], tuple(decisions(steps, receipts)))


def close_step(spec: MemorySpec, row: ScopeRow, reason: str) -> CloseStep:
    """The end of a scope; its link names the event that the spec declares for it."""
    told = {"event": spec.tiers.transient[row.tier].event}
    return CloseStep(f"{row.tier.value}_closed", reason, row.id, row.session_id, detail=told)


def lease_starts(spec: MemorySpec, now: datetime) -> dict[Tier, datetime]:
    """For each tier that ends: a scope of it that was silent since then has lost its lease."""
    models = spec.tiers.transient.items()
    return {tier: now - timedelta(minutes=model.lease_minutes) for tier, model in models}


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
    """Renew the lease of this scope, which ends if nothing is written for long."""
    place = binding.place
    ids = [one for one in (place.session_id, place.interaction_id) if one is not None]
    async with binding.look() as tx:
        renewed = await tx.renew(ids)
    if len(renewed) != len(ids):
        raise ScopeClosed("This scope is closed, because its lease ran out.")


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/recover", "upkeep"))
async def recover(binding: Binding) -> list[Closed]:
    """Close the sessions and interactions of this anchor whose process has died."""
    closed = []
    for place in await _abandoned(binding):
        at = replace(binding, place=place)
        with span("close", scope=at.scope):
            closed.append(await close_at(at, "its lease ran out"))
    return closed


async def _abandoned(binding: Binding) -> list[Place]:
    """The places whose lease ran out: sessions, then interactions of sessions that go on."""
    async with binding.look() as tx:
        since = lease_starts(tx.spec, tx.at)
        sessions = await tx.ids(LIFECYCLE, "silent", moment=since[Tier.SESSION], limit=BATCH)
        inner = []
        if (moment := since.get(Tier.INTERACTION)) is not None:
            inner = await tx.rows("silent_interactions", moment=moment, limit=BATCH)
    found = [Place(session_id) for session_id in sessions]
    # The close of a session closes its interactions too.
    return found + [Place(session, one) for one, session in inner if session not in sessions]


def compound(
    spec: MemorySpec,
    gate: Pipeline,
    own: Sequence[StoredEntry],
    session: Sequence[StoredEntry],
    session_id: UUID,
) -> tuple[list[Step], dict[UUID, UUID]]:
    """The steps that carry an interaction's entries into its session, and what went into what."""
    made: list[Step] = []
    into: dict[UUID, UUID] = {}
    for typology in spec.typology.at(Tier.INTERACTION):
        path = spec.promotion_of(Tier.INTERACTION, typology).path
        if path is PromotionPath.NONE or typology not in spec.typology.at(Tier.SESSION):
            continue
        mine = [k for k in own if k.entry.typology is typology and _is_live(k)]
        there = [k for k in session if k.entry.typology is typology]
        members = [*there, *mine]
        for numbers in groups(spec, members, Tier.INTERACTION, typology):
            new = [members[n] for n in numbers if n >= len(there)]
            old = [members[n] for n in numbers if n < len(there)]
            if not new:
                continue
            # One that makes the claim takes in those that only have its words, not the reverse.
            claimed = any(k.entry.claim for k in new)
            same = next((k for k in old if k.entry.claim or not claimed), None)
            step = _again(same, new) if same else _carry(gate, new, typology, session_id)
            made.append(step)
            if step.decision is not Decision.REJECT and step.entry_id is not None:
                into |= dict.fromkeys((k.id for k in new), step.entry_id)
    return made, into


def _again(there: StoredEntry, new: Sequence[StoredEntry]) -> LinkStep:
    """Name an interaction's entries as sources of the session's entry that says the same."""
    sources = [as_source(k.entry, Relation.RECURRED) for k in new]
    return RecurStep("recurred", "said again in another interaction", sources, entry=there.entry)


def _carry(
    gate: Pipeline, new: Sequence[StoredEntry], typology: Typology, session_id: UUID
) -> LinkStep:
    """One entry of the session for several of an interaction, as the gate lets it through."""
    leader = next((k.entry for k in new if k.entry.claim), new[0].entry)
    passed = gate.apply(leader.body_text)
    envelope, _, refused = gate.apply_envelope(leader.envelope)
    if why := passed.refused or refused:
        return LinkStep("compounding_refused", why, decision=Decision.REJECT, entry=leader)
    return AddStep(
        "compounded",
        "compounded at the end of its interaction",
        tier=Tier.SESSION,
        typology=typology,
        text=passed.text,
        envelope=envelope,
        lineage=[as_source(k.entry, Relation.COMPOUNDED) for k in new],
        session_id=session_id,
        copy_of=leader.id if passed.text == leader.body_text else None,
        **vars(Inherited.of(new)),
    )


def parting_steps(
    tx: AnchorTransaction,
    stored: Iterable[StoredEntry],
    kept: Container[UUID],
    reason: str,
    into: Mapping[UUID, UUID],
) -> list[Step]:
    """The steps at the end of a scope: what something rests on stays as evidence, the rest goes.

    What an action or a contradiction is about stays as it is.
    """
    left = [
        k
        for k in stored
        if not k.rests
        and tx.spec.lifecycle_of(k.entry.tier, k.entry.typology).at_scope_end is ScopeEnd.DROP
    ]
    gone = [k.entry for k in left if k.id not in kept]
    stays = [k.entry for k in left if k.id in kept and _is_live(k)]
    why = f"{reason}; it stays as evidence"
    return drop_steps(gone, reason, into) + evidence_steps(stays, why, into, tx.at)


def _is_live(stored: StoredEntry) -> bool:
    """Whether an entry is current; what was archived or replaced is not carried on."""
    return stored.entry.state is EntryState.CURRENT

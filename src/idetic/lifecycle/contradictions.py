"""Contradictions: entries that speak against canonical content, and the operators' queue."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import InputError, NotFound, TransitionRefused
from idetic.evidence import TRANSITIONS, Contradiction, ContradictionStatus
from idetic.gateway.content import check_provenance
from idetic.lifecycle.proposals import signal_steps
from idetic.model import Capability, Receipt, Ref
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Canonical
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import ContradictStep, LinkStep, ResolveStep, Step
from idetic.verbs.arguments import Limit
from idetic.verbs.declaration import McpTool, get, post, verb

MAX_RESOLUTION = 2000


@verb(
    capability=Capability.CONTRADICT,
    writes=True,
    http=post("/entries/{entry_id}/contradictions", "maturing"),
    examples=('idetic contradict ENTRY_ID rule:RULE_ID --reason "it says otherwise" {scope}',),
)
async def contradict(
    binding: Binding,
    entry_id: UUID,
    ref: Ref,
    *,
    reason: str,
    provenance: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """Report that an entry contradicts canonical content, for operators to decide."""
    canonical = _canonical(binding.spec, ref)
    reason = binding.gated_reason(reason)
    given = check_provenance(binding.spec, provenance)
    named = {"memory": str(entry_id), "ref": [ref.noun, str(ref.id)]}
    call = {"verb": "contradict", **named, "reason": reason}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return known
        entry = (await tx.entry(entry_id)).entry
        standing = await tx.contradictions(canonical, entry_id=entry_id, ref_id=ref.id)
        step: Step = ContradictStep("contradicted", reason, ref, given, entry=entry)
        if any(TRANSITIONS[one.status] for one in standing):
            step = LinkStep("contradicted", "it is in the queue already", entry=entry)
        return await binding.settle_once(tx, [step], idempotency_key, call)


@verb(
    capability=Capability.READ,
    http=get("/contradictions", "maturing"),
    tool=McpTool(
        "List contradictions with canonical content",
        "The queue of entries that speak against canonical content such as rules, oldest first.",
        name="list_contradictions",
        hidden=("limit",),
    ),
    examples=(
        "idetic contradictions {scope}",
        "idetic contradictions --status dismissed {scope} --json",
    ),
)
async def contradictions(
    binding: Binding,
    *,
    status: Sequence[ContradictionStatus] | None = None,
    limit: Limit = 100,
) -> list[Contradiction]:
    """List contradictions, oldest first; by default those that operators have to decide."""
    wanted = [s for s, after in TRANSITIONS.items() if after] if status is None else status
    found: list[Contradiction] = []
    async with binding.look() as tx:
        for canonical in _with_contradictions(binding.spec):
            values = [one.value for one in wanted]
            found += await tx.contradictions(canonical, status=values, limit=limit)
    return sorted(found, key=lambda one: (one.observed_at, one.id))[:limit]


@verb(
    capability=Capability.RESOLVE,
    writes=True,
    http=post("/contradictions/{contradiction_id}/resolve", "maturing"),
    examples=(
        'idetic resolve CONTRADICTION_ID surfaced_to_operator --notes "asked the desk" {scope}',
    ),
)
async def resolve(
    binding: Binding,
    contradiction_id: UUID,
    status: ContradictionStatus,
    *,
    notes: str,
    idempotency_key: str | None = None,
) -> Receipt:
    """Decide a contradiction: surface it, dismiss it, or promote it to a revision signal."""
    notes = binding.gated_reason(notes, "notes", MAX_RESOLUTION)
    named = {"contradiction": str(contradiction_id), "to": status.value}
    call = {"verb": "resolve", **named, "notes": notes}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return known
        found = await _standing(tx, contradiction_id)
        if status not in TRANSITIONS[found.status]:
            allowed = ", ".join(TRANSITIONS[found.status]) or "nothing: it is settled"
            raise TransitionRefused(
                f"A contradiction that is {found.status} cannot become {status}.",
                remedy=f"From {found.status} it may become {allowed}.",
            )
        entry = (await tx.entry(found.entry_id)).entry
        told = {"contradiction": str(contradiction_id), "from": found.status, "to": status.value}
        step = ResolveStep(
            f"contradiction_{status.value}",
            "resolved by an operator",
            contradiction_id,
            found.ref.noun,
            status,
            notes,
            entry=entry,
            detail=told,
        )
        steps: list[Step] = [step]
        if status is ContradictionStatus.PROMOTED:
            steps += await signal_steps(binding, tx, found, entry, "it speaks against a rule")
        return await binding.settle_once(tx, steps, idempotency_key, call)


async def _standing(tx: AnchorTransaction, row_id: UUID) -> Contradiction:
    """The contradiction with this id, under whichever noun it is kept, or `NotFound`."""
    for canonical in _with_contradictions(tx.spec):
        for found in await tx.contradictions(canonical, row_id=row_id):
            return found
    raise NotFound("There is no such contradiction in this scope.")


def _canonical(spec: MemorySpec, ref: Ref) -> Canonical:
    """The declaration that a reference points to; refused if it keeps no contradictions."""
    declared = {canonical.noun: canonical for canonical in _with_contradictions(spec)}
    if not isinstance(ref, Ref) or ref.noun not in declared:
        raise InputError(
            "The spec of this agent declares no contradictions with this kind of row.",
            remedy=f"Declared under `references.canonical`: {', '.join(declared) or 'none'}.",
        )
    return declared[ref.noun]


def _with_contradictions(spec: MemorySpec) -> list[Canonical]:
    """The canonical content against which the spec lets entries speak."""
    return [canonical for canonical in spec.references.canonical if canonical.contradictions]

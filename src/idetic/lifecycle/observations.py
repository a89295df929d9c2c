"""What is written directly: observations, preferences, actions; an entry archived or exempted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import CapabilityRefused, InputError, WritePolicyRefused
from idetic.gateway.gateway import raise_if_rejected
from idetic.gateway.write_policy import check_written_here
from idetic.lifecycle.lifetimes import with_lifetimes
from idetic.lifecycle.scope_change import end_elsewhere
from idetic.model import (
    Capability,
    Claim,
    Decision,
    Entry,
    Observation,
    Origin,
    Place,
    PrincipalKind,
    Receipt,
    Ref,
    Scope,
    Tier,
    Typology,
)
from idetic.recall.embedding import Embedded
from idetic.store import word_index
from idetic.store.word_index import INDEX_WORDS, Indexed
from idetic.verbs.arguments import Progress
from idetic.verbs.declaration import McpTool, post, verb

MAX_LINKED = 1_000
_WROTE = (Decision.ADD, Decision.UPDATE)


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    operation="observe",
    placed=True,
    needs_open=True,
    http=post("/observations", "writing"),
    tool=McpTool(
        "Write down what happened",
        "Write down what happened or what you learnt, in your own words. Refer to rules instead of "
        "repeating them. It goes to the session of this connection, which is opened if need be. "
        "Returns the decision, the entry's id and the session's id.",
        hidden=("typology",),
    ),
    examples=(
        'idetic observe "The second check came late." {scope}',
        'idetic observe "Wires go out late on Fridays." --ref rule:RULE_ID {scope} --json',
        "idetic observe - {scope} < note.txt",
    ),
    describes={"text": "What happened, in your own words."},
)
async def observe(  # noqa: PLR0913 - all that may be said of an observation
    binding: Binding,
    text: str,
    *,
    envelope: Mapping[str, Any] | None = None,
    refs: Iterable[Ref] = (),
    claim: Claim | None = None,
    provenance: Mapping[str, str] | None = None,
    valid_at: datetime | None = None,
    heard_from: Origin | None = None,
    speaker: str | None = None,
    typology: Typology = Typology.EPISODIC,
    idempotency_key: str | None = None,
) -> Receipt:
    """Write down what happened. Returns a durable receipt."""
    told = (envelope, tuple(refs), claim, provenance, valid_at, heard_from, speaker)
    seen = Observation(text, *told, idempotency_key)
    place, gateway = binding.place, binding.engine.gateway
    items = await gateway.prepared(binding.scope, place.tier, typology, [seen])
    receipts = await gateway.admit(binding.scope, place, items)
    raise_if_rejected(receipts[0])
    if binding.engine.embed_inline:
        await _embed_inline(binding, receipts, [seen], place.tier, typology)
    return with_lifetimes(binding.spec, place.tier, typology, [seen], receipts)[0]


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    operation="observe",
    placed=True,
    needs_open=True,
    http=post("/observations/batch", "writing"),
    command=None,
)
async def observe_many(
    binding: Binding,
    observations: Sequence[Observation],
    *,
    typology: Typology = Typology.EPISODIC,
    idempotency_key: str | None = None,
) -> list[Receipt]:
    """Write many observations in one transaction; a refused one gets the decision REJECT.

    With `idempotency_key`, each observation without a key of its own gets one made of that and its
    place in the list, so that a repeated batch writes nothing twice.
    """
    seen = _numbered(observations, idempotency_key)
    place, gateway = binding.place, binding.engine.gateway
    items = await gateway.prepared(binding.scope, place.tier, typology, seen)
    receipts = await gateway.admit(binding.scope, place, items)
    if binding.engine.embed_inline:
        await _embed_inline(binding, receipts, seen, place.tier, typology)
    return with_lifetimes(binding.spec, place.tier, typology, seen, receipts)


@verb(
    capability=Capability.PREFER,
    writes=True,
    operation="prefer",
    placed=True,
    needs_open=True,
    http=post("/preferences", "writing"),
    tool=McpTool(
        "State how things are to be done",
        "State a lasting preference. One with the same claim (subject, attribute) takes the place "
        "of the earlier one, whose history stays.",
        hidden=("provenance",),
        destructive=True,
    ),
    examples=('idetic prefer "Call before noon." --claim subject=ada {scope}',),
    describes={"text": "How things are to be done."},
)
async def prefer(
    binding: Binding,
    text: str,
    *,
    claim: Claim | None = None,
    envelope: Mapping[str, Any] | None = None,
    refs: Iterable[Ref] = (),
    provenance: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """State how to do things. A preference supersedes the one with the same claim key."""
    stated = Observation(
        text, envelope, tuple(refs), claim, provenance, idempotency_key=idempotency_key
    )
    return raise_if_rejected((await _preferred(binding, [stated]))[0])


@verb(
    capability=Capability.PREFER,
    writes=True,
    operation="prefer",
    placed=True,
    needs_open=True,
    http=post("/preferences/batch", "writing"),
    command=None,
)
async def prefer_many(
    binding: Binding,
    preferences: Sequence[Observation],
    *,
    idempotency_key: str | None = None,
) -> list[Receipt]:
    """State many preferences in one transaction; a refused one gets the decision REJECT."""
    return await _preferred(binding, _numbered(preferences, idempotency_key))


async def _preferred(binding: Binding, stated: Sequence[Observation]) -> list[Receipt]:
    """Admit preferences to persistent procedural memory; embed them now where that is set."""
    cell = (Tier.PERSISTENT, Typology.PROCEDURAL)
    place, gateway = Place(binding.place.session_id), binding.engine.gateway
    items = await gateway.prepared(binding.scope, *cell, stated, "preferred")
    receipts = await gateway.admit(binding.scope, place, items)
    if binding.engine.embed_inline:
        await _embed_inline(binding, receipts, stated, *cell)
    return with_lifetimes(binding.spec, *cell, stated, receipts)


def _numbered(many: Sequence[Observation], key: str | None) -> list[Observation]:
    """Each with a key of its own, or one made of the call's and its place in the list."""
    if key is None:
        return list(many)
    return [
        replace(one, idempotency_key=f"{key}/{number}") if one.idempotency_key is None else one
        for number, one in enumerate(many)
    ]


def _is_kept_from_questions(one: Observation) -> bool:
    """Whether it is part of a document that asked for no vector; as `Family.searched` has it."""
    told = one.envelope or {}
    return "version" in told and told.get("ranked") == "no"


async def _embed_inline(
    binding: Binding,
    receipts: Sequence[Receipt],
    seen: Sequence[Observation],
    tier: Tier,
    typology: Typology,
) -> None:
    """Embed what was just written. The write stands either way."""
    pairs = zip(receipts, seen, strict=True)
    new = [
        (receipt.entry_id, one.text)
        for receipt, one in pairs
        if receipt.decision in _WROTE and not _is_kept_from_questions(one)
    ]
    await binding.engine.embedding.written(binding.scope, new, tier, typology)


@verb(
    capability=Capability.LINK_ACTION,
    writes=True,
    operation="link_action",
    http=post("/actions", "writing"),
    examples=("idetic link-action ACTION_ID payment ENTRY_ID {scope}",),
)
async def link_action(
    binding: Binding,
    action_id: UUID,
    kind: str,
    entries: Iterable[UUID],
    *,
    reason: str = "the action rested on these entries",
    idempotency_key: str | None = None,
) -> Receipt:
    """Record that an action rested on entries; they can then never be removed."""
    declared = binding.spec.audit.action_kinds
    if kind not in declared:
        raise InputError(
            f"{kind!r} is not an action kind of {binding.spec.agent}.",
            remedy=f"Declared under `audit`: {', '.join(declared)}.",
        )
    memories = sorted({str(entry) for entry in entries})
    if not 0 < len(memories) <= MAX_LINKED:
        raise InputError(f"An action must rest on 1 to {MAX_LINKED:,} entries.")
    call = {"action": str(action_id), "kind": kind, "memories": memories}
    call |= {"reason": binding.gated_reason(reason)}
    return await binding.engine.gateway.call(binding.scope, "link_action", call, idempotency_key)


@verb(
    capability=Capability.ARCHIVE,
    writes=True,
    operation="archive",
    http=post("/entries/{entry_id}/archive", "maturing"),
    examples=('idetic archive ENTRY_ID --reason "no longer so" {scope}',),
)
async def archive(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Take an entry out of the current view. The row and its history stay."""
    call = {"verb": "archive", "memory": str(entry_id), "reason": binding.gated_reason(reason)}
    return await binding.engine.gateway.call(binding.scope, "turn", call, idempotency_key)


def check_pinnable(scope: Scope, entries: Iterable[Entry]) -> None:
    """Refuse an agent that would keep an operator's word from ageing: it is the operator's."""
    if scope.principal.kind is not PrincipalKind.AGENT:
        return
    if any(entry.origin is Origin.OPERATOR for entry in entries):
        raise CapabilityRefused(
            "An agent may not exempt an entry that an operator stated.",
            remedy="Ask an operator to exempt it.",
        )


@verb(
    capability=Capability.EXEMPT,
    writes=True,
    operation="exempt",
    http=post("/entries/{entry_id}/exempt", "maturing"),
    examples=('idetic exempt ENTRY_ID --reason "it never ages" {scope}',),
)
async def exempt(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Mark an entry exempt from decay and disposition."""
    call = {"verb": "exempt", "memory": str(entry_id), "reason": binding.gated_reason(reason)}
    if binding.scope.principal.kind is PrincipalKind.AGENT:
        # Where an entry came from never changes, so it may be read before.
        found = await binding.engine.entries.entries(binding.scope, "get", memory_id=entry_id)
        check_pinnable(binding.scope, found)
    return await binding.engine.gateway.call(binding.scope, "turn", call, idempotency_key)


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    operation="open",
    placed=True,
    repeatable=True,
    command=None,
)
async def open_scope(binding: Binding) -> None:
    """Begin the session or interaction of this place, or resume one that is open."""
    place = binding.place
    tiers = binding.spec.tiers
    if place.tier not in tiers.declared:
        raise WritePolicyRefused(
            f"The tier model of {binding.spec.agent} has no {place.tier} tier.",
            remedy=f"It has: {', '.join(map(tiers.name_of, tiers.declared))}. Observe in the "
            f"{tiers.name_of(Tier.SESSION)} itself.",
        )
    check_written_here(binding.spec, binding.scope)
    call = {
        "tier": place.tier.value,
        "scope": str(place.interaction_id or place.session_id),
        "session": str(place.session_id),
        "reason": "opened",
    }
    await binding.engine.gateway.call(binding.scope, "scope_turn", call)
    await end_elsewhere(binding)


@verb(
    capability=(Capability.MAINTAIN, Capability.OBSERVE),
    repeatable=True,
    http=post("/embed", "upkeep"),
    examples=("idetic embed {scope}",),
)
async def embed(binding: Binding, progress: Progress | None = None) -> Embedded:
    """Compute the missing vectors of this anchor's entries, in batches that each commit."""
    return await binding.engine.embedding.pending(binding.scope, progress)


@verb(capability=Capability.MAINTAIN, repeatable=True, http=post("/index-words", "upkeep"))
async def index_words(binding: Binding, *, anew: bool = False) -> Indexed:
    """Update the word index of a large anchor, or rebuild it."""
    engine, scope = binding.engine, binding.scope
    # Read first: what is written while this runs is then looked at once more, never missed.
    position = await engine.marks.position(scope)
    if position < word_index.INDEXED_FROM:
        return Indexed(0)
    reached = await engine.marks.reached(scope, INDEX_WORDS)
    made = await engine.words.update(scope, position, reached, anew=anew)
    await engine.marks.mark(scope, INDEX_WORDS, position, engine.clock.now())
    return Indexed(made)


@verb(capability=Capability.MAINTAIN, repeatable=True, http=post("/reembed", "upkeep"))
async def reembed(binding: Binding, progress: Progress | None = None) -> Embedded:
    """Embed the whole tenant with the loaded model, then switch recalls to it."""
    return await binding.engine.embedding.tenant(binding.scope, progress)

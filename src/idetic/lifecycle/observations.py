"""What is written directly: observations, preferences, actions; an entry archived or exempted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import InputError
from idetic.gateway.gateway import raise_if_rejected
from idetic.model import (
    Claim,
    Decision,
    Observation,
    Origin,
    Place,
    Receipt,
    Ref,
    Tier,
    Typology,
)

MAX_LINKED = 1_000
_WROTE = (Decision.ADD, Decision.UPDATE)


async def observe(
    binding: Binding,
    text: str,
    *,
    envelope: Mapping[str, Any] | None = None,
    refs: Sequence[Ref] = (),
    claim: Claim | None = None,
    provenance: Mapping[str, str] | None = None,
    valid_at: datetime | None = None,
    heard_from: Origin | None = None,
    typology: Typology = Typology.EPISODIC,
    idempotency_key: str | None = None,
) -> Receipt:
    """Write down what happened. Returns a durable receipt."""
    seen = Observation(
        text, envelope, tuple(refs), claim, provenance, valid_at, heard_from, idempotency_key
    )
    place, gateway = binding.place, binding.engine.gateway
    items = gateway.items(binding.scope, place.tier, typology, [seen])
    receipts = await gateway.admit(binding.scope, place, items)
    raise_if_rejected(receipts[0])
    if binding.engine.embed_inline:
        await _embed_inline(binding, receipts, [seen], place.tier, typology)
    return receipts[0]


async def observe_many(
    binding: Binding, seen: Sequence[Observation], *, typology: Typology = Typology.EPISODIC
) -> list[Receipt]:
    """Write many observations in one transaction: all of them, but for what is refused.

    Each is checked before the first is written: a bad one writes nothing.
    """
    place, gateway = binding.place, binding.engine.gateway
    items = gateway.items(binding.scope, place.tier, typology, seen)
    receipts = await gateway.admit(binding.scope, place, items)
    if binding.engine.embed_inline:
        await _embed_inline(binding, receipts, seen, place.tier, typology)
    return receipts


async def prefer(
    binding: Binding,
    text: str,
    *,
    claim: Claim | None = None,
    envelope: Mapping[str, Any] | None = None,
    refs: Sequence[Ref] = (),
    provenance: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """State how to do things. A preference supersedes the one with the same claim key."""
    stated = Observation(
        text, envelope, tuple(refs), claim, provenance, idempotency_key=idempotency_key
    )
    return raise_if_rejected((await prefer_many(binding, [stated]))[0])


async def prefer_many(binding: Binding, stated: Sequence[Observation]) -> list[Receipt]:
    """State many preferences in one transaction: all of them, but for what is refused."""
    cell = (Tier.PERSISTENT, Typology.PROCEDURAL)
    place, gateway = Place(binding.place.session_id), binding.engine.gateway
    items = gateway.items(binding.scope, *cell, stated, "preferred")
    receipts = await gateway.admit(binding.scope, place, items)
    if binding.engine.embed_inline:
        await _embed_inline(binding, receipts, stated, *cell)
    return receipts


async def _embed_inline(
    binding: Binding,
    receipts: Sequence[Receipt],
    seen: Sequence[Observation],
    tier: Tier,
    typology: Typology,
) -> None:
    """Embed what was just written. The write stands either way."""
    pairs = zip(receipts, seen, strict=True)
    new = [(receipt.entry_id, one.text) for receipt, one in pairs if receipt.decision in _WROTE]
    await binding.engine.embedding.written(binding.scope, new, tier, typology)


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
        raise InputError(f"An action rests on 1 to {MAX_LINKED:,} entries.")
    call = {"action": str(action_id), "kind": kind, "memories": memories}
    call |= {"reason": binding.gated_reason(reason)}
    return await binding.engine.gateway.call(binding.scope, "link_action", call, idempotency_key)


async def archive(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Take an entry out of the current view. The row and its history stay."""
    call = {"verb": "archive", "memory": str(entry_id), "reason": binding.gated_reason(reason)}
    return await binding.engine.gateway.call(binding.scope, "turn", call, idempotency_key)


async def exempt(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Mark an entry exempt from decay and disposition."""
    call = {"verb": "exempt", "memory": str(entry_id), "reason": binding.gated_reason(reason)}
    return await binding.engine.gateway.call(binding.scope, "turn", call, idempotency_key)


async def open_scope(binding: Binding) -> Receipt:
    """Open the session or interaction that the place names, or resume it."""
    place = binding.place
    call = {
        "tier": place.tier.value,
        "scope": str(place.interaction_id or place.session_id),
        "session": str(place.session_id),
        "reason": "opened",
    }
    return await binding.engine.gateway.call(binding.scope, "scope_turn", call)

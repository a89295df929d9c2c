"""Verbs that write and place: observe, prefer, link an action, open, renew and close a scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Closed
from idetic.library.binding import Binding
from idetic.model import (
    Capability,
    Claim,
    Decision,
    Observation,
    Origin,
    Receipt,
    Ref,
    Tier,
    Typology,
)
from idetic.verbs.declaration import McpTool, post, verb

_WROTE = (Decision.ADD, Decision.UPDATE)


@verb(
    capability=Capability.OBSERVE,
    writes=True,
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
)
async def observe(
    binding: Binding,
    text: str,
    *,
    envelope: Mapping[str, Any] | None = None,
    refs: Iterable[Ref] = (),
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
    gateway = binding.rooms.gateway
    receipt = await gateway.observe(binding.scope, binding.place, seen, typology)
    await _embed_inline(binding, [(receipt, text)], binding.place.tier, typology)
    return receipt


@verb(
    capability=Capability.OBSERVE,
    writes=True,
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
    """Write many observations in one transaction; what is refused comes back as REJECT.

    With `idempotency_key`, each observation without a key of its own gets one made of that and its
    place in the list, so that a repeated batch writes nothing twice.
    """
    many = _numbered(observations, idempotency_key)
    receipts = await binding.rooms.gateway.observe_many(
        binding.scope, binding.place, many, typology
    )
    written = [(r, o.text) for r, o in zip(receipts, many, strict=True)]
    await _embed_inline(binding, written, binding.place.tier, typology)
    return receipts


@verb(
    capability=Capability.PREFER,
    writes=True,
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
    receipt = await binding.rooms.gateway.prefer(binding.scope, binding.place, stated)
    await _embed_inline(binding, [(receipt, text)], Tier.PERSISTENT, Typology.PROCEDURAL)
    return receipt


@verb(
    capability=Capability.PREFER,
    writes=True,
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
    """State many preferences in one transaction; what is refused comes back as REJECT."""
    many = _numbered(preferences, idempotency_key)
    receipts = await binding.rooms.gateway.prefer_many(binding.scope, binding.place, many)
    written = [(r, o.text) for r, o in zip(receipts, many, strict=True)]
    await _embed_inline(binding, written, Tier.PERSISTENT, Typology.PROCEDURAL)
    return receipts


@verb(
    capability=Capability.LINK_ACTION,
    writes=True,
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
    return await binding.rooms.gateway.link_action(
        binding.scope, action_id, kind, entries, reason=reason, key=idempotency_key
    )


@verb(
    capability=Capability.ARCHIVE,
    writes=True,
    http=post("/entries/{entry_id}/archive", "maturing"),
    examples=('idetic archive ENTRY_ID --reason "no longer so" {scope}',),
)
async def archive(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Take an entry out of the current view. The row and its history stay."""
    return await binding.rooms.gateway.archive(
        binding.scope, entry_id, reason=reason, key=idempotency_key
    )


@verb(
    capability=Capability.EXEMPT,
    writes=True,
    http=post("/entries/{entry_id}/exempt", "maturing"),
    examples=('idetic exempt ENTRY_ID --reason "it never ages" {scope}',),
)
async def exempt(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Mark an entry exempt from decay and disposition."""
    return await binding.rooms.gateway.exempt(
        binding.scope, entry_id, reason=reason, key=idempotency_key
    )


@verb(capability=Capability.OBSERVE, writes=True, placed=True, repeatable=True, command=None)
async def open_scope(binding: Binding) -> None:
    """Begin the session or interaction of this place, or resume one that is open."""
    await binding.rooms.gateway.open_scope(binding.scope, binding.place)


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
    await binding.rooms.recovery.renew(binding.scope, binding.place)


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
    reason = binding.rooms.gateway.said(reason)
    return await binding.rooms.closer.close(binding.scope, binding.place, reason)


async def _embed_inline(
    binding: Binding, written: Sequence[tuple[Receipt, str]], tier: Tier, typology: Typology
) -> None:
    """Embed what was just written, if the agent was opened so. The write stands either way."""
    if binding.embed_inline:
        new = [(r.entry_id, text) for r, text in written if r.decision in _WROTE]
        await binding.rooms.embedding.written(binding.scope, new, tier, typology)


def _numbered(many: Sequence[Observation], key: str | None) -> list[Observation]:
    """Each with a key of its own, or one made of the call's and its place in the list."""
    if key is None:
        return list(many)
    return [
        replace(one, idempotency_key=f"{key}/{number}") if one.idempotency_key is None else one
        for number, one in enumerate(many)
    ]

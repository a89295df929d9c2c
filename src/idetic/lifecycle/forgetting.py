"""Forgetting one fact: it and what was made of it are emptied for good, with one receipt.

What was made of it alone goes. What was made of other sources too goes if it holds a word of what
is forgotten; else it stays, and the receipt names it. That errs on the side of forgetting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from idetic.engine import Binding
from idetic.erasure import Erased
from idetic.ids import uuid7
from idetic.lifecycle.erasure import emptied, erased_of
from idetic.model import Capability, Decision
from idetic.store import erasure_rows
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.erasure_rows import ErasureTargets
from idetic.store.steps import LinkStep
from idetic.verbs.declaration import McpTool, post, verb


@verb(
    capability=Capability.ERASE,
    writes=True,
    http=post("/entries/{entry_id}/forget", "governing"),
    tool=McpTool(
        "Forget",
        "Empty one entry and what was made of it, or everything, for good. Only if the user asks.",
        destructive=True,
    ),
    examples=('idetic forget ENTRY_ID --reason "request 17" --yes {scope}',),
    describes={"sources": "Also delete its sources, from which the fact may be drawn again."},
)
async def forget(
    binding: Binding,
    entry_id: UUID,
    *,
    reason: str,
    sources: bool = False,
    idempotency_key: str | None = None,
) -> Erased:
    """Delete the content of one entry, and all that was made from it, for good."""
    reason = binding.gated_reason(reason)
    call = {"verb": "forget", "entry": str(entry_id), "reason": reason, "sources": sources}
    async with binding.erasing() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return erased_of(known)
        await tx.entry(entry_id)
        going, spared = await _chosen(tx, entry_id, sources=sources)
        targets = await _targets(tx, going)
        receipt = uuid7()
        removed = await emptied(binding, tx, targets, reason, receipt)
        unsaid, witness = await erasure_rows.unsay(tx, targets.entries)
        told = {
            "entries": [str(one) for one in targets.entries],
            "removed": removed,
            "kept": [],
            "spared": [str(one) for one in sorted(spared)],
            **(witness if unsaid else {}),
        }
        decision = Decision.DELETE if removed else Decision.NOOP
        why = reason if removed else "nothing found"
        last = LinkStep("erasure", why, decision=decision, receipt=receipt, detail=told)
        return erased_of(await binding.settle_once(tx, [last], idempotency_key, call))


async def _chosen(
    tx: AnchorTransaction, entry_id: UUID, *, sources: bool
) -> tuple[set[UUID], set[UUID]]:
    """The entries that go, and those that were made of them among others and stay."""
    above = await erasure_rows.origins(tx, [entry_id]) if sources else []
    roots = await erasure_rows.filled(tx, [entry_id, *above])
    pairs = await erasure_rows.edges(tx, roots)
    made = {entry for entry, _ in pairs} - set(roots)
    carrying = await erasure_rows.carrying(tx, sorted(made), roots) if made else frozenset()
    return chosen(roots, pairs, carrying)


def chosen(
    roots: Iterable[UUID], pairs: Iterable[tuple[UUID, UUID]], carrying: Collection[UUID]
) -> tuple[set[UUID], set[UUID]]:
    """Of the entries that were made of the roots: which go with them, and which are spared.

    `pairs` are (entry, source) with every source; `carrying` hold a word of a root.
    """
    sources: dict[UUID, set[UUID]] = {}
    for entry, source in pairs:
        sources.setdefault(entry, set()).add(source)
    going = set(roots) | (sources.keys() & set(carrying))
    while more := set(_orphans(sources, going)):
        going |= more
    spared = {one for one, of in sources.items() if of & going} - going
    return going, spared


def _orphans(sources: Mapping[UUID, set[UUID]], going: set[UUID]) -> Iterable[UUID]:
    """Entries all of whose sources go, and which are not going yet."""
    return (one for one, of in sources.items() if of <= going and one not in going)


async def _targets(tx: AnchorTransaction, going: set[UUID]) -> ErasureTargets:
    """The entries with the events that they mirror, and the digests of what wrote them."""
    pairs = await erasure_rows.mirrored(tx, [], sorted(going))
    events = sorted({event for event, _ in pairs})
    entries = sorted(going)
    digests = await erasure_rows.digests(tx, entries, []) if entries else []
    return ErasureTargets(entries, [], digests, [], events)

"""Erasure of a whole anchor: everything that one user ever said, without naming anything.

It goes in parts, each a transaction with a link that says what it emptied: no anchor is held for a
whole run, and a run that was killed goes on when it is called again. The last transaction finds
nothing left, empties what stands beside entries, and writes the one receipt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.erasure import ErasedAnchor, Kept
from idetic.ids import uuid7
from idetic.lifecycle.erasure import DEAD_ROWS, emptied, kept_jobs
from idetic.model import Capability, Decision, Receipt
from idetic.store import erasure_rows
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.erasure_rows import ErasureTargets
from idetic.store.steps import LinkStep
from idetic.store.threads import erase_threads
from idetic.verbs.arguments import SHORT, Progress, check_text
from idetic.verbs.declaration import post, verb

# Entries and events of one transaction: others wait no longer than it takes.
PART = 500
_SHELLS = "what is left of entries says which, when and by whom, and nothing of what they said"
_ANCHOR = "it is the key of the anchor itself; every row carries it"


@verb(
    capability=Capability.ERASE,
    writes=True,
    repeatable=True,
    http=post("/anchor/erasure", "governing"),
    command=None,
)
async def erase_anchor(
    binding: Binding,
    *,
    reason: str,
    idempotency_key: str | None = None,
    progress: Progress | None = None,
) -> ErasedAnchor:
    """Delete the content of every entry of this anchor, for good."""
    reason = binding.gated_reason(reason)
    if idempotency_key is not None:
        check_text(idempotency_key, SHORT, "idempotency_key")
    call = {"verb": "erase_anchor", "reason": reason}
    receipt, done = uuid7(), 0
    while True:
        async with binding.erasing() as tx:
            if known := await binding.replayed(tx, idempotency_key, call):
                return _erased_anchor(known)
            left = await erasure_rows.remaining(tx, PART)
            if not left.found:
                last = await _last(binding, tx, reason, receipt)
                return _erased_anchor(await binding.settle_once(tx, [last], idempotency_key, call))
            await _part(binding, tx, left, reason, receipt)
        done += len(left.entries) + len(left.events)
        if progress is not None:
            progress(done, done + PART)


async def _part(
    binding: Binding, tx: AnchorTransaction, left: ErasureTargets, reason: str, receipt: UUID
) -> None:
    """Empty one part, and say in the chain which rows it was."""
    removed = await emptied(binding, tx, left, reason, receipt)
    told = {"part": True, "removed": removed}
    link = LinkStep("erasure", reason, decision=Decision.DELETE, receipt=receipt, detail=told)
    await binding.settle(tx, [link])


async def _last(binding: Binding, tx: AnchorTransaction, reason: str, receipt: UUID) -> LinkStep:
    """Empty what stands beside the entries; the link that tells of the whole erasure."""
    removed = Counter(await erasure_rows.parts(tx))
    removed.update(await erasure_rows.empty_rest(tx))
    unsaid, witness = await erasure_rows.unsay(tx, None)
    removed.update({"ledger": unsaid} if unsaid else {})
    threads = await erase_threads(tx)
    removed.update({"checkpoints": len(threads.removed)} if threads.removed else {})
    kept = [*await _kept(tx), *threads.kept, *await kept_jobs(binding)]
    kept += DEAD_ROWS if "memory" in removed else []
    told = {"counts": dict(removed), "kept": [one.as_data() for one in kept], **witness}
    decision = Decision.DELETE if removed else Decision.NOOP
    why = reason if removed else "nothing found"
    return LinkStep("erasure", why, decision=decision, receipt=receipt, detail=told)


async def _kept(tx: AnchorTransaction) -> list[Kept]:
    """What stays: the anchor's key, and rows without content."""
    kept = [Kept("anchors", name, 1, _ANCHOR) for name in tx.scope.anchor]
    shells = await erasure_rows.shells(tx)
    return [*kept, Kept("memory", "memory_id", shells, _SHELLS)] if shells else kept


def _erased_anchor(receipt: Receipt) -> ErasedAnchor:
    """What went and what stayed, read off the receipt; a repeated call gets the same."""
    detail: Mapping[str, Any] = receipt.detail
    kept = [Kept(**(one | {"positions": tuple(one["positions"])})) for one in detail["kept"]]
    return ErasedAnchor(receipt, detail["counts"], tuple(kept))

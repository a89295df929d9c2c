"""Proposals against the chain: whether each stands as the links about it say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from idetic.audit.findings import KEPT, Findings, ProblemKind
from idetic.audit.side_rows import NO_ID, Erasures, note_stands, pages
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT, EMPTIED
from idetic.store.proposal_rows import EVENTS, proposal_digest


async def check_proposals(tx: AnchorTransaction, findings: Findings) -> None:
    """Whether proposals are what links made them, and no link tells of one that is gone."""
    if not tx.spec.proposes:
        return
    erasures = await Erasures.read(tx)
    async for row in pages(tx, "proposals", 1, (NO_ID,), emptied=list(EMPTIED)):
        row_id, entry_id, links = row[0], row[1], row[-2] or ()
        if not links or links[0]["transition"] not in EVENTS.values():
            why = f"no link says that it was proposed ({row_id})"
            findings.add(ProblemKind.INSERTED, None, "proposal", why, entry_id)
            continue
        excused = row[-1] or erasures.took("proposals", row_id)
        if not _stands(row, links, excused=excused):
            why = f"its history says otherwise about a proposal ({row_id})"
            findings.add(ProblemKind.ALTERED, links[-1]["position"], "proposal", why, entry_id)
    for entry_id, row_id, at in await tx.ask(AUDIT, "lost_proposals", limit=KEPT):
        why = f"it was proposed, and no row says so any more ({row_id})"
        findings.add(ProblemKind.MISSING, at, "proposal", why, entry_id)


def _stands(row: tuple[Any, ...], links: Sequence[Mapping[str, Any]], *, excused: bool) -> bool:
    """Whether a proposal is what its first link made, as the last one decided about it."""
    row_id, entry_id, kind, about, support, made, decided, *texts = row[:-2]
    statement, statement_salt, reason, reason_salt = texts
    first, *decisions = links
    if first.get("row") != proposal_digest(entry_id, row_id, kind, about, support):
        return False
    last = decisions[-1] if decisions else {}
    decision = [last.get("to", "open"), last.get("at"), last.get("actor")]
    return (
        (made, decided) == ([first["at"], first["actor"]], decision)
        and len(decisions) < 2
        and note_stands(first.get("statement_hash"), statement_salt, statement, excused=excused)
        and note_stands(last.get("notes_hash"), reason_salt, reason, excused=excused)
    )

"""`fact`: somebody states what is so. It rests on words, and ends what held before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from idetic.assistant.claims import ClaimPass, SourcedClaim
from idetic.assistant.intake import add, embed_pending
from idetic.engine import Binding
from idetic.errors import EntryNotFound, GateRefused, InputError, WritePolicyRefused
from idetic.model import Capability, Claim, Entry, EntryState, Receipt, Tier, Typology
from idetic.spec.typology import WriteMode
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.verbs.arguments import MAX_LISTED, check_text
from idetic.verbs.declaration import post, verb

# What stands in the provenance of a fact that nobody drew out of anything.
STATED = "stated"


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    operation="fact",
    repeatable=True,
    http=post("/facts", "writing"),
    examples=('idetic fact "Ada lives in Rome." --claim subject=Ada --claim value=Rome {scope}',),
    describes={
        "text": "The fact as a sentence.",
        "evidence": "The entries that support it; without any, the text itself is the evidence.",
    },
)
async def fact(
    binding: Binding,
    text: str,
    claim: Claim,
    *,
    evidence: Sequence[UUID] = (),
    valid_at: datetime | None = None,
) -> Receipt:
    """State a fact. A fact with the same claim key and another value ends the earlier one.

    The spec has to allow stated facts. `valid_at` is the beginning of its validity; a fact about an
    earlier time than the current one goes into the history.
    """
    _check_stated(binding)
    check_text(text, binding.spec.backend.body_text_max, "text")
    if not isinstance(claim, Claim):
        raise InputError("claim must be a Claim: subject, attribute and value.")
    ids = list(evidence)[: MAX_LISTED + 1]
    if not ids:
        (said,) = await add.function(binding, text)
        ids = list(said.entry_ids)
    async with binding.hold() as tx:
        sources = await _sources(tx, ids)
        work = ClaimPass.of(binding, tx)
        stated = SourcedClaim(claim, Typology.SEMANTIC, text, sources, STATED, valid_at)
        entry_id = await work.take(stated)
        receipts = await binding.settle(tx, work.steps)
    await embed_pending(binding)
    return _own(receipts, entry_id)


def _check_stated(binding: Binding) -> None:
    """Refuse where the spec does not let anybody state facts."""
    spec = binding.spec
    stated = Typology.SEMANTIC in spec.typology.at(Tier.PERSISTENT)
    if (
        not stated
        or spec.writes_of(Tier.PERSISTENT, Typology.SEMANTIC).mode is not WriteMode.EXPLICIT
    ):
        raise WritePolicyRefused(
            f"The spec of {spec.agent} does not allow stated facts; observations become facts.",
            remedy="Call `observe` with a claim, or set `mode: explicit` under `writes`.",
        )


async def _sources(tx: AnchorTransaction, ids: Sequence[UUID]) -> tuple[Entry, ...]:
    """The entries that a fact rests on; each must be there and hold."""
    found = {one.id: one.entry for one in await tx.stored(ids)}
    missing = [one for one in ids if one not in found or found[one].state is EntryState.DELETED]
    if missing:
        raise EntryNotFound(f"There is no entry {missing[0]} here that a fact could rest on.")
    return tuple(found[one] for one in ids)


def _own(receipts: Sequence[Receipt], entry_id: UUID | None) -> Receipt:
    """The receipt that says what became of the fact itself."""
    own = [receipt for receipt in receipts if receipt.entry_id == entry_id]
    if entry_id is None or not own:
        raise GateRefused("The ingest gate would remove a part of this fact.")
    return own[-1]

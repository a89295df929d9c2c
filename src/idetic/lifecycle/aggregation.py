"""Aggregation: what an anchor knows, as a pattern that may leave it.

What becomes a proposal for everybody crosses the spec's aggregation gate first: identifiers of the
deployment are taken out and the pattern stays, with the canonical rows it refers to. What means
nothing without them stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound, InputError, WritePolicyRefused
from idetic.evidence import Aggregated, Pattern
from idetic.gates.gate import Passed, Pipeline
from idetic.ids import uuid7
from idetic.model import Capability, Decision, Entry, EntryState, Tier
from idetic.spec.primitives import Boundary, GateKind
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.identifier_rows import LIFECYCLE_NAMES, looked_up_names
from idetic.store.steps import LinkStep
from idetic.verbs.declaration import post, verb

MOST = 1_000
_NOT_KNOWN = "only what stands in persistent memory is a pattern; this does not"


@verb(
    capability=Capability.PROMOTE,
    whole_anchor=True,
    repeatable=False,
    http=post("/patterns", "governing"),
)
async def patterns(binding: Binding, entries: Iterable[UUID], *, reason: str) -> Aggregated:
    """Summarise what entries have in common, without their anchors, for use elsewhere."""
    gate = binding.engine.gates.at(Boundary.AGGREGATION)
    if GateKind.STRIP_IDENTIFIERS not in gate.kinds:
        raise WritePolicyRefused(
            f"The spec of {binding.spec.agent} declares no aggregation gate.",
            remedy="Declare a gate there: `{boundary: aggregation, apply: [strip_identifiers],"
            " because: …}`.",
        )
    wanted = list(dict.fromkeys(entries))
    if not 0 < len(wanted) <= MOST:
        raise InputError(f"Give 1 to {MOST} entries.")
    reason = binding.gated_reason(reason)
    receipt = uuid7()
    links: list[LinkStep] = []
    refused: dict[UUID, str] = {}
    alike: dict[str, list[tuple[Entry, Passed]]] = {}
    async with binding.hold() as tx:
        known = {one.id: one.entry for one in await tx.stored(wanted)}
        if missing := [one for one in wanted if one not in known]:
            raise EntryNotFound(f"{len(missing)} of {len(wanted)} entries are not here.")
        identifiers = await _identifiers(binding, tx, gate)
        for entry in (known[one] for one in wanted):
            passed = _crossed(gate, entry, identifiers)
            if isinstance(passed, str):
                refused[entry.id] = passed
                links.append(
                    LinkStep("aggregation_refused", passed, decision=Decision.REJECT, entry=entry,
                             receipt=receipt)
                )  # fmt: skip
                continue
            alike.setdefault(" ".join(passed.text.casefold().split()), []).append((entry, passed))
            told = {"removed": {change.kind: change.count for change in passed.changes}}
            links.append(LinkStep("aggregated", reason, entry=entry, receipt=receipt, detail=told))
        whole = {"patterns": len(alike), "refused": len(refused)}
        first = LinkStep("aggregation", reason, receipt=receipt, detail=whole)
        receipts = await binding.settle(tx, [first, *links])
    # Those that say the same are one pattern, in the order of their first.
    return Aggregated(receipts[0], tuple(map(_pattern, alike.values())), refused)


async def _identifiers(binding: Binding, tx: AnchorTransaction, gate: Pipeline) -> list[str]:
    """The anchor's own names, and those that stand where the spec says."""
    found = await looked_up_names(tx, gate.lookups)
    if found is None:
        raise WritePolicyRefused(
            f"The aggregation gate looks up more than {LIFECYCLE_NAMES} names of this anchor.",
            remedy="Declare `patterns` that the names have in common, or fewer lookups.",
        )
    return [*(str(value) for value in binding.scope.anchor.values()), *found]


def _crossed(gate: Pipeline, entry: Entry, identifiers: Sequence[str]) -> Passed | str:
    """What is left of an entry behind the gate, or why it stays."""
    stands = entry.tier is Tier.PERSISTENT and entry.state is EntryState.CURRENT
    if not stands or entry.candidate:
        return _NOT_KNOWN
    passed = gate.apply(entry.body_text, identifiers)
    return passed if passed.refused is None else passed.refused


def _pattern(found: Sequence[tuple[Entry, Passed]]) -> Pattern:
    """One pattern for entries that read alike behind the gate, as trusted as the weakest."""
    # What they refer to is canonical, so it names no deployment; it is what patterns share.
    refs = {(ref.noun, ref.id): ref for entry, _ in found for ref in entry.refs}
    removed = sum(change.count for _, passed in found for change in passed.changes)
    weakest = min(entry.trust for entry, _ in found)
    return Pattern(found[0][1].text, len(found), weakest, tuple(refs.values()), removed)

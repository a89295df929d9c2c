"""Aggregation: what an anchor knows, as a pattern that may leave it.

What becomes a proposal for everybody crosses the spec's aggregation gate first: identifiers of the
deployment are taken out and the pattern stays, with the canonical rows it refers to. What means
nothing without them stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idetic.engine import Binding
from idetic.errors import WritePolicyRefused
from idetic.evidence import Corroboration
from idetic.gates.gate import Passed, Pipeline
from idetic.model import Entry, EntryState, Tier
from idetic.spec.primitives import Boundary, GateKind
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.identifier_rows import LIFECYCLE_NAMES, looked_up_names

_NOT_KNOWN = "only what stands in persistent memory is a pattern; this does not"


@dataclass(frozen=True, slots=True)
class AggregationGate:
    """The aggregation gate of a spec, with the names of one anchor that it takes out."""

    pipeline: Pipeline
    names: Sequence[str]

    @classmethod
    async def of(cls, binding: Binding, tx: AnchorTransaction) -> AggregationGate | None:
        """The gate with the anchor's own names; None if the spec lets nothing across."""
        pipeline = binding.engine.gates.at(Boundary.AGGREGATION)
        if GateKind.STRIP_IDENTIFIERS not in pipeline.kinds:
            return None
        found = await looked_up_names(tx, pipeline.lookups)
        if found is None:
            raise WritePolicyRefused(
                f"The aggregation gate looks up more than {LIFECYCLE_NAMES} names of this anchor.",
                remedy="Declare `patterns` that the names have in common, or fewer lookups.",
            )
        own = (str(value) for value in binding.scope.anchor.values())
        return cls(pipeline, [*own, *found])

    def crossed(self, entry: Entry) -> Passed | str:
        """What is left of a known entry behind the gate, or why it stays."""
        stands = entry.tier is Tier.PERSISTENT and entry.state is EntryState.CURRENT
        return self.stripped(entry) if stands and not entry.candidate else _NOT_KNOWN

    def stripped(self, entry: Entry) -> Passed | str:
        """What is left of any entry's text, or why nothing is."""
        passed = self.pipeline.apply(entry.body_text, self.names)
        return passed if passed.refused is None else passed.refused


def support_of(
    found: Sequence[tuple[Entry, Passed | None]], sources: Iterable[Corroboration]
) -> dict[str, int]:
    """The evidence behind a proposal in numbers: they say how much, and never whose."""
    counted = [one for one in sources if one.withdrawn_at is None and one.source_type.independent]
    changes = (change for _, passed in found if passed is not None for change in passed.changes)
    return {
        "entries": len(found),
        "sources": len({one.source for one in counted}),
        "voices": len({one.voice for one in counted}),
        "sessions": len({one.session_id for one in counted if one.session_id}),
        "trust": min(entry.trust for entry, _ in found),
        "removed": sum(change.count for change in changes),
    }

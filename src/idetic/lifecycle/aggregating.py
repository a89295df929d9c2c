"""Aggregation: what an anchor knows, as a pattern that may leave it.

What becomes a proposal for everybody crosses the spec's aggregation gate first: identifiers of the
deployment are taken out and the pattern stays, with the canonical rows it refers to. What means
nothing without them stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.errors import EntryNotFound, InputError, WritePolicyRefused
from idetic.evidence import Aggregated, Pattern
from idetic.gates.gate import Gates, Passed, Pipeline
from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.model import Capability, Decision, Entry, EntryState, Ref, Scope, Tier
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, GateKind
from idetic.store.holding import Holding
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import require, require_whole_anchor

MOST = 1_000
_NOT_KNOWN = "only what stands in persistent memory is a pattern; this does not"


class Aggregation:
    """Hands patterns of one agent's memory over a boundary between deployments."""

    def __init__(
        self, spec: MemorySpec, gateway: Gateway, holding: Holding, gates: Gates, clock: Clock
    ):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._gates = gates
        self._clock = clock

    async def patterns(self, scope: Scope, entries: Iterable[UUID], *, reason: str) -> Aggregated:
        """What some entries say without saying whose they are; the ledger keeps what left."""
        require(self._spec, scope, Capability.PROMOTE)
        require_whole_anchor(scope)
        gate = self._gates.at(Boundary.AGGREGATION)
        if GateKind.STRIP_IDENTIFIERS not in gate.kinds:
            raise WritePolicyRefused(
                f"The spec of {self._spec.agent} lets nothing across the aggregation boundary.",
                remedy="Declare a gate there: `{boundary: aggregation, apply: [strip_identifiers],"
                " because: …}`.",
            )
        wanted = list(dict.fromkeys(check_uuid(one, "entry_id") for one in entries))
        if not 0 < len(wanted) <= MOST:
            raise InputError(f"Give 1 to {MOST} entries.")
        reason = self._gateway.said(reason)
        async with self._holding.hold(scope, self._clock.now()) as held:
            known = {one.id: one.entry for one in await held.known("named", ids=wanted)}
            if missing := [one for one in wanted if one not in known]:
                raise EntryNotFound(f"{len(missing)} of {len(wanted)} entries are not here.")
            work = _Work(gate, [str(value) for value in scope.anchor.values()], reason)
            for one in wanted:
                work.take(known[one])
            receipts = await self._gateway.settle(held, work.steps())
        return Aggregated(receipts[0], work.patterns(), dict(work.refused))


class _Work:
    """One aggregation, as it is decided."""

    def __init__(self, gate: Pipeline, identifiers: Sequence[str], reason: str):
        self._gate = gate
        self._identifiers = identifiers
        self._reason = reason
        self._alike: dict[str, list[tuple[Entry, Passed]]] = {}
        self._links: list[Step] = []
        self._receipt = uuid7()
        self.refused: dict[UUID, str] = {}

    def take(self, entry: Entry) -> None:
        """One entry: what is left of it, or why it stays."""
        stands = entry.tier is Tier.PERSISTENT and entry.state is EntryState.CURRENT
        if not stands or entry.candidate:
            self._refuse(entry, _NOT_KNOWN)
            return
        passed = self._gate.apply(entry.body_text, self._identifiers)
        if passed.refused is not None:
            self._refuse(entry, passed.refused)
            return
        self._alike.setdefault(" ".join(passed.text.casefold().split()), []).append((entry, passed))
        told = {"removed": {change.kind: change.count for change in passed.changes}}
        self._links.append(
            steps.link("aggregated", Decision.NOOP, self._reason, entry=entry,
                       receipt=self._receipt, detail=told)
        )  # fmt: skip

    def _refuse(self, entry: Entry, why: str) -> None:
        self.refused[entry.id] = why
        self._links.append(
            steps.link("aggregation_refused", Decision.REJECT, why, entry=entry,
                       receipt=self._receipt)
        )  # fmt: skip

    def steps(self) -> list[Step]:
        """What the ledger gets: one link for the whole, and one for each entry."""
        told = {"patterns": len(self._alike), "refused": len(self.refused)}
        whole = steps.link(
            "aggregation", Decision.NOOP, self._reason, receipt=self._receipt, detail=told
        )
        return [whole, *self._links]

    def patterns(self) -> tuple[Pattern, ...]:
        """Those that say the same are one pattern, in the order of their first."""
        return tuple(_pattern(found) for found in self._alike.values())


def _pattern(found: Sequence[tuple[Entry, Passed]]) -> Pattern:
    # What they refer to is canonical, so it names no deployment; it is what patterns share.
    refs: dict[tuple[str, object], Ref] = {
        (ref.noun, ref.id): ref for entry, _ in found for ref in entry.refs
    }
    removed = sum(change.count for _, passed in found for change in passed.changes)
    weakest = min(entry.trust for entry, _ in found)
    return Pattern(found[0][1].text, len(found), weakest, tuple(refs.values()), removed)

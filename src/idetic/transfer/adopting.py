"""Adopting what another store remembered: through the gateway, one by one, with a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from idetic.errors import IdeticError
from idetic.gates.gate import Gates
from idetic.gateway.content import fits
from idetic.gateway.gateway import MAX_BATCH, Gateway
from idetic.ids import uuid7
from idetic.lifecycle.closing import ScopeCloser
from idetic.model import (
    Capability,
    Claim,
    Decision,
    Observation,
    Origin,
    Place,
    Scope,
    Tier,
    Typology,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.transfer.foreign import Foreign, NotTaken
from idetic.verbs.arguments import SHORT
from idetic.verbs.authorization import require, require_whole_anchor

# What happens to every entry of a session that closes, and says nothing about this one.
_ALWAYS = frozenset({"dropped", "held"})


@dataclass(frozen=True, slots=True)
class Adopted:
    """What came of an import from another store.

    `taken` were written, `known` were there already, `left_out` counts metadata that the spec
    declares no envelope key for, and `became` says what closing the import's session made of them.
    """

    taken: int
    known: int
    not_taken: tuple[NotTaken, ...]
    left_out: Mapping[str, int]
    became: Mapping[str, int]
    dry_run: bool

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        told = [{"id": one.id, "code": one.code, "why": one.why} for one in self.not_taken]
        return {
            "taken": self.taken,
            "known": self.known,
            "not_taken": told,
            "left_out": dict(self.left_out),
            "became": dict(self.became),
            "dry_run": self.dry_run,
        }


class Adopting:
    """Brings foreign memories to one agent's gateway."""

    def __init__(self, spec: MemorySpec, gateway: Gateway, closer: ScopeCloser, gates: Gates):
        self._spec = spec
        self._ingest = gates.at(Boundary.INGEST)
        self._gateway = gateway
        self._closer = closer

    async def adopt(
        self, scope: Scope, found: Iterable[Foreign | NotTaken], *, dry_run: bool
    ) -> Adopted:
        """Ask the gateway to take each; what it does not take is told, and stops nothing."""
        require(self._spec, scope, Capability.IMPORT)
        require_whole_anchor(scope)
        every = list(found)
        asked = [one for one in every if isinstance(one, Foreign)]
        refused = [one for one in every if isinstance(one, NotTaken)]
        left_out: Counter[str] = Counter()
        seen = [self._observation(one, left_out) for one in asked]
        place = self._place()
        if not dry_run and seen and place.session_id is not None:
            await self._gateway.open_scope(scope, place)
        taken = known = 0
        for first in range(0, len(seen), MAX_BATCH):
            part = seen[first : first + MAX_BATCH]
            answers = await self._gateway.adopt(scope, place, part, write=not dry_run)
            for one, answer in zip(asked[first:], answers, strict=False):
                if isinstance(answer, IdeticError):
                    refused.append(NotTaken(one.id, answer.code, answer.message))
                elif answer is not None and answer.decision is Decision.REJECT:
                    refused.append(NotTaken(one.id, answer.reason, "it restates canonical content"))
                elif answer is not None and (answer.replayed or answer.decision is Decision.NOOP):
                    known += 1
                else:
                    taken += 1
        became = await self._close(scope, place, write=bool(seen) and not dry_run)
        return Adopted(taken, known, tuple(refused), dict(left_out), became, dry_run)

    def _place(self) -> Place:
        """The persistent tier where it takes episodes directly; otherwise a session of its own,
        whose close decides what becomes of them."""
        cells = self._spec.typology.at(Tier.PERSISTENT)
        if Typology.EPISODIC in cells:
            mode = self._spec.writes_of(Tier.PERSISTENT, Typology.EPISODIC).mode
            if mode is WriteMode.AUTOMATIC:
                return Place()
        return Place(uuid7())

    async def _close(self, scope: Scope, place: Place, *, write: bool) -> dict[str, int]:
        if not write or place.session_id is None:
            return {}
        closed = await self._closer.close(scope, place, "the import ended")
        told = (decided.transition for decided in closed.decided)
        return dict(Counter(one for one in told if one not in _ALWAYS))

    def _observation(self, one: Foreign, left_out: Counter[str]) -> Observation:
        """A foreign memory as something heard from outside, with a claim that names where.

        The claim makes it a candidate when the session closes, instead of dropping it; and when the
        same memory comes again with another text, the later one replaces the earlier.
        """
        named = f"{one.source} {one.id}"[:SHORT]
        if self._ingest.apply(named).changes:
            named = f"{one.source} {one.disguised}"
        envelope = {}
        for key, value in one.metadata.items():
            if fits(self._spec, key, value):
                envelope[key] = value
            else:
                left_out[str(key)[:60]] += 1
        return Observation(
            one.text,
            envelope=envelope,
            claim=Claim(named, "remembered", one.stated),
            valid_at=one.created_at,
            heard_from=Origin.EXTERNAL,
            idempotency_key=f"{named[:150]} {one.stated}",
        )

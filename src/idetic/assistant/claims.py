"""Claims on their way into memory: each rests on turns, and changes what stood before it.

A claim enters as a candidate and meets the gates that every candidate meets. The same claim again
is one more source of the entry that makes it; another value of the same key ends the time in which
the former held; what was said to hold before that becomes history at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from idetic.engine import Binding
from idetic.evidence import PromotionGate, Relation
from idetic.extract.attributes import NO, OVER
from idetic.gates.gate import Pipeline
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import (
    SupportedEntry,
    as_source,
    supported_entries,
    voice,
)
from idetic.model import Claim, Entry, Tier, Typology
from idetic.spec.primitives import Boundary
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import AddStep, RecurStep, Step, TurnStep

CLAIMS = "claims"
EXTRACTOR = "extractor"
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class SourcedClaim:
    """A claim, the sentence that says it, since when it holds, and the turns that it rests on.

    One that `ends` something is taken only where that is known: it says nothing else.
    """

    claim: Claim = field(repr=False)
    typology: Typology
    text: str = field(repr=False)
    sources: tuple[Entry, ...] = field(repr=False)
    extractor: str
    valid_at: datetime | None = None
    ends: bool = False

    @property
    def ended(self) -> str:
        """The value that it ends; of what is keyed by its detail any but the denial itself."""
        return self.claim.normalised().value.removeprefix(OVER)

    @property
    def said_at(self) -> datetime:
        """When it was said last."""
        return max(source.valid_at or source.created_at for source in self.sources)

    @property
    def since(self) -> datetime:
        """Since when it holds: as it was said, or since it was said."""
        return self.valid_at or self.said_at


class EarlierClaim(NamedTuple):
    """A claim that was drawn out of a turn earlier, in whatever state it is now."""

    source_id: UUID
    entry_id: UUID
    subject: str | None
    attribute: str | None
    value: str | None
    extractor: str | None
    live: bool
    erased: bool

    @property
    def key(self) -> Key:
        """What it claims, as claims are compared."""
        return self.subject or "", self.attribute or "", self.value or ""


def key_of(claim: Claim) -> Key:
    """What a claim says, as claims are compared."""
    plain = claim.normalised()
    return plain.subject, plain.attribute, plain.value


async def drawn_claims(tx: AnchorTransaction, turns: Iterable[UUID]) -> list[EarlierClaim]:
    """The claims that were drawn out of some turns before."""
    return [EarlierClaim(*row) for row in await tx.ask(CLAIMS, "drawn", ids=list(turns))]


@dataclass(slots=True)
class ClaimPass:
    """Takes claims into an anchor that is held, one after the other, and collects the steps."""

    tx: AnchorTransaction
    work: PromotionPass
    ingest: Pipeline
    _about: dict[tuple[str, str], list[SupportedEntry]] = field(default_factory=dict)

    @classmethod
    def of(cls, binding: Binding, tx: AnchorTransaction) -> ClaimPass:
        """A pass over the anchor of a binding."""
        gates = binding.engine.gates
        work = PromotionPass(tx.spec, gates.at(Boundary.PROMOTION), tx.at, dated=True)
        return cls(tx, work, gates.at(Boundary.INGEST))

    @property
    def steps(self) -> list[Step]:
        """What was decided so far."""
        return self.work.steps

    async def take(self, stated: SourcedClaim) -> UUID | None:
        """Take one claim in; the entry that makes it, or None where a gate refuses it."""
        about = await self._speaking_of(stated.claim)
        value = stated.claim.normalised().value
        mine = [one for one in about if one.live and one.entry.typology is stated.typology]
        for known in (one for one in mine if one.value == value):
            await self._again(known, stated, about)
            return known.id
        if stated.ends and not await self._has_ended(stated, mine):
            return None
        made = self._added(stated)
        if made is None:
            return None
        newer = await self._said_later([o for o in mine if not o.entry.candidate], stated.said_at)
        if newer is not None:
            self._past(made, newer, stated.since)
            return made.id
        about.append(made)
        self._weigh(made, about)
        return made.id

    async def _has_ended(self, stated: SourcedClaim, mine: Sequence[SupportedEntry]) -> bool:
        """Whether a claim ends something: it was known, and nobody has said it again since."""
        known = [one for one in mine if stated.ended in (one.value, NO)]
        return bool(known) and await self._said_later(known, stated.said_at) is None

    async def _speaking_of(self, claim: Claim) -> list[SupportedEntry]:
        """The persistent entries with a claim's key, as this pass has left them."""
        if claim.key not in self._about:
            stored = await self.tx.claimed([claim.key])
            self._about[claim.key] = await supported_entries(self.tx, stored)
        return self._about[claim.key]

    async def _again(
        self, known: SupportedEntry, stated: SourcedClaim, about: Sequence[SupportedEntry]
    ) -> None:
        """One more source of an entry that says this already."""
        lineage = (await self.tx.lineage([known.id])).get(known.id, [])
        heard = {one.source_id for one in lineage}
        new = [as_source(s, Relation.RECURRED) for s in stated.sources if s.id not in heard]
        if new:
            self.steps.append(RecurStep("recurred", "said again", entry=known.entry, lineage=new))
            known.sources += [voice(one, self.tx.at, self.tx.actor) for one in new]
        if known.entry.candidate:
            self._weigh(known, about)

    def _added(self, stated: SourcedClaim) -> SupportedEntry | None:
        """The candidate that makes a claim; None where the ingest gate refuses what it says."""
        passed = self.ingest.apply(stated.text)
        envelope, _, refused = self.ingest.apply_envelope({"claim": stated.claim.as_dict()})
        if passed.refused or refused or envelope.get("claim") != stated.claim.as_dict():
            return None
        weakest = min(stated.sources, key=lambda source: source.trust)
        step = AddStep(
            "proposed",
            f"drawn from what was said by {stated.extractor}",
            tier=Tier.PERSISTENT,
            typology=stated.typology,
            text=passed.text,
            envelope=dict(envelope),
            origin=weakest.origin,
            trust=weakest.trust,
            valid_at=stated.since,
            lineage=[as_source(source, Relation.PROMOTED) for source in stated.sources],
            provenance={EXTRACTOR: stated.extractor},
            candidate=True,
        )
        self.steps.append(step)
        sources = [voice(one, self.tx.at, self.tx.actor) for one in step.lineage]
        return SupportedEntry(step.entry_like(weakest), sources)

    def _weigh(self, made: SupportedEntry, about: Sequence[SupportedEntry]) -> None:
        """Let a candidate through its gates. Of a preference, the last word counts.

        How often something else was said is no reason to hold an instruction back; that somebody
        trusted more has said it, is one.
        """
        failed = {gate.gate for gate in self.work.gates(made, about) if not gate.passed}
        stronger = any(o.is_conflict(made) and o.entry.trust > made.entry.trust for o in about)
        counted = failed <= {PromotionGate.CORROBORATION, PromotionGate.CROSS_CONTEXT}
        instructed = made.entry.typology is Typology.PROCEDURAL and bool(made.sources)
        last_word = failed and counted and instructed and not stronger
        self.work.weigh(made, about, forced="the user's last word" if last_word else None)

    async def _said_later(
        self, standing: Sequence[SupportedEntry], moment: datetime
    ) -> SupportedEntry | None:
        """What stands and was said after a moment: the last word counts, not what came in last."""
        lineage = await self.tx.lineage([one.id for one in standing])
        wanted = {source.source_id for some in lineage.values() for source in some}
        said = {one.id: one.entry.valid_at for one in await self.tx.stored(wanted)}
        for one in standing:
            times = [said.get(source.source_id) for source in lineage.get(one.id, ())]
            if any(time is not None and time > moment for time in times):
                return one
        return None

    def _past(self, made: SupportedEntry, newer: SupportedEntry, since: datetime) -> None:
        """A claim that a later one has ended already: history from the beginning."""
        until = max(newer.entry.valid_at or self.tx.at, since)
        changes: dict[str, Any] = {
            "candidate": False,
            "invalid_at": until,
            "invalidated_at": self.tx.at,
        }
        why = "something else holds since then"
        self.steps.append(TurnStep("invalidated", why, changes, entry=made.entry))

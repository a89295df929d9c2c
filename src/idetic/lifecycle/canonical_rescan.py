"""When canonical content changes: what rested on another version, and what restates the new one.

A version with the same text carries over what an entry is supported by. One with another text is
compared with the entry, confirms it or fails to, and puts it before a person; so many failures in a
row as the spec says archive it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from idetic.engine import Binding, in_batches
from idetic.evidence import Corroboration, SourceType
from idetic.ids import uuid7
from idetic.lifecycle.canonical_bearing import Bearing, CanonicalChange
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import SupportedEntry, supported_entries
from idetic.model import Capability, Origin, Receipt, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, Canonical
from idetic.spec.typology import ArchiveCause
from idetic.store.anchor_scans import OutdatedReference, outdated_references, shadow_entries
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import CorroborateStep, LinkStep, Step, TurnStep
from idetic.verbs.declaration import post, verb

BATCH = 500
_CAUSE = ArchiveCause.CANONICAL_CHANGE


@dataclass(frozen=True, slots=True)
class Rescanned:
    """The result of a rescan, with a receipt for each entry.

    `carried` entries refer to a text that is the same in its new version, `outdated` entries to a
    changed text, and `shadows` restate a text.
    """

    carried: tuple[Receipt, ...] = ()
    outdated: tuple[Receipt, ...] = ()
    shadows: tuple[Receipt, ...] = ()


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/rescan", "upkeep"))
async def rescan(
    binding: Binding, noun: str | None = None, ref_id: UUID | None = None
) -> Rescanned:
    """Bring entries in line with canonical content after it changed."""
    seen: list[Receipt] = []
    shadows: list[Receipt] = []
    for canonical in binding.spec.references.canonical:
        if noun in (None, canonical.noun):
            about: dict[str, Any] = {"canonical": canonical, "ref_id": ref_id}
            seen += await in_batches(binding, partial(_outdated, binding, **about), BATCH)
            shadows += await in_batches(binding, partial(_restating, **about), BATCH)
    first = [one for one in seen if "bearing" in one.detail]
    carried = tuple(one for one in first if one.detail["bearing"] == Bearing.SAME)
    outdated = tuple(one for one in first if one.detail["bearing"] != Bearing.SAME)
    return Rescanned(carried, outdated, tuple(shadows))


async def _outdated(
    binding: Binding, tx: AnchorTransaction, canonical: Canonical, ref_id: UUID | None
) -> list[Step]:
    """Steps for entries that rest on another version, where their lifecycle minds a change."""
    typologies = minding_changes(tx.spec)
    if not canonical.versions or not typologies:
        return []
    found = await outdated_references(tx, canonical, ref_id, typologies, BATCH)
    stored = await tx.stored({one.entry_id for one in found})
    entries = {one.id: one for one in await supported_entries(tx, stored)}
    work = PromotionPass(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    changes: dict[tuple[UUID, str | None], CanonicalChange] = {}
    for one in found:
        change = changes.setdefault((one.ref_id, one.before), CanonicalChange(one.before, one.now))
        version = CanonicalVersion(canonical.noun, one, change)
        work.steps += version.steps(replace(work, steps=[]), entries[one.entry_id])
    return work.steps


def minding_changes(spec: MemorySpec) -> list[Typology]:
    """The typologies of persistent memory whose lifecycle minds a change of canonical content."""
    return [
        typology
        for typology in spec.typology.at(Tier.PERSISTENT)
        if _CAUSE in spec.lifecycle_of(Tier.PERSISTENT, typology).archive_on
    ]


@dataclass(frozen=True, slots=True)
class CanonicalVersion:
    """The version of a canonical row that holds now, as a source about an entry."""

    noun: str
    seen: OutdatedReference
    change: CanonicalChange

    def steps(self, work: PromotionPass, supported: SupportedEntry) -> list[Step]:
        """The link that it was looked at, and what it says; one receipt for all of it."""
        bearing, why = self.change.bearing_on(supported.entry.body_text)
        told = {"cause": _CAUSE.value, "noun": self.noun, "id": str(self.seen.ref_id)}
        told |= {"version": str(self.seen.version), "bearing": bearing.value}
        was = "republished" if bearing is Bearing.SAME else "changed"
        reason = f"the {self.noun} it refers to was {was}: {why}"
        looked = LinkStep(f"canonical_{was}", reason, entry=supported.entry, detail=told)
        if bearing is Bearing.FAILS:
            self._fail(work, supported)
        elif work.spec.references.corroborations:
            work.steps.append(self._support(work, supported, bearing))
        return [looked, *_under(looked.receipt, work.steps)]

    def _support(
        self, work: PromotionPass, supported: SupportedEntry, bearing: Bearing
    ) -> CorroborateStep:
        """The version as a source: what was there carried over, or the rule's own word."""
        if bearing is Bearing.CONFIRMS:
            one = self._source(SourceType.RULE_CHANGE, work)
            supported.failures.clear()
            return CorroborateStep(
                "corroborated", "the new text confirms it", one, entry=supported.entry
            )
        stands = [one for one in supported.sources if one.withdrawn_at is None]
        # No younger than what it carries: that nothing changed is no new evidence.
        since = max((one.at for one in stands), default=supported.entry.created_at)
        carried = replace(self._source(SourceType.CROSS_VERSION_CARRY, work), at=since)
        why = f"carried over: {len(stands)} sources"
        return CorroborateStep("corroborated", why, carried, entry=supported.entry)

    def _fail(self, work: PromotionPass, supported: SupportedEntry) -> None:
        """A failed corroboration; where the spec counts none, one is enough."""
        work.fail(supported, self._source(SourceType.RULE_CHANGE, work))
        causes = work.spec.lifecycle_of(Tier.PERSISTENT, supported.entry.typology).archive_on
        if supported.live and ArchiveCause.FAILED_CORROBORATIONS not in causes:
            archived, told = {"archived_at": work.at}, {"cause": _CAUSE.value}
            why = f"the {self.noun} it refers to has changed"
            step = TurnStep("archived", why, archived, entry=supported.entry, detail=told)
            work.steps.append(step)
            supported.entry, supported.live = step.after, False

    def _source(self, kind: SourceType, work: PromotionPass) -> Corroboration:
        """This version as a source; each is a voice of its own."""
        by = f"{self.noun}:{self.seen.version}"
        return Corroboration(uuid7(), kind, self.seen.ref_id, work.at, by, by, Origin.CANONICAL)


def _under(receipt: UUID, steps: Sequence[Step]) -> list[Step]:
    """Steps under one receipt, so that they are taken back together."""
    return [replace(one, receipt=receipt) for one in steps if isinstance(one, LinkStep)]


async def _restating(
    tx: AnchorTransaction, canonical: Canonical, ref_id: UUID | None
) -> list[Step]:
    """Steps that archive entries which restate canonical content, with the similarity found."""
    found = await shadow_entries(tx, canonical, ref_id, BATCH) if canonical.body else {}
    why, steps = f"it restates a {canonical.noun}", list[Step]()
    for one in await tx.stored(found):
        canonical_id, similarity = found[one.id]
        told: dict[str, Any] = {"cause": "shadow", "noun": canonical.noun, "id": str(canonical_id)}
        told |= {"similarity": round(similarity, 4)}
        changes = {"archived_at": tx.at}
        steps.append(TurnStep("archived", why, changes, entry=one.entry, detail=told))
    return steps

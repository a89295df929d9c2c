"""When canonical content changes: what rested on the old version, and what restates the new one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from idetic.engine import Binding, in_batches
from idetic.model import Capability, Receipt, Tier
from idetic.spec.primitives import Canonical
from idetic.spec.typology import ArchiveCause
from idetic.store.anchor_scans import outdated_entries, shadow_entries
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import Step, TurnStep
from idetic.verbs.declaration import post, verb

BATCH = 500


@dataclass(frozen=True, slots=True)
class Rescanned:
    """What a change of canonical content did to memory; each receipt can be undone."""

    outdated: tuple[Receipt, ...] = ()
    shadows: tuple[Receipt, ...] = ()


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/rescan", "upkeep"))
async def rescan(
    binding: Binding, noun: str | None = None, ref_id: UUID | None = None
) -> Rescanned:
    """Archive entries that no longer fit canonical content after it changed."""
    outdated: list[Receipt] = []
    shadows: list[Receipt] = []
    for canonical in binding.spec.references.canonical:
        if noun in (None, canonical.noun):
            about: dict[str, Any] = {"canonical": canonical, "ref_id": ref_id}
            outdated += await in_batches(binding, partial(_outdated, **about), BATCH)
            shadows += await in_batches(binding, partial(_restating, **about), BATCH)
    return Rescanned(tuple(outdated), tuple(shadows))


async def _outdated(tx: AnchorTransaction, canonical: Canonical, ref_id: UUID | None) -> list[Step]:
    """Steps that archive what rests on an older canonical version, where its lifecycle says so."""
    cause = ArchiveCause.CANONICAL_CHANGE
    typologies = [
        typology
        for typology in tx.spec.typology.at(Tier.PERSISTENT)
        if cause in tx.spec.lifecycle_of(Tier.PERSISTENT, typology).archive_on
    ]
    if not canonical.versions or not typologies:
        return []
    ids = await outdated_entries(tx, canonical, ref_id, typologies, BATCH)
    why = f"the {canonical.noun} it refers to has changed"
    told = {"cause": cause.value, "noun": canonical.noun}
    changes = {"archived_at": tx.at}
    return [
        TurnStep("archived", why, changes, entry=one.entry, detail=told)
        for one in await tx.stored(ids)
    ]


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

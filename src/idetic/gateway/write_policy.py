"""Primitive 8 before a write: whether a cell is written this way, and which observations are kept.

A share is decided by the id of an observation, its idempotency key or one that it gets here; every
n-th is counted by the database, at each anchor. A repeat under the same key gets its first receipt.
What is left out leaves a receipt that says so: a NOOP with the rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from idetic.errors import WritePolicyRefused
from idetic.gateway.write_items import WriteCell, WriteItem
from idetic.ids import uuid7_text
from idetic.model import Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ConflictRule, SamplingRule, WriteMode
from idetic.store.entry_sql import texts

_INSTEAD = {
    WriteMode.AUTOMATIC: "Use `observe`.",
    WriteMode.PROMOTION_ONLY: "Observe it in a session; the promotion engine writes it once "
    "independent observations agree.",
}


def write_cell(
    spec: MemorySpec, tier: Tier, typology: Typology, transition: str, mode: WriteMode
) -> WriteCell:
    """A cell that the spec writes this way; what it does not is refused with what to do instead."""
    named, stated = spec.tiers.name_of(tier), spec.writes_of(tier, typology).mode
    if typology not in spec.typology.at(tier):
        mix = ", ".join(spec.typology.at(tier)) or "nothing"
        model = getattr(spec.tiers, tier.value)
        holds = "it has no such tier." if model is None else model.holds
        raise WritePolicyRefused(
            f"{spec.title} holds no {typology} memory at the {named} tier.",
            remedy=f"That tier holds {mix}: {holds}",
        )
    if stated is not mode:
        explicit = "Use `fact`." if typology is Typology.SEMANTIC else "Use `prefer`."
        raise WritePolicyRefused(
            f"{typology.capitalize()} memory at the {named} tier is not written this way.",
            remedy=_INSTEAD.get(stated, explicit),
        )
    supersede = spec.conflict_of(tier, typology).rule is ConflictRule.SUPERSEDE
    sampling = sampling_rules(spec, tier, typology) if transition == "observed" else ()
    return WriteCell(transition, tier, typology, supersede, sampling)


def sampling_rules(spec: MemorySpec, tier: Tier, typology: Typology) -> tuple[SamplingRule, ...]:
    """The rules that decide which observations of a cell are kept: episodes alone have any."""
    episodes = typology is Typology.EPISODIC
    return tuple(spec.writes_of(tier, typology).sampling) if episodes else ()


def check_written_here(spec: MemorySpec, scope: Scope) -> None:
    """Refuse a direct write to the broader anchor: it knows what escalates, and nothing else."""
    if spec.tiers.broader is not None and spec.is_broader(scope.anchor):
        raise WritePolicyRefused(
            f"The {spec.tiers.broader.name} tier is not written directly.",
            remedy="Write at one of its anchors, and `escalate` entries that are true for all of "
            f"them. This tier contains: {spec.tiers.broader.holds}",
        )


def sampled(cell: WriteCell, items: Sequence[WriteItem]) -> Sequence[WriteItem]:
    """Items of one call in a cell; those that its sampling is about are marked."""
    return [_marked(cell.sampling, item) for item in items] if cell.sampling else items


def _marked(rules: Sequence[SamplingRule], item: WriteItem) -> WriteItem:
    """An item with the rule that leaves it out or counts it; by a share, its id decides here."""
    kind = (n for n, one in enumerate(rules) if _meets(one.where, item.envelope))
    if (number := next(kind, None)) is None:
        return item
    told = rules[number].model_dump(exclude_none=True, exclude_defaults=True) | {"rule": number}
    share = rules[number].share
    if share is not None and _fraction(item.key or uuid7_text()) < share:
        return item
    return replace(item, sampling=told)


def _fraction(own_id: str) -> float:
    """A number from 0 to 1 that an id stands for, the same for the same id and else at random."""
    return int.from_bytes(hashlib.sha256(own_id.encode()).digest()[:8], "big") / 2**64


def _meets(where: Mapping[str, str], envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope has every value that a rule asks for."""
    return all(value in texts(envelope.get(key, "")) for key, value in where.items())

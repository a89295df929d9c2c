"""Retention in the database: policies registered, tombstones emptied, states counted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.retention import RetainedEntity, RetentionState, entities
from idetic.store import templates
from idetic.store.anchor_transaction import AnchorTransaction, lifecycle_part
from idetic.store.database import Connection
from idetic.store.family import Family, canonical_names
from idetic.store.templates import raw

_FILE = "retention"
_PATH = "queries/retention.sql"
_SILENT = {Tier.SESSION: "silent", Tier.INTERACTION: "silent_interactions"}


async def register_policies(
    connection: Connection, spec: MemorySpec, version: int, at: datetime
) -> None:
    """Write down how long each entity of a family is kept under this version of its spec."""
    same = {"agent": spec.agent, "version": version, "at": at}
    same |= {"domain_owner": spec.backend.schema_}
    rows = [
        same | {"entity": entity.value} | spec.retention_of(entity).model_dump(mode="json")
        for entity in entities(spec)
    ]
    async with connection.cursor() as cursor:
        await cursor.executemany(raw(templates.query(_PATH, "register")), rows)


async def kept_by(tx: AnchorTransaction, entry_id: UUID) -> tuple[bool, bool]:
    """Whether an action rests on an entry, and whether a contradiction stands about it."""
    ((acted, disputed),) = await tx.ask(_FILE, "kept_by", _keeping(tx), entry_id=entry_id)
    return acted, disputed


async def expired(
    tx: AnchorTransaction, typology: Typology, before: datetime, limit: int
) -> list[UUID]:
    """Persistent entries written before a moment that nothing keeps."""
    given = {"typology": typology.value, "before": before, "limit": limit}
    return await tx.ids(_FILE, "expired", _keeping(tx), **given)


async def unrepeated(tx: AnchorTransaction, before: datetime, limit: int) -> list[UUID]:
    """Candidates from before a moment that only waited to be said again, and nothing keeps."""
    return await tx.ids(_FILE, "unrepeated", _keeping(tx), before=before, limit=limit)


async def retention_states(tx: AnchorTransaction) -> dict[RetentionState, dict[Tier, int]]:
    """How many entries are in each retention state, by tier; every state is told."""
    counts: dict[RetentionState, dict[Tier, int]] = {state: {} for state in RetentionState}
    for state, tier, count in await tx.ask(_FILE, "states"):
        counts[RetentionState(state)][Tier(tier)] = count
    return counts


async def entity_states(
    tx: AnchorTransaction, entry_id: UUID | None
) -> dict[str, dict[RetentionState, int]]:
    """How many rows of each entity are in each state: entries by cell, and what belongs to them."""
    part = templates.query(_PATH, "belonging_states")
    belonging = "\n".join(
        part.replace("{entity}", entity.value).replace(
            "{table}", tx.family.qualified(table).as_string(None)
        )
        for entity, tables in _belonging(tx.family).items()
        for table in tables
    )
    found: dict[str, dict[RetentionState, int]] = {}
    for entity, state, count in await tx.ask(
        _FILE, "entity_states", {"belonging": belonging}, entry_id=entry_id
    ):
        held = found.setdefault(entity, {})
        held[RetentionState(state)] = held.get(RetentionState(state), 0) + count
    return found


def _belonging(family: Family) -> dict[RetainedEntity, list[str]]:
    """The tables whose rows stand as the entry that they belong to, by entity."""
    spec, canonical = family.spec, family.spec.references.canonical
    contradicted = [one for one in canonical if one.contradictions]
    return {
        RetainedEntity.EMBEDDINGS: [family.table_name("embeddings")],
        RetainedEntity.LINEAGE: [family.table_name("lineage")],
        RetainedEntity.REFERENCES: [family.refs_table(one) for one in canonical],
        RetainedEntity.CONTRADICTIONS: [family.contradictions_table(c) for c in contradicted],
        RetainedEntity.CORROBORATIONS: [family.table_name("corroborations")]
        * spec.references.corroborations,
        RetainedEntity.PROPOSALS: [family.table_name("proposals")] * spec.proposes,
    }


async def overdue_scopes(tx: AnchorTransaction, since: Mapping[Tier, datetime], most: int) -> int:
    """How many open sessions and interactions have been silent since their tier's moment."""
    count = 0
    for tier, moment in since.items():
        found = {"found": lifecycle_part(_SILENT[tier])}
        given = {"moment": moment, "limit": most}
        ((more,),) = await tx.ask(_FILE, "how_many", found, **given)
        count += more
    return count


async def dangling(tx: AnchorTransaction, limit: int) -> list[UUID]:
    """Entries with a reference that no longer leads anywhere."""
    found: dict[UUID, None] = {}
    for canonical in tx.spec.references.canonical:
        resolves = templates.query(_PATH, "pin_resolves")
        pinned = {"pin_resolves": resolves if canonical.versions else "true"}
        parts = {**canonical_names(tx.family, canonical), **pinned}
        found |= dict.fromkeys(await tx.ids(_FILE, "dangling", parts, limit=limit))
    return list(found)


def _keeping(tx: AnchorTransaction) -> Mapping[str, str]:
    """What keeps an entry called m: an action that rests on it, a contradiction about it."""
    text = templates.query(_PATH, "disputed")
    disputed = [
        text.replace("{noun}", canonical.noun)
        for canonical in tx.spec.references.canonical
        if canonical.contradictions
    ]
    acted = lifecycle_part("rests")
    return {"acted": acted, "disputed": f"({' OR '.join([*disputed, 'false'])})"}

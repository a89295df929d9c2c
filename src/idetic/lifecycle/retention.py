"""The retention policy of each entity, and in which of the four states its rows stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound
from idetic.model import Capability
from idetic.spec.retention import Disposal, RetentionState, entities
from idetic.spec.typology import DecayModel
from idetic.store.retention_rows import entity_states
from idetic.verbs.declaration import get, verb


@dataclass(frozen=True, slots=True)
class EntityRetention:
    """One entity of a family: its `RetentionPolicy`, and how many rows are in each state.

    A cell of a transient tier has no policy: it lives as long as its scope. Rows that belong to an
    entry have its state; other rows, such as the ledger, have none.
    """

    entity: str
    active_ttl_days: int | None = None
    tombstone_grace_days: int | None = None
    disposal: Disposal | None = None
    decay: DecayModel | None = None
    decay_days: float | None = None
    states: Mapping[RetentionState, int] = field(default_factory=dict)


@verb(
    capability=Capability.READ,
    http=get("/retention", "overseeing"),
    examples=("idetic retention {scope}", "idetic retention --entry-id ENTRY_ID {scope}"),
)
async def retention(binding: Binding, *, entry_id: UUID | None = None) -> list[EntityRetention]:
    """Show each entity's retention policy and count its rows by state; or do so for one entry."""
    async with binding.look() as tx:
        states = await entity_states(tx, entry_id)
    if entry_id is not None and not states:
        raise EntryNotFound
    spec = binding.spec
    cells = [f"{tier}_{typology}" for tier, typology in spec.typology.cells()]
    policies = {one.value: spec.retention_of(one) for one in entities(spec)}
    wanted = dict.fromkeys([*cells, *policies, *states])
    return [
        EntityRetention(
            entity,
            **(policies[entity].model_dump() if entity in policies else {}),
            states=states.get(entity, {}),
        )
        for entity in wanted
        if entry_id is None or entity in states
    ]

"""Retention policies: how long each entity of a family lives, and what is left of it after.

Every entity has its policy here, in full: memory never resolves to a default that deletes. Only
the persistent tier registers memory; the transient tiers inherit the life of their scope
(ADR-058 D12).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from idetic.model import Typology
from idetic.spec.typology import Behaviour, DecayModel, Sentence, SpecPart

if TYPE_CHECKING:
    from idetic.spec.memory_spec import MemorySpec


class RetentionState(StrEnum):
    """The retention state of an entry, derived from the reference graph and never stored."""

    ACTIVE = "ACTIVE"
    REFERENCED = "REFERENCED"
    ORPHANED = "ORPHANED"
    TOMBSTONED = "TOMBSTONED"


class RetainedEntity(StrEnum):
    """What a family keeps: persistent memory by typology, then every other table."""

    PERSISTENT_EPISODIC = "persistent_episodic"
    PERSISTENT_SEMANTIC = "persistent_semantic"
    PERSISTENT_PROCEDURAL = "persistent_procedural"
    REFERENCES = "references"
    CORROBORATIONS = "corroborations"
    CONTRADICTIONS = "contradictions"
    PROPOSALS = "proposals"
    EMBEDDINGS = "embeddings"
    LINEAGE = "lineage"
    ACTIONS = "actions"
    LEDGER = "ledger"
    RECEIPTS = "receipts"
    READS = "reads"
    SCOPES = "scopes"
    ANCHORS = "anchors"
    PROFILES = "profiles"
    MARKS = "marks"
    SEGMENTS = "segments"
    WORDS = "words"
    PRINTS = "prints"
    LOG = "log"
    NOTES = "notes"


class Disposal(StrEnum):
    """What happens to a row once its grace is over."""

    # The row goes. Never memory, never what an audit reads.
    HARD_DELETE = "HARD_DELETE"
    # The row stays as an empty shell: its identity, its states, its history.
    STRIP_PAYLOAD = "STRIP_PAYLOAD"
    # What it says goes; what describes it stays.
    RETAIN_METADATA = "RETAIN_METADATA"


TtlDays = Annotated[int, Field(ge=1, le=36_500)]
GraceDays = Annotated[int, Field(ge=0, le=36_500)]


class RetentionPolicy(SpecPart):
    """How long an entity lives, how long a tombstone can be undone, what is left of it then."""

    active_ttl_days: TtlDays | None
    tombstone_grace_days: GraceDays
    disposal: Disposal
    # How time presses on memory, as primitive 7 has it: none on what is no memory.
    decay: DecayModel | None = None
    decay_days: float | None = None


class RetentionOverride(SpecPart):
    """Another retention for one entity than `RETENTION` tables; what is left out stays."""

    active_ttl_days: TtlDays | None = None
    tombstone_grace_days: GraceDays | None = None
    disposal: Disposal | None = None
    because: Sentence


class Lifecycle(Behaviour):
    """Primitive 6: the typology defaults, and a retention policy per entity."""

    retention: dict[RetainedEntity, RetentionOverride] = Field(default_factory=dict)


MEMORY: Mapping[Typology, RetainedEntity] = MappingProxyType(
    {
        Typology.EPISODIC: RetainedEntity.PERSISTENT_EPISODIC,
        Typology.SEMANTIC: RetainedEntity.PERSISTENT_SEMANTIC,
        Typology.PROCEDURAL: RetainedEntity.PERSISTENT_PROCEDURAL,
    }
)
TYPOLOGY_OF = MappingProxyType({entity: typology for typology, entity in MEMORY.items()})
# Memory, what rested on it, the history of both and the log that it was derived from: no reason is
# good enough to delete these.
NEVER_DELETED = frozenset(
    {*MEMORY.values(), RetainedEntity.ACTIONS, RetainedEntity.LEDGER, RetainedEntity.LOG}
)


def complete(
    rows: Mapping[RetainedEntity, RetentionPolicy],
) -> Mapping[RetainedEntity, RetentionPolicy]:
    """The table of policies; an entity without one is a mistake that nothing may start with."""
    missing = [entity.value for entity in RetainedEntity if entity not in rows]
    if missing:
        raise ValueError(f"No retention policy is given for {', '.join(missing)}.")
    return MappingProxyType(dict(rows))


def _policy(grace: int, disposal: Disposal) -> RetentionPolicy:
    """A default policy: nothing expires by itself, and a tombstone has its grace."""
    return RetentionPolicy(active_ttl_days=None, tombstone_grace_days=grace, disposal=disposal)


# A grace of 0 days is one that counts from the entry's own disposal: what belongs to an entry goes
# with it, and what stands by itself is never tombstoned.
_KEPT = _policy(0, Disposal.RETAIN_METADATA)
RETENTION = complete(
    {
        **dict.fromkeys(MEMORY.values(), _policy(30, Disposal.STRIP_PAYLOAD)),
        RetainedEntity.REFERENCES: _KEPT,
        RetainedEntity.CORROBORATIONS: _KEPT,
        RetainedEntity.CONTRADICTIONS: _KEPT,
        RetainedEntity.PROPOSALS: _KEPT,
        # A vector is the note in another form: it goes when the note does.
        RetainedEntity.EMBEDDINGS: _policy(0, Disposal.HARD_DELETE),
        RetainedEntity.LINEAGE: _KEPT,
        RetainedEntity.ACTIONS: _KEPT,
        RetainedEntity.LEDGER: _KEPT,
        RetainedEntity.RECEIPTS: _KEPT,
        RetainedEntity.READS: _KEPT,
        RetainedEntity.SCOPES: _KEPT,
        RetainedEntity.ANCHORS: _KEPT,
        RetainedEntity.PROFILES: _KEPT,
        RetainedEntity.MARKS: _KEPT,
        # The word index says again what notes say: a segment goes with the first note of it.
        RetainedEntity.SEGMENTS: _policy(0, Disposal.HARD_DELETE),
        RetainedEntity.WORDS: _policy(0, Disposal.HARD_DELETE),
        # Hashes of canonical texts, which are not ours to delete.
        RetainedEntity.PRINTS: _KEPT,
        # Only an erasure empties an event or a note; nothing removes it.
        RetainedEntity.LOG: _KEPT,
        RetainedEntity.NOTES: _KEPT,
    }
)


def entities(spec: MemorySpec) -> list[RetainedEntity]:
    """The entities that a spec's family has; every typology of memory is one (ADR-058 D4)."""
    canonical = spec.references.canonical
    there = {
        RetainedEntity.REFERENCES: bool(canonical),
        RetainedEntity.CORROBORATIONS: spec.references.corroborations,
        RetainedEntity.CONTRADICTIONS: any(c.contradictions for c in canonical),
        RetainedEntity.PROPOSALS: spec.proposes,
        RetainedEntity.PRINTS: any(c.body for c in canonical),
        RetainedEntity.LOG: spec.backend.log is not None,
        RetainedEntity.NOTES: None not in spec.backend.personas,
    }
    return [entity for entity in RetainedEntity if there.get(entity, True)]

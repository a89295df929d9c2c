"""Primitive 6, the retention policies, as a page shows them."""

from __future__ import annotations

from collections.abc import Iterator

from idetic.spec.memory_spec import MemorySpec
from idetic.spec.rendering.markdown import bullets, code, prose, shown, table
from idetic.spec.retention import RETENTION, RetainedEntity, entities


def retention(spec: MemorySpec) -> Iterator[str]:
    """Every entity of the family with its policy, and why some have another than the default."""
    overrides = spec.lifecycle.retention
    yield (
        "Retention, per entity. The transient tiers register none: they live as long as their "
        "scope. A tombstone can be undone within its grace."
    )
    yield table(
        ("Entity", "Active TTL, days", "Tombstone grace, days", "Disposal", "Source"),
        [_row(spec, entity) for entity in entities(spec)],
    )
    if overrides:
        yield bullets(
            f"**Retention** of {code(entity)}. Because: {prose(overrides[entity].because)}"
            for entity in RetainedEntity
            if entity in overrides
        )
    else:
        yield "Retention defaults, accepted for every entity."


def _row(spec: MemorySpec, entity: RetainedEntity) -> tuple[str, ...]:
    default, policy = RETENTION[entity], spec.retention_of(entity)
    values = (
        f"**{shown(value)}**" if value != getattr(default, key) else shown(value)
        for key, value in policy
    )
    source = "**override**" if entity in spec.lifecycle.retention else "default"
    return shown(entity), *values, source

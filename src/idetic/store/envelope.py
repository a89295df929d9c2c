"""How an entry's envelope is matched in SQL: recall ranks by it, `where` excludes by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import sql

from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import EnvelopeType


def matches(kind: EnvelopeType, name: str, values: str) -> str:
    """Whether an entry's envelope satisfies one asked key: exact, any-of, or ancestor-of.

    `values` is where the asked texts are bound, such as `%(where_0)s`.
    """
    key, asked = sql.Literal(name).as_string(None), f"{values}::text[]"
    if kind is EnvelopeType.LIST:
        return f"coalesce(m.envelope -> {key} ?| {asked}, false)"
    if kind is EnvelopeType.HIERARCHY:
        value = f"m.envelope ->> {key}"
        same = f"{value} = v OR starts_with({value}, v || '/')"
        return f"EXISTS (SELECT FROM unnest({asked}) v WHERE {same})"
    return f"coalesce(m.envelope ->> {key} = ANY ({asked}), false)"


def within(spec: MemorySpec, where: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The condition that an entry's envelope satisfies every asked key, and its values."""
    declared = spec.retrieval.envelope
    conditions = [
        matches(declared[name].type, name, f"%(where_{number})s")
        for number, name in enumerate(where)
    ]
    values = {f"where_{number}": texts(value) for number, value in enumerate(where.values())}
    return " AND ".join(conditions) or "true", values


def texts(value: Any) -> list[str]:
    """A question's value or values, as jsonb gives them back in text."""
    values = value if isinstance(value, list | tuple) else [value]
    return [str(v).lower() if isinstance(v, bool) else str(v) for v in values]

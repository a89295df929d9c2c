"""How an entry's envelope is matched in SQL: recall ranks by it, `where` excludes by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import sql
from psycopg.sql import Composable

from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import EnvelopeType
from idetic.store.templates import raw


def matches(kind: EnvelopeType, name: str, values: Composable) -> Composable:
    """Whether an entry's envelope satisfies one asked key: exact, any-of, or ancestor-of."""
    key = sql.Literal(name)
    if kind is EnvelopeType.LIST:
        return raw("coalesce(m.envelope -> {} ?| {}, false)").format(key, values)
    if kind is EnvelopeType.HIERARCHY:
        return raw(
            "EXISTS (SELECT FROM unnest({1}) v "
            "WHERE m.envelope ->> {0} = v OR starts_with(m.envelope ->> {0}, v || '/'))"
        ).format(key, values)
    return raw("coalesce(m.envelope ->> {} = ANY ({}), false)").format(key, values)


def within(spec: MemorySpec, where: Mapping[str, Any]) -> Composable:
    """The condition that an entry's envelope satisfies every asked key; true if none is asked."""
    if not where:
        return raw("true")
    declared = spec.retrieval.envelope
    return raw(" AND ").join(
        matches(declared[name].type, name, raw("{}::text[]").format(sql.Literal(texts(value))))
        for name, value in where.items()
    )


def texts(value: Any) -> list[str]:
    """A question's value or values, as jsonb gives them back in text."""
    values = value if isinstance(value, list | tuple) else [value]
    return [str(v).lower() if isinstance(v, bool) else str(v) for v in values]

"""The one place where a scope becomes SQL.

Three forms, one meaning: the settings that row-level security reads, the policies that read
them, and the predicate that every statement of the application carries anyway. Each of the
two layers is tested with the other switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from psycopg import sql

from idetic.model import Scope
from idetic.spec.primitives import AnchorKey, KeyType
from idetic.store.templates import raw

ANY = "*"
SEPARATOR = "\x1f"


def settings(scope: Scope) -> str:
    """The scope as one transaction-local setting: agent and anchor values, separated.

    A literal SET LOCAL, not set_config(): Citus passes only the former on to its workers, and a
    plain SET on a pooled connection would hand the next tenant this one's identity. One setting
    and not one per key: each SET LOCAL costs the server as much as a small query (13 us).
    """
    return _settings(scope.agent, tuple(scope.anchor.values()))


@lru_cache(maxsize=4096)
def _settings(agent: str, values: tuple[Any, ...]) -> str:
    parts = [agent, *(ANY if value is None else str(value) for value in values)]
    return (
        raw("SET LOCAL idetic.scope = {}")
        .format(sql.Literal(SEPARATOR.join(parts)))
        .as_string(None)
    )


def scope_key(number: int, kind: KeyType) -> sql.Composable:
    """The value that the bound scope has for one anchor key; NULL when unbound or open."""
    text = raw("split_part(current_setting('idetic.scope', true), chr(31), {})").format(
        sql.Literal(number + 1)
    )
    # A setting once set and rolled back reads '' and not NULL, hence the NULLIF.
    return raw("nullif(nullif({}, ''), '*')::{}").format(text, raw(kind.value))


def predicate(scope: Scope, alias: str) -> sql.Composable:
    """The application's own predicate: every anchor key the scope binds, by literal value."""
    return _predicate(alias, tuple(scope.anchor.items()))


# Every statement has it, most of them several times, and composing it takes longer than a query.
@lru_cache(maxsize=4096)
def _predicate(alias: str, anchor: tuple[tuple[str, Any], ...]) -> sql.Composable:
    return raw(
        raw(" AND ")
        .join(
            raw("{} = {}").format(sql.Identifier(alias, key), sql.Literal(value))
            for key, value in anchor
            if value is not None
        )
        .as_string(None)
    )


def tenant_predicate(scope: Scope, alias: str) -> sql.Composable:
    """The predicate for what belongs to the tenant as a whole."""
    key, value = next(iter(scope.anchor.items()))
    return raw("{} = {}").format(sql.Identifier(alias, key), sql.Literal(value))


def arguments(scope: Scope) -> str:
    """The anchor as leading arguments of a family function."""
    return _arguments(tuple(scope.anchor.values()))


@lru_cache(maxsize=4096)
def _arguments(values: tuple[Any, ...]) -> str:
    return raw(", ").join(map(sql.Literal, values)).as_string(None)


def anchor_equals(keys: Sequence[str], left: str, right: str | None) -> sql.Composable:
    """`left`'s anchor equals `right`'s, or the function parameters' when there is no right."""
    return raw(" AND ").join(
        raw("{}.{} = {}").format(
            raw(left),
            sql.Identifier(key),
            sql.Identifier(f"p_{key}")
            if right is None
            else raw("{}.{}").format(raw(right), sql.Identifier(key)),
        )
        for key in keys
    )


def policy(agent: str, keys: Sequence[AnchorKey], *, reading: bool) -> sql.Composable:
    """What row-level security allows: this agent, this anchor; unset settings match nothing.

    The agent is asked for within the tenant's value: a condition of its own that names no column
    would be checked for every row, while a value that equals a column is computed once per scan.
    """
    bound = raw("split_part(current_setting('idetic.scope', true), chr(31), {})")
    tenant, *others = keys
    parts = [
        raw("{} = CASE WHEN {} = {} THEN {} END").format(
            sql.Identifier(tenant.name),
            bound.format(sql.Literal(1)),
            sql.Literal(agent),
            scope_key(1, tenant.type),
        )
    ]
    for number, key in enumerate(others, start=2):
        same = raw("{} = {}").format(sql.Identifier(key.name), scope_key(number, key.type))
        if reading and key.nullable_for_queries:
            text = bound.format(sql.Literal(number + 1))
            same = raw("({} = '*' OR {})").format(text, same)
        parts.append(same)
    return raw(" AND ").join(parts)

"""The one place where a scope becomes SQL.

Three forms, one meaning: the settings that row-level security reads, the policies that read
them, and the predicate that every statement of the application carries anyway. Each of the
two layers is tested with the other switched off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import sql

from idetic.model import Scope
from idetic.spec.primitives import AnchorKey
from idetic.store.templates import raw

ANY = "*"


def settings(scope: Scope) -> sql.Composable:
    """The scope as transaction-local settings.

    Literal SET LOCAL, not set_config(): Citus passes only the former on to its workers, and a
    plain SET on a pooled connection would hand the next tenant this one's identity.
    """
    values = {"agent": scope.agent}
    for number, value in enumerate(scope.anchor.values(), start=1):
        values[f"key{number}"] = ANY if value is None else str(value)
    return raw("; ").join(
        raw("SET LOCAL {} = {}").format(sql.Identifier("idetic", name), sql.Literal(value))
        for name, value in values.items()
    )


def predicate(scope: Scope, alias: str) -> sql.Composable:
    """The application's own predicate: every anchor key the scope binds, by literal value."""
    return raw(" AND ").join(
        raw("{} = {}").format(sql.Identifier(alias, key), sql.Literal(value))
        for key, value in scope.anchor.items()
        if value is not None
    )


def arguments(anchor: Mapping[str, Any]) -> sql.Composable:
    """The anchor as leading arguments of a family function."""
    return raw(", ").join(map(sql.Literal, anchor.values()))


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
    """What row-level security allows: this agent, this anchor; unset settings match nothing."""
    parts = [
        raw("current_setting('idetic.agent', true) = {}").format(sql.Literal(agent)),
        *(_key_policy(n, key, reading) for n, key in enumerate(keys, start=1)),
    ]
    return raw(" AND ").join(parts)


def _key_policy(number: int, key: AnchorKey, reading: bool) -> sql.Composable:
    # A setting once set and rolled back reads '' and not NULL, hence the NULLIF.
    setting = raw("current_setting({}, true)").format(sql.Literal(f"idetic.key{number}"))
    bound = raw("{} = nullif(nullif({}, ''), '*')::{}").format(
        sql.Identifier(key.name), setting, raw(key.type.value)
    )
    if reading and key.nullable_for_queries:
        return raw("({} = '*' OR {})").format(setting, bound)
    return bound

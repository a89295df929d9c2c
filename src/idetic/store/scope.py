"""The one place where a scope becomes SQL.

Three forms, one meaning: the settings that row-level security reads, the policies that read
them, and the predicate that every statement of the application carries anyway. Each of the
two layers is tested with the other switched off.

An anchor is one narrow key in every table: the tenant under its declared name, and `anchor_id`,
which is computed from the values of all its keys. The keys themselves stand once, in the anchors
table; whoever leaves some of them open reads through it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg import sql

from idetic.model import Scope
from idetic.spec.primitives import AnchorKey, KeyType
from idetic.store.templates import BoundStatement, Statement, statement

if TYPE_CHECKING:
    from psycopg import AsyncConnection

ANY = "*"
SEPARATOR = "\x1f"
_NOBODY = {"idetic.scope": "", "idetic.anchor": ""}
BOUND_ANCHOR = "nullif(current_setting('idetic.anchor', true), '')::uuid"


def anchor_id(values: Sequence[Any]) -> UUID:
    """The narrow key of an anchor; `idetic.anchor_id_v1` computes the same."""
    return _anchor_id(tuple(map(str, values)))


def anchor_of(scope: Scope) -> UUID:
    """The narrow key of the anchor that a scope binds whole."""
    return anchor_id(tuple(scope.anchor.values()))


@lru_cache(maxsize=65_536)
def _anchor_id(texts: tuple[str, ...]) -> UUID:
    """The id of an anchor: a UUID made of the hash of its key's texts."""
    digest = bytearray(hashlib.sha256(SEPARATOR.join(texts).encode()).digest()[:16])
    # Version 8, made by its application; and the variant that every UUID has.
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return UUID(bytes=bytes(digest))


def settings(scope: Scope | None) -> dict[str, str]:
    """The scope as settings: agent and anchor values, separated; and the anchor's narrow key.

    Without a scope nothing is bound, and row-level security shows nothing.
    """
    if scope is None:
        return dict(_NOBODY)
    return dict(_settings(scope.agent, tuple(scope.anchor.values())))


@lru_cache(maxsize=65_536)
def _settings(agent: str, values: tuple[Any, ...]) -> Mapping[str, str]:
    """The settings of a scope, by what they depend on: every message sends them."""
    parts = [agent, *(ANY if value is None else str(value) for value in values)]
    whole = None not in values
    return {
        "idetic.scope": SEPARATOR.join(parts),
        "idetic.anchor": str(anchor_id(values)) if whole else "",
    }


def entering(
    settings: Mapping[str, str], role: str | None, *, citus: bool
) -> tuple[BoundStatement, ...]:
    """The calls that set a role and settings for the rest of their transaction.

    Citus hands on to its workers only what a SET sets, and with it the text of the whole message:
    there a function of ours says it. The role comes first, because a login that inherits nothing
    may not call that function; to the workers it goes by itself, as the role of the connection.
    """
    if not (settings or role):
        return ()
    if citus:
        said = {"names": list(settings), "settings": list(settings.values())}
        acting = (BoundStatement(_setting(("role",)), {"role": role}),) if role else ()
        return (*acting, BoundStatement(_CITUS, said))
    named = {"role": role, **settings} if role else settings
    return (BoundStatement(_setting(tuple(named)), named),)


def entered(scopes: Sequence[Scope]) -> list[dict[str, str]]:
    """Anchors of one tenant for a function that enters one after the other by itself."""
    check_one_tenant(scopes)
    return [
        {"scope": scope_setting, "anchor": anchor}
        for scope_setting, anchor in (settings(scope).values() for scope in scopes)
    ]


def check_one_tenant(scopes: Sequence[Scope | None]) -> None:
    """Refuse what would mix tenants in one transaction."""
    if len({scope and (scope.agent, scope.tenant) for scope in scopes}) > 1:
        raise ValueError("A transaction can belong to one tenant only.")


_CITUS = statement("SELECT idetic.enter_v1(%(names)s::text[], %(settings)s::text[])")


@lru_cache(maxsize=64)
def _setting(names: tuple[str, ...]) -> Statement:
    """The statement that sets some settings until the transaction ends."""
    # `true`: a pooled connection must not carry them into the next transaction.
    parts = (f"set_config('{name}', ${n}, true)" for n, name in enumerate(names, start=1))
    return Statement(f"SELECT {', '.join(parts)}", names, prepared=True)


async def is_citus(connection: AsyncConnection[Any]) -> bool:
    """Whether the database has Citus."""
    cursor = await connection.execute("SELECT FROM pg_extension WHERE extname = 'citus'")
    return await cursor.fetchone() is not None


def bound(scope: Scope) -> dict[str, Any]:
    """The values that `predicate` leaves open."""
    values = tuple(scope.anchor.values())
    whole = None not in values
    found = {f"key_{name}": value for name, value in scope.anchor.items() if value is not None}
    return found | {"tenant": values[0], "anchor_id": anchor_id(values) if whole else None}


def predicate(scope: Scope, alias: str, anchors: str) -> str:
    """The application's own predicate on a table of a family: this tenant, this anchor.

    Keys that the scope leaves open are looked up among the anchors that the tenant has.
    """
    same = tenant_predicate(scope, alias)
    if None not in scope.anchor.values():
        return f"{same} AND {alias}.anchor_id = %(anchor_id)s"
    _, *others = ((key, value) for key, value in scope.anchor.items() if value is not None)
    keys = (f" AND b.{quoted(key)} = %(key_{key})s" for key, _ in others)
    # Names of the spec's, quoted, and no value.
    within = f"SELECT b.anchor_id FROM {anchors} b WHERE {tenant_predicate(scope, 'b')}"  # noqa: S608
    return f"{same} AND {alias}.anchor_id IN ({within}{''.join(keys)})"


def tenant_predicate(scope: Scope, alias: str) -> str:
    """The predicate for what belongs to the tenant as a whole."""
    return f"{alias}.{quoted(next(iter(scope.anchor)))} = %(tenant)s"


@lru_cache(maxsize=1024)
def quoted(name: str) -> str:
    """A name of the spec's as SQL."""
    return sql.Identifier(name).as_string(None)


def scope_key(number: int, kind: KeyType) -> str:
    """The value that the bound scope has for one anchor key; NULL when unbound or open."""
    # A setting once set and rolled back reads '' and not NULL, hence the NULLIF.
    return f"nullif(nullif({_part(number + 1)}, ''), '{ANY}')::{kind.value}"


def _part(number: int) -> str:
    """The SQL for one part of the scope that is bound to the transaction."""
    return f"split_part(current_setting('idetic.scope', true), chr(31), {number})"


def tenant_policy(agent: str, tenant: AnchorKey) -> str:
    """This agent, this tenant; unset settings match nothing.

    The agent is asked for within the tenant's value: a condition of its own that names no column
    would be checked for every row, while a value that equals a column is computed once per scan.
    """
    name = sql.Literal(agent).as_string(None)
    value = scope_key(1, tenant.type)
    return f"{quoted(tenant.name)} = CASE WHEN {_part(1)} = {name} THEN {value} END"


def anchor_policy(agent: str, keys: Sequence[AnchorKey], visible: str | None) -> str:
    """This agent, this tenant, this anchor.

    `visible` is the function that knows the anchors a scope with open keys may read. It is asked
    only then; a function because Citus takes no subquery in a policy.
    """
    same = f"anchor_id = {BOUND_ANCHOR}"
    if visible is not None and any(key.nullable_for_queries for key in keys):
        # Not IS NULL: on a distributed table Citus refuses it ("unrecognized node type").
        unset = f"coalesce({BOUND_ANCHOR}::text, '') = ''"
        open_key = f"{unset} AND {visible}({quoted(keys[0].name)}, anchor_id)"
        same = f"({same} OR {open_key})"
    return f"{tenant_policy(agent, keys[0])} AND {same}"


def keys_policy(agent: str, keys: Sequence[AnchorKey], *, reading: bool) -> str:
    """The same on the anchors table itself, by the keys' own values."""
    tenant, *others = keys
    parts = [tenant_policy(agent, tenant)]
    for number, key in enumerate(others, start=2):
        same = f"{quoted(key.name)} = {scope_key(number, key.type)}"
        if reading and key.nullable_for_queries:
            same = f"({_part(number + 1)} = '{ANY}' OR {same})"
        parts.append(same)
    return " AND ".join(parts if reading else [*parts, f"anchor_id = {BOUND_ANCHOR}"])

"""One tenant's store never shows another's: canaries, and controls that let them through."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, SearchOp
from psycopg import sql

from idetic.surfaces.langgraph import IdeticStore
from tests.support.catalog import tables_of
from tests.support.forgetful import forget
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

CANARY = "canary-7f3a"
NAMES = ("users", "ada"), "likes"
SCOPES = [("acme", "support"), ("acme", "sales"), ("zeta", "support"), ("zeta", "*support")]


def probes() -> list[Op]:
    """Everything that a store can be asked, and every way to reach beyond a namespace."""
    namespace, key = NAMES
    asked: list[Op] = [GetOp(namespace, key), GetOp(("canary",), CANARY)]
    for prefix in ((), ("users",), namespace, ("canary",), ("*",), ("%",), ("_",)):
        asked.append(SearchOp(prefix, limit=1_000))
        asked.append(SearchOp(prefix, query=f"{CANARY} canary", limit=1_000))
        asked.append(SearchOp(prefix, filter={"owner": {"$ne": "me"}}, limit=1_000))
    asked.append(ListNamespacesOp(limit=1_000))
    asked.append(ListNamespacesOp((MatchCondition("prefix", ("*",)),), limit=1_000))
    asked.append(ListNamespacesOp((MatchCondition("suffix", ("*",)),), limit=1_000))
    return asked


async def filled(frameworks: Frameworks, number: int) -> IdeticStore:
    """A store with an item of the same name in every scope, and a canary of its own."""
    store = IdeticStore(frameworks.memory(*SCOPES[number]))
    mine = f"{CANARY}-{number}"
    await store.aput(*NAMES, {"owner": mine, "text": f"canary of {mine}"})
    await store.aput(("canary",), mine, {"owner": mine, "text": "canary " * 500}, ttl=5)
    await store.aput((mine,), "x", {"owner": mine})
    return store


async def seen(stores: list[IdeticStore]) -> int:
    """How many canaries of others all probes of all stores show."""
    found = 0
    for number, store in enumerate(stores):
        others = [f"{CANARY}-{n}" for n in range(len(stores)) if n != number]
        told = repr([_told(result) for result in await store.abatch(probes())])
        assert f"{CANARY}-{number}" in told, "one's own is always there"
        found += sum(told.count(other) for other in others)
    return found


def _told(result: Any) -> Any:
    if isinstance(result, list):
        return [_told(each) for each in result]
    return result.dict() if hasattr(result, "dict") else result


async def test_no_store_sees_a_canary_of_another(frameworks: Frameworks) -> None:
    stores = [await filled(frameworks, n) for n in range(len(SCOPES))]
    assert await seen(stores) == 0


async def test_no_store_touches_what_is_anothers(frameworks: Frameworks) -> None:
    stores = [await filled(frameworks, n) for n in range(len(SCOPES))]
    frameworks.clock.advance(minutes=6)
    for store in stores[1:]:
        await store.adelete(*NAMES)
        await store.adelete(("canary",), f"{CANARY}-0")
        await store.aput(("canary",), f"{CANARY}-0", {"owner": "thief"})
        assert await store.sweep_ttl() == 1
    item = await stores[0].aget(*NAMES)
    canary = await stores[0].aget(("canary",), f"{CANARY}-0")
    assert item is not None
    assert canary is not None
    assert item.value["owner"] == canary.value["owner"] == f"{CANARY}-0"


# --- each layer alone, and none ---------------------------------------------------------------


def without_rls(frameworks: Frameworks) -> None:
    schema = frameworks.agent.spec.backend.schema_
    with psycopg.connect(frameworks.database.admin_dsn) as connection:
        for table in tables_of(connection, schema):
            off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
            connection.execute(off.format(sql.Identifier(schema, table.name)))


async def test_the_predicate_alone_is_enough(lone_frameworks: Frameworks) -> None:
    stores = [await filled(lone_frameworks, n) for n in range(len(SCOPES))]
    without_rls(lone_frameworks)
    assert await seen(stores) == 0


async def test_row_level_security_alone_is_enough(
    lone_frameworks: Frameworks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [await filled(lone_frameworks, n) for n in range(len(SCOPES))]
    forget(monkeypatch.setattr)
    assert await seen(stores) == 0


async def test_control_without_both_the_canaries_are_seen(
    lone_frameworks: Frameworks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [await filled(lone_frameworks, n) for n in range(len(SCOPES))]
    without_rls(lone_frameworks)
    forget(monkeypatch.setattr)
    assert await seen(stores) > 0

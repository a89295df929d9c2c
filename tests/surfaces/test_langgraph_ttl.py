"""Items of `IdeticStore` expire as LangGraph documents it."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest
from langgraph.store.base import GetOp, TTLConfig

from idetic import EntryState, Principal, errors, open_sync
from idetic.surfaces.langgraph import IdeticStore
from tests.conftest import TestDatabase
from tests.support.clock import SettableClock
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

NS = ("cache",)


def made(frameworks: Frameworks, **ttl: Any) -> IdeticStore:
    config: TTLConfig = ttl  # type: ignore[assignment]
    return IdeticStore(frameworks.memory(), ttl=config)


async def there(store: IdeticStore, key: str = "x") -> bool:
    """Whether it is found, without its time beginning anew."""
    return await store.aget(NS, key, refresh_ttl=False) is not None


async def test_what_has_a_ttl_goes_when_it_is_swept(frameworks: Frameworks) -> None:
    store = made(frameworks)
    await store.aput(NS, "x", {"n": 1}, ttl=10)
    await store.aput(NS, "y", {"n": 2})
    (entry,) = [e for e in await frameworks.memory().list() if e.envelope["key"] == "x"]
    frameworks.clock.advance(minutes=9)
    assert await store.sweep_ttl() == 0
    frameworks.clock.advance(minutes=2)
    assert await there(store), "without omit_expired it is there until it is swept"
    assert await store.sweep_ttl() == 1
    assert not await there(store)
    assert await there(store, "y")
    assert await store.sweep_ttl() == 0
    kept = await frameworks.memory().get(entry.id)
    assert kept.state is EntryState.ARCHIVED, "expired is archived, and never lost"


async def test_reading_begins_the_time_anew(frameworks: Frameworks) -> None:
    store = made(frameworks)
    await store.aput(NS, "got", {"n": 1}, ttl=10)
    await store.aput(NS, "searched", {"n": 1}, ttl=10)
    await store.aput(NS, "left", {"n": 1}, ttl=10)
    frameworks.clock.advance(minutes=8)
    await store.aget(NS, "got")
    await store.asearch(NS, limit=2, offset=1, filter={"n": 1})  # all but the newest
    frameworks.clock.advance(minutes=8)
    assert await store.sweep_ttl() == 1
    assert not await there(store, "left")
    assert await there(store, "got")
    assert await there(store, "searched")


async def test_a_read_can_say_that_it_is_none(frameworks: Frameworks) -> None:
    store = made(frameworks)
    await store.aput(NS, "x", {"n": 1}, ttl=10)
    frameworks.clock.advance(minutes=8)
    await store.aget(NS, "x", refresh_ttl=False)
    await store.asearch(NS, refresh_ttl=False)
    await store.abatch([GetOp(NS, "x", refresh_ttl=False)])
    frameworks.clock.advance(minutes=3)
    assert await store.sweep_ttl() == 1


async def test_a_store_can_be_made_not_to_refresh(frameworks: Frameworks) -> None:
    store = made(frameworks, refresh_on_read=False)
    await store.aput(NS, "x", {"n": 1}, ttl=10)
    await store.aput(NS, "y", {"n": 1}, ttl=10)
    frameworks.clock.advance(minutes=8)
    await store.aget(NS, "x")
    await store.aget(NS, "y", refresh_ttl=True)
    frameworks.clock.advance(minutes=3)
    assert await store.sweep_ttl() == 1
    assert not await there(store, "x")
    assert await there(store, "y")


async def test_writing_begins_the_time_anew_and_may_end_it(frameworks: Frameworks) -> None:
    store = made(frameworks)
    await store.aput(NS, "x", {"n": 1}, ttl=10)
    await store.aput(NS, "y", {"n": 1}, ttl=10)
    frameworks.clock.advance(minutes=8)
    await store.aput(NS, "x", {"n": 1}, ttl=10)
    await store.aput(NS, "y", {"n": 1}, ttl=None)
    frameworks.clock.advance(minutes=8)
    assert await store.sweep_ttl() == 0
    frameworks.clock.advance(days=400)
    assert await store.sweep_ttl() == 1
    assert await there(store, "y")


async def test_a_store_can_have_a_default(frameworks: Frameworks) -> None:
    store = made(frameworks, default_ttl=10)
    await store.aput(NS, "default", {"n": 1})
    await store.aput(NS, "longer", {"n": 1}, ttl=100)
    await store.aput(NS, "ever", {"n": 1}, ttl=None)
    frameworks.clock.advance(minutes=11)
    assert await store.sweep_ttl() == 1
    assert not await there(store, "default")
    frameworks.clock.advance(minutes=100)
    assert await store.sweep_ttl() == 1
    assert await there(store, "ever")


async def test_what_has_expired_can_be_omitted_before_it_is_swept(frameworks: Frameworks) -> None:
    store = made(frameworks, omit_expired=True)
    await store.aput(NS, "x", {"text": "tea"}, ttl=10)
    await store.aput(("other",), "y", {"text": "tea"})
    frameworks.clock.advance(minutes=11)
    assert await store.aget(NS, "x") is None
    assert await store.asearch(NS) == []
    assert [i.key for i in await store.asearch((), query="tea")] == ["y"]
    assert await store.alist_namespaces() == [("other",)]
    assert await store.sweep_ttl() == 1, "and reading it did not bring it back"


async def test_a_long_value_expires_as_a_whole(frameworks: Frameworks) -> None:
    store = made(frameworks)
    await store.aput(NS, "x", {"text": "lion " * 2_000}, ttl=10)
    frameworks.clock.advance(minutes=11)
    assert await store.sweep_ttl() == 1
    assert await frameworks.memory().list() == []


@pytest.mark.parametrize("ttl", [-1, float("nan"), float("inf"), "ten", True, 1e12])
async def test_a_ttl_that_is_none_is_refused(frameworks: Frameworks, ttl: Any) -> None:
    store = made(frameworks)
    with pytest.raises(errors.InputError, match="TTL"):
        await store.aput(NS, "x", {"n": 1}, ttl=ttl)
    assert not await there(store)


async def test_a_sweeper_sweeps_until_it_is_stopped(frameworks: Frameworks) -> None:
    store = made(frameworks, sweep_interval_minutes=60)
    await store.aput(NS, "x", {"n": 1}, ttl=10)
    frameworks.clock.advance(minutes=11)
    task = await store.start_ttl_sweeper()
    assert await store.start_ttl_sweeper() is task, "one is enough"
    with anyio.fail_after(30):
        while await there(store):  # noqa: ASYNC110 - nothing but the store tells
            await anyio.sleep(0.01)
    assert await store.stop_ttl_sweeper()
    assert task.cancelled()
    assert await store.stop_ttl_sweeper(), "stopping twice is fine"


def test_blocking_code_sweeps_too(framework_database: TestDatabase) -> None:
    clock = SettableClock()
    database = framework_database
    with open_sync(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        agent = db.agent("framework_agent")
        store = IdeticStore(
            agent.bind(tenant_id="acme", space="x", principal=Principal.agent("app"))
        )
        store.put(NS, "x", {"n": 1}, ttl=10)
        assert store.sweep_ttl() == 0
        clock.advance(minutes=11)
        sweeping = store.start_ttl_sweeper()
        assert store.start_ttl_sweeper() is sweeping, "one is enough"
        until = time.monotonic() + 30
        while store.get(NS, "x", refresh_ttl=False) is not None:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert store.stop_ttl_sweeper(timeout=30) is True
        assert sweeping.cancelled()
        assert store.stop_ttl_sweeper() is True, "stopping twice is fine"

"""`IdeticStore` behaves as LangGraph documents its stores."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from idetic import EntryState, Idetic, Principal, errors, open_sync
from idetic.embed import BgeSmall
from idetic.store import entry_sql
from idetic.surfaces.langgraph import IdeticStore
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

USERS = ("users", "ada")


@pytest.fixture
async def store(frameworks: Frameworks) -> IdeticStore:
    return IdeticStore(frameworks.memory())


async def keys(store: IdeticStore, prefix: tuple[str, ...], **asked: Any) -> list[str]:
    return [item.key for item in await store.asearch(prefix, **asked)]


# --- values ---------------------------------------------------------------------------------------

VALUES: dict[str, dict[str, Any]] = {
    "empty": {},
    "plain": {"name": "Ada", "age": 36, "score": 4.5, "on": True, "off": False, "none": None},
    "nested": {"a": {"b": [1, {"c": [[], {}, "x"]}]}},
    "unicode": {"text": "Grüße, 世界 🌍 e\u0301", "ключ": "значение"},
    "numbers": {"big": 2**80, "small": 1e-300, "negative": -0.5, "zero": 0},
    "white": {"text": " " * 5_000 + "\n\t"},
    "long": {"text": "word " * 4_000},
    "control": {"text": "a\x00b\x1f\x7f"},
    "surrogate": {"text": "half of a pair \ud83d"},
    "quotes": {"text": "'; DROP TABLE x; -- \\ \" %s {} $1"},
    "ellipsis": {"text": "…" * 3_000},
}


@pytest.mark.parametrize("name", VALUES)
async def test_a_value_comes_back_exactly(store: IdeticStore, name: str) -> None:
    await store.aput(USERS, name, VALUES[name])
    item = await store.aget(USERS, name)
    assert item is not None
    assert item.value == VALUES[name]
    assert (item.namespace, item.key) == (USERS, name)
    (found,) = await store.asearch(USERS)
    assert found.value == VALUES[name]


async def test_there_is_nothing_under_a_name_that_was_never_put(store: IdeticStore) -> None:
    assert await store.aget(USERS, "nothing") is None
    assert await store.asearch(USERS) == []
    assert await store.alist_namespaces() == []


async def test_a_put_replaces_and_keeps_when_it_was_first_put(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    await store.aput(USERS, "likes", {"what": "tea"})
    first = await store.aget(USERS, "likes")
    frameworks.clock.advance(minutes=3)
    await store.aput(USERS, "likes", {"what": "coffee"})
    second = await store.aget(USERS, "likes")
    assert first is not None
    assert second is not None
    assert second.value == {"what": "coffee"}
    assert second.created_at == first.created_at == first.updated_at
    assert second.updated_at - first.updated_at == timedelta(minutes=3)
    assert await keys(store, USERS) == ["likes"]


async def test_the_same_value_put_again_is_an_update(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    await store.aput(USERS, "likes", {"what": "tea"})
    frameworks.clock.advance(minutes=3)
    await store.aput(USERS, "likes", {"what": "tea"})
    item = await store.aget(USERS, "likes")
    assert item is not None
    assert item.updated_at - item.created_at == timedelta(minutes=3)


async def test_every_version_is_kept_and_told_by_the_ledger(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    for what in ("tea", "coffee", "water"):
        await store.aput(USERS, "likes", {"what": what})
    memory = frameworks.memory()
    (now,) = await memory.list()
    assert json.loads(now.body_text) == {"what": "water"}
    links = await frameworks.auditor().verify()
    assert links.intact
    assert links.entries == 3
    history = await memory.history(now.id)
    before = await memory.get(history[0].detail["supersedes"])
    assert before.state is EntryState.SUPERSEDED
    assert json.loads(before.body_text) == {"what": "coffee"}


async def test_a_shorter_version_leaves_nothing_of_a_longer_one(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    await store.aput(USERS, "essay", {"text": "lion " * 2_000})
    assert len(await frameworks.memory().list()) == 6
    await store.aput(USERS, "essay", {"text": "zebra"})
    assert len(await frameworks.memory().list()) == 1
    assert await keys(store, USERS) == ["essay"]


async def test_delete_archives(store: IdeticStore, frameworks: Frameworks) -> None:
    await store.aput(USERS, "likes", {"what": "tea"})
    memory = frameworks.memory()
    (entry,) = await memory.list()
    await store.adelete(USERS, "likes")
    assert await store.aget(USERS, "likes") is None
    assert await store.asearch(USERS) == []
    assert await store.alist_namespaces() == []
    kept = await memory.get(entry.id)
    assert kept.state is EntryState.ARCHIVED
    assert [link.transition for link in await memory.history(entry.id)] == ["preferred", "archived"]


async def test_deleting_a_long_value_takes_all_of_it(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    await store.aput(USERS, "essay", {"text": "lion " * 2_000})
    await store.adelete(USERS, "essay")
    assert await store.aget(USERS, "essay") is None
    assert await frameworks.memory().list() == []


async def test_deleting_what_is_not_there_is_fine(store: IdeticStore) -> None:
    await store.adelete(USERS, "nothing")
    await store.aput(USERS, "nothing", {"x": 1})
    for _ in range(2):
        await store.adelete(USERS, "nothing")
        assert await store.aget(USERS, "nothing") is None


async def test_what_is_put_after_a_delete_is_new(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    await store.aput(USERS, "likes", {"what": "tea"})
    await store.adelete(USERS, "likes")
    frameworks.clock.advance(minutes=3)
    await store.aput(USERS, "likes", {"what": "tea"})
    item = await store.aget(USERS, "likes")
    assert item is not None
    assert item.created_at == item.updated_at == frameworks.clock.now()


# --- names ----------------------------------------------------------------------------------------


async def test_names_are_exact(store: IdeticStore) -> None:
    """Claims are compared without regard to case, width and spacing; names never are."""
    names = [
        (("users",), "a"), (("Users",), "a"), (("users",), "A"), (("users",), "a "),
        (("users",), " a"), (("users",), "\uff41"), (("users", "a"), "a"), (("users a",), "a"),
        (("users/a",), "a"), (("users%2Fa",), "a"), (("users",), "a/a"), (("us", "ers"), "a"),
        ((" ",), "a"), (("  ",), "a"), (("%20",), "a"),
    ]  # fmt: skip
    for number, (namespace, key) in enumerate(names):
        await store.aput(namespace, key, {"number": number})
    for number, (namespace, key) in enumerate(names):
        item = await store.aget(namespace, key)
        assert item is not None
        assert (item.namespace, item.key, item.value) == (namespace, key, {"number": number})
    assert set(await store.alist_namespaces()) == {namespace for namespace, _ in names}


async def test_a_prefix_never_matches_half_a_segment(store: IdeticStore) -> None:
    """CVE-2026-71433: siblings whose names begin alike are not each other's children."""
    for namespace in (("user",), ("user", "1"), ("user", "10"), ("users",), ("user1",)):
        await store.aput(namespace, "/".join(namespace), {"x": 1})
    assert set(await keys(store, ("user",))) == {"user", "user/1", "user/10"}
    assert await keys(store, ("user", "1")) == ["user/1"]
    assert await keys(store, ("us",)) == []
    assert len(await keys(store, ())) == 5
    assert await store.alist_namespaces(prefix=("user", "1")) == [("user", "1")]


async def test_control_with_a_plain_prefix_half_a_segment_matches(
    store: IdeticStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(_kind: object, name: str, values: str) -> str:
        begins = f"starts_with(m.envelope ->> '{name}', v)"
        return f"EXISTS (SELECT FROM unnest({values}::text[]) v WHERE {begins})"

    monkeypatch.setattr(entry_sql, "matches", careless)
    for namespace in (("user", "1"), ("user", "10"), ("users",)):
        await store.aput(namespace, "/".join(namespace), {"x": 1})
    assert set(await keys(store, ("user", "1"))) == {"user/1", "user/10"}


@pytest.mark.parametrize(
    "namespace", [(), ("",), ("a.b",), ("a", ""), ("langgraph", "x"), (1,), ("a\x00",)]
)
async def test_a_namespace_that_langgraph_forbids_is_refused(
    store: IdeticStore, namespace: Any
) -> None:
    with pytest.raises(InvalidNamespaceError):
        await store.aput(namespace, "key", {"x": 1})
    assert await store.asearch(()) == []


async def test_operations_that_skip_the_methods_are_checked_too(store: IdeticStore) -> None:
    for op in (
        GetOp(("a.b",), "k"),
        PutOp(("a.b",), "k", {"x": 1}),
        SearchOp(("a.b",)),
        ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
    ):
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([op])


async def test_a_namespace_too_long_to_keep_says_so(store: IdeticStore) -> None:
    with pytest.raises(errors.InputError, match="201 characters"):
        await store.aput(("x" * 201,), "key", {"x": 1})
    await store.aput(("x" * 200,), "key", {"x": 1})
    assert await store.aget(("x" * 200,), "key") is not None


async def test_namespaces_are_listed_as_documented(store: IdeticStore) -> None:
    for namespace in (
        ("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"),
        ("a", "c", "f"), ("docs", "v1"), ("docs", "draft", "v1"),
    ):  # fmt: skip
        await store.aput(namespace, "x", {"y": 1})
    listed = store.alist_namespaces
    assert await listed(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")
    ]  # fmt: skip
    assert await listed(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert await listed(prefix=("docs",), suffix=("v1",)) == [
        ("docs", "draft", "v1"),
        ("docs", "v1"),
    ]
    assert await listed(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert await listed(suffix=("d", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert await listed(prefix=("*", "*", "*", "*", "*")) == []
    assert await listed(max_depth=1) == [("a",), ("docs",)]
    everything = await listed()
    assert len(everything) == 7
    assert await listed(limit=2, offset=3) == everything[3:5]


# --- searching ------------------------------------------------------------------------------------

ITEMS: dict[str, dict[str, Any]] = {
    "red": {"color": "red", "score": 4.5, "tags": ["a", "b"], "by": {"name": "Ada", "age": 36}},
    "blue": {"color": "blue", "score": 3, "tags": ["b"], "by": {"name": "Ben", "age": 20}},
    "green": {"color": "green", "score": 1, "on": True},
    "none": {"color": None},
}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"color": "red"}, {"red"}),
    ({"color": {"$eq": "red"}}, {"red"}),
    ({"color": {"$ne": "red"}}, {"blue", "green", "none"}),
    ({"score": {"$gt": 3}}, {"red"}),
    ({"score": {"$gte": 3}}, {"red", "blue"}),
    ({"score": {"$lt": 3}}, {"green"}),
    ({"score": {"$lte": 3.0}}, {"blue", "green"}),
    ({"score": {"$gt": 1, "$lt": 4.5}}, {"blue"}),
    ({"score": {"$gte": 3}, "color": "blue"}, {"blue"}),
    ({"color": {"$gt": "c"}}, {"red", "green"}),
    ({"score": {"$gt": "3"}}, set()),
    ({"tags": ["a", "b"]}, {"red"}),
    ({"tags": ["b", "a"]}, set()),
    ({"by": {"name": "Ada"}}, {"red"}),
    ({"by": {"age": {"$lt": 30}}}, {"blue"}),
    ({"on": True}, {"green"}),
    ({"on": 1}, set()),
    ({"color": None}, {"none"}),
    ({"missing": "x"}, set()),
    ({}, set(ITEMS)),
]


@pytest.fixture
async def colors(store: IdeticStore) -> IdeticStore:
    await store.abatch([PutOp(("colors",), key, value) for key, value in ITEMS.items()])
    return store


@pytest.mark.parametrize(("wanted", "found"), FILTERS, ids=[str(w) for w, _ in FILTERS])
async def test_filters_mean_what_langgraph_documents(
    colors: IdeticStore, wanted: dict[str, Any], found: set[str]
) -> None:
    assert set(await keys(colors, ("colors",), filter=wanted)) == found


async def test_an_unknown_operator_is_refused(colors: IdeticStore) -> None:
    with pytest.raises(errors.InputError, match=r"\$in"):
        await colors.asearch(("colors",), filter={"color": {"$in": ["red"]}})


async def test_a_search_is_paged_newest_first(store: IdeticStore) -> None:
    for number in range(25):
        await store.aput(("many",), f"{number:02}", {"odd": number % 2 == 1})
    newest = [f"{number:02}" for number in reversed(range(25))]
    assert await keys(store, ("many",)) == newest[:10]
    assert await keys(store, ("many",), limit=10, offset=20) == newest[20:]
    assert await keys(store, ("many",), limit=3, offset=2, filter={"odd": True}) == [
        "19",
        "17",
        "15",
    ]
    await store.aput(("many",), "00", {"odd": False})
    assert (await keys(store, ("many",)))[0] == "00", "an update makes it the newest"


async def test_a_query_ranks_and_the_rest_follows(store: IdeticStore) -> None:
    """Without vectors: words. What no word finds fills the page, without a score."""
    await store.aput(("notes",), "tea", {"text": "Ada drinks green tea in the morning"})
    await store.aput(("notes",), "deploy", {"text": "Deployments happen on Thursdays"})
    await store.aput(("other",), "tea", {"text": "tea tea tea"})
    found = await store.asearch(("notes",), query="which tea in the morning?")
    assert [item.key for item in found] == ["tea", "deploy"]
    assert found[0].score is not None
    assert found[1].score is None
    assert [i.key for i in await store.asearch(("notes",), query="tea", limit=1, offset=1)] == [
        "deploy"
    ]
    assert await keys(store, ("notes",), query="tea", filter={"text": "nothing"}) == []


async def test_a_query_finds_by_meaning(
    framework_database: TestDatabase, embedder: BgeSmall
) -> None:
    """With the real model: what shares no word with the question."""
    database = framework_database
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opened as db:
        agent = await db.agent("framework_agent", embed_inline=True)
        memory = agent.bind(tenant_id="acme", space="x", principal=Principal.agent("app"))
        store = IdeticStore(memory)
        await store.abatch(
            [
                PutOp(("notes",), "food", {"text": "The canteen serves soup on Mondays."}),
                PutOp(("notes",), "deploy", {"text": "Releases are rolled out by two engineers."}),
                PutOp(("notes",), "pet", {"text": "Ada's cat is called Byron."}),
                PutOp(("other",), "food", {"text": "Lunch is at noon."}),
            ]
        )
        found = await store.asearch(("notes",), query="what can one eat at the start of the week?")
        assert found[0].key == "food"
        assert {item.key for item in found} == {"food", "deploy", "pet"}
        # Shares of 1, which mean the same for every question: a program can set a bound.
        scores = [item.score or 0.0 for item in found]
        assert scores[0] == max(scores)
        assert all(0 < score < 1 for score in scores)
        plain = await store.asearch(("notes",), query="When does the canteen serve soup?")
        assert plain[0].key == "food"
        assert (plain[0].score or 0.0) > 0.25
        far = await store.asearch(("notes",), query="which planet has rings?")
        assert max(item.score or 0.0 for item in far) < 0.1
        assert (await store.asearch(("notes",), query="an animal"))[0].key == "pet"


async def test_what_asks_not_to_be_indexed_gets_no_vector(
    framework_database: TestDatabase,
) -> None:
    database, model = framework_database, FakeEmbedder()
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=model)
    for inline in (True, False):
        async with opened if inline else Idetic.open(database.dsn, embedder=model) as db:
            agent = await db.agent("framework_agent", embed_inline=inline)
            space = f"inline {inline}"
            memory = agent.bind(tenant_id="acme", space=space, principal=Principal.agent("app"))
            store = IdeticStore(memory)
            await store.aput(("notes",), "hidden", {"text": "green tea " * 400}, index=False)
            await store.aput(("notes",), "shown", {"text": "green tea"})
            await memory.embed()
            assert await memory.unembedded() == []
            recalled = await memory.recall("green tea")
            assert [hit.entry.envelope["key"] for hit in recalled] == ["shown"]
            assert recalled.pending == 0
    with psycopg.connect(database.admin_dsn) as admin:
        rows = admin.execute(
            "SELECT m.envelope ->> 'key' FROM frameworks.framework_agent_memory_embeddings e "
            "JOIN frameworks.framework_agent_memory m USING (memory_id)"
        ).fetchall()
    assert rows == [("shown",), ("shown",)]


async def test_what_asks_not_to_be_indexed_is_not_ranked(store: IdeticStore) -> None:
    await store.aput(("notes",), "hidden", {"text": "green tea"}, index=False)
    await store.aput(("notes",), "shown", {"text": "green tea"})
    await store.aput(("notes",), "fields", {"text": "black tea"}, index=["text"])
    found = {item.key: item.score for item in await store.asearch(("notes",), query="tea")}
    assert set(found) == {"hidden", "shown", "fields"}
    assert found["hidden"] is None
    assert found["shown"] is not None
    assert found["fields"] is not None
    assert await store.aget(("notes",), "hidden") is not None


async def test_a_query_finds_the_end_of_a_long_value(store: IdeticStore) -> None:
    await store.aput(("notes",), "long", {"text": "filler " * 1_000 + "the zeppelin lands"})
    await store.aput(("notes",), "short", {"text": "nothing of interest"})
    found = await store.asearch(("notes",), query="zeppelin")
    assert [(item.key, item.score is not None) for item in found] == [
        ("long", True), ("short", False)
    ]  # fmt: skip


# --- batches --------------------------------------------------------------------------------------


async def test_results_come_in_the_order_of_the_operations(store: IdeticStore) -> None:
    await store.aput(("a",), "x", {"n": 1})
    results = await store.abatch(
        [
            ListNamespacesOp(),
            PutOp(("a",), "y", {"n": 2}),
            GetOp(("a",), "x"),
            SearchOp(("a",)),
            GetOp(("a",), "y"),
            PutOp(("a",), "x", None),
        ]
    )
    assert results[0] == [("a",)]
    assert results[1] is results[5] is None
    assert results[2].value == {"n": 1}  # type: ignore[union-attr]
    assert [item.key for item in results[3]] == ["x"]  # type: ignore[union-attr]
    assert results[4] is None, "reads see what was there before the batch"
    assert await keys(store, ("a",)) == ["y"]


async def test_of_two_puts_in_a_batch_the_later_counts(
    store: IdeticStore, frameworks: Frameworks
) -> None:
    await store.abatch([PutOp(("a",), "x", {"n": n}) for n in range(5)])
    item = await store.aget(("a",), "x")
    assert item is not None
    assert item.value == {"n": 4}
    assert (await frameworks.auditor().verify()).entries == 1
    await store.abatch([PutOp(("a",), "x", {"n": 9}), PutOp(("a",), "x", None)])
    assert await store.aget(("a",), "x") is None


async def test_a_batch_with_a_bad_value_writes_nothing(store: IdeticStore) -> None:
    values: list[Any] = [object(), {1, 2}, b"bytes", "y" * 2_000_000]
    for bad in ({"x": value} for value in values):
        with pytest.raises(errors.InputError):
            await store.abatch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), "bad", bad)])
    assert await store.asearch(()) == []


async def test_many_puts_in_one_batch(store: IdeticStore) -> None:
    await store.abatch([PutOp(("many", str(n % 7)), str(n), {"n": n}) for n in range(500)])
    found = await store.abatch([GetOp(("many", str(n % 7)), str(n)) for n in range(500)])
    assert [item.value["n"] for item in found if item] == list(range(500))  # type: ignore[union-attr]
    assert len(await store.alist_namespaces()) == 7


async def test_writers_of_one_name_at_once_leave_one_whole_value(store: IdeticStore) -> None:
    async def write(number: int) -> None:
        await store.aput(("race",), "x", {"n": number, "text": f"{number} " * 3_000})

    await asyncio.gather(*(write(number) for number in range(8)))
    item = await store.aget(("race",), "x")
    assert item is not None
    assert item.value["text"] == f"{item.value['n']} " * 3_000
    assert len(await store.asearch(("race",))) == 1


# --- without an event loop ------------------------------------------------------------------------


async def test_a_blocking_call_on_the_loop_says_what_to_do(store: IdeticStore) -> None:
    with pytest.raises(errors.InputError, match="Await the asynchronous form"):
        store.get(USERS, "likes")


async def test_a_blocking_call_from_a_thread_works(store: IdeticStore) -> None:
    await asyncio.to_thread(store.put, USERS, "likes", {"what": "tea"})
    item = await asyncio.to_thread(store.get, USERS, "likes")
    assert item is not None
    assert item.value == {"what": "tea"}


def test_a_store_works_without_an_event_loop(framework_database: TestDatabase) -> None:
    database = framework_database
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = db.agent("framework_agent")
        memory = agent.bind(tenant_id="acme", space="x", principal=Principal.agent("app"))
        store = IdeticStore(memory)
        store.put(USERS, "likes", {"what": "tea"})
        assert [item.key for item in store.search(USERS)] == ["likes"]

        async def elsewhere() -> Any:
            return await store.aget(USERS, "likes")

        assert asyncio.run(elsewhere()).value == {"what": "tea"}
        assert store.list_namespaces() == [USERS]
        store.delete(USERS, "likes")
        assert store.get(USERS, "likes") is None
    with pytest.raises(errors.DatabaseClosed):
        store.get(USERS, "likes")

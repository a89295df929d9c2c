"""Documents on memory: what they need of a spec, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from idetic import Observation, Principal, errors
from idetic.spec.loader import load
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.documents import MAX_PARTS, Put, namespace_of, path_of
from idetic.surfaces.shelf import Conversation, Shelf
from tests.conftest import World
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

TOKEN = "AKIA" + "IOSFODNN7EXAMPLE"


async def test_a_spec_that_cannot_hold_documents_is_refused(world: World) -> None:
    with pytest.raises(errors.SpecError, match="does not declare expiring, key, namespace"):
        Shelf(world.memory)


async def test_a_gate_refuses_what_it_would_change(lone_frameworks: Frameworks) -> None:
    """A value is put as it is or not at all; a note is kept without what is removed."""
    gated: dict[str, Any] = load("framework_agent").as_data()
    gated["agent"] = "gated_agent"
    gated["backend"] |= {"schema": "gated", "family": "gated_agent"}
    gated["gates"].append(
        {"boundary": "ingest", "apply": ["secrets"], "because": "No secret is memory."}
    )
    agent = await lone_frameworks.db.agent(gated)
    memory = agent.bind(tenant_id="acme", space="x", principal=Principal.agent("app"))
    shelf = Shelf(memory)
    with pytest.raises(errors.GateRefused, match="would remove"):
        await shelf.put_many(
            [Put(("a",), "good", {"x": 1}), Put(("a",), "bad", {"text": f"use {TOKEN}"})]
        )
    assert await memory.list() == [], "nothing of the batch was written"
    await shelf.put_many([Put(("a",), "good", {"x": 1})])
    await memory.observe(f"The key is {TOKEN}, he said.", envelope={"namespace": "a"})
    assert all(TOKEN not in entry.body_text for entry in await memory.list())
    assert len(await memory.list()) == 2


async def test_a_value_can_be_as_long_as_it_may(frameworks: Frameworks) -> None:
    shelf = Shelf(frameworks.memory())
    longest = {"text": "x" * (2_000 + (MAX_PARTS - 1) * 1_799 - len('{"text": ""}'))}
    await shelf.put_many([Put(("a",), "long", longest)])
    (found,) = await shelf.get_many([(("a",), "long")])
    assert found is not None
    assert found.value == longest
    with pytest.raises(errors.InputError, match="can be kept"):
        await shelf.put_many([Put(("a",), "longer", {"text": "x" * MAX_PARTS * 2_000})])


async def test_an_erasure_finds_a_name_wherever_a_long_value_was_cut(
    frameworks: Frameworks,
) -> None:
    """A person's name across every cut: whoever erases that person finds it each time."""
    shelf, operator = Shelf(frameworks.memory()), frameworks.bind(Principal.operator("ada"))
    for key, before in enumerate(range(1_950, 2_001, 10)):
        text = "x" * before + " Augusta Ada King Noel " + "y" * 1_000
        await shelf.put_many([Put(("a",), str(key), {"text": text})])
    erased = await operator.erase("Augusta Ada King Noel", reason="asked to be forgotten")
    assert len(erased.entries) >= 6
    assert [page async for page in shelf.pages(())] == [[]]
    assert all("King Noel" not in e.body_text for e in await frameworks.memory().list())


async def test_a_part_without_its_head_is_not_found(frameworks: Frameworks) -> None:
    """As a process leaves it that is killed between two archives."""
    memory = frameworks.memory()
    shelf = Shelf(memory)
    await shelf.put_many([Put(("a",), "x", {"text": "zeppelin " * 1_000})])
    (head,) = [e for e in await memory.list() if e.envelope["part"] == 0]
    await memory.archive(head.id, reason="killed here")
    assert await shelf.get_many([(("a",), "x")]) == [None]
    assert await shelf.search((), "zeppelin") == []
    await shelf.put_many([Put(("a",), "x", {"text": "new"})])
    (found,) = await shelf.get_many([(("a",), "x")])
    assert found is not None
    assert found.value == {"text": "new"}
    assert len(await memory.list()) == 1, "and the next put clears it away"


async def test_notes_are_no_documents(frameworks: Frameworks) -> None:
    memory = frameworks.memory()
    await memory.observe_many([Observation("A note about tea.", {"namespace": "a"})])
    shelf = Shelf(memory)
    assert [page async for page in shelf.pages(())] == [[]]
    assert await shelf.search((), "tea") == []
    assert await shelf.namespaces() == {}


async def test_a_conversation_keeps_its_order(frameworks: Frameworks) -> None:
    talk = Conversation(Shelf(frameworks.memory()), ("talks", "1"))
    other = Conversation(Shelf(frameworks.memory()), ("talks", "10"))
    await other.append([{"n": "other"}])
    await talk.append([{"n": n} for n in range(30)])
    await talk.append([{"n": 30}])
    assert [v["n"] for v in await talk.latest()] == list(range(31))
    assert [v["n"] for v in await talk.latest(3)] == [28, 29, 30]
    assert await talk.latest(0) == []
    assert await talk.pop() == {"n": 30}
    assert [v["n"] for v in await talk.latest(1)] == [29]
    await talk.clear()
    assert await talk.latest() == []
    assert await talk.pop() is None
    assert await other.latest() == [{"n": "other"}]


@pytest.mark.parametrize(
    "namespace", [("a",), ("a", "b"), ("a/b",), ("%2F", "/"), (" ",), (" a ",), ("ü", "\u2003")]
)
def test_a_path_is_the_namespace_and_no_other(namespace: tuple[str, ...]) -> None:
    assert namespace_of(path_of(namespace)) == namespace


def test_an_async_memory_outside_a_loop_says_what_to_do() -> None:
    with pytest.raises(errors.InputError, match="open_sync"):
        Bridge(object())  # type: ignore[arg-type]

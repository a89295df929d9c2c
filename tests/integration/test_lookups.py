"""Exact questions: entries by what their envelope says, by a claim's subject, by their reads."""

from __future__ import annotations

from typing import Any

import pytest

from idetic import Claim, Decision, Observation, Tier, errors
from tests.conftest import World

pytestmark = pytest.mark.anyio
SHARED = True

TOKEN = "AKIA" + "IOSFODNN7EXAMPLE"
NOTES: dict[str, dict[str, Any]] = {
    "wire": {"topic": "payments/wire", "tags": ["friday", "late"], "activity": "review"},
    "wires": {"topic": "payments/wires", "tags": ["friday"], "activity": 7},
    "payments": {"topic": "payments", "activity": True},
    "none": {},
}
WHERE: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set(NOTES)),
    ({"topic": "payments"}, {"wire", "wires", "payments"}),
    ({"topic": "payments/wire"}, {"wire"}),
    ({"topic": "pay"}, set()),
    ({"topic": ["payments/wire", "payments/wires"]}, {"wire", "wires"}),
    ({"tags": "friday"}, {"wire", "wires"}),
    ({"tags": ["late", "other"]}, {"wire"}),
    ({"activity": "review"}, {"wire"}),
    ({"activity": 7}, {"wires"}),
    ({"activity": True}, {"payments"}),
    ({"activity": ["review", 7]}, {"wire", "wires"}),
    ({"topic": "payments", "tags": "friday", "activity": 7}, {"wires"}),
    ({"topic": "payments/%"}, set()),
    ({"topic": "' OR true --"}, set()),
]


@pytest.fixture
async def noted(world: World) -> World:
    session = await world.memory.session().open()
    await session.observe_many([Observation(f"the note {n}", e) for n, e in NOTES.items()])
    return world


@pytest.mark.parametrize(("where", "found"), WHERE, ids=[str(w) for w, _ in WHERE])
async def test_where_leaves_only_what_matches_every_key(
    noted: World, where: dict[str, Any], found: set[str]
) -> None:
    listed = await noted.memory.list(where=where)
    recalled = await noted.memory.recall("note", where=where)
    assert {entry.body_text.removeprefix("the note ") for entry in listed} == found
    assert {hit.entry.body_text.removeprefix("the note ") for hit in recalled} == found
    assert recalled.considered == len(found), "what is excluded is not even looked at"


async def test_where_excludes_and_the_envelope_ranks(noted: World) -> None:
    found = await noted.memory.recall(
        "note", where={"topic": "payments"}, envelope={"activity": 7, "tags": "friday"}
    )
    assert found.hits[0].entry.body_text == "the note wires"
    assert len(found) == 3
    nowhere = await noted.memory.recall(
        "note", where={"topic": "nowhere"}, envelope={"activity": 7}
    )
    assert len(nowhere) == 0


@pytest.mark.parametrize("where", [{"nothing": 1}, {"topic": None}, {"topic": {}}, "topic"])
async def test_where_takes_declared_keys_only(noted: World, where: Any) -> None:
    with pytest.raises(errors.EnvelopeRefused):
        await noted.memory.list(where=where)
    with pytest.raises(errors.EnvelopeRefused):
        await noted.memory.recall("note", where=where)


async def test_values_are_tallied(noted: World) -> None:
    memory = noted.memory
    assert await memory.tally("topic") == {
        "payments": 1, "payments/wire": 1, "payments/wires": 1
    }  # fmt: skip
    assert await memory.tally("activity", where={"tags": "friday"}) == {"7": 1, "review": 1}
    for key in ("tags", "nothing", "claim"):
        with pytest.raises(errors.EnvelopeRefused, match="cannot be tallied"):
            await memory.tally(key)


async def test_entries_are_found_by_what_they_are_about(world: World) -> None:
    operator = world.operator
    stated = [
        Observation("Be brief.", claim=Claim("Answer", "length", "brief")),
        Observation("In German.", claim=Claim("answer", "language", "de")),
        Observation("No emoji.", claim=Claim("emoji", "use", "none")),
    ]
    receipts = await operator.prefer_many(stated)
    assert [receipt.decision for receipt in receipts] == [Decision.ADD] * 3
    again = Observation("At length.", claim=Claim("answer", "length", "long"))
    (update,) = await operator.prefer_many([again])
    assert (update.decision, update.superseded) == (Decision.UPDATE, receipts[0].entry_id)
    found = await operator.about(["  ANSWER "])
    assert [entry.body_text for entry in found] == ["In German.", "At length."]
    assert all(entry.tier is Tier.PERSISTENT for entry in found)
    assert len(await operator.about(["answer", "emoji", "other"])) == 3
    assert await operator.about([]) == []
    for bad in ("answer", [""], [7], ["x" * 201], ["x"] * 1_001):
        with pytest.raises(errors.InputError):
            await operator.about(bad)  # type: ignore[arg-type]


async def test_preferences_are_stated_together_or_not_at_all(world: World) -> None:
    stated = [Observation("Be brief."), Observation("x" * 2_001)]
    with pytest.raises(errors.TextRefused):
        await world.operator.prefer_many(stated)
    assert await world.operator.list() == []
    with pytest.raises(errors.CapabilityRefused):
        await world.memory.prefer_many([Observation("Be brief.")])
    with pytest.raises(errors.InputError):
        await world.operator.prefer_many("Be brief.")  # type: ignore[arg-type]


async def test_reads_are_noted_and_the_last_one_is_told(noted: World) -> None:
    memory = noted.memory
    # An operator's: what an agent with an open session reads counts as shown to it.
    entries = await noted.operator.list()
    assert await memory.last_read([entry.id for entry in entries]) == {}
    await memory.note_read([entries[0].id, entries[1].id])
    first = await memory.last_read([entry.id for entry in entries])
    assert set(first) == {entries[0].id, entries[1].id}
    await memory.note_read([entries[0].id])
    second = await memory.last_read([entry.id for entry in entries])
    assert second[entries[0].id] > first[entries[0].id]
    assert second[entries[1].id] == first[entries[1].id]
    assert await memory.last_read([]) == {}


async def test_what_is_anothers_is_not_found(noted: World, other_world: World) -> None:
    theirs = other_world.memory
    entries = await noted.memory.list()
    await noted.memory.note_read([entries[0].id])
    await noted.operator.prefer("Be brief.", claim=Claim("answer", "length", "brief"))
    assert await theirs.about(["answer"]) == []
    assert await theirs.tally("topic") == {}
    assert await theirs.list(where={"topic": "payments"}) == []
    assert len(await theirs.recall("note", where={"topic": "payments"})) == 0
    assert await theirs.last_read([entry.id for entry in entries]) == {}


async def test_verbatim_is_kept_as_it_is_or_refused(world: World) -> None:
    session = await world.memory.session().open()
    said = f"The key was {TOKEN}, he said."
    with pytest.raises(errors.GateRefused, match="would remove") as refused:
        await session.observe_many([Observation("Good."), Observation(said, verbatim=True)])
    assert TOKEN not in str(refused.value)
    assert await session.list() == []
    await session.observe_many([Observation("Good.", verbatim=True), Observation(said)])
    assert [TOKEN in entry.body_text for entry in await session.list()] == [False, False]

"""Adopting what other stores remembered: through the gateway, with low trust, and a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from idetic import EntryState, Origin, Principal, errors
from idetic.model import Tier
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support.moving import every_row, exported, written

pytestmark = pytest.mark.anyio
SHARED = True

MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "8f2d", "memory": "Ada releases wires on Fridays only.", "hash": "x",
            "metadata": {"tags": ["wires"], "topic": "payments/wire", "score": 7},
            "created_at": "2025-01-02T03:04:05.678-07:00", "updated_at": None, "user_id": "ada",
        },
        {"id": "9a01", "memory": "Her card is 4111 1111 1111 1111, she said.", "metadata": None},
        {"id": "long", "memory": "x" * 5_000},
        {"id": "empty", "memory": "  "},
        {"id": "nul", "memory": "a\x00b"},
        {"id": "number", "memory": 7},
        {"id": "rule", "memory": RULE_TEXT},
        "not an object",
    ],
    "relations": [{"source": "ada", "relationship": "likes", "target": "fridays"}],
}  # fmt: skip
AT_NIGHT = {"kind": "Memory", "content": {"content": "Works at night."}}
SHORT = {"text": "Prefers short answers.", "activity": "chat"}
ITEMS: list[dict[str, Any]] = [
    {"namespace": ["users", "ada"], "key": "k1", "value": SHORT, "created_at": "2025-05-05T00:00Z"},
    {"namespace": ["users", "ada"], "key": "k2", "value": AT_NIGHT},
    {"prefix": "users.ben", "key": "k3", "value": {"data": "Is in Lisbon."}, "created_at": "?"},
    {"namespace": ["users"], "key": "k4", "value": {"numbers": [1, 2]}},
    {"key": "k5", "value": {"text": "no namespace"}},
]


async def test_a_dry_run_says_what_would_come_and_writes_nothing(
    world: World, database: TestDatabase
) -> None:
    before = every_row(database)
    told = await world.operator.adopt("mem0", MEM0, dry_run=True)
    assert every_row(database) == before
    assert (told.taken, told.known, told.dry_run, told.became) == (3, 0, True, {})
    assert {one.id: one.code for one in told.not_taken} == {
        "long": "text_refused", "empty": "text_refused", "nul": "text_refused", "number": "no_text",
        "#8": "no_memory", "relation #1": "relation",
    }  # fmt: skip
    assert "Ada" not in str(told.not_taken)


async def test_mem0_memories_pass_the_gateway_and_become_candidates(world: World) -> None:
    told = await world.operator.adopt("mem0", MEM0)
    assert (told.taken, told.known) == (2, 0)
    assert {one.id: one.code for one in told.not_taken}["rule"] == "shadow"
    assert told.left_out == {"score": 1}
    assert told.became == {"proposed": 2, "corroborated": 2}
    entries = {e.body_text: e for e in await world.operator.list(tier=Tier.PERSISTENT)}
    ada = entries["Ada releases wires on Fridays only."]
    assert (ada.origin, ada.trust, ada.candidate) == (Origin.EXTERNAL, 20, True)
    assert ada.envelope["tags"] == ["wires"]
    assert ada.claim
    assert ada.claim.subject == "mem0 8f2d"
    assert ada.valid_at
    assert ada.valid_at.isoformat() == "2025-01-02T10:04:05.678000+00:00"
    assert not any("4111" in text for text in entries), "the ingest gate was at work"
    (source,) = await world.operator.lineage(ada.id)
    links = await world.operator.history(source.source_id)
    assert links[0].transition == "imported"
    assert (await world.bind(Principal.auditor("ben")).verify()).intact


async def test_an_id_that_names_somebody_is_disguised(world: World, database: TestDatabase) -> None:
    item = {"namespace": ["users", "zora@quell.example"], "key": "k", "value": "Is in Lisbon."}
    assert (await world.operator.adopt("langgraph", [item])).taken == 1
    assert (await world.operator.adopt("langgraph", [item])).known == 1
    (entry,) = await world.operator.list(tier=Tier.PERSISTENT)
    assert entry.claim
    assert entry.claim.subject.startswith("langgraph ")
    assert "quell" not in (await exported(world.operator)).decode()


async def test_adopting_twice_takes_nothing_twice(world: World) -> None:
    first = await world.operator.adopt("langgraph", ITEMS)
    again = await world.operator.adopt("langgraph", ITEMS)
    assert (first.taken, again.taken, again.known) == (3, 0, 3)
    assert len(await world.operator.list(tier=Tier.PERSISTENT)) == 3


async def test_a_memory_that_changed_there_is_another_statement_of_the_same_claim(
    world: World,
) -> None:
    first = {"id": "m", "memory": "Ada is in Lisbon.", "updated_at": "2025-01-01T00:00:00Z"}
    await world.operator.adopt("mem0", [first])
    later = {**first, "memory": "Ada is in Porto.", "updated_at": "2025-02-02T00:00:00Z"}
    assert (await world.operator.adopt("mem0", [later])).taken == 1
    unsaid = {**later, "memory": "Ada is in Faro."}
    told = await world.operator.adopt("mem0", [unsaid, {"id": "n", "memory": "Ben is in Faro."}])
    assert (told.taken, [one.code for one in told.not_taken]) == (1, ["idempotency_conflict"])
    entries = await world.operator.list(tier=Tier.PERSISTENT)
    keys = [e.claim.key for e in entries if e.claim and e.state is EntryState.CURRENT]
    assert sorted(keys) == [("mem0 m", "remembered")] * 2 + [("mem0 n", "remembered")]


async def test_langgraph_items_are_read_wherever_they_keep_their_text(
    world: World, tmp_path: Path
) -> None:
    lines = "\n".join(json.dumps(item) for item in ITEMS).encode()
    told = await world.operator.adopt("langgraph", str(written(tmp_path / "items.jsonl", lines)))
    assert {one.id: one.code for one in told.not_taken} == {"users/k4": "no_text", "#5": "no_item"}
    texts = {e.body_text for e in await world.operator.list(tier=Tier.PERSISTENT)}
    assert texts == {"Prefers short answers.", "Works at night.", "Is in Lisbon."}
    listed = await world.operator.adopt("langgraph", {"items": ITEMS}, dry_run=True)
    assert listed.taken == 3


async def test_a_poisoned_import_is_rolled_back_by_its_source(world: World) -> None:
    await world.operator.adopt("mem0", MEM0)
    done = await world.operator.quarantine(reason="not ours", origin=Origin.EXTERNAL)
    assert len(done.entries) == 2
    assert await world.operator.list(tier=Tier.PERSISTENT) == []


@pytest.mark.parametrize(
    "data", ["", "[", "{}", '{"results": 7}', "7", "null", '{"a": 1}\n{', "[" * 50_000]
)
async def test_a_file_that_is_no_list_of_memories_is_refused(
    world: World, database: TestDatabase, tmp_path: Path, data: str
) -> None:
    path, before = written(tmp_path / "x.json", data.encode()), every_row(database)
    for source in ("mem0", "langgraph"):
        if data == "":
            assert (await world.operator.adopt(source, path)).taken == 0
            continue
        with pytest.raises(errors.InputError):
            await world.operator.adopt(source, path)
    assert every_row(database) == before


async def test_bad_sources_and_files_are_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match="mem0, langgraph"):
        await world.operator.adopt("zep", [])
    with pytest.raises(errors.InputError, match="cannot be read"):
        await world.operator.adopt("mem0", tmp_path / "missing")
    with pytest.raises(errors.InputError, match="UTF-8"):
        await world.operator.adopt("mem0", written(tmp_path / "b", b"\xff\xfe[]"))

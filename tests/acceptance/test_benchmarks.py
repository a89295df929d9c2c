"""The benchmarks run: what nobody measures for a month must not have broken meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench import against, common, concurrency, model, peers, recall, sets, vectors, write

pytestmark = pytest.mark.anyio


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the figures go, instead of beside those that were really measured."""
    monkeypatch.setattr(common, "OUT", tmp_path)
    return tmp_path


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return found


async def test_writes_are_measured(reported: Path) -> None:
    await write.main(rounds=1, block=2, bulk=40)
    found = {row["arm"]: row for row in rows(reported / "write.json")}
    assert found["observe"]["p50 ms"] > 0
    assert found["observe_many, guarded notes"]["rows/s"] > 0


async def test_writers_at_once_are_measured_beside_the_peer(reported: Path) -> None:
    await concurrency.main(rounds=1, writes=32, documents=10)
    found = {row["arm"]: row for row in rows(reported / "concurrency.json")}
    assert {f"many anchors, {clients} clients" for clients in concurrency.CLIENTS} <= found.keys()
    assert all(row["Idetic / LangGraph"] > 0 for row in found.values())


async def test_recalls_are_measured_and_find_what_is_nearest(reported: Path) -> None:
    await recall.main(entries=60, anchors=2, questions=25, peers=False, spread="model")
    found = {row["system"]: row for row in rows(reported / "recall_60_2.json")}
    assert found[recall.OURS]["recall@10 of exact"] == 1


SAID = (
    sets.Message("Ann: I adopted a grey cat called Momo.", 1),
    sets.Message("Bob: The train to Lyon left two hours late.", 1),
    sets.Message("Ann: My sister plays the cello in Oslo.", 2),
)
ASKED = sets.Question("What is the name of the cat?", "single-hop", frozenset({0}))


async def test_peers_are_measured_side_by_side_or_named_with_the_reason(
    reported: Path, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    monkeypatch.setattr(vectors, "OUT", reported)
    small = sets.Conversation("small-1", SAID, (ASKED,))
    monkeypatch.setitem(sets.SETS, "locomo", lambda: [small])
    await peers.main(["locomo"], range(1, 2), list(peers.PACKAGES))
    found = {row["memory"]: row for row in rows(reported / "peers.json")}
    here = {"BM25", "LangGraph", "LlamaIndex", "Idetic"}
    assert found.keys() == peers.PACKAGES.keys()
    assert {name: found[name].get("R@10") for name in here} == dict.fromkeys(here, 100)
    assert all(row["p50 ms"] > 0 for row in found.values() if "R@10" in row)
    assert all(row["not run"] for row in found.values() if "R@10" not in row)


def test_two_trees_are_compared(reported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"observe": 3, "observe_many": 1, "recall": 1, "recall_new": 1}
    monkeypatch.setattr(against, "CALLS", calls)
    against.main(common.ROOT, 1)
    found = rows(reported / "against.json")
    assert {row["call"] for row in found} == calls.keys()
    assert all(row["this / other"] > 0 for row in found)


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"is no checkout of Idetic: it has no src/idetic\."):
        against.main(tmp_path, 1)


def test_the_model_s_time_is_measured_alone_and_with_clients(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    (first, *_) = model.sentence_rows(["A sentence.", "Another one."])
    assert (first["threads"], first["calls at a time"]) == (1, 1)
    assert first["cpu ms"] > 0
    told = model.recalls(common.ROOT, clients=2, seconds=0, entries=2)
    assert list(told) == [f"{kind}, {n} clients" for kind in ("new", "repeated") for n in (1, 2)]
    assert all(rate > 0 and cpu > 0 for rate, cpu in told.values())

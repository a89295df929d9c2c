"""Side by side: other memories and Idetic on the same texts, with the same vectors, in one run.

Each is written session by session and asked through its own public API; the questions go round
all of them one by one, so that a slow moment falls on all. Vectors come from a file, so no time is
a model's. What could not be run stands in the table with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import anyio

from bench import common
from bench.common import report, versions
from bench.hindsight import HindsightStore
from bench.peer_arms import Arm, IdeticStore, WordStore, broken, peer_arm
from bench.peer_stores import ChromaStore, LangGraphStore, LlamaIndexStore, Mem0Store, PeerStore
from bench.place import bench_server, percentile
from bench.scoring import scores
from bench.sets import SETS, Conversation, Message
from bench.specs import spec_new
from bench.vectors import CachedEmbedder
from idetic import Idetic
from idetic.pieces import pieces

LIMIT = 10
OURS = "Idetic"
METRICS = ("R@10", "nDCG@10")
# The peers, and the package that each one's version is read from.
PACKAGES = {
    "BM25": "idetic",
    "LangGraph": "langgraph-checkpoint-postgres",
    "Mem0": "mem0ai",
    "Chroma": "chromadb",
    "LlamaIndex": "llama-index-core",
    "Hindsight": "hindsight-client",
    OURS: "idetic",
}
# The first questions of a store prepare statements and fill caches; they count for quality only.
WARM = 5


async def main(sets: Sequence[str], conversations: range, chosen: Sequence[str]) -> None:
    """Measure and report."""
    data = {name: _chosen(name, conversations) for name in sets}
    embedder = CachedEmbedder()
    _warm(embedder, data)
    rows: list[dict[str, Any]] = []
    for name, found in data.items():
        with bench_server() as server, ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            arms = _open(stack, server.dsn(), scratch, embedder, chosen)
            async with Idetic.open(home=server.home, embedder=embedder) as db:
                ours = IdeticStore(await db.agent(spec_new()))
                arms[OURS] = Arm(ours.write, ours.search)
                await measure(arms, found)
        _keep(name, found, arms)
        rows += [_row(name, arm, each, found) for arm, each in arms.items()]
    report(
        "peers",
        rows,
        {
            "conversations": {name: [c.name for c in found] for name, found in data.items()},
            "questions": {n: sum(len(c.questions) for c in found) for n, found in data.items()},
            "scope": "each question within its own conversation; the first 10 count",
            "written": "session by session, vectors given; for Hindsight see its module",
            "hindsight server": (common.ROOT / "bench" / "hindsight.txt").read_text().strip(),
            "model": embedder.profile.name,
            "peers": versions(*PACKAGES.values()),
        },
    )


def _chosen(name: str, conversations: range) -> list[Conversation]:
    found = [c for number, c in enumerate(SETS[name](), start=1) if number in conversations]
    if not found:
        sys.exit(f"{name} has no conversation {conversations.start}; name others.")
    return found


def _warm(embedder: CachedEmbedder, data: Mapping[str, Sequence[Conversation]]) -> None:
    """Make the vectors that are missing before anything waits for them."""
    every = [conversation for found in data.values() for conversation in found]
    asked = [q.text for c in every for q in c.questions]
    said = [m.text for c in every for m in c.messages]
    embedder.embed(asked, query=True)
    # Peers do not say whether a text is a question. Only Idetic is given long ones in pieces.
    embedder.embed([*asked, *said, *(piece for text in said for piece in pieces(text))])


def _open(
    stack: ExitStack, dsn: str, scratch: Path, embedder: CachedEmbedder, chosen: Sequence[str]
) -> dict[str, Arm]:
    """An arm for each peer, also for one that cannot be opened."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = embedder.embed(texts).tolist()
        return vectors

    makers: dict[str, Callable[[], PeerStore]] = {
        "BM25": WordStore,
        "LangGraph": lambda: LangGraphStore(dsn, embed),
        "Mem0": lambda: Mem0Store(dsn, scratch / "mem0", embed),
        "Chroma": lambda: ChromaStore(scratch / "chroma", embed),
        "LlamaIndex": lambda: LlamaIndexStore(embed),
        "Hindsight": lambda: HindsightStore(dsn, scratch / "hindsight", embed),
    }
    arms: dict[str, Arm] = {}
    for name, make in makers.items():
        if name not in chosen:
            continue
        try:
            arms[name] = peer_arm(stack.enter_context(closing(make())))
        except Exception as error:  # noqa: BLE001 - whatever stops a peer is told in the table
            arms[name] = broken(_reason("not opened", error))
    return arms


def _reason(what: str, error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{what}: {type(error).__name__}: {first}"[:160]


async def measure(arms: Mapping[str, Arm], conversations: Sequence[Conversation]) -> None:
    """Write everything to each arm in turn, then ask each question of every arm."""
    for conversation in conversations:
        for messages in _sessions(conversation):
            for arm in _running(arms):
                await _timed_write(arm, conversation.name, messages)
        print(f"{conversation.name} written", flush=True)
    for conversation in conversations:
        for question in conversation.questions:
            for arm in _running(arms):
                await _timed_search(arm, conversation.name, question.text)
        print(f"{conversation.name} asked", flush=True)


def _running(arms: Mapping[str, Arm]) -> Iterator[Arm]:
    return (arm for arm in arms.values() if not arm.failed)


def _sessions(conversation: Conversation) -> list[dict[str, Message]]:
    """The messages of each session under their places in the conversation."""
    sessions: dict[int, dict[str, Message]] = {}
    for place, message in enumerate(conversation.messages):
        sessions.setdefault(message.session, {})[str(place)] = message
    return list(sessions.values())


async def _timed_write(arm: Arm, space: str, messages: Mapping[str, Message]) -> None:
    start = time.perf_counter()
    try:
        await arm.write(space, messages)
    except Exception as error:  # noqa: BLE001 - whatever stops a peer is told in the table
        arm.failed = _reason("write failed", error)
    arm.seconds += time.perf_counter() - start


async def _timed_search(arm: Arm, space: str, question: str) -> None:
    start = time.perf_counter()
    try:
        found = await arm.search(space, question, LIMIT)
    except Exception as error:  # noqa: BLE001 - whatever stops a peer is told in the table
        arm.failed = _reason("search failed", error)
        return
    arm.times.append((time.perf_counter() - start) * 1000)
    arm.found.append([int(key) for key in found])


def _row(of: str, name: str, arm: Arm, conversations: Sequence[Conversation]) -> dict[str, Any]:
    package = PACKAGES[name]
    row: dict[str, Any] = {"set": of, "memory": name, "version": versions(package).get(package)}
    if arm.failed:
        return row | {"not run": arm.failed}
    questions = [q for c in conversations for q in c.questions]
    told = [scores(r, q) for r, q in zip(arm.found, questions, strict=True)]
    row |= {m: round(sum(one[m] for one in told) / len(told), 1) for m in METRICS}
    times = arm.times[WARM:] or arm.times
    row |= {"write s": round(arm.seconds, 2)}
    return row | {f"p{p} ms": round(percentile(times, p / 100), 2) for p in (50, 95)}


def _keep(of: str, conversations: Sequence[Conversation], arms: Mapping[str, Arm]) -> None:
    """One line per question: what every arm that ran found."""
    questions = [(c.name, q) for c in conversations for q in c.questions]
    common.OUT.mkdir(parents=True, exist_ok=True)
    with (common.OUT / f"peers_{of}_questions.jsonl").open("w", encoding="utf-8") as file:
        for place, (name, question) in enumerate(questions):
            top = {n: arm.found[place] for n, arm in arms.items() if not arm.failed}
            line = {"conversation": name, "question": question.text, "top10": top}
            file.write(json.dumps(line | {"evidence": sorted(question.evidence)}) + "\n")


def _numbers(text: str) -> range:
    """An option such as 3 or 1-3."""
    first, _, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise argparse.ArgumentTypeError("numbers of conversations look like 3 or 1-3")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.peers")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=["locomo"])
    parser.add_argument("--conversations", type=_numbers, default=range(1, 3), metavar="1-2")
    peers = [name for name in PACKAGES if name != OURS]
    parser.add_argument("--only", nargs="+", choices=peers, default=peers, help="beside Idetic")
    told = parser.parse_args()
    sys.exit(anyio.run(main, told.sets, told.conversations, told.only))

"""Quality of recall: all development sets, all shipped specs, through the public API.

LoCoMo, a part of BEAM 100K and a part of LongMemEval-S, each with plain BM25, a count of shared
words, and each spec's own semantic and lexical signal alone beside it. Two processes share the
work. Vectors are kept between runs under bench/out/vectors. Every question's outcome is in
bench/out/quality_questions.jsonl.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

from bench import common
from bench.arms import longest_entry, units
from bench.baselines import BASELINES
from bench.common import report, table
from bench.effort import processor_seconds
from bench.floors import below, gains, judged
from bench.place import bench_server
from bench.processes import Measured, measure_all
from bench.rankings import LIMIT, Ranking, pieces
from bench.scoring import METRICS, RESAMPLES, SEED, Scores, intervals, mean, scores
from bench.sets import SETS, Conversation, Question
from bench.specs import NEW, NEW_RERANKED, SpecData, measured, selectable
from bench.vectors import CachedEmbedder
from idetic.pieces import pieces as embedded_pieces

UNITS = {
    "locomo": "LoCoMo, whole; unit: turn",
    "beam": "8 of the 20 conversations of BEAM 100K; unit: message",
    "longmemeval": "120 of the 500 questions of LongMemEval-S; unit: head of a session",
}
Conversations = Mapping[str, Sequence[Conversation]]
# The rankings of each arm, by set: one for each question, in order.
Found = dict[str, dict[str, list[Ranking]]]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run is asked to measure; without bounds, everything."""

    sets: Sequence[str]
    specs: Sequence[str]
    conversations: range | None = None
    limit: int | None = None

    @property
    def whole(self) -> bool:
        """Whether the sets are measured whole: only then floors mean anything."""
        return self.conversations is None and self.limit is None

    def read(self) -> dict[str, list[Conversation]]:
        """The chosen sets with the chosen conversations and questions."""
        return {name: list(self._bounded(SETS[name]())) for name in self.sets}

    def _bounded(self, found: Sequence[Conversation]) -> Iterator[Conversation]:
        """The chosen conversations, with a limit only those questions that chance draws."""
        numbers = self.conversations or range(1, len(found) + 1)
        chosen = [c for number, c in enumerate(found, start=1) if number in numbers]
        asked = range(sum(len(c.questions) for c in chosen))
        most = len(asked) if self.limit is None else min(self.limit, len(asked))
        drawn = set(Random(SEED).sample(asked, most))  # noqa: S311 - repeatable
        place = count()
        for conversation in chosen:
            questions = tuple(q for q in conversation.questions if next(place) in drawn)
            if questions:
                yield replace(conversation, questions=questions)


def main(chosen: Selection) -> int:
    """Measure and report; 1 if a floor of a default recipe does not hold."""
    start = time.perf_counter()
    sets = chosen.read()
    specs = {name: spec for name, spec in selectable().items() if name in chosen.specs}
    embedder = CachedEmbedder()
    warm(embedder, sets, specs)
    warmed = time.perf_counter() - start
    with bench_server() as server:
        told = list(measure_all(server.home, embedder.path.parent, units(sets, specs)))
        spent = processor_seconds(server.home)
    found = gathered(sets, told)
    worth = scored(sets, found)
    keep(sets, found, worth)
    means = tell(sets, worth, {
        "sets": {name: UNITS[name] for name in sets},
        "whole": chosen.whole,
        "scope": "each question within its own conversation",
        "intervals": f"95 %, {RESAMPLES:,} bootstrap resamples of the questions, seed {SEED}",
        "model": embedder.profile.name,
        "pieces refused by an agent": "; ".join(lost(told)) or "none",
        "one measurement": shared(told),
        "seconds": f"{time.perf_counter() - start:.0f}, {warmed:.0f} of them for the vectors",
        "processor seconds": f"{spent:.0f} until everything was asked, the server's with them",
    })  # fmt: skip
    print("\nmeasured once:\n" + "\n".join(shared(told)))
    lines, hold = judged(specs, means)
    gained, enough = gains(worth)
    print("\n".join(below(specs, means)) or "no spec is below BM25 or its own single signals")
    print("\n".join(gained))
    if not chosen.whole:
        print("A part of the sets was measured, so no floor fails this run.")
        return 0
    print("\n".join(lines))
    return int(not (hold and enough))


def warm(embedder: CachedEmbedder, sets: Conversations, specs: Mapping[str, SpecData]) -> None:
    """Make the vectors that these specs need and are missing, before anything waits for them.

    The engine gives an embedder 30 seconds a call, which a busy machine exceeds.
    """
    every = _every(sets)
    asked = {q.text for c in every for q in c.questions}
    texts = [message.text for conversation in every for message in conversation.messages]
    # An entry holds a piece of ours, as long as its spec allows; of a long one the engine makes
    # its own.
    longest = {longest_entry(spec) for spec in specs.values()}
    held = {one for text in texts for most in longest for one in pieces(text, most)}
    said = {piece for one in held for piece in embedded_pieces(one)}
    for wanted, query in ((asked, True), (said, False)):
        ordered = sorted(wanted, key=len)
        for first in range(0, len(ordered), 256):
            embedder.embed(ordered[first : first + 256], query=query)
            print(f"vectors: {first:,} of {len(ordered):,}", end="\r", flush=True)
    print(f"vectors: {len(asked) + len(said):,} in {embedder.path.name}", flush=True)


def _every(sets: Conversations) -> list[Conversation]:
    return [conversation for conversations in sets.values() for conversation in conversations]


def gathered(sets: Conversations, told: Sequence[Measured]) -> Found:
    """The rankings of the baselines, of every spec, and of its single signals."""
    found: Found = {name: baselines(conversations) for name, conversations in sets.items()}
    for each in told:
        for arm, rankings in zip(each.unit.arms, each.found, strict=True):
            found[each.unit.set] |= dict.fromkeys(arm.names, rankings)
    return found


def lost(told: Sequence[Measured]) -> list[str]:
    """How many pieces each agent refused to remember."""
    return [
        f"{each.unit.set} {each.unit.arms[0].spec['agent']} {each.refused}"
        for each in told
        if each.refused
    ]


def shared(told: Sequence[Measured]) -> list[str]:
    """The arms that are one measurement."""
    return [
        f"{each.unit.set}: {' = '.join(arm.names)}"
        for each in told
        for arm in each.unit.arms
        if len(arm.names) > 1
    ]


def baselines(conversations: Sequence[Conversation]) -> dict[str, list[Ranking]]:
    """What plain words find."""
    found: dict[str, list[Ranking]] = {name: [] for name in BASELINES}
    for conversation in conversations:
        texts = [message.text for message in conversation.messages]
        for name, index in BASELINES.items():
            search = index(texts).search
            found[name] += [search(q.text, LIMIT) for q in conversation.questions]
    return found


def scored(sets: Conversations, found: Found) -> dict[str, dict[str, list[Scores]]]:
    """The metrics of every ranking."""
    asked = {
        name: [q for c in conversations for q in c.questions]
        for name, conversations in sets.items()
    }
    return {
        of: {
            arm: [scores(r, q) for r, q in zip(rankings, asked[of], strict=True)]
            for arm, rankings in arms.items()
        }
        for of, arms in found.items()
    }


def keep(
    sets: Conversations, found: Found, told: Mapping[str, Mapping[str, Sequence[Scores]]]
) -> None:
    """One line per question: what every arm found, and what it was worth."""
    common.OUT.mkdir(parents=True, exist_ok=True)
    with (common.OUT / "quality_questions.jsonl").open("w", encoding="utf-8") as file:
        for of, conversations in sets.items():
            asked = [(c.name, n, q) for c in conversations for n, q in enumerate(c.questions)]
            for at, (conversation, number, question) in enumerate(asked):
                arms = {
                    arm: {"top10": found[of][arm][at][:10], **_shown(of, told[of][arm][at])}
                    for arm in found[of]
                }
                line = {"set": of, "conversation": conversation, "question": number}
                file.write(json.dumps(line | _about(question) | {"arms": arms}) + "\n")


def _about(question: Question) -> dict[str, Any]:
    return {
        "category": question.category,
        "text": question.text,
        "evidence": sorted(question.evidence),
    }


def _shown(of: str, told: Scores) -> Scores:
    return {metric: round(told[metric], 1) for metric in METRICS[of] if metric in told}


def tell(
    sets: Conversations,
    told: Mapping[str, Mapping[str, Sequence[Scores]]],
    meta: Mapping[str, Any],
) -> dict[str, dict[str, Scores]]:
    """Print and write the table, the categories with it; returns the means of each arm."""
    rows, kinds = [], []
    means: dict[str, dict[str, Scores]] = {}
    for of, arms in told.items():
        asked = [q.category for c in sets[of] for q in c.questions]
        for arm, each in arms.items():
            means.setdefault(of, {})[arm] = mean(each, METRICS[of])
            whole = {"set": of, "arm": arm, "questions": len(each), **means[of][arm]}
            rows.append(whole | _intervals(each, METRICS[of][:2]))
            kinds.append(whole | {"category": "all"} | _intervals(each, METRICS[of]))
            for category in sorted(set(asked)):
                members = [s for s, c in zip(each, asked, strict=True) if c == category]
                part = {"set": of, "arm": arm, "questions": len(members), "category": category}
                kinds.append(part | mean(members, METRICS[of]) | _intervals(members, METRICS[of]))
    report("quality", rows, {**meta, "categories": kinds})
    for of in told:
        print(f"\n{of} by category, {METRICS[of][0]}\n{table(_pivot(of, kinds))}")
    return means


def _intervals(told: Sequence[Scores], metrics: Sequence[str]) -> dict[str, str]:
    bounds = intervals(told, metrics)
    return {f"{name} 95 %": f"{low}-{high}" for name, (low, high) in bounds.items()}


def _pivot(of: str, kinds: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One line per arm, one column per category."""
    lines: dict[str, dict[str, Any]] = {}
    for row in kinds:
        if row["set"] == of:
            line = lines.setdefault(row["arm"], {"arm": row["arm"]})
            line[f"{row['category']} ({row['questions']})"] = row[METRICS[of][0]]
    return list(lines.values())


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """An option that names some of what is known, with commas."""

    def read(text: str) -> list[str]:
        given = [name.strip() for name in text.split(",")]
        if wrong := [name for name in given if name not in known]:
            raise argparse.ArgumentTypeError(f"{wrong[0]!r} is none of {', '.join(known)}")
        return given

    return read


def _numbers(text: str) -> range:
    """An option such as 3 or 1-3."""
    first, _, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise argparse.ArgumentTypeError("numbers of conversations look like 3 or 1-3")
    return range(int(first), int(last or first) + 1)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError("a number of questions is 1 or more")
    return int(text)


if __name__ == "__main__":
    specs, known = list(measured()), list(selectable())
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.quality")
    parser.add_argument("--sets", type=_names(list(SETS)), default=list(SETS), metavar="A,B")
    parser.add_argument("--specs", type=_names(known), default=specs, metavar="A,B")
    parser.add_argument(
        "--reranker",
        action="store_const",
        dest="specs",
        const=[NEW, NEW_RERANKED],
        help="what the reranker adds to the default recipe; it takes most of a second a question",
    )
    parser.add_argument("--conversations", type=_numbers, metavar="1-3", help="of each set")
    drawn = "so many questions of each set, drawn by chance (seeded)"
    parser.add_argument("--limit", type=_count, metavar="N", help=drawn)
    told = parser.parse_args()
    chosen = Selection(told.sets, told.specs, told.conversations, told.limit)
    sys.exit(main(chosen))

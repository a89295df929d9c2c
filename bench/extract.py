"""Extraction: what the rules draw from conversations, how much is right, what a model may say.

Precision is of claims that a person labelled. The rules were made with LoCoMo's conversations 1 to
5 in view; the figures that count are of 6 to 10, and of sessions of LongMemEval that nobody had
looked at. The model is a played one, over HTTP, that lies now and then; `--model` asks a real one
at any OpenAI-compatible endpoint, for example the small one of docs/how-to/use-a-reasoner.md.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from bench.common import commit, machine, report
from bench.extract_turns import Labels, SaidTurn, chat_turns, said_turns
from bench.played_extractor import PlayedExtractor
from bench.played_reader import played_reader
from idetic.extract import ExtractedClaim, Extraction, ModelExtractor, RuleExtractor
from idetic.extract.attributes import kind_of
from idetic.reason import Caps, Endpoint, Meter, OpenAICompatible

FLOOR, SAMPLE, SEED = 0.9, 200, 18
Drawn = list[tuple[SaidTurn, ExtractedClaim]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is asked for beside the rules."""

    model: str | None
    base_url: str | None
    turns: int
    per_call: int
    answer_tokens: int


async def main(asked: Asked) -> int:
    """Measure and report; 1 if a floor does not hold."""
    labels = Labels()
    said = said_turns() + chat_turns(labels.sessions)
    began = time.perf_counter()
    first = await _drawn(said)
    seconds = time.perf_counter() - began
    again = await _drawn(said)
    facts = {
        "turns": len(said),
        "seconds": round(seconds, 2),
        "claims": len(first),
        "turns with a claim": len({s.turn.id for s, _ in first}),
        "labelled turns, not in view": len(
            {s.turn.id for s, c in first if not s.tuned and labels.right(s, c) is not None}
        ),
        "claims without a label": sum(labels.right(s, c) is None for s, c in first),
        "claims without evidence": sum(not c.rests_on({s.turn.id: s.turn}) for s, c in first),
        "the same twice": first == again,
        **{f"precision on {name}": _judged(of, labels) for name, of in _parts(first).items()},
    }
    facts |= await _played(said)
    if asked.model:
        facts |= await _asked(said, asked)
    report("extract", _rows(first, labels), facts)
    print(f"machine: {machine()}\ncommit: {commit()}")
    failed = _failed(first, labels, facts)
    for fault in failed:
        print(f"BELOW THE FLOOR: {fault}")
    return 1 if failed else 0


async def _drawn(said: Sequence[SaidTurn]) -> Drawn:
    """What the rules draw, with where it was said."""
    places = {each.turn.id: each for each in said}
    found = await RuleExtractor().extract([each.turn for each in said])
    return [(places[claim.turns[0]], claim) for claim in found.claims]


def _parts(drawn: Drawn) -> dict[str, Drawn]:
    """The claims by where they were said."""
    return {
        "LoCoMo 1-5 (in view)": [(s, c) for s, c in drawn if s.tuned],
        "LoCoMo 6-10 (not in view)": [(s, c) for s, c in drawn if not s.tuned and not s.chat],
        "LongMemEval (not in view)": [(s, c) for s, c in drawn if s.chat],
    }


def _judged(drawn: Drawn, labels: Labels) -> str:
    """The precision on one part of the conversations, in words."""
    right, of = _counts(drawn, labels)
    turns = len({s.turn.id for s, _ in drawn})
    return f"{right / of:.3f} ({right} of {of} claims, {turns} turns)" if of else "no label"


def _counts(drawn: Drawn, labels: Labels) -> tuple[int, int]:
    """How many claims are right, of how many that have a label."""
    found = [labels.right(s, c) for s, c in drawn]
    return sum(label is True for label in found), sum(label is not None for label in found)


def _rows(drawn: Drawn, labels: Labels) -> list[dict[str, Any]]:
    """Claims by attribute, and how many of them are right."""
    kinds = Counter(_kind(claim) for _, claim in drawn)
    rows = []
    for kind, count in kinds.most_common():
        of_kind = [(s, c) for s, c in drawn if _kind(c) == kind]
        right, labelled = _counts(of_kind, labels)
        rows.append({"attribute": kind, "claims": count, "labelled": labelled, "right": right})
    return rows


def _kind(claim: ExtractedClaim) -> str:
    kind = kind_of(claim.claim)
    return kind.name if kind else "?"


def _failed(drawn: Drawn, labels: Labels, facts: dict[str, Any]) -> list[str]:
    """Which floors do not hold."""
    unseen = [part for name, part in _parts(drawn).items() if "not in view" in name]
    counted = [_counts(part, labels) for part in unseen]
    checks = {
        f"precision on what was not in view is at least {FLOOR}": all(
            of > 0 and right / of >= FLOOR for right, of in counted
        ),
        f"at least {SAMPLE} turns not in view are labelled": (
            facts["labelled turns, not in view"] >= SAMPLE
        ),
        "every claim has a label": facts["claims without a label"] == 0,
        "every claim has evidence": facts["claims without evidence"] == 0,
        "the same run twice gives the same": facts["the same twice"],
        "every lie is refused": facts["played: lies taken"] == 0,
    }
    return [name for name, holds in checks.items() if not holds]


async def _played(said: Sequence[SaidTurn]) -> dict[str, Any]:
    """The played model over all turns: what it told, what was taken."""
    player = PlayedExtractor()
    with played_reader(answer=player) as server:
        found = await _extracted(said, Endpoint("played", base_url=server.url), 20)
    foreign = "Zebulon", "8731", "never said anything", "owes_money_to"
    lies = sum(any(word in f"{c.claim} {c.quote}" for word in foreign) for c in found.claims)
    return {
        "played: honest claims, lies": (player.honest, player.lies),
        "played: lies taken": lies,
        "played: taken, refused": (len(found.claims), len(found.refused)),
        "played: without evidence": _unfounded(said, found),
        "played: calls, tokens": (found.usage.calls, found.usage.tokens),
        **{f"played, refused: {reason}": n for reason, n in _reasons(found)},
    }


async def _asked(said: Sequence[SaidTurn], asked: Asked) -> dict[str, Any]:
    """A real model over a sample of turns that the rules found something in, and others."""
    sample = random.Random(SEED).sample(list(said), asked.turns)  # noqa: S311 - not a secret
    endpoint = Endpoint(
        asked.model or "", asked.base_url, retries=0, answer_tokens=asked.answer_tokens
    )
    began = time.perf_counter()
    found = await _extracted(sample, endpoint, asked.per_call)
    for claim in found.claims:
        print(f"{asked.model} says: {claim.text}")
    return {
        f"{asked.model}: turns": len(sample),
        f"{asked.model}: taken, refused": (len(found.claims), len(found.refused)),
        f"{asked.model}: without evidence": _unfounded(sample, found),
        f"{asked.model}: unread, stopped": (len(found.unread), found.stopped),
        f"{asked.model}: calls, tokens": (found.usage.calls, found.usage.tokens),
        f"{asked.model}: seconds": round(time.perf_counter() - began),
        **{f"{asked.model}, refused: {reason}": n for reason, n in _reasons(found)},
    }


async def _extracted(said: Sequence[SaidTurn], endpoint: Endpoint, per_call: int) -> Extraction:
    caps = Caps(tokens_per_run=20_000_000, calls_per_run=10_000, seconds_per_call=600)
    async with OpenAICompatible(endpoint, Meter(caps)) as reasoner:
        extractor = ModelExtractor(reasoner, turns_per_call=per_call)
        return await extractor.extract([each.turn for each in said])


def _unfounded(said: Sequence[SaidTurn], found: Extraction) -> int:
    turns = {each.turn.id: each.turn for each in said}
    return sum(not claim.rests_on(turns) for claim in found.claims)


def _reasons(found: Extraction) -> list[tuple[str, int]]:
    return Counter(refused.reason for refused in found.refused).most_common()


def run() -> int:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="the name of a real model to ask as well")
    parser.add_argument("--base-url", help="where it is served; without it, OpenAI's own server")
    parser.add_argument("--turns", type=int, default=200, help="how many turns it is shown")
    parser.add_argument("--per-call", type=int, default=20, help="how many of them at a time")
    parser.add_argument("--answer-tokens", type=int, default=1_500, help="how long it may answer")
    return anyio.run(main, Asked(**vars(parser.parse_args())))


if __name__ == "__main__":
    sys.exit(run())

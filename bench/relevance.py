"""Relevance: does a memory know anything about a question, and does a hit help?

Every question of the three development sets is asked in its own conversation and in another one,
through the public API. The values are fitted on LoCoMo 1-5 alone (`--fit` prints them anew), so
LoCoMo 6-10, the BEAM part and the LongMemEval part are held out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product as product_of
from typing import Any

import anyio

from bench.common import commit, machine, report, table
from bench.place import bench_server
from bench.quality import warm
from bench.relevance_fit import below, bins, chances, fitted
from bench.relevance_questions import Heard, Puts, heard, without_names
from bench.sets import SETS, Conversation
from bench.specs import NEW, SpecData, selectable, single
from bench.vectors import CachedEmbedder
from idetic import Idetic
from idetic.recall import relevance as product
from idetic.recall.floors import NOTHING_KNOWN, above_floors
from idetic.recall.hits import AppliedFloors, Recall
from idetic.recall.relevance import HIT_FLOOR, QUESTION_FLOOR, Company, Sense, hit_features

# The parts of the sets: the first is fitted on, the others are not.
PARTS: dict[str, Callable[[], list[Conversation]]] = {
    "LoCoMo 1-5 (fitted)": lambda: SETS["locomo"]()[:5],
    "LoCoMo 6-10": lambda: SETS["locomo"]()[5:],
    "BEAM part": SETS["beam"],
    "LongMemEval part": SETS["longmemeval"],
}
# Nothing is measured on what it was fitted on.
FITTED, *HELD_OUT = PARTS
SINGLE = {Sense.WORDS: "lexical", Sense.MEANING: "semantic"}
# What each sense reads of a question and of a hit.
_BESIDE = ("known x nearest", "known x coverage", "unheard x nearest", "unheard x coverage")
QUESTION = {
    Sense.BOTH: ("nearest", "coverage", "name known", "name unheard", *_BESIDE, "size"),
    Sense.WORDS: ("coverage", "name known", "name unheard", "size"),
    Sense.MEANING: ("nearest", "size"),
}
_WORDS = ("words behind", "coverage behind", "known x words", "known x coverage")
_MEANING = ("below", "known x below")
_BEHIND = ("below", "words behind", "coverage behind", "known x coverage")
_FAR = ("far below", "far in words", "far together")
_PLACE = ("place behind", "known x place")
_TIME = ("names a time", "asked of a time", "time in both")
_ANY = ("statement", "length", "other speaker", "time", "known")
HIT = {
    Sense.BOTH: (*_BEHIND, *_FAR, *_PLACE, *_TIME, "says", "known squared", *_ANY),
    Sense.WORDS: (*_WORDS, *_ANY),
    Sense.MEANING: (*_MEANING, *_ANY),
}
# The floors: of what is asked of a whole memory, nine tenths of foreign questions lie below the
# first, 3.8 % of the evidence below the second: conversations that nothing was fitted on lose 4.9.
SILENCED, LOST = 0.9, 0.038
# A bin of fewer says little.
JUDGED = 20
FLOORS = AppliedFloors(QUESTION_FLOOR, HIT_FLOOR)
Rows = list[dict[str, float]]


async def main(spec: str, chosen: Sequence[str], *, fit: bool) -> None:
    """Measure and report, or fit and print."""
    start = time.perf_counter()
    parts = {name: PARTS[name]() for name in ([FITTED] if fit else chosen)}
    embedder = CachedEmbedder()
    warm(embedder, parts, {spec: selectable()[spec]})
    embedder.embed(sorted(set().union(*map(_nameless, parts.values()))), query=True)
    with bench_server() as server:
        async with Idetic.open(home=server.home, embedder=embedder) as db:
            if fit:
                await fit_all(db, selectable()[spec], parts[FITTED])
            else:
                await measure(db, selectable()[spec], parts, spec, start)
    print(f"commit {commit()}, {machine()}, {time.perf_counter() - start:.0f} s")


def _nameless(conversations: Sequence[Conversation]) -> set[str]:
    return {without_names(c, q.text) for c in conversations for q in c.questions}


async def fit_all(db: Idetic, spec: SpecData, conversations: Sequence[Conversation]) -> None:
    """Print the coefficients and the floors that these conversations come to."""
    puts = Puts(conversations, nameless=True).made()
    for sense in Sense:
        asked = spec if sense is Sense.BOTH else single(spec, SINGLE[sense])
        answers = await heard(db, asked, puts)
        given = _question_rows(answers, sense)
        known = fitted(given, [one.put.own for one in answers])
        # The value of a hit reads that of its question, so the new one has to be in place.
        product.KNOWN[sense] = known
        hits, truths = _hit_rows(answers, sense)
        relevant = fitted(hits, truths)
        _tell(sense, known, relevant)
        if sense is Sense.BOTH:
            _floors(answers, dict(zip(map(id, answers), chances(known, given), strict=True)))


def _question_rows(answers: Sequence[Heard], sense: Sense) -> Rows:
    """The features of every question."""
    told = (product.question_features(one.grounds) for one in answers)
    return [{name: row[name] for name in QUESTION[sense]} for row in told]


def _hit_rows(answers: Sequence[Heard], sense: Sense) -> tuple[Rows, list[bool]]:
    """The features of every hit of a question with its names, and whether it is evidence."""
    rows, truths = [], []
    for one in answers:
        company = Company.of([hit for hit, _ in one.hits])
        for hit, true in one.hits if one.put.named else ():
            told = hit_features(hit, one.grounds, sense, company)
            rows.append({name: told[name] for name in HIT[sense]})
            truths.append(true)
    return rows, truths


def _tell(sense: Sense, known: Mapping[str, float], relevant: Mapping[str, float]) -> None:
    for title, found in (("KNOWN", known), ("RELEVANT", relevant)):
        print(f"{title}[{sense}] = {{")
        print("\n".join(f'    "{name}": {value:.4g},' for name, value in found.items()) + "\n}")


def _floors(answers: Sequence[Heard], known: Mapping[int, float]) -> None:
    """The floors, from whole memories and questions with their names."""
    whole = [one for one in answers if not one.put.small and one.put.named]
    foreign = [known[id(one)] for one in whole if not one.put.own]
    hits, truths = _hit_rows([one for one in whole if one.put.own], Sense.BOTH)
    print(f"QUESTION_FLOOR = {below(foreign, SILENCED):.3g}")
    coefficients = fitted(*_hit_rows(answers, Sense.BOTH))
    values = chances(coefficients, hits)
    evidence = [float(v) for v, true in zip(values, truths, strict=True) if true]
    print(f"HIT_FLOOR = {below(evidence, LOST):.3g}")


async def measure(
    db: Idetic,
    spec: SpecData,
    parts: Mapping[str, Sequence[Conversation]],
    name: str,
    start: float,
) -> None:
    """Print both tables and the calibration of both values, part by part."""
    rows, calibrations = [], {}
    for part, conversations in parts.items():
        answers = await heard(db, spec, Puts(conversations, nameless=True).made())
        for named, small in product_of((True, False), (False, True)):
            chosen = [o for o in answers if o.put.small == small and o.put.named == named]
            size = "1-30 entries" if small else "whole"
            kind = {"part": part, "memory": size, "names": "with" if named else "without"}
            # Not every set names its speakers.
            rows += [kind | _figures(chosen)] if chosen else []
        calibrations[part] = _calibration(answers)
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
    for part, (questions, hits) in calibrations.items():
        print(f"\n{part}: known\n{table(questions)}\n\n{part}: relevance\n{table(hits)}")
    print()
    report("relevance", rows, {
        "spec": name,
        "floors": f"question {QUESTION_FLOOR}, hit {HIT_FLOOR}",
        "own, foreign": "questions at or above the floor in their own memory; below it in another",
        "evidence, irrelevant": "hits of own questions that both floors leave out of a context",
        "off": ", ".join(f"{part}: {_off(told)}" for part, told in calibrations.items()),
        "calibration": {
            part: {"known": questions, "relevance": hits}
            for part, (questions, hits) in calibrations.items()
        },
    })  # fmt: skip


def _figures(answers: Sequence[Heard]) -> dict[str, Any]:
    """What the floors do to these answers."""
    own = [one for one in answers if one.put.own]
    foreign = [one for one in answers if not one.put.own]
    hits = [(hit, true) for one in own for hit, true in one.hits]
    kept = {id(hit) for one in own for hit in _above(one)[0] or ()}
    return {
        "questions": len(own),
        "own answered": _share(map(_answered, own)),
        "foreign silenced": _share(not _answered(one) for one in foreign),
        "evidence lost": _share(id(hit) not in kept for hit, true in hits if true),
        "irrelevant gone": _share(id(hit) not in kept for hit, true in hits if not true),
    }


def _answered(one: Heard) -> bool:
    return _above(one)[1] != NOTHING_KNOWN


def _above(one: Heard) -> tuple[Recall | None, str | None]:
    """What is left of an answer above the floors that were fitted."""
    return above_floors(replace(one.recall, floors=FLOORS))


def _share(found: Iterable[bool]) -> float:
    every = list(found)
    return round(100.0 * sum(every) / max(len(every), 1), 1)


def _off(tables: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """The most that a bin of either value is off, where it has enough in it to be judged."""
    most = [
        max((abs(row["off"]) for row in rows if row["count"] >= JUDGED), default=0.0)
        for rows in tables
    ]
    return "known {:.3f}, relevance {:.3f}".format(*most)


def _calibration(answers: Sequence[Heard]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ten bins of either value: own questions against foreign ones, evidence against the rest."""
    asked = [one for one in answers if one.put.named]
    hits = [(hit.relevance or 0.0, true) for one in asked for hit, true in one.hits]
    return (
        bins([one.recall.known or 0.0 for one in answers], [one.put.own for one in answers]),
        bins([value for value, _ in hits], [true for _, true in hits]),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.relevance")
    parser.add_argument("--fit", action="store_true", help="print the coefficients anew")
    parser.add_argument("--parts", nargs="+", choices=HELD_OUT, default=HELD_OUT)
    parser.add_argument("--spec", choices=list(selectable()), default=NEW)
    told = parser.parse_args()

    async def run() -> None:
        """Measure or fit."""
        await main(told.spec, told.parts, fit=told.fit)

    anyio.run(run)

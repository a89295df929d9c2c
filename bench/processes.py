"""Two processes that measure side by side: one core asks while the other answers, and both work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import anyio

from bench.arms import Unit
from bench.rankings import Ranking, refused, run
from bench.vectors import CachedEmbedder
from idetic import Idetic

PROCESSES = 2
# Seconds between two lines that say how far it is.
_TOLD_EVERY = 15


@dataclass(frozen=True, slots=True)
class Measured:
    """The rankings of each arm of a unit, and how many pieces its agent refused."""

    unit: Unit
    found: list[list[Ranking]]
    refused: int


def measure_all(home: Path, vectors: Path, units: Sequence[Unit]) -> Iterator[Measured]:
    """Measure units over the server of a home, telling how far it is."""
    context = get_context("spawn")
    asked, start = context.Value("q", 0), time.perf_counter()
    every = sum(unit.questions for unit in units)
    with ProcessPoolExecutor(PROCESSES, context, _begin, (asked,)) as pool:
        waiting: set[Future[Measured]] = {pool.submit(_work, home, vectors, u) for u in units}
        while waiting:
            done, waiting = wait(waiting, _TOLD_EVERY, FIRST_COMPLETED)
            yield from (each.result() for each in done)
            print(progress(asked.value, every, time.perf_counter() - start), flush=True)


def progress(asked: int, of: int, seconds: float) -> str:
    """How many of the questions are asked, and how long the others take at that rate."""
    left = f", {(of - asked) * seconds / asked / 60:.0f} min left" if asked else ""
    return f"{seconds:.0f} s: {asked:,} of {of:,} questions{left}"


# The counter that all processes share; a pool hands it over when it begins one.
_asked: Any = None


def _begin(asked: Any) -> None:
    global _asked  # noqa: PLW0603
    _asked = asked


def _count() -> None:
    with _asked.get_lock():
        _asked.value += 1


def _work(home: Path, vectors: Path, unit: Unit) -> Measured:
    """Measure a unit in this process."""

    async def work() -> Measured:
        embedder = CachedEmbedder(folder=vectors)
        async with Idetic.open(home=home, embedder=embedder) as db:
            return await measure(db, unit, _count)

    return anyio.run(work)


async def measure(db: Idetic, unit: Unit, count: Callable[[], None]) -> Measured:
    """Write the set and ask every arm; `count` is called after each question."""
    found = []
    for arm in unit.arms:
        start = time.perf_counter()
        rankings = await run(db, arm.spec, unit.conversations, count)
        found.append([ranking for each in rankings for ranking in each])
        print(f"{unit.set}: {arm.names[0]}, {time.perf_counter() - start:.0f} s", flush=True)
    return Measured(unit, found, refused(db, unit.arms[0].spec, unit.conversations))

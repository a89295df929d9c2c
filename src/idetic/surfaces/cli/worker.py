"""`idetic worker`: background work from the shell, until stopped or until nothing is left."""

# ruff: noqa: PLC0415
from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, examples

if TYPE_CHECKING:
    from idetic.jobs.worker import Counts
    from idetic.library.idetic import Idetic

WORKER = examples("idetic worker", "idetic worker --concurrency 4", "idetic worker --once --json")


def worker(
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then exit.")] = False,
    concurrency: Annotated[int, typer.Option(help="How many jobs at once; at most 64.")] = 2,
    dsn: Dsn = None,
    json: Json = False,
) -> int:
    """Do background work: embed what is pending, and whatever else waits in the queue.

    Runs until Ctrl-C or SIGTERM; what is running then ends, or goes back to the queue. Any number
    of workers can share one database. Says what was done at the end; with --once, the exit code
    is 1 if a job failed for good.
    """
    from idetic.surfaces.cli.sources import with_database

    with logged("idetic.jobs", quiet=json):
        counts = with_database(dsn, lambda db: _work(db, concurrency, once=once))
    output.answer(asdict(counts), json, lambda console: console.print(_said(counts)))
    return 1 if once and counts.failed else 0


async def _work(db: Idetic, concurrency: int, *, once: bool) -> Counts:
    from idetic.jobs.worker import Worker, stopping_on_signals

    working = Worker(db, concurrency=concurrency)
    with stopping_on_signals(working):
        return await (working.drain() if once else working.run())


@contextmanager
def logged(*names: str, quiet: bool) -> Iterator[None]:
    """A line for each job or request on stderr for whoever watches; none beside JSON.
    procrastinate's own lines say the same, less plainly."""
    logging.getLogger("procrastinate").addHandler(logging.NullHandler())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    shown = logging.NullHandler() if quiet else handler
    logs = [logging.getLogger(name) for name in names]
    for log in logs:
        log.addHandler(shown)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(shown)


def _said(counts: Counts) -> str:
    told = [
        f"{counts.succeeded} jobs done",
        f"{counts.retried} to be tried again",
        f"{counts.failed} failed",
        f"{counts.released} given back",
    ]
    return f"{', '.join(told)}. {counts.swept} found by looking, {counts.recovered} taken over."

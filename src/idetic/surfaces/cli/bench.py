"""`idetic bench`: the benchmarks of a checkout. They are no part of the installed package."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Json, examples

if TYPE_CHECKING:
    from pathlib import Path

BENCH = examples("idetic bench", "idetic bench write")


def bench(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK", show_default=False, help="Its name; without one, all are listed."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Run one benchmark, or list all. It needs a checkout of the source.

    A benchmark prints its result on stdout. With --json it prints on stderr, and the answer is its
    exit code.
    """
    import subprocess
    import sys

    from idetic.errors import InputError

    root, tasks = _tasks()
    if task is None:
        output.answer({"tasks": tasks}, json, lambda console: console.print(*tasks, sep="\n"))
        return 0
    if task not in tasks:
        raise InputError(
            f"There is no benchmark called {task[:50]!r}.", remedy=f"They are: {', '.join(tasks)}."
        )
    done = subprocess.run(  # noqa: S603 - a module of this checkout, by a name from its own list
        [sys.executable, "-m", f"bench.{task}"],
        cwd=root,
        check=False,
        stdout=sys.stderr if json else None,
    )
    if json:
        output.answer({"task": task, "exit_code": done.returncode}, json, lambda _: None)
    return done.returncode


def _tasks() -> tuple[Path, list[str]]:
    """The checkout's root and its benchmarks' names; raises InputError where there are none."""
    from pathlib import Path

    import idetic
    from idetic.errors import InputError

    root = Path(idetic.__file__).parents[2]
    # A module that can be run is a benchmark; what the others share is not.
    names = sorted(
        each.stem
        for each in (root / "bench").glob("*.py")
        if '__name__ == "__main__"' in each.read_text("utf-8")
    )
    if not names:
        raise InputError(
            "There are no benchmarks here: they are part of a checkout, not of the package.",
            remedy="Clone the repository and run `make bench` there.",
        )
    return root, names

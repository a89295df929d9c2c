"""A bar on stderr for whoever watches long work; none beside JSON, and none without a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from idetic.surfaces.cli import output

Report = Callable[[int, int], None]


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Report | None]:
    """How far it is: call what is given with how much is done, and of how much."""
    console = output.console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=quiet or not console.is_terminal
    ) as shown:
        task = shown.add_task(what, total=None)

        def report(done: int, of: int) -> None:
            shown.update(task, completed=done, total=of)

        yield None if quiet else report

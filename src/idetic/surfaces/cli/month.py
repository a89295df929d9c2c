"""`idetic demo month`: a World Agent's month in the terminal, in a few seconds."""

from __future__ import annotations

import time

from rich.console import Console

from idetic.surfaces.cli import output
from idetic.surfaces.cli.month_play import month_clock, play_month
from idetic.surfaces.cli.month_show import show_event, show_state
from idetic.surfaces.cli.month_state import State
from idetic.surfaces.cli.sources import with_database
from idetic.world.player import Told

_TITLES = {"month": "After the month, on day 31", "after": "Eleven weeks later, on day 110"}


def run_month(dsn: str | None, as_json: bool) -> None:
    """Play the month; tell it as it happens, or what came of it as JSON."""
    begun = time.monotonic()
    told: list[Told] = []
    console = None if as_json else output.console()

    def tell(each: Told) -> None:
        told.append(each)
        if console is not None:
            show_event(console, each)

    clock = month_clock()
    found = with_database(dsn, lambda db: play_month(db, clock, tell), clock=clock)
    # Nothing in it differs from run to run: no id, no time that passed.
    data = {**found, "days": told}
    output.answer(data, as_json, lambda console: _end(console, found, begun))


def _end(console: Console, found: dict[str, State], begun: float) -> None:
    before: State = {}
    for name, state in found.items():
        show_state(console, _TITLES[name], state, before)
        before = state
    seconds = round(time.monotonic() - begun, 1)
    console.print(output.literal(f"That took {seconds} seconds.", "bold cyan"))

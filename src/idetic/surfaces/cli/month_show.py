"""How the month looks in a terminal: day by day as it happens, then what there is in the end."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from idetic.surfaces.cli import output
from idetic.surfaces.cli.month_state import State
from idetic.world.book import Line
from idetic.world.player import Told

_STYLES = {
    "promoted": "green",
    "meta_promoted": "green",
    "promote": "green",
    "confirmed": "green",
    "invalidated": "yellow",
    "superseded": "yellow",
    "archived": "yellow",
    "archive": "yellow",
    "undone": "magenta",
    "promotion_refused": "red",
    "corroboration_failed": "red",
}
_TITLES = {
    "facts": "Facts, and who says so",
    "habits": "How things are done",
    "candidates": "Candidates, and what they lack",
    "replaced": "Replaced: both values are kept, with the time each stood",
    "archived": "Archived",
    "due": "Due: somebody has to decide",
    "contradictions": "Contradictions with rules",
    "kept": "Notes that outlived their session",
    "dropped": "Notes that left nothing",
    "written": "All notes",
}
HOW = (
    "s05/2 is the second thread of the fifth session. A thread counts once, however often it says "
    "something; what stands in (brackets) never counts."
)


def show_event(console: Console, told: Told) -> None:
    """One event: a line for it, and one for each decision it led to."""
    console.print(_heading(told), soft_wrap=True)
    for line, same in groupby(told.lines):
        console.print(_line(line, len(list(same))), soft_wrap=True)


def _heading(told: Told) -> Text:
    return output.literal(f"day {told.day:>3}  ", "cyan") + output.literal(told.title, "bold")


def _line(line: Line, times: int) -> Text:
    did = line.did.replace("_", " ") + (f" x{times}" if times > 1 else "")
    text = output.literal(f"{'':9}{did:<28}", _STYLES.get(line.did, "dim"))
    return text + output.literal(f"{line.what:<16} ") + output.literal(line.why, "dim")


def show_state(console: Console, title: str, state: State, before: State) -> None:
    """What there is, section by section; one that is as it was before is not shown again."""
    console.print()
    console.rule(output.literal(title, "bold cyan"))
    console.print(output.literal(HOW if not before else "Only what has changed since.", "dim"))
    for section, rows in state.items():
        if rows and rows != before.get(section):
            console.print(_table(_TITLES[section], rows))


def _table(title: str, rows: list[dict[str, str]]) -> Table:
    table = output.table(*rows[0], title=title, keep=("what", "since", "on", "stood"))
    for row in rows:
        table.add_row(*(output.literal(value) for value in row.values()))
    return table

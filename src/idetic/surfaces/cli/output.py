"""What the command line says: tables for people, JSON for programs, never both."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from idetic.model import Entry, Receipt

# Rich is a quarter of a second on a slow machine, and `--json` never needs it.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table
    from rich.text import Text

# How often long work tells how far it is where there is no terminal.
_LINE_SECONDS = 5.0
Show = Callable[["Console"], None]
Report = Callable[..., None]

# Columns that hold ids and moments, and how some columns look.
_WHOLE = ("id", "entry", "receipt", "what", "since", "on", "stood")
_STYLES = {" ": "bold", "id": "cyan", "transition": "bold", "decision": "bold", "hash": "dim"}

# These reorder what stands around them: an entry must not rewrite the line it is shown in.
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def answer(data: Any, as_json: bool, show: Show) -> None:
    """Give a command's answer on stdout, once, in the form that was asked for."""
    if as_json:
        sys.stdout.write(as_text(data) + "\n")
    else:
        show(console())


def say(line: str, data: Any, as_json: bool) -> None:
    """Give a command's answer that is one line for people."""
    answer(data, as_json, lambda shown: shown.print(literal(line), soft_wrap=True))


def write(text: str) -> None:
    """A text to stdout as it is: the console would break long lines."""
    sys.stdout.write(text)
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """A console that takes every text literally: content is not markup."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def literal(value: object, style: str = "") -> Text:
    """A text with its control characters made visible: an entry may hold escape sequences."""
    from rich.text import Text

    return Text(visible(str(value)), style)


class Listing:
    """Rows as a table with a column for each name, in which no word is broken.

    Where the columns do not fit the terminal, each row is a small table of its names and values;
    empty cells are left out.
    """

    def __init__(self, rows: Sequence[Mapping[str, object]], title: str | None = None):
        self._rows = [
            {name: literal("" if value is None else value) for name, value in row.items()}
            for row in rows
        ]
        self._title = title

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """The table, or the rows one below the other."""
        del console
        widths = _widths(self._rows, options.max_width)
        if widths is not None:
            yield _table(self._rows, self._title, widths)
            return
        for number, row in enumerate(self._rows):
            filled = {name: cell for name, cell in row.items() if cell.plain}
            yield facts(filled or row, None if number else self._title)


def facts(rows: Mapping[str, object], title: str | None = None) -> Table:
    """A table of names and their values."""
    cells = [{" ": literal(name), "": literal("" if v is None else v)} for name, v in rows.items()]
    made = _table(cells, title, {})
    made.show_header = False
    return made


def _table(rows: Sequence[Mapping[str, Text]], title: str | None, widths: dict[str, int]) -> Table:
    """A table without frames; a column without a width is as wide as it has to be."""
    from rich import box
    from rich.table import Table

    made = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for name in rows[0]:
        width = widths.get(name)
        made.add_column(name, width=width, style=_STYLES.get(name, ""), overflow="fold")
    for row in rows:
        made.add_row(*row.values())
    return made


def _widths(rows: Sequence[Mapping[str, Text]], most: int) -> dict[str, int] | None:
    """How wide each column is so that no word is broken; None where that is not possible."""
    from rich.cells import cell_len

    least: dict[str, int] = {}
    wanted: dict[str, int] = {}
    for name in rows[0]:
        cells = [name, *(row[name].plain for row in rows)]
        wanted[name] = max(cell_len(line) for cell in cells for line in cell.splitlines() or [""])
        words = max(cell_len(word) for cell in cells for word in cell.split() or [""])
        least[name] = wanted[name] if name in _WHOLE else words
    # Three blanks stand between columns, and one at either end.
    room = most - 3 * len(least) - sum(least.values())
    if room < 0:
        return None
    more = sum(wanted.values()) - sum(least.values())
    share = min(1.0, room / more) if more else 0.0
    return {name: least[name] + int((wanted[name] - least[name]) * share) for name in least}


def indented(part: Any, by: int) -> Any:
    """Something to show, moved to the right."""
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, by))


def announce(line: str, *, quiet: bool) -> None:
    """Say on stderr what begins now and takes a while; nothing beside JSON."""
    if not quiet:
        console(stderr=True).print(literal(line), soft_wrap=True)


@contextmanager
def bar(what: str, *, quiet: bool, lines: bool = False) -> Iterator[Report | None]:
    """A bar on stderr for long work; hidden beside JSON and without a terminal.

    Call what is given with how much is done, of how much, and what is being done. With `lines`,
    whoever has no terminal reads a line at once, and another one every few seconds.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    shown = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = quiet or not shown.is_terminal
    lines = lines and hidden and not quiet
    announce(f"{what} ...", quiet=not lines)
    told = time.monotonic()
    with Progress(*columns, console=shown, transient=True, disable=hidden) as progress:
        task = progress.add_task(what, total=None)

        def report(done: int, of: int, what: str = what) -> None:
            nonlocal told
            progress.update(task, description=what, completed=done, total=of)
            if lines and time.monotonic() - told > _LINE_SECONDS:
                told = time.monotonic()
                announce(f"{what} (step {done:,} of {of:,})", quiet=False)

        yield None if quiet else report


def moment(at: datetime) -> str:
    """A moment as a person reads it, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def visible(text: str) -> str:
    """The text with everything that would act on a terminal spelt out instead."""
    if text.isprintable():
        return text
    return "".join(_spelt(c) for c in text)


def _spelt(character: str) -> str:
    """A character as it is, or its escape if it would act on a terminal."""
    if character in "\n\t":
        return character
    acts = unicodedata.category(character) in ("Cc", "Cs") or character in _REORDERING
    return character.encode("unicode_escape").decode("ascii") if acts else character


def as_text(data: Any) -> str:
    """The data as JSON. ASCII only, so that no locale and no lone surrogate can break it."""
    return json.dumps(data, default=plain, indent=2)


def as_line(data: Any) -> str:
    """The data as JSON in one line, for people: their language's letters stay letters."""
    return json.dumps(data, default=plain, ensure_ascii=False)


def plain(value: Any) -> Any:
    """A value as JSON can hold it: an entry with its state, a receipt under its own id."""
    if isinstance(value, Receipt):
        names = ("decision", "reason", "entry_id", "position", "at", "superseded", "replayed")
        return {"receipt": value.id, **{name: getattr(value, name) for name in names}}
    if is_dataclass(value):
        values = {each.name: getattr(value, each.name) for each in fields(value)}
        return {**values, "state": value.state} if isinstance(value, Entry) else values
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)

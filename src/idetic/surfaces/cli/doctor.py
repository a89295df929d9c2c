"""`idetic doctor`: what Idetic rests on, looked at once, with what to do about each."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import TYPE_CHECKING

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, examples

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.library.health import Check

DOCTOR = examples("idetic doctor", "idetic doctor --json", "idetic doctor --dsn postgresql://…")
_STYLES = {"good": "green", "warning": "yellow", "bad": "bold red"}


def doctor(dsn: Dsn = None, json: Json = False) -> int:
    """Check database, extensions, versions, roles, security, nodes, specs, model, jobs and disk.

    Exit code 1 if something is bad, such as a database that does not open; a warning is not.
    """
    import anyio

    from idetic.errors import DatabaseError
    from idetic.library.health import examine, unreachable
    from idetic.surfaces.cli.sources import with_database

    try:
        checks = with_database(dsn, examine)
    except DatabaseError as error:
        checks = anyio.run(unreachable, error)
    data = {"checks": [_data(one) for one in checks]}
    output.answer(data, json, lambda console: _show(console, checks))
    return int(any(one.verdict == "bad" for one in checks))


def _data(one: Check) -> dict[str, str]:
    return {
        "name": one.name,
        "verdict": one.verdict.value,
        "found": one.found,
        "remedy": one.remedy,
    }


def _show(console: Console, checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", "check", "found", "what to do"):
        table.add_column(heading)
    for one in checks:
        mark = Text(one.verdict.value, style=_STYLES[one.verdict])
        table.add_row(mark, one.name, output.literal(one.found), output.literal(one.remedy))
    console.print(table)

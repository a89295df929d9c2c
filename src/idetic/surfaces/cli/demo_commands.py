"""`idetic demo …`: how it is called; its work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

import typer

from idetic.surfaces.cli.options import Dsn, Json, examples

DEMO = examples("idetic demo", "idetic demo --dsn postgresql://me@localhost/idetic")
WORLD = examples("idetic demo world", "idetic demo world --json")
MONTH = examples("idetic demo month", "idetic demo month --json")

app = typer.Typer(epilog=DEMO)


@app.callback(invoke_without_command=True)
def demo(context: typer.Context, dsn: Dsn = None, json: Json = False) -> None:
    """Load the demo world, if it is not there, and tell the whole story in a minute.

    Each run tells the story in a tenant of its own, so it can be run any number of times.
    """
    if context.invoked_subcommand is not None:
        # What was said before the command's name holds for it too.
        context.default_map = {context.invoked_subcommand: {"dsn": dsn, "json": json}}
        return
    from idetic.surfaces.cli.demo import run_demo

    run_demo(dsn, json)


@app.command("world", epilog=WORLD)
def demo_world(dsn: Dsn = None, json: Json = False) -> None:
    """Load the demo world, if it is not there: two organisations and a month of their memory.

    It is the same each time and ends the day before it is loaded. A load that was interrupted is
    begun anew.
    """
    from idetic.surfaces.cli.demo_world import run_world

    run_world(dsn, json)


@app.command("month", epilog=MONTH)
def demo_month(dsn: Dsn = None, json: Json = False) -> None:
    """Play a month of an agent's life: thirty sessions, and what memory made of them.

    The clock is the story's, so it takes seconds; the outcome is the same each time.
    """
    from idetic.surfaces.cli.month import run_month

    run_month(dsn, json)

"""`idetic config show`: what holds here, and where each of it comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

from idetic.surfaces.cli import config, output
from idetic.surfaces.cli.commands import help_if_alone
from idetic.surfaces.cli.options import Dsn, Json, MaybeAgent, MaybeAnchor, MaybeAs, examples

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    help="Settings: where they come from.",
    epilog=examples("idetic config show", "IDETIC_AS=operator:ada idetic config show"),
)


@app.callback(invoke_without_command=True)
def _config(context: typer.Context) -> None:
    help_if_alone(context)


@app.command("show", epilog=examples("idetic config show", "idetic config show --json"))
def show(
    context: typer.Context,
    dsn: Dsn = None,
    agent: MaybeAgent = None,
    anchor: MaybeAnchor = None,
    as_: MaybeAs = None,
    json: Json = False,
) -> None:
    """Show each setting and its source: a file, then the environment, then options, the strongest.

    A password in a DSN is not shown.
    """
    path, admin = config.load().path, config.admin_dsn()
    given = {"dsn": dsn and config.masked(dsn), "admin_dsn": admin and config.masked(admin),
             "agent": agent, "anchor": anchor, "as": as_}  # fmt: skip
    settings = [
        {"name": name, "value": value or None, "source": _source(context, name, value, path)}
        for name, value in given.items()
    ]
    data = {"file": None if path is None else str(path), "settings": settings}
    output.answer(data, json, lambda console: _show(console, settings))


def _source(context: typer.Context, name: str, value: Any, path: Any) -> str:
    variable = config.SETTINGS[name]
    where = context.get_parameter_source("as_" if name == "as" else name)
    told = where.name if where else "ENVIRONMENT" if os.environ.get(variable) else "DEFAULT_MAP"
    if not value:
        return "not set"
    return {
        "COMMANDLINE": f"the option --{name}",
        "ENVIRONMENT": f"the environment variable {variable}",
        "DEFAULT_MAP": f"the file {path}",
    }.get(told, "not set")


def _show(console: Console, settings: list[dict[str, Any]]) -> None:
    table = output.table("setting", "value", "from")
    for each in settings:
        value = each["value"]
        shown = "\n".join(value) if isinstance(value, list) else value or ""
        if each["name"] == "dsn" and not shown:
            shown = "the embedded server"
        table.add_row(each["name"], output.literal(shown), output.literal(each["source"]))
    console.print(table)

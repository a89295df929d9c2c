"""How `idetic model … | recall | embed` are called; their work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.commands import SCOPE, help_if_alone
from idetic.surfaces.cli.options import AgentName, Anchor, As, Dsn, Json, examples

RECALL = examples(
    f'idetic recall "late screening" {SCOPE}', f'idetic recall "wires" {SCOPE} --limit 3 --json'
)
EMBED = examples(f"idetic embed {SCOPE}")

app = typer.Typer(
    help="The embedding model: install, status, verify.",
    epilog=examples("idetic model install", "idetic model status"),
)


@app.callback(invoke_without_command=True)
def _model(context: typer.Context) -> None:
    help_if_alone(context)


@app.command("install", epilog=examples("idetic model install", "idetic model install --json"))
def install(json: Json = False) -> None:
    """Bring the pinned model here. Says which source was used, and why."""
    from idetic.surfaces.cli.model import install_model

    install_model(json)


@app.command("status", epilog=examples("idetic model status", "idetic model status --json"))
def status(json: Json = False) -> None:
    """Show whether the model is here, where from, and whether its hashes are right."""
    from idetic.surfaces.cli.model import show_model

    show_model(json)


@app.command("verify", epilog=examples("idetic model verify"))
def verify(json: Json = False) -> None:
    """Check the model's files; fails if they are missing or not the pinned ones."""
    from idetic.surfaces.cli.model import verify_model

    verify_model(json)


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    limit: Annotated[int, typer.Option(help="How many hits; at most 200.")] = 10,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Ask memory; every hit says how each signal ranked it."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.recall import show_recall

    show_recall(query, limit, Asked(agent, tuple(anchor), as_), dsn, json)


def embed(agent: AgentName, anchor: Anchor, as_: As, dsn: Dsn = None, json: Json = False) -> None:
    """Give every pending entry of one anchor its vector. Can be stopped and run again."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.recall import embed_pending

    embed_pending(Asked(agent, tuple(anchor), as_), dsn, json)

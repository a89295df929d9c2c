"""How `idetic recall | embed` are called."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.options import SCOPE, AgentName, Anchor, As, Dsn, Json, examples

RECALL = examples(
    f'idetic recall "late screening" {SCOPE}', f'idetic recall "wires" {SCOPE} --limit 3 --json'
)
EMBED = examples(f"idetic embed {SCOPE}")


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

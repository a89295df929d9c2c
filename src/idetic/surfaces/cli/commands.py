"""`idetic list | history | db …`: how they are called; their work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.model import Tier, Typology
from idetic.surfaces.cli.options import (
    SCOPE,
    AgentName,
    Anchor,
    As,
    Dsn,
    Json,
    examples,
)

LIST = examples(f"idetic list {SCOPE}", f"idetic list {SCOPE} --as-of 2026-01-31T12:00:00Z")
HISTORY = examples(f"idetic history ENTRY_ID {SCOPE}")


def list_entries(
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    tier: Annotated[Tier | None, typer.Option(help="Only this tier.")] = None,
    typology: Annotated[Typology | None, typer.Option(help="Only this typology.")] = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="What was current then; ISO 8601 with a time zone."),
    ] = None,
    limit: Annotated[int, typer.Option(help="How many entries; at most 1000.")] = 100,
    before: Annotated[
        str | None, typer.Option(metavar="ENTRY_ID", help="The next page: older than this entry.")
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """List the current entries of one anchor, newest first."""
    from idetic.surfaces.cli.memory import Asked, Page, show_entries

    asked = Asked(agent, tuple(anchor), as_)
    show_entries(asked, Page(tier, typology, as_of, limit, before), dsn, json)


def history(
    entry_id: Annotated[str, typer.Argument(metavar="ENTRY_ID", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Show every transition of one entry: who did what to it, when and why."""
    from idetic.surfaces.cli.memory import Asked, show_history

    show_history(entry_id, Asked(agent, tuple(anchor), as_), dsn, json)

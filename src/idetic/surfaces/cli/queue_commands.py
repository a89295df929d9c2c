"""How `idetic contradictions | resolve | disposition | dispose` are called."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.evidence import ContradictionStatus, Outcome
from idetic.surfaces.cli.options import SCOPE, AgentName, Anchor, As, Dsn, Json, examples

LISTED = examples(
    f"idetic contradictions {SCOPE}", f"idetic contradictions --status dismissed {SCOPE} --json"
)
RESOLVE = examples(
    f'idetic resolve CONTRADICTION_ID surfaced_to_operator --notes "asked the desk" {SCOPE}'
)
DUE = examples(f"idetic disposition {SCOPE}", f"idetic disposition --limit 10 {SCOPE} --json")
DISPOSE = examples(f'idetic dispose archive ENTRY_ID --reason "no longer so" {SCOPE}')


def contradictions(
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    status: Annotated[
        list[ContradictionStatus] | None,
        typer.Option(show_default=False, help="Only these; without it, those that wait. Repeat."),
    ] = None,
    limit: Annotated[int, typer.Option(help="How many; at most 1000.")] = 100,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """List what speaks against canonical content, oldest first."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.queues import show_contradictions

    show_contradictions(status or None, limit, Asked(agent, tuple(anchor), as_), dsn, json)


def resolve(
    contradiction_id: Annotated[
        str, typer.Argument(metavar="CONTRADICTION_ID", show_default=False)
    ],
    status: Annotated[ContradictionStatus, typer.Argument(show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    notes: Annotated[str, typer.Option(help="What was found out; kept for good.")],
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Move a contradiction on: surface it, dismiss it, or make it a signal to revise."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.queues import resolve_contradiction

    asked = Asked(agent, tuple(anchor), as_)
    resolve_contradiction(contradiction_id, status, notes, asked, dsn, json)


def disposition(
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    limit: Annotated[int, typer.Option(help="How many; at most 1000.")] = 100,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """List what waits for somebody's decision, the hardest pressed first."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.queues import show_due

    show_due(limit, Asked(agent, tuple(anchor), as_), dsn, json)


def dispose(
    outcome: Annotated[Outcome, typer.Argument(show_default=False)],
    entry_ids: Annotated[list[str], typer.Argument(metavar="ENTRY_ID…", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    reason: Annotated[str, typer.Option(help="Why; kept for good.")],
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Decide about entries: promote, recorroborate, exempt or archive; all of them or none."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.queues import dispose_of

    dispose_of(outcome, entry_ids, reason, Asked(agent, tuple(anchor), as_), dsn, json)

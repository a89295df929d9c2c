"""How `idetic observe | context | close` are called; their work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.model import Origin
from idetic.surfaces.cli.options import (
    SCOPE,
    AgentName,
    Anchor,
    As,
    Dsn,
    Json,
    examples,
)

OBSERVE = examples(
    f'idetic observe "The second check came late." {SCOPE}',
    f'idetic observe "Wires go out late on Fridays." --ref rule:RULE_ID {SCOPE} --json',
    f"idetic observe - {SCOPE} < note.txt",
)
CONTEXT = examples(
    f'idetic context "late wires" {SCOPE}', f'idetic context "wires" --budget 500 {SCOPE} --json'
)
CLOSE = examples(f"idetic close SESSION_ID {SCOPE}")
Pairs = list[str] | None
SessionId = Annotated[
    str | None,
    typer.Option("--session", metavar="SESSION_ID", show_default=False, help="A session's id."),
]
Envelope = Annotated[
    list[str] | None,
    typer.Option(
        "--envelope",
        metavar="KEY=VALUE",
        show_default=False,
        help="What it is about: a declared key; once for each. Lists with commas.",
    ),
]


def observe(  # noqa: PLR0913, PLR0917 - one for each option
    text: Annotated[
        str, typer.Argument(metavar="TEXT", show_default=False, help="The note, or - for stdin.")
    ],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    session: SessionId = None,
    envelope: Envelope = None,
    claim: Annotated[
        Pairs,
        typer.Option(
            metavar="KEY=VALUE", show_default=False, help="subject=…, attribute=… and value=…"
        ),
    ] = None,
    ref: Annotated[
        Pairs,
        typer.Option(
            metavar="NOUN:ID[@VERSION]", show_default=False, help="A canonical row; repeat."
        ),
    ] = None,
    provenance: Annotated[
        Pairs, typer.Option(metavar="KEY=VALUE", show_default=False, help="As declared; repeat.")
    ] = None,
    valid_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", show_default=False, help="Since when; ISO 8601 with a zone."),
    ] = None,
    heard_from: Annotated[
        Origin | None, typer.Option(show_default=False, help="A weaker origin than your own.")
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", show_default=False, help="A repeat is written once."),
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Write down what happened, into a session: the one named, else a new one, which stays open.

    The answer names the session; `idetic close` ends it.
    """
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.turn import Note, write_note

    note = Note(
        text, session, envelope or (), claim or (), ref or (), provenance or (), valid_at,
        heard_from, idempotency_key,
    )  # fmt: skip
    write_note(note, Asked(agent, tuple(anchor), as_), dsn, json)


def context(
    query: Annotated[str, typer.Argument(metavar="QUERY", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    budget: Annotated[
        int | None, typer.Option(show_default=False, help="Tokens at most; the spec's ceiling.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many entries to recall; at most 200.")] = 20,
    session: SessionId = None,
    envelope: Envelope = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Print the prompt block for a question: quoted evidence, never above the ceiling.

    What is printed is recorded as read.
    """
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.turn import Question, show_context

    asked = Asked(agent, tuple(anchor), as_)
    show_context(Question(query, budget, limit, session, envelope or ()), asked, dsn, json)


def close(
    session_id: Annotated[str, typer.Argument(metavar="SESSION_ID", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    reason: Annotated[str, typer.Option(help="Why; kept for good.")] = "closed",
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """End a session: what it holds is compounded and promoted, and the rest goes."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.turn import close_session

    close_session(session_id, reason, Asked(agent, tuple(anchor), as_), dsn, json)

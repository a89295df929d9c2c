"""How `idetic verify` and `idetic explain` are called; their work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.options import AgentName, Anchor, As, Dsn, Json, examples

SCOPE = "--agent world_agent --anchor org_id=UUID --anchor domain_id=UUID --as auditor:ben"
VERIFY = examples(
    f"idetic verify {SCOPE}",
    f"idetic verify {SCOPE} --save-head head.json",
    f"idetic verify {SCOPE} --head head.json --json",
)
EXPLAIN = examples(f"idetic explain ACTION_ID {SCOPE}", f"idetic explain ACTION_ID {SCOPE} --json")


def verify(
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    head: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A head kept earlier: a tail cut since then shows."),
    ] = None,
    save_head: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where to keep the chain's head, if all is well."),
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> int:
    """Check every link of one anchor's chain, its end, and that entries say what they said.

    Reads only. The exit code is 9 when something is not as it was written.
    """
    from idetic.surfaces.cli.audit import Heads, show_verified
    from idetic.surfaces.cli.memory import Asked

    return show_verified(Asked(agent, tuple(anchor), as_), Heads(head, save_head), dsn, json)


def explain(
    action_id: Annotated[str, typer.Argument(metavar="ACTION_ID", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Show what an action rested on, as it stood then, and everything behind that."""
    from idetic.surfaces.cli.audit import show_action
    from idetic.surfaces.cli.memory import Asked

    show_action(action_id, Asked(agent, tuple(anchor), as_), dsn, json)

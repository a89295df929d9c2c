"""`idetic keys …`: how the commands are called. What they do is imported when they run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.model import Capability
from idetic.surfaces.cli.commands import SCOPE, help_if_alone
from idetic.surfaces.cli.options import AgentName, Anchor, Dsn, Json, examples

app = typer.Typer(
    help="API keys: create, list, rotate and revoke. They need an admin login.",
    epilog=examples("idetic keys list", f"idetic keys create {SCOPE}"),
)

For = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="KIND:NAME",
        help="Whom it stands for: agent, operator, customer, auditor or maintenance, and a name.",
    ),
]
KeyId = Annotated[
    str,
    typer.Argument(metavar="KEY_ID", show_default=False, help="The key's id, never the key."),
]
ExpiresAt = Annotated[
    str | None,
    typer.Option(metavar="TIME", show_default=False, help="ISO 8601 with a time zone."),
]


@app.callback(invoke_without_command=True)
def _keys(context: typer.Context) -> None:
    help_if_alone(context)


@app.command(
    "create",
    epilog=examples(
        f"idetic keys create {SCOPE}", f"idetic keys create {SCOPE} --capability read --json"
    ),
)
def create(
    agent: AgentName,
    anchor: Anchor,
    as_: For,
    capability: Annotated[
        list[Capability] | None,
        typer.Option(show_default=False, help="Only this, of what the spec grants; repeat."),
    ] = None,
    expires_at: ExpiresAt = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Create a key for one anchor and one principal. It is printed once, on stdout."""
    from idetic.surfaces.cli.keys import create_key
    from idetic.surfaces.cli.memory import Asked

    create_key(Asked(agent, tuple(anchor), as_), capability, expires_at, dsn, json)


@app.command("list", epilog=examples("idetic keys list", "idetic keys list --agent world_agent"))
def list_(
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Only this agent's."),
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """List keys, oldest first: what each stands for and whether it holds. Never the keys."""
    from idetic.surfaces.cli.keys import list_keys

    list_keys(agent, dsn, json)


@app.command(
    "rotate",
    epilog=examples("idetic keys rotate KEY_ID", "idetic keys rotate KEY_ID --grace-hours 0"),
)
def rotate(
    key_id: KeyId,
    grace_hours: Annotated[
        int, typer.Option(min=0, max=2160, help="How long the old key still holds.")
    ] = 24,
    expires_at: ExpiresAt = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Replace a key by one that stands for the same. The new one is printed once, on stdout."""
    from idetic.surfaces.cli.keys import rotate_key

    rotate_key(key_id, grace_hours, expires_at, dsn, json)


@app.command("revoke", epilog=examples("idetic keys revoke KEY_ID"))
def revoke(key_id: KeyId, dsn: Dsn = None, json: Json = False) -> None:
    """End a key at once and for good."""
    from idetic.surfaces.cli.keys import revoke_key

    revoke_key(key_id, dsn, json)

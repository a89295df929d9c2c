"""`idetic keys …`: API keys from the shell. A key is an answer, and never an argument."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.model import Capability
from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import SCOPE, AgentName, Anchor, Dsn, Json, examples, group
from idetic.surfaces.cli.sources import (
    anchor_of,
    moment_of,
    principal_of,
    stored_agent,
    with_database,
)
from idetic.verbs.arguments import check_uuid

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.keys import ApiKey, CreatedKey
    from idetic.library.idetic import Idetic

WARNING = "Keep it now: only its hash is stored, and it cannot be shown again."

app = group(
    "API keys: create, list, rotate and revoke. They need an admin login.",
    "idetic keys list",
    f"idetic keys create {SCOPE}",
)
# Without an environment variable: whom a key stands for is never a setting.
For = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="KIND:NAME",
        help="The key's principal: agent, operator, customer, auditor or maintenance, and a name.",
    ),
]
KeyId = Annotated[
    str,
    typer.Argument(metavar="KEY_ID", show_default=False, help="The key's id, not the key itself."),
]
ExpiresAt = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", show_default=False, help="When it ends: ISO 8601 with a time zone."
    ),
]


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
        typer.Option(show_default=False, help="Grant only this capability; repeat for more."),
    ] = None,
    expires_at: ExpiresAt = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Create a key for one anchor and one principal. It is printed once, on stdout."""
    principal = principal_of(as_)
    until = moment_of(expires_at, "--expires-at") if expires_at else None

    async def work(db: Idetic) -> CreatedKey:
        """Create the key, its anchor in the types that the stored spec declares."""
        holder = await stored_agent(db, agent)
        return await db.keys.create(
            agent=agent,
            principal=principal,
            capabilities=capability or None,
            expires_at=until,
            anchor=anchor_of(holder.spec, anchor),
        )

    _show_once(with_database(dsn, work), json)


@app.command("list", epilog=examples("idetic keys list", "idetic keys list --agent world_agent"))
def list_(
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Show only keys of this agent."),
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """List keys, oldest first: the scope of each and whether it is valid; never the key itself."""

    async def work(db: Idetic) -> tuple[list[ApiKey], datetime]:
        return await db.keys.list(agent), db.clock.now()

    keys, now = with_database(dsn, work)

    def show(console: Console) -> None:
        console.print(output.Listing([_row(key, now) for key in keys]) if keys else "No keys.")

    output.answer({"keys": [_data(key, now) for key in keys]}, json, show)


@app.command(
    "rotate",
    epilog=examples("idetic keys rotate KEY_ID", "idetic keys rotate KEY_ID --grace-hours 0"),
)
def rotate(
    key_id: KeyId,
    grace_hours: Annotated[
        int, typer.Option(min=0, max=2160, help="Hours that the old key stays valid.")
    ] = 24,
    expires_at: ExpiresAt = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Replace a key by a new one for the same scope. It is printed once, on stdout."""
    wanted = check_uuid(key_id, "KEY_ID")
    until = moment_of(expires_at, "--expires-at") if expires_at else None
    grace = timedelta(hours=grace_hours)
    made = with_database(dsn, lambda db: db.keys.rotate(wanted, grace=grace, expires_at=until))
    _show_once(made, json)


@app.command("revoke", epilog=examples("idetic keys revoke KEY_ID"))
def revoke(key_id: KeyId, dsn: Dsn = None, json: Json = False) -> None:
    """End a key at once and for good."""
    wanted = check_uuid(key_id, "KEY_ID")
    with_database(dsn, lambda db: db.keys.revoke(wanted))
    output.say(f"Key {wanted} is revoked.", {"id": wanted, "revoked": True}, json)


def _show_once(made: CreatedKey, as_json: bool) -> None:
    """Print a new key on stdout, alone, and its id with a warning on stderr."""
    data = {"id": made.id, "key": made.key, "warning": WARNING}
    # Nothing but the key on stdout, unwrapped, so that it can go straight into a vault.
    output.answer(data, as_json, lambda _: output.write(f"{made.key}\n"))
    if not as_json:
        output.console(stderr=True).print(f"Key id {made.id}. {WARNING}", soft_wrap=True)


def _data(key: ApiKey, now: datetime) -> dict[str, Any]:
    """A key as JSON holds it, with its state at a moment."""
    only = None if key.capabilities is None else sorted(key.capabilities)
    return {**output.plain(key), "capabilities": only, "state": key.state(now)}


def _row(key: ApiKey, now: datetime) -> dict[str, object]:
    """A key as a row of the table: whom it stands for, what it may, and its times."""
    anchor = " ".join(f"{name}={value}" for name, value in key.anchor.items())
    may = "all that the spec grants"
    if key.capabilities is not None:
        may = ", ".join(sorted(key.capabilities))
    times = {
        "created": key.created_at,
        "expires": key.expires_at,
        "revoked": key.revoked_at,
        "used": key.last_used_at,
    }
    return {
        "id": key.id,
        "state": key.state(now),
        "stands for": f"{key.agent} {key.principal.kind}:{key.principal.name}\n{anchor}",
        "may": may,
        "times": "\n".join(f"{what} {output.moment(at)}" for what, at in times.items() if at),
    }

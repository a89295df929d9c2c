"""`idetic keys …`: API keys from the shell. A key is an answer, and never an argument."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console

from idetic.keys import ApiKey, CreatedKey
from idetic.library.idetic import Idetic
from idetic.model import Capability
from idetic.surfaces.cli import output
from idetic.surfaces.cli.memory import Asked, anchor_of, held_agent, moment_of, principal_of
from idetic.surfaces.cli.sources import with_database
from idetic.verbs.arguments import check_uuid

WARNING = "Keep it now: only its hash is stored, and it cannot be shown again."


def create_key(
    asked: Asked,
    capabilities: Sequence[Capability] | None,
    expires_at: str | None,
    dsn: str | None,
    as_json: bool,
) -> None:
    """A new key, shown once."""
    principal = principal_of(asked.principal)
    until = moment_of(expires_at, "--expires-at") if expires_at else None

    async def create(db: Idetic) -> CreatedKey:
        agent = await held_agent(db, asked.agent)
        return await db.keys.create(
            agent=asked.agent,
            principal=principal,
            capabilities=capabilities or None,
            expires_at=until,
            anchor=anchor_of(agent.spec, asked.anchor),
        )

    _show_once(with_database(dsn, create), as_json)


def list_keys(agent: str | None, dsn: str | None, as_json: bool) -> None:
    """Every key, oldest first, and whether it holds."""

    async def read(db: Idetic) -> tuple[list[ApiKey], datetime]:
        return await db.keys.list(agent), db.clock.now()

    keys, now = with_database(dsn, read)
    data = {"keys": [_key_data(each, now) for each in keys]}
    output.answer(data, as_json, lambda console: _show(console, keys, now))


def rotate_key(
    key_id: str, grace_hours: int, expires_at: str | None, dsn: str | None, as_json: bool
) -> None:
    """A successor, shown once."""
    wanted = check_uuid(key_id, "KEY_ID")
    until = moment_of(expires_at, "--expires-at") if expires_at else None
    grace = timedelta(hours=grace_hours)
    made = with_database(dsn, lambda db: db.keys.rotate(wanted, grace=grace, expires_at=until))
    _show_once(made, as_json)


def revoke_key(key_id: str, dsn: str | None, as_json: bool) -> None:
    """The end of a key."""
    wanted = check_uuid(key_id, "KEY_ID")
    with_database(dsn, lambda db: db.keys.revoke(wanted))
    data = {"id": wanted, "revoked": True}
    output.answer(data, as_json, lambda console: console.print(f"Key {wanted} is revoked."))


def _show_once(made: CreatedKey, as_json: bool) -> None:
    data = {"id": made.id, "key": made.key, "warning": WARNING}
    # Nothing but the key on stdout, unwrapped, so that it can go straight into a vault.
    output.answer(data, as_json, lambda _: _write_line(made.key))
    if not as_json:
        output.console(stderr=True).print(f"Key id {made.id}. {WARNING}", soft_wrap=True)


def _write_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _key_data(key: ApiKey, now: datetime) -> dict[str, Any]:
    told = {each.name: getattr(key, each.name) for each in fields(key)}
    only = None if key.capabilities is None else sorted(key.capabilities)
    return {**told, "capabilities": only, "state": key.state(now)}


def _show(console: Console, keys: Sequence[ApiKey], now: datetime) -> None:
    if not keys:
        console.print("No keys.")
        return
    table = output.table("id", "state", "stands for", "may", "times", keep=("id",))
    for key in keys:
        anchor = " ".join(f"{name}={value}" for name, value in key.anchor.items())
        who = f"{key.agent} {key.principal.kind}:{key.principal.name}\n{anchor}"
        only = "all that the spec grants" if key.capabilities is None else _words(key.capabilities)
        table.add_row(
            output.literal(key.id, "cyan"),
            key.state(now).value,
            output.literal(who),
            only,
            output.literal("\n".join(_times(key))),
        )
    console.print(table)


def _words(capabilities: frozenset[Capability]) -> str:
    return ", ".join(sorted(capabilities))


def _times(key: ApiKey) -> list[str]:
    named = {
        "created": key.created_at,
        "expires": key.expires_at,
        "revoked": key.revoked_at,
        "used": key.last_used_at,
    }
    return [f"{what} {output.moment(at)}" for what, at in named.items() if at is not None]

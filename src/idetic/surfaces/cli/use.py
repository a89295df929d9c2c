"""`idetic use`: whose memory commands are about, said once and kept in a file of its own.

It is the weakest of all sources, so that a settings file, the environment and options replace it.
A server that a client starts does not read it: what somebody looks at is not what a model serves.
"""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from idetic.errors import InputError
from idetic.surfaces.cli import config, output
from idetic.surfaces.cli.options import Json, examples

USE = examples(
    "idetic use --user ada",
    "idetic use --agent world_agent --anchor org_id=UUID --anchor domain_id=UUID --as operator:ada",
    "idetic use",
    "idetic use --clear",
)
_ASSISTANT, _TENANT = "assistant_agent", "default"


def use(
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The memory of this user of the assistant."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead of --user: the memory of an agent.")
    ] = None,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="With --agent: a key of the anchor; repeat for each key."
        ),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="KIND:NAME",
            help="The principal who asks; by default you, as an operator.",
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the kept scope.")] = False,
    json: Json = False,
) -> None:
    """Keep agent, anchor and principal for all later commands; without options, show them."""
    path = config.scope_file()
    if clear:
        path.unlink(missing_ok=True)
    elif user is not None or agent is not None:
        _keep(path, _chosen(user, agent, anchor, as_))
    elif anchor or as_:
        raise InputError("--anchor and --as need --agent.", remedy="Add --agent, or give --user.")
    held = config.read_scope(path)
    output.say(
        _told(held) if held else "No scope is set. Set one with `idetic use --user NAME`.",
        {"file": str(path), **held},
        json,
    )


def _told(held: dict[str, Any]) -> str:
    """The scope in the words in which it would be typed."""
    keys = (f"--anchor {key}={value}" for key, value in held["anchor"].items())
    return " ".join([f"Commands use --agent {held['agent']}", *keys, f"--as {held['as']}."])


def _chosen(
    user: str | None, agent: str | None, anchor: list[str] | None, as_: str | None
) -> dict[str, Any]:
    """The scope to keep; a user stands for the anchor of the shipped assistant."""
    from idetic.surfaces.cli.sources import pairs, principal_of  # noqa: PLC0415 - it opens memory

    if user is not None and (agent is not None or anchor):
        raise InputError(
            "--user cannot be combined with --agent or --anchor.",
            remedy="Give --user, or --agent with --anchor.",
        )
    keys = pairs(anchor or (), "--anchor")
    keys = keys if user is None else {"tenant_id": _TENANT, "user_id": user}
    who = as_ or f"operator:{getpass.getuser()}"
    principal_of(who)
    return {"agent": agent or _ASSISTANT, "as": who, "anchor": keys}


def _keep(path: Path, scope: dict[str, Any]) -> None:
    """Write the file, for its owner alone. A text of JSON is one of TOML."""
    lines = [f"{name} = {json.dumps(scope[name])}" for name in ("agent", "as")]
    lines += ["", "[anchor]"]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in scope["anchor"].items()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    except OSError as error:
        raise InputError(
            f"The file {str(path)!r} cannot be written.",
            remedy="Check that you may write there, or set XDG_CONFIG_HOME.",
        ) from error

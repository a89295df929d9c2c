"""`idetic mcp`: whose memory, over which transport, until it ends."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from idetic.library.idetic import Idetic
from idetic.surfaces.cli import output
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.memory import Asked, memory_of, principal_of
from idetic.surfaces.cli.sources import read_text, with_database

if TYPE_CHECKING:
    from idetic.surfaces.mcp.callers import CallerSource

KEY = "IDETIC_KEY"
_EITHER = "Leave out --agent, --anchor and --as: the key says whose memory it is."


@dataclass(frozen=True)
class Serving:
    """The command as typed. `typed` says that a scope stood on the command line itself."""

    http: tuple[str, int] | None
    key_file: str | None
    local: tuple[str | None, tuple[str, ...], str | None]
    typed: bool
    bound: int


def serve(serving: Serving, dsn: str | None, as_json: bool) -> None:
    """Serve until the client leaves or a signal comes."""
    if find_spec("mcp") is None:
        raise UsageRefused(
            "The package `mcp` is not installed.", remedy="Run `pip install 'idetic[mcp]'`."
        )
    _quiet()
    # Imported before anything is opened, and only here: the protocol's packages take a while.
    from idetic.surfaces.mcp.formatting import check_bound  # noqa: PLC0415

    check_bound(serving.bound)
    # Taken out of the environment: no process that we start needs it.
    kept = os.environ.pop(KEY, None)
    if serving.http is not None:
        _over_http(serving, serving.http, dsn, as_json)
        return
    key = _key(serving, kept)
    with_database(dsn, lambda db: _over_stdio(db, serving, key))


def _over_http(serving: Serving, where: tuple[str, int], dsn: str | None, as_json: bool) -> None:
    from idetic.surfaces.mcp.transports import serve_http  # noqa: PLC0415

    if serving.key_file or serving.typed:
        raise UsageRefused(
            "Over HTTP each request shows its own key.",
            remedy="Leave out --key-file, --agent, --anchor and --as.",
        )
    announce = _announcing(as_json)
    with_database(dsn, lambda db: serve_http(db, *where, bound=serving.bound, announce=announce))


async def _over_stdio(db: Idetic, serving: Serving, key: str | None) -> None:
    from idetic.surfaces.mcp.transports import serve_stdio  # noqa: PLC0415

    await serve_stdio(db, await _holder(db, serving, key), bound=serving.bound)


async def _holder(db: Idetic, serving: Serving, key: str | None) -> CallerSource:
    from idetic.surfaces.mcp.callers import Local, OneKey  # noqa: PLC0415

    if key is not None:
        return OneKey(db, key)
    agent, anchor, who = serving.local
    if agent is None or who is None:
        raise UsageRefused(
            "Whose memory is it?",
            remedy=f"Give an API key (--key-file or {KEY}), or --agent, --anchor and --as.",
        )
    principal_of(who)
    return Local(await memory_of(db, Asked(agent, anchor, who)))


def _key(serving: Serving, from_environment: str | None) -> str | None:
    """The key of a stdio connection; a scope typed beside it is refused, not weighed."""
    given = from_environment
    if serving.key_file is not None:
        given = read_text(serving.key_file)
    if given is None:
        return None
    if serving.typed:
        raise UsageRefused("A key and a scope are given.", remedy=_EITHER)
    return given.strip()


def _announcing(as_json: bool) -> Callable[[str], None]:
    def announce(address: str) -> None:
        if as_json:
            sys.stdout.write(output.as_text({"address": address}) + "\n")
            sys.stdout.flush()
        else:
            output.console(stderr=True).print(f"Serving at {address}", soft_wrap=True)

    return announce


def _quiet() -> None:
    """The packages' own lines may hold what was sent; errors are told where they are met."""
    for name in ("mcp", "uvicorn", "starlette", "sse_starlette"):
        logging.getLogger(name).addHandler(logging.NullHandler())

"""`idetic serve`: the HTTP API and a worker in one process, with a demo world if asked for."""

# ruff: noqa: PLC0415
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, examples

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic
    from idetic.surfaces.cli.serve_demo import DemoKey

SERVE = examples("idetic serve --demo", "idetic serve --port 9000 --no-worker")


@dataclass(frozen=True)
class _Asked:
    """How to serve, as typed."""

    host: str
    port: int
    demo: bool
    worker: bool
    rate: float
    json: bool


def serve(
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    demo: Annotated[
        bool, typer.Option("--demo", help="Load a demo world, and print keys to it.")
    ] = False,
    worker: Annotated[
        bool, typer.Option(help="Whether to do background work in this process too.")
    ] = True,
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests per second that each key may make.")
    ] = 200.0,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Serve the HTTP API until Ctrl-C or SIGTERM; requests under way are answered first.

    Callers need an API key: `idetic keys create` makes one. With --demo, keys to a new world are
    printed, and end with the server.
    """
    from idetic.surfaces.cli.sources import with_database
    from idetic.surfaces.cli.worker import logged

    asked = _Asked(host, port, demo, worker, rate, json)
    with logged("idetic.http", "idetic.jobs", quiet=json):
        with_database(dsn, lambda db: _serve(db, asked))
    if not json:
        sys.stdout.write("Stopped.\n")


async def _serve(db: Idetic, asked: _Asked) -> None:
    run, limits = _packages(asked.rate)
    from idetic.surfaces.cli.serve_demo import demo_keys

    async with demo_keys(db, wanted=asked.demo) as keys:
        await run(
            db,
            host=asked.host,
            port=asked.port,
            limits=limits,
            worker=asked.worker,
            ready=lambda address: _say(address, keys, asked.json),
        )


def _packages(rate: float) -> Any:
    """The server, whose packages are an extra, and its limits."""
    from idetic.surfaces.http.errors import ServerPackagesMissing

    try:
        from idetic.surfaces.http.limits import Limits
        from idetic.surfaces.http.serving import serve as run
    except ModuleNotFoundError as error:
        raise ServerPackagesMissing(f"The package `{error.name}` is not installed.") from None
    return run, Limits(rate=rate, burst=max(1, int(2 * rate)))


def _say(address: str, keys: list[DemoKey], as_json: bool) -> None:
    """Where it is, in one line for programs, in a few for people."""
    if as_json:
        told = {"address": address, "keys": keys}
        sys.stdout.write(output.as_line(told) + "\n")
        sys.stdout.flush()
        return
    lines = [f"Idetic serves {address}, described at {address}/openapi.json. Ctrl-C stops it."]
    if keys:
        lines += ["", "Keys to a demo world, one for each principal:"]
        lines += [f"  {each.principal:<24} {each.key}" for each in keys]
        lines += ["", "Try:", f"  {_curl(address, keys)}"]
    # Written plainly: a key that a terminal wraps cannot be copied.
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _curl(address: str, keys: list[DemoKey]) -> str:
    operator = next(each for each in keys if each.principal.startswith("operator:"))
    return (
        f"curl -s {address}/v1/recall -H 'Authorization: Bearer {operator.key}' "
        "-H 'Content-Type: application/json' -d '{\"query\": \"How are findings reported?\"}'"
    )

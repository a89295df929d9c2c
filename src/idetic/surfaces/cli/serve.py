"""`idetic serve`: the HTTP API, the console and a worker in one process, with a demo if asked."""

# ruff: noqa: PLC0415
from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, examples

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic
    from idetic.surfaces.cli.demo import DemoKey

SERVE = examples("idetic serve --demo", "idetic serve --port 9000 --no-worker")


@dataclass(frozen=True)
class _Asked:
    """How to serve, as typed."""

    host: str
    port: int
    demo: bool
    worker: bool
    console: bool
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
    console: Annotated[
        bool, typer.Option(help="Whether to serve the console, if its packages are there.")
    ] = True,
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests per second that each key may make.")
    ] = 200.0,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Serve the HTTP API and the console until Ctrl-C or SIGTERM; what is under way is answered.

    Callers need an API key: `idetic keys create` makes one. With --demo, the demo world is
    loaded, and keys to it are printed that end with the server.
    """
    from idetic.surfaces.cli.sources import with_database
    from idetic.surfaces.cli.worker import logged

    asked = _Asked(host, port, demo, worker, console, rate, json)
    with logged("idetic.http", "idetic.jobs", quiet=json):
        with_database(dsn, lambda db: _serve(db, asked))
    if not json:
        sys.stdout.write("Stopped.\n")


async def _serve(db: Idetic, asked: _Asked) -> None:
    run, limits = _packages(asked.rate)
    from idetic.surfaces.cli.demo import demo_keys

    console = _console() if asked.console else None
    async with demo_keys(db, wanted=asked.demo, quiet=asked.json) as keys:
        await run(
            db,
            host=asked.host,
            port=asked.port,
            limits=limits,
            worker=asked.worker,
            console=console,
            ready=lambda address: _say(address, keys, asked.json, console is not None),
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


def _console() -> Any:
    """What mounts the console, whose packages are another extra; None where they are missing."""
    if find_spec("nicegui") is None:
        return None
    from idetic.surfaces.console.mounting import mount

    return mount


def _say(address: str, keys: list[DemoKey], as_json: bool, console: bool) -> None:
    """Where it is, in one line for programs, in a few for people."""
    page = f"{address}/console" if console else None
    if as_json:
        told = {"address": address, "console": page, "keys": keys}
        sys.stdout.write(output.as_line(told) + "\n")
        sys.stdout.flush()
        return
    lines = [f"Idetic serves {address}, described at {address}/openapi.json. Ctrl-C stops it."]
    if page is not None:
        lines.append(f"The console is at {page}; log in with an API key.")
    if keys:
        lines += ["", "Keys to the demo world; they end with the server:", *_listed(keys)]
        lines += ["", "Try:", f"  {_curl(address, keys)}"]
    # Written plainly: a key that a terminal wraps cannot be copied.
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _listed(keys: list[DemoKey]) -> Iterator[str]:
    """Each place, and below it who may come in."""
    place = ""
    for each in keys:
        here = f"{each.organisation}, {each.domain or each.agent}"
        if here != place:
            place = here
            yield f"  {here}"
        yield f"    {each.principal:<22} {each.key}"


def _curl(address: str, keys: list[DemoKey]) -> str:
    operator = next(each for each in keys if each.principal.startswith("operator:"))
    return (
        f"curl -s {address}/v1/recall -H 'Authorization: Bearer {operator.key}' "
        "-H 'Content-Type: application/json' -d '{\"query\": \"Why do names match only closely?\"}'"
    )

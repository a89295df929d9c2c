"""`idetic serve`, `worker` and `mcp`: the processes that run until somebody stops them."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.surfaces.cli import config, output
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.options import (
    SCOPE,
    Dsn,
    Json,
    MaybeAgent,
    MaybeAnchor,
    MaybeAs,
    Set,
    examples,
)
from idetic.surfaces.cli.sources import memory_of, principal_of, read_text, with_database

if TYPE_CHECKING:
    from idetic.jobs.worker import Counts
    from idetic.library.idetic import Idetic
    from idetic.library.settings import Settings
    from idetic.surfaces.cli.demo import DemoKey
    from idetic.surfaces.console.login_links import LoginLinks

SERVE = examples("idetic serve --demo", "idetic serve --port 9000 --no-worker")
WORKER = examples("idetic worker", "idetic worker --concurrency 4", "idetic worker --once --json")
MCP = examples(
    "idetic mcp",
    "idetic mcp --user ada",
    f"idetic mcp {SCOPE}",
    "idetic mcp --key-file key.txt",
    "idetic mcp --http --port 8765",
)
KEY = "IDETIC_KEY"
_SCOPE_OPTIONS = ("agent", "anchor", "as_", "user")


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8765,
    demo: Annotated[
        bool, typer.Option("--demo", help="Load a demo world, and print links to log in.")
    ] = False,
    worker: Annotated[
        bool, typer.Option(help="Whether to do background work in this process too.")
    ] = True,
    console: Annotated[
        bool, typer.Option(help="Whether to serve the console, if it is installed.")
    ] = True,
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests per second that each key may make.")
    ] = 200.0,
    given: Set = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Serve the HTTP API and the console until Ctrl-C or SIGTERM; running requests are finished.

    Callers need an API key: `idetic keys create` makes one. With --demo, the server
    loads the demo world and prints links that log in to it. Each link works once, on this machine.
    With --json it prints keys instead, which end with the server.
    """

    async def work(db: Idetic) -> None:
        """Serve until stopped; keys to the demo world hold no longer than that."""
        run, limits = _server(rate)
        from idetic.surfaces.cli.demo import demo_keys

        mount, links = _console(demo=demo, host=host) if console else (None, None)
        async with demo_keys(db, wanted=demo, quiet=json) as keys:
            await run(
                db,
                host=host,
                port=port,
                limits=limits,
                worker=worker,
                console=mount,
                ready=lambda address: _announce(address, keys, json, mount is not None, links),
            )

    settings = _settings(given)
    # A first start makes the embedded server, which takes half a minute on a busy machine.
    output.announce("Opening the database ...", quiet=json)
    with logged("idetic.http", "idetic.jobs", quiet=json, level=settings.log):
        with_database(dsn, work, settings)
    if not json:
        output.write("Stopped.\n")


def _settings(given: list[str] | None) -> Settings:
    """The settings of a process that runs on; one that could not reason as set is not started."""
    settings = config.settled(given).settings
    settings.check_ready()
    return settings


def _server(rate: float) -> Any:
    """The server, whose packages are an extra, and its limits."""
    from idetic.surfaces.http.request_errors import ServerPackagesMissing

    try:
        from idetic.surfaces.http.authentication import Limits
        from idetic.surfaces.http.serving import serve as run
    except ModuleNotFoundError as error:
        raise ServerPackagesMissing(f"The package `{error.name}` is not installed.") from None
    return run, Limits(rate=rate, burst=max(1, int(2 * rate)))


def _console(*, demo: bool, host: str) -> tuple[Any, LoginLinks | None]:
    """What mounts the console, whose packages are another extra; None where they are missing.

    The demo has login links beside it, if the server listens to this machine alone.
    """
    if find_spec("nicegui") is None:
        return None, None
    from idetic.surfaces.console.login_links import LoginLinks, is_local
    from idetic.surfaces.console.shell import mount

    links = LoginLinks() if demo and is_local(host) else None
    return partial(mount, links=links), links


def _announce(
    address: str, keys: list[DemoKey], as_json: bool, console: bool, links: LoginLinks | None
) -> None:
    """Where it is, in one line for programs, in a few for people."""
    page = f"{address}/console" if console else None
    if as_json:
        output.write(output.as_line({"address": address, "console": page, "keys": keys}) + "\n")
        return
    lines = [f"Idetic serves {address}, described at {address}/openapi.json. Ctrl-C stops it."]
    if page is not None:
        lines.append(f"The console is at {page}; log in with an API key.")
    if keys and links is not None:
        said = "To log in to the demo world, open a link. Each works once, on this machine:"
        lines += ["", said, *_listed(keys, lambda key: address + links.issue(key))]
    elif keys:
        lines += ["", "Keys to the demo world; they end with the server:", *_listed(keys, str)]
    if keys:
        operator = next(each for each in keys if each.principal.startswith("operator:"))
        question = '{"query": "Why do names match only closely?"}'
        curl = (
            f"  curl -s {address}/v1/recall -H 'Authorization: Bearer {operator.key}' "
            f"-H 'Content-Type: application/json' -d '{question}'"
        )
        lines += ["", "Or ask over HTTP, with a key that ends with the server:", curl]
    # Written plainly: a key that a terminal wraps cannot be copied.
    output.write("\n".join(lines) + "\n")


def _listed(keys: list[DemoKey], way_in: Callable[[str], str]) -> Iterator[str]:
    """Each place, and below it who may come in and how."""
    place = ""
    for each in keys:
        here = f"{each.organisation}, {each.domain or each.agent}"
        if here != place:
            place = here
            yield f"  {here}"
        yield f"    {each.principal:<22} {way_in(each.key)}"


def worker(
    once: Annotated[
        bool, typer.Option("--once", help="Do the jobs that are due now, then exit.")
    ] = False,
    concurrency: Annotated[int, typer.Option(help="How many jobs at once; at most 64.")] = 2,
    given: Set = None,
    dsn: Dsn = None,
    json: Json = False,
) -> int:
    """Do background work: embed entries, and do the other jobs that wait in the queue.

    The worker runs until Ctrl-C or SIGTERM. A job that runs then is finished, or goes back to the
    queue. Any number of workers can share one database. At the end the worker says what it did.
    With --once, the exit code is 1 if a job failed for good.
    """
    from idetic.jobs.worker import Worker, stopping_on_signals

    async def work(db: Idetic) -> Counts:
        """Work until a signal stops it, or only through what is due."""
        working = Worker(db, concurrency=concurrency)
        with stopping_on_signals(working):
            return await (working.drain() if once else working.run())

    settings = _settings(given)
    with logged("idetic.jobs", quiet=json, level=settings.log):
        counts = with_database(dsn, work, settings)
    outcome = (
        f"{counts.succeeded} jobs done, {counts.retried} to be tried again, {counts.failed} "
        f"failed, {counts.released} given back. {counts.swept} found by looking, "
        f"{counts.recovered} taken over."
    )
    output.say(outcome, asdict(counts), json)
    return 1 if once and counts.failed else 0


@contextmanager
def logged(*names: str, quiet: bool, level: str | None = None) -> Iterator[None]:
    """A line for each job or request on stderr for whoever watches; none beside JSON."""
    # procrastinate's own lines say the same, less plainly.
    logging.getLogger("procrastinate").addHandler(logging.NullHandler())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    shown = logging.NullHandler() if quiet else handler
    logs = [logging.getLogger(name) for name in names]
    for log in logs:
        log.addHandler(shown)
        log.setLevel((level or "info").upper())
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(shown)


def mcp(  # noqa: PLR0913, PLR0917 - one for each option
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP, not stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --http: the port; 0 takes a free one.")
    ] = 8765,
    key_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", show_default=False, help="A file with an API key; or set IDETIC_KEY."
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="The most tokens of an answer.")] = 5_000,
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Whose memory; by default yours."),
    ] = None,
    agent: MaybeAgent = None,
    anchor: MaybeAnchor = None,
    as_: MaybeAs = None,
    given: Set = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Serve memory to a model, over the Model Context Protocol.

    Without options, the server gives what an assistant remembers of you, from the embedded
    database, over stdin and stdout. For another memory, give an API key, or --agent, --anchor and
    --as. Over HTTP each request carries its own key: `Authorization: Bearer idk_…`.
    """
    _prepare_mcp(max_tokens)
    settings = _settings(given)
    # Taken out of the environment: no process that we start needs it.
    kept = os.environ.pop(KEY, None)
    typed = any(_typed(context, name) for name in _SCOPE_OPTIONS)
    if http:
        _serve_mcp_over_http(
            dsn, host, port, settings, bound=max_tokens, scoped=bool(key_file) or typed, json=json
        )
        return
    key = _key(key_file, kept, typed=typed)
    one_user = key is None and (user is not None or not (agent or anchor or as_))

    async def work(db: Idetic) -> None:
        """Serve one holder over stdin and stdout."""
        from idetic.surfaces.mcp.callers import OneUser
        from idetic.surfaces.mcp.transports import serve_stdio

        holder = OneUser(db, user) if one_user else await _holder(db, key, agent, anchor, as_)
        await serve_stdio(db, holder, bound=max_tokens)

    with logged("idetic.mcp", quiet=json, level=settings.log):
        # A client is answered at once, also where there is no database yet. One that was typed is
        # there or is a mistake, and a mistake ends the command before a client waits.
        typed_one = _typed(context, "dsn")
        with_database(dsn, work, settings, opened=not one_user or typed_one)


def _serve_mcp_over_http(
    dsn: str | None,
    host: str,
    port: int,
    settings: Settings,
    *,
    bound: int,
    scoped: bool,
    json: bool,
) -> None:
    """Serve every request that carries a key; a scope on the command line is a mistake."""
    if scoped:
        raise UsageRefused(
            "Over HTTP each request shows its own key.",
            remedy="Leave out --key-file, --user, --agent, --anchor and --as.",
        )
    from idetic.surfaces.mcp.transports import serve_http

    def announce(address: str) -> None:
        """Tell where the server listens: as JSON on stdout, or to people on stderr."""
        if json:
            output.write(output.as_text({"address": address}) + "\n")
        else:
            output.console(stderr=True).print(f"Serving at {address}", soft_wrap=True)

    with_database(
        dsn, lambda db: serve_http(db, host, port, bound=bound, announce=announce), settings
    )


def _prepare_mcp(bound: int) -> None:
    """Refuse a missing package or a wrong bound before a database is opened, and quiet the logs."""
    if find_spec("mcp") is None:
        raise UsageRefused(
            "The package `mcp` is not installed.", remedy="Run `pip install 'idetic[mcp]'`."
        )
    # The packages' own lines may hold content; our handlers report errors themselves.
    for name in ("mcp", "uvicorn", "starlette", "sse_starlette"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    from idetic.surfaces.mcp.formatting import check_bound

    check_bound(bound)


def _typed(context: typer.Context, name: str) -> bool:
    """Whether an option stood on the command line itself, not in a setting."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _key(key_file: str | None, from_environment: str | None, *, typed: bool) -> str | None:
    """The key of a stdio connection; a scope typed beside it is refused, not weighed."""
    key = read_text(key_file) if key_file is not None else from_environment
    if key is not None and typed:
        raise UsageRefused(
            "Both a key and a scope are given.",
            remedy="Leave out --user, --agent, --anchor and --as: the key says whose memory it is.",
        )
    return key and key.strip()


async def _holder(
    db: Idetic, key: str | None, agent: str | None, anchor: list[str] | None, as_: str | None
) -> Any:
    """Whose memory the connection serves: the key's, or that of a scope as typed."""
    from idetic.surfaces.mcp.callers import Local, OneKey

    if key is not None:
        return OneKey(db, key)
    if agent is None or as_ is None:
        raise UsageRefused(
            "The scope is missing.",
            remedy="Give --agent, --anchor and --as, or --user; or an API key (--key-file or "
            f"{KEY}).",
        )
    return Local(db, await memory_of(db, agent, anchor or [], principal_of(as_)))

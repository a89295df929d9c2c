"""How `idetic mcp` is called; its work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.commands import SCOPE
from idetic.surfaces.cli.options import Dsn, Json, MaybeAgent, MaybeAnchor, MaybeAs, examples

MCP = examples(
    f"idetic mcp {SCOPE}",
    "idetic mcp --key-file key.txt",
    "idetic mcp --http --port 8765",
)
_SCOPE_OPTIONS = ("agent", "anchor", "as_")


def mcp(  # noqa: PLR0913, PLR0917 - one for each option
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP instead of stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --http; 0 takes a free one.")
    ] = 8765,
    key_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False, help="An API key; or in IDETIC_KEY."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="How long an answer may be.")] = 5_000,
    agent: MaybeAgent = None,
    anchor: MaybeAnchor = None,
    as_: MaybeAs = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Serve memory to a model, over the Model Context Protocol.

    Over stdin and stdout, the scope is an API key's, or --agent, --anchor and --as for a database
    of your own. Over HTTP each request shows its key: `Authorization: Bearer idk_…`.
    """
    from idetic.surfaces.cli.mcp_serve import Serving, serve

    typed = any(_typed(context, name) for name in _SCOPE_OPTIONS)
    local = (agent, tuple(anchor or ()), as_)
    where = (host, port) if http else None
    serve(Serving(where, key_file, local, typed, max_tokens), dsn, json)


def _typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"

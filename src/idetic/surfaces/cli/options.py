"""The options that commands share, each said once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Answer as JSON on stdout; errors are JSON on stderr.")
]
Dsn = Annotated[
    str | None,
    typer.Option(
        envvar="IDETIC_DSN",
        metavar="DSN",
        show_default=False,
        help="The database; without one, the embedded server.",
    ),
]
AgentName = Annotated[
    str, typer.Option("--agent", metavar="NAME", help="An agent that the database holds.")
]
Anchor = Annotated[
    list[str],
    typer.Option("--anchor", metavar="KEY=VALUE", help="An anchor key; once for each."),
]
As = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="KIND:NAME",
        help="Who asks: agent, operator, customer, auditor or maintenance, and a name.",
    ),
]


def _sources(incomplete: str) -> Iterator[str]:
    from idetic.spec.loader import shipped  # noqa: PLC0415 - only the shell's Tab needs it

    yield from (name for name in shipped() if name.startswith(incomplete))


Source = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        show_default=False,
        help="A shipped name, a YAML file, or agent@version as the database holds it.",
        autocompletion=_sources,
    ),
]


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be copied."""
    return "\n\n".join(("Examples:", *(f"  $ {line}" for line in lines)))

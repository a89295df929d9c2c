"""The options that commands share, each said once; groups of commands, and examples in help."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

SCOPE = "--agent my_agent --anchor tenant_id=UUID --as operator:ada"
"""A scope as an example gives it."""

Json = Annotated[
    bool, typer.Option("--json", help="Answer as JSON on stdout; errors are JSON on stderr.")
]
Dsn = Annotated[
    str | None,
    typer.Option(
        envvar="IDETIC_DSN",
        metavar="DSN",
        show_default=False,
        help="The database to use; by default the embedded server.",
    ),
]
_AGENT = typer.Option(
    "--agent",
    envvar="IDETIC_AGENT",
    metavar="NAME",
    help="The agent's name. NAME/subconscious names the Subconscious of an agent with personas, "
    "NAME@VERSION the older memory that `spec migrate` left.",
)
_ANCHOR = typer.Option(
    "--anchor",
    envvar="IDETIC_ANCHOR",
    metavar="KEY=VALUE",
    help="A key of the anchor and its value; repeat for each key.",
)
_AS = typer.Option(
    "--as",
    envvar="IDETIC_AS",
    metavar="KIND:NAME",
    help="The principal who asks: agent, operator, customer, auditor or maintenance, and a name.",
)
AgentName = Annotated[str, _AGENT]
Anchor = Annotated[list[str], _ANCHOR]
As = Annotated[str, _AS]
# The same where a command can do without.
MaybeAgent = Annotated[str | None, _AGENT]
MaybeAnchor = Annotated[list[str] | None, _ANCHOR]
MaybeAs = Annotated[str | None, _AS]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        help="A setting for this process; repeatable. `idetic config show` lists settings.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


def _shipped(incomplete: str) -> Iterator[str]:
    """The shipped specs whose names begin as typed, for the shell's completion."""
    from idetic.spec.loader import shipped  # noqa: PLC0415 - only the shell's Tab needs it

    yield from (name for name in shipped() if name.startswith(incomplete))


SpecSource = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        show_default=False,
        help="The name of a shipped spec, a YAML file, or agent@version from the database.",
        autocompletion=_shipped,
    ),
]


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be copied."""
    return "\n\n".join(("Examples:", *(f"  $ {line}" for line in lines)))


def group(about: str, *lines: str) -> typer.Typer:
    """A group of commands; called alone, it shows what commands it has."""
    made = typer.Typer(help=about, epilog=examples(*lines))
    made.callback(invoke_without_command=True)(help_if_alone)
    return made


def help_if_alone(context: typer.Context) -> None:  # noqa: D103 - a docstring would become its help
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help())

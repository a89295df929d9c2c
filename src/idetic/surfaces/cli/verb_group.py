"""The root of the command tree: its own commands, and one for each of memory's verbs.

The verbs are listed by reading their declarations without importing them: importing memory takes a
second, and `idetic --help` should not.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import idetic
from idetic.surfaces.cli.options import AgentName, Anchor, As, Dsn, Json

PANEL = "Verbs of memory"
# What people type who know another memory.
_MEANT = {
    "search": "recall",
    "query": "recall",
    "find": "recall",
    "remember": "add",
    "delete": "forget",
    "remove": "forget",
    "version": "--version",
}
# What a declaration says, the verb's name, and the first line of its docstring. Parsing the same
# files takes 0.12 s instead of 0.06.
_DECLARATION = re.compile(
    r'^@(?:stream_)?verb\((.*?)^async def (\w+)\(.*?"""(.*?)(?:\n|""")', re.DOTALL | re.MULTILINE
)
_COMMAND = re.compile(r'\bcommand=(?:None|"([^"]+)")')


def declared_commands() -> dict[str, str]:
    """Every verb that has a command: the command's name, and the first line of its help."""
    found: dict[str, str] = {}
    for path in sorted(Path(idetic.__file__).parent.rglob("*.py")):
        for said, name, summary in _DECLARATION.findall(path.read_text("utf-8")):
            command = _COMMAND.search(said)
            if command is None:
                found[name.rstrip("_").replace("_", "-")] = summary
            elif command[1]:
                found[command[1]] = summary
    # Verbs from outside the package were imported by whoever declares them.
    known = sys.modules.get("idetic.verbs.declaration")
    for verb in known.VERBS.values() if known else ():
        if verb.command is not None:
            found[verb.command] = verb.summary
    return found


class VerbStub(TyperCommand):
    """A verb's command before it is called: its name and help, and the options of every verb."""

    def made(self) -> TyperCommand:
        """The command with all of its options, read from the verb's declaration."""
        from idetic.surfaces.cli.verbs import command_of  # noqa: PLC0415 - it imports memory

        return command_of(str(self.name))


class VerbGroup(TyperGroup):
    """The root. A command of its own stands before the one of a verb with the same name."""

    def __init__(self, **settings: Any) -> None:
        self._listed = False
        super().__init__(**settings)

    @property
    def commands(self) -> Any:
        """Every command; the verbs are looked for when one that is not the root's own is wanted."""
        if not self._listed:
            self._listed, shared = True, _shared_options()
            for name, summary in declared_commands().items():
                stub = VerbStub(name, help=summary, params=shared, rich_help_panel=PANEL)
                self._commands.setdefault(name, stub)
        return self._commands

    @commands.setter
    def commands(self, own: Any) -> None:
        """Keep the root's own commands; no verb takes the place of one."""
        self._commands = own

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        return self._commands.get(cmd_name) or self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called; a verb's is made now."""
        if args and args[0] in _MEANT and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"There is no command {args[0]!r}. `idetic {_MEANT[args[0]]}` does that.")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.made() if isinstance(command, VerbStub) else command, rest


def _shared_options() -> list[Any]:
    """The options that every verb's command has; a settings file may fill them in."""

    def shared(
        agent: AgentName, anchor: Anchor, as_: As, dsn: Dsn = None, json: Json = False
    ) -> None:
        """Carry the options."""

    app = typer.Typer(add_completion=False)
    app.command()(shared)
    return list(get_command(app).params)

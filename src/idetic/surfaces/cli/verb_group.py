"""The root of the command tree: its own commands, and one for each of memory's verbs.

The verbs are listed by reading their declarations without importing them: importing memory takes a
second, and `idetic --help` should not.
"""

from __future__ import annotations

import re
import sys
import textwrap
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import idetic
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.options import AgentName, Anchor, As, Dsn, Json


class Panel(StrEnum):
    """A group of commands in the help, in the order in which they are shown."""

    START = "Start"
    WRITE = "Write memory"
    ASK = "Ask memory"
    READ = "Read entries"
    DECIDE = "Decide about entries"
    FORGET = "Erase and propose"
    AUDIT = "Audit"
    OVERSEE = "See what memory needs"
    UPKEEP = "Maintain memory"
    MOVE = "Move memory"
    AGENTS = "Agents, specs and keys"
    OPERATE = "Operate"


# The tag of a verb's route says in which group its command is shown.
PANEL_OF_TAG = {
    "writing": Panel.WRITE,
    "sessions": Panel.WRITE,
    "asking": Panel.ASK,
    "reading": Panel.READ,
    "lookups": Panel.READ,
    "maturing": Panel.DECIDE,
    "governing": Panel.FORGET,
    "auditing": Panel.AUDIT,
    "overseeing": Panel.OVERSEE,
    "upkeep": Panel.UPKEEP,
    "moving": Panel.MOVE,
}
# Where a group begins; its other commands follow by the room they come from.
_FIRST = (
    *("demo", "use", "serve", "add", "observe", "recall", "context", "profile", "list", "get"),
    *("forget", "verify", "overview", "spec", "doctor", "worker"),
)
# Words that users of other memories type, and the command that does the same here.
MEANT = {
    "search": "recall",
    "query": "recall",
    "find": "recall",
    "remember": "add",
    "store": "add",
    "delete": "forget",
    "remove": "forget",
    "help": "--help",
    "version": "--version",
}
# What a declaration says, the verb's name, and the first line of its docstring. Parsing the same
# files takes 0.12 s instead of 0.06.
_DECLARATION = re.compile(
    r'^@(?:stream_)?verb\((.*?)^async def (\w+)\(.*?"""(.*?)(?:\n|""")', re.DOTALL | re.MULTILINE
)
_COMMAND = re.compile(r'\bcommand=(?:None|"([^"]+)")')
_TAG = re.compile(r'\bhttp=\w+\(\s*"[^"]+",\s*"([^"]+)"')


class DeclaredCommand(NamedTuple):
    """What the list of commands shows of a verb: the first line of its help, and its group."""

    summary: str
    panel: Panel


def declared_commands() -> dict[str, DeclaredCommand]:
    """Every verb that has a command, by the command's name."""
    commands: dict[str, DeclaredCommand] = {}
    for path in sorted(Path(idetic.__file__).parent.rglob("*.py")):
        for declaration, name, summary in _DECLARATION.findall(path.read_text("utf-8")):
            command, tag = _COMMAND.search(declaration), _TAG.search(declaration)
            known = DeclaredCommand(summary, _panel(tag[1] if tag else None))
            if command is None:
                commands[name.rstrip("_").replace("_", "-")] = known
            elif command[1]:
                commands[command[1]] = known
    # Verbs from outside the package were imported by whoever declares them.
    imported = sys.modules.get("idetic.verbs.declaration")
    for verb in imported.VERBS.values() if imported else ():
        if verb.command is not None:
            panel = _panel(verb.http.tag if verb.http else None)
            commands[verb.command] = DeclaredCommand(verb.summary, panel)
    return commands


def _panel(tag: str | None) -> Panel:
    """The group of a verb whose route has this tag; a tag that is unknown here is asked."""
    return PANEL_OF_TAG.get(tag or "", Panel.ASK)


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
            for name, (summary, panel) in declared_commands().items():
                stub = VerbStub(name, help=summary, params=shared, rich_help_panel=panel)
                self._commands.setdefault(name, stub)
        return self._commands

    @commands.setter
    def commands(self, own: Any) -> None:
        """Keep the root's own commands; no verb takes the place of one."""
        self._commands = own

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, group by group, as the help shows them."""
        del ctx
        return [name for names in self._grouped().values() for name in names]

    def overview(self) -> str:
        """The groups and the names of their commands: a screen, where the help has several."""
        # No line between: all of it is to fit a screen of 24 lines.
        lines = [f"{self.help}"]
        for panel, names in self._grouped().items():
            rest = " ".join(names)
            lines += textwrap.wrap(
                rest,
                78,
                initial_indent=f"{panel:24}",
                subsequent_indent=" " * 24,
                break_on_hyphens=False,
            )
        lines += ["", "idetic COMMAND --help explains one command, idetic --help lists them all."]
        return "\n".join([*lines, "To begin: idetic demo, or idetic use --user NAME.", ""])

    def _grouped(self) -> dict[Panel, list[str]]:
        """The names of the commands of each group."""
        groups: dict[Panel, list[str]] = {panel: [] for panel in Panel}
        known = self.commands
        for name in dict.fromkeys((*(each for each in _FIRST if each in known), *known)):
            groups[Panel(known[name].rich_help_panel)].append(name)
        return groups

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        return self._commands.get(cmd_name) or self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called; a verb's is made now."""
        if args and args[0] in MEANT and self.get_command(ctx, args[0]) is None:
            raise UsageRefused(
                f"There is no command {args[0]!r}.", remedy=f"Run `idetic {MEANT[args[0]]}`."
            )
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

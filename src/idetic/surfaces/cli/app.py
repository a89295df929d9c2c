"""The entry point: the command tree, and the one place where an error becomes an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.main import get_command

import idetic
from idetic.errors import IdeticError, InputError
from idetic.surfaces.cli import (
    api_keys,
    bench,
    config,
    database,
    demo,
    embedding_model,
    failures,
    persona,
    serve,
    spec,
    transfer,
)
from idetic.surfaces.cli.options import examples
from idetic.surfaces.cli.verb_group import Panel, VerbGroup

NAME = "idetic"
_SCOPE = ("--agent", "--anchor", "--as")

app = typer.Typer(
    name=NAME,
    help="Governed memory for AI agents, on PostgreSQL.",
    epilog=examples("idetic demo", "idetic spec check my_agent.yaml", "idetic db status"),
    cls=VerbGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
_GROUPS = {
    "demo": (demo.app, Panel.START),
    "spec": (spec.app, Panel.AGENTS),
    "persona": (persona.app, Panel.AGENTS),
    "keys": (api_keys.app, Panel.AGENTS),
    "db": (database.db, Panel.OPERATE),
    "model": (embedding_model.app, Panel.OPERATE),
    "config": (config.app, Panel.OPERATE),
}
_COMMANDS: dict[str, tuple[Callable[..., Any], str, Panel]] = {
    "serve": (serve.serve, serve.SERVE, Panel.START),
    "worker": (serve.worker, serve.WORKER, Panel.OPERATE),
    "mcp": (serve.mcp, serve.MCP, Panel.START),
    "use": (config.use, config.USE, Panel.START),
    "doctor": (database.doctor, database.DOCTOR, Panel.OPERATE),
    "upgrade": (database.upgrade, database.UPGRADE, Panel.OPERATE),
    "distribute": (database.distribute, database.DISTRIBUTE, Panel.OPERATE),
    "bench": (bench.bench, bench.BENCH, Panel.OPERATE),
    "dream": (persona.dream, persona.DREAM, Panel.AGENTS),
    "export": (transfer.export, transfer.EXPORT, Panel.MOVE),
    "import": (transfer.import_, transfer.IMPORT, Panel.MOVE),
    "adopt": (transfer.adopt, transfer.ADOPT, Panel.MOVE),
}
for _name, (_group, _panel) in _GROUPS.items():
    app.add_typer(_group, name=_name, rich_help_panel=_panel)
for _name, (_command, _shown, _panel) in _COMMANDS.items():
    app.command(_name, epilog=_shown, rich_help_panel=_panel)(_command)


def _version(asked: bool) -> None:
    """Print the version and end; typer calls it before it reads other options."""
    if asked:
        sys.stdout.write(f"{NAME} {idetic.__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Show the groups of commands if none is named; `--version` is an option of the root alone."""
    if context.invoked_subcommand is None and isinstance(context.command, VerbGroup):
        sys.stdout.write(context.command.overview())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        sys.excepthook = failures.unexpected
    _prepare_streams()
    as_json = "--json" in typed[: typed.index("--") if "--" in typed else None]
    try:
        return _run(typed)
    except IdeticError as error:
        return failures.report(error, as_json)
    except typer.TyperException as error:
        return failures.report(_usage(error, typed), as_json)
    except typer.Abort:
        return failures.report(_input_ended(), as_json)
    except BrokenPipeError:
        # Whoever read the output has left. Python would complain once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return IdeticError.exit_code


def _run(arguments: list[str]) -> int:
    """Run a command with the settings file's values as defaults; returns the exit code."""
    # Not `app(…)`, which puts a hook of its own in front of ours.
    command = get_command(app)
    settings = config.Config() if _only_looks(arguments) else _settings(arguments)
    defaults = settings.defaults(command)
    before = config.current.set(settings)
    try:
        code = command.main(
            arguments, prog_name=NAME, standalone_mode=False, default_map=defaults or None
        )
    finally:
        config.current.reset(before)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _settings(arguments: list[str]) -> config.Config:
    """The settings file; for `doctor`, one that cannot be read is a finding like others."""
    try:
        return config.load(here=_own(arguments))
    except InputError as error:
        if arguments[0] != "doctor":
            raise
        return config.Config(broken=error)


def _own(arguments: list[str]) -> bool:
    """Whether the user chose the directory; for `mcp` a client did."""
    return arguments[0] != "mcp"


def _only_looks(arguments: list[str]) -> bool:
    """Help, versions and completion work whatever a settings file holds."""
    looking = {"--help", "-h", "--version"}.intersection(arguments)
    return bool(looking) or not arguments or "_IDETIC_COMPLETE" in os.environ


def _prepare_streams() -> None:
    """A closed stream, an odd locale or a broken name in an argument must not break the answer."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Closed before us: nothing to read, and nobody who reads. It takes the lowest number
            # that is free, so that no connection becomes what libraries write to.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # The pool's warnings come back as errors of ours; on stderr they would spoil the JSON.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())


def _usage(error: typer.TyperException, typed: Sequence[str]) -> IdeticError:
    """typer's error as one of ours, which names the help to read."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else NAME
    remedy = f"Run `{command} --help`."
    missing = _missing(error, typed)
    if set(_SCOPE) & set(missing):
        remedy += " `idetic use --user NAME` stores --agent, --anchor and --as for later."
    if len(missing) < 2:
        return failures.UsageRefused(error.format_message(), remedy=remedy)
    return failures.UsageRefused(f"Missing: {', '.join(missing)}.", remedy=remedy)


def _missing(error: typer.TyperException, typed: Sequence[str]) -> list[str]:
    """Every required argument and option that nothing gives, if that is the error."""
    context, first = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or type(error).__name__ != "MissingParameter":
        return []
    words = {word.partition("=")[0] for word in typed}

    def lacks(one: Any) -> bool:
        """Whether neither the command line, the settings nor the environment has a value."""
        if one.param_type_name == "argument":
            return not context.params.get(one.name)
        named = words.intersection(one.opts)
        return not (named or context.lookup_default(one.name) or one.resolve_envvar_value(context))

    wanted = (one for one in context.command.params if one.required)
    return [_label(one) for one in wanted if one is first or lacks(one)]


def _label(one: Any) -> str:
    """A parameter as it is typed: the option, or the word that stands for the argument."""
    return str(one.opts[0] if one.param_type_name == "option" else one.metavar or one.name.upper())


def _input_ended() -> IdeticError:
    """The error for input that ended before every question was answered."""
    return failures.UsageRefused(
        "The input ended before every question was answered.",
        remedy="Nothing was written. Give the answers as options; --help lists them.",
    )

"""The entry point: the command tree, and the one place where an error becomes an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.main import get_command

import idetic
from idetic.errors import IdeticError
from idetic.surfaces.cli import (
    audit_commands,
    bench,
    commands,
    config,
    config_commands,
    demo_commands,
    distribute,
    doctor,
    erase,
    failures,
    key_commands,
    mcp_commands,
    model_commands,
    move_commands,
    persona,
    queue_commands,
    serve,
    spec_commands,
    turn_commands,
    upgrade,
    worker,
)
from idetic.surfaces.cli.options import examples
from idetic.telemetry import configure_from_environment

NAME = "idetic"

app = typer.Typer(
    name=NAME,
    help="Governed memory for AI agents, on PostgreSQL.",
    epilog=examples("idetic demo", "idetic spec check my_agent.yaml", "idetic db status"),
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(demo_commands.app, name="demo")
app.add_typer(spec_commands.app, name="spec")
app.add_typer(commands.db, name="db")
app.add_typer(model_commands.app, name="model")
app.add_typer(key_commands.app, name="keys")
app.add_typer(persona.app, name="persona")
app.command("dream", epilog=persona.DREAM)(persona.dream)
app.command("recall", epilog=model_commands.RECALL)(model_commands.recall)
app.command("embed", epilog=model_commands.EMBED)(model_commands.embed)
app.command("doctor", epilog=doctor.DOCTOR)(doctor.doctor)
app.command("upgrade", epilog=upgrade.UPGRADE)(upgrade.upgrade)
app.command("distribute", epilog=distribute.DISTRIBUTE)(distribute.distribute)
app.command("worker", epilog=worker.WORKER)(worker.worker)
app.command("serve", epilog=serve.SERVE)(serve.serve)
app.command("list", epilog=commands.LIST)(commands.list_entries)
app.command("history", epilog=commands.HISTORY)(commands.history)
app.command("verify", epilog=audit_commands.VERIFY)(audit_commands.verify)
app.command("explain", epilog=audit_commands.EXPLAIN)(audit_commands.explain)
app.command("erase", epilog=erase.ERASE)(erase.erase)
app.command("observe", epilog=turn_commands.OBSERVE)(turn_commands.observe)
app.command("context", epilog=turn_commands.CONTEXT)(turn_commands.context)
app.command("close", epilog=turn_commands.CLOSE)(turn_commands.close)
app.command("contradictions", epilog=queue_commands.LISTED)(queue_commands.contradictions)
app.command("resolve", epilog=queue_commands.RESOLVE)(queue_commands.resolve)
app.command("disposition", epilog=queue_commands.DUE)(queue_commands.disposition)
app.command("dispose", epilog=queue_commands.DISPOSE)(queue_commands.dispose)
app.command("mcp", epilog=mcp_commands.MCP)(mcp_commands.mcp)
app.command("bench", epilog=bench.BENCH)(bench.bench)
app.add_typer(config_commands.app, name="config")
app.command("export", epilog=move_commands.EXPORT)(move_commands.export)
app.command("import", epilog=move_commands.IMPORT)(move_commands.import_)
app.command("adopt", epilog=move_commands.ADOPT)(move_commands.adopt)


def _version(asked: bool) -> None:
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
    commands.help_if_alone(context)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        sys.excepthook = failures.unexpected
    _prepare_streams()
    as_json = "--json" in given[: given.index("--") if "--" in given else None]
    try:
        configure_from_environment()
        return _run(given)
    except IdeticError as error:
        return failures.report(error, as_json)
    except typer.TyperException as error:
        return failures.report(_usage(error), as_json)
    except typer.Abort:
        return failures.report(_input_ended(), as_json)
    except BrokenPipeError:
        # Whoever read the output has left. Python would complain once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return IdeticError.exit_code


def _run(arguments: list[str]) -> int:
    # Not `app(…)`, which puts a hook of its own in front of ours.
    command = get_command(app)
    settings = config.Config() if _only_looks(arguments) else config.load(here=_own(arguments))
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


def _own(arguments: list[str]) -> bool:
    """Whether whoever runs the command chose the directory; for `mcp` it is a client."""
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


def _usage(error: typer.TyperException) -> IdeticError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else NAME
    return failures.UsageRefused(error.format_message(), remedy=f"Run `{command} --help`.")


def _input_ended() -> IdeticError:
    return failures.UsageRefused(
        "The input ended before every question was answered.",
        remedy="Give the answers as options instead; see --help. Nothing was written.",
    )

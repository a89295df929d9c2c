"""Settings from files, weaker than the environment and options; `idetic config`, `idetic use`.

Which database and whose memory are options of their own, marked by their environment variables;
that mark alone decides which options of which commands a file can fill in. The admin login has no
option: everybody on a machine can read a command's arguments. What the running system is made of
is `idetic.library.settings`: here it is only read and shown.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.errors import InputError
from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import (
    Dsn,
    Json,
    MaybeAgent,
    MaybeAnchor,
    MaybeAs,
    Set,
    examples,
    group,
)

if TYPE_CHECKING:
    from idetic.library.settings import SettledSettings

FILE = "idetic.toml"
SCOPE_FILE = "scope.toml"
VARIABLE = "IDETIC_CONFIG"
# What a file may hold about databases and scopes, and the environment variable that is stronger.
SETTINGS = {
    "dsn": "IDETIC_DSN",
    "admin_dsn": "IDETIC_ADMIN_DSN",
    "agent": "IDETIC_AGENT",
    "anchor": "IDETIC_ANCHOR",
    "as": "IDETIC_AS",
}
_PASSWORD_IN_URL = re.compile(r"(://[^:@/\s]*:).*(@)")
_PASSWORD = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)")


@dataclass(frozen=True)
class Config:
    """A file's settings; none without a file.

    `values` are for options, by environment variable; `running` are those of the running system, by
    key; `broken` is why a file was not read, for the one command that goes on without.
    """

    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    running: Mapping[str, Any] = field(default_factory=dict)
    broken: InputError | None = None
    # Which of the values `idetic use` has kept.
    kept: frozenset[str] = frozenset()

    def beyond(self, scope: Config) -> Config:
        """These settings, and what a weaker file says where they say nothing of a scope."""
        if {SETTINGS[name] for name in _SCOPE} & self.values.keys():
            return self
        values = {**scope.values, **self.values}
        return replace(self, values=values, kept=frozenset(scope.values))

    def defaults(self, command: Any) -> dict[str, Any]:
        """What the file says for a command's options and for all commands below it."""
        if not self.values:
            return {}
        defaults = {
            each.name: self.values[each.envvar]
            for each in command.params
            if isinstance(each.envvar, str) and each.envvar in self.values
        }
        for name, below in getattr(command, "commands", {}).items():
            if inner := self.defaults(below):
                defaults[name] = inner
        return defaults


# A scope is kept as a whole: half of one and half of another would be nobody's.
_SCOPE = ("agent", "anchor", "as")
# The file that the command at work has read.
current: ContextVar[Config] = ContextVar("current", default=Config())  # noqa: B039 - frozen


def admin_dsn() -> str | None:
    """The login for whatever administers, from the environment or the file, if either says it."""
    variable = SETTINGS["admin_dsn"]
    return os.environ.get(variable) or current.get().values.get(variable)


def settled(options: Iterable[str] | None = None) -> SettledSettings:
    """The settings of the running system, for the command at work: `given` are its `--set`."""
    from idetic.library.settings import SET, settle  # noqa: PLC0415
    from idetic.surfaces.cli.sources import pairs  # noqa: PLC0415

    file = current.get()
    return settle(file.running, os.environ, pairs(options or (), SET), str(file.path))


def load(*, here: bool = True) -> Config:
    """The file that `IDETIC_CONFIG` names, or the one here, or the user's own; else nothing.

    Not the one `here` for a server that a client starts in a directory of its choice: somebody
    else's files there must not say into which database a model's notes go.
    """
    settings = _settings_file(here=here)
    scope = scope_file()
    return settings.beyond(_read(scope)) if here and scope.is_file() else settings


def _settings_file(*, here: bool) -> Config:
    """The settings file that counts."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return _read(Path(named))
    for path in ([Path(FILE)] if here else []) + [_home() / FILE]:
        if path.is_file():
            return _read(path)
    return Config()


def _home() -> Path:
    """Where a user's own files lie."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "idetic"


def scope_file() -> Path:
    """Where `idetic use` keeps a scope."""
    return _home() / SCOPE_FILE


def read_scope(path: Path) -> dict[str, Any]:
    """The scope that a file keeps, by the names of its options; empty without a file."""
    values = _read(path).values if path.is_file() else {}
    scope = {name: values[SETTINGS[name]] for name in _SCOPE if SETTINGS[name] in values}
    if "anchor" in scope:
        scope["anchor"] = dict(each.split("=", 1) for each in scope["anchor"])
    return scope


def _read(path: Path) -> Config:
    """A TOML file's settings; raises InputError for an unknown one."""
    # Only where there is a file: `idetic --help` needs none of them.
    import tomllib  # noqa: PLC0415

    from idetic.library.settings import flat, keys  # noqa: PLC0415
    from idetic.surfaces.cli.sources import read_text  # noqa: PLC0415

    try:
        data = tomllib.loads(read_text(str(path)))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        where = f": {error}" if isinstance(error, tomllib.TOMLDecodeError) else ""
        raise _wrong(path, f"is not TOML{where}") from None
    running = flat({name: value for name, value in data.items() if name not in SETTINGS})
    if unknown := sorted(set(running) - set(keys())):
        raise _wrong(path, f"has an unknown setting: {unknown[0]!r}")
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name not in SETTINGS:
            continue
        values[SETTINGS[name]] = _anchor(path, value) if name == "anchor" else value
        if name != "anchor" and not isinstance(value, str):
            raise _wrong(path, f"has a `{name}` that is not a text")
    return Config(path, values, running)


def _anchor(path: Path, value: Any) -> list[str]:
    """The anchor as it would be typed."""
    plain = isinstance(value, dict) and all(
        isinstance(each, str | int) and not isinstance(each, bool) for each in value.values()
    )
    if not plain:
        raise _wrong(path, "has an `anchor` that is not a table of texts and whole numbers")
    return [f"{key}={each}" for key, each in value.items()]


def _wrong(path: Path, what: str) -> InputError:
    """The error about a settings file; its remedy lists what the file may hold."""
    from idetic.library.settings import keys  # noqa: PLC0415

    return InputError(
        f"The settings file {str(path)!r} {what}.",
        remedy=f"It may have: {', '.join((*SETTINGS, *keys()))}; anchor is a table, and `a.b` the "
        "key b of a table a. See `idetic config show`.",
    )


def masked(dsn: str) -> str:
    """A DSN that can be shown."""
    return _PASSWORD.sub(r"\1***", _PASSWORD_IN_URL.sub(r"\1***\2", dsn))


app = group(
    "Show settings and where each one comes from.",
    "idetic config show",
    "IDETIC_AS=operator:ada idetic config show",
)


@app.command(
    "show",
    epilog=examples(
        "idetic config show", "idetic config show --json", "idetic config show --set log=debug"
    ),
)
def show_config(
    context: typer.Context,
    dsn: Dsn = None,
    agent: MaybeAgent = None,
    anchor: MaybeAnchor = None,
    as_: MaybeAs = None,
    given: Set = None,
    json: Json = False,
) -> None:
    """Show each setting and its source. Options outweigh the environment, which outweighs a file.

    Passwords and keys are not shown.
    """
    path, admin = load().path, admin_dsn()
    scoping = {
        "dsn": dsn and masked(dsn),
        "admin_dsn": admin and masked(admin),
        "agent": agent,
        "anchor": anchor,
        "as": as_,
    }
    settings: list[dict[str, Any]] = [
        {"name": name, "value": value or None, "source": _source(context, name, value, path)}
        for name, value in scoping.items()
    ]
    settings += settled(given).shown()

    def show(console: Any) -> None:
        """Print the settings as a table, each with its source."""
        rows = [
            {"setting": one["name"], "value": _cell(one), "from": one["source"]} for one in settings
        ]
        console.print(output.Listing(rows))

    output.answer({"file": path and str(path), "settings": settings}, json, show)


def _cell(setting: Mapping[str, Any]) -> str:
    """A setting's value as the table shows it; a list takes a line for each item."""
    value = setting["value"]
    if value is None:
        return "the embedded server" if setting["name"] == "dsn" else ""
    return "\n".join(value) if isinstance(value, list) else str(value)


def _source(context: typer.Context, name: str, value: Any, path: Path | None) -> str:
    """Where a setting's value comes from, in words."""
    variable = SETTINGS[name]
    kept = variable in current.get().kept
    # The admin login has no option, so typer knows no source of it; the environment decides.
    where = context.get_parameter_source("as_" if name == "as" else name)
    origin = where.name if where else "ENVIRONMENT" if os.environ.get(variable) else "DEFAULT_MAP"
    if not value:
        return "not set"
    return {
        "COMMANDLINE": f"the option --{name}",
        "ENVIRONMENT": f"the environment variable {variable}",
        "DEFAULT_MAP": "`idetic use`" if kept else f"the file {path}",
    }.get(origin, "not set")


# --- `idetic use`: whose memory commands are about, in a file of its own -------------------------

# It is the weakest of all sources, so that a settings file, the environment and options replace it.
# A server that a client starts does not read it: what somebody looks at is not what a model serves.

USE = examples(
    "idetic use --user ada",
    "idetic use --agent world_agent --anchor org_id=UUID --anchor domain_id=UUID --as operator:ada",
    "idetic use",
    "idetic use --clear",
)
_ASSISTANT, _TENANT = "assistant_agent", "default"


def use(
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The memory of this user of the assistant."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead of --user: the memory of an agent.")
    ] = None,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="With --agent: a key of the anchor; repeat for each key."
        ),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="KIND:NAME",
            help="The principal who asks; by default you, as an operator.",
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the kept scope.")] = False,
    json: Json = False,
) -> None:
    """Keep agent, anchor and principal for all later commands; without options, show them."""
    path = scope_file()
    if clear:
        path.unlink(missing_ok=True)
    elif user is not None or agent is not None:
        _keep(path, _chosen(user, agent, anchor, as_))
    elif anchor or as_:
        raise InputError("--anchor and --as need --agent.", remedy="Add --agent, or give --user.")
    scope = read_scope(path)
    output.say(
        _as_options(scope) if scope else "No scope is set. Set one with `idetic use --user NAME`.",
        {"file": str(path), **scope},
        json,
    )


def _as_options(scope: dict[str, Any]) -> str:
    """The scope in the words in which it would be typed."""
    keys = (f"--anchor {key}={value}" for key, value in scope["anchor"].items())
    return " ".join([f"Commands use --agent {scope['agent']}", *keys, f"--as {scope['as']}."])


def _chosen(
    user: str | None, agent: str | None, anchor: list[str] | None, as_: str | None
) -> dict[str, Any]:
    """The scope to keep; a user stands for the anchor of the shipped assistant."""
    from idetic.surfaces.cli.sources import pairs, principal_of  # noqa: PLC0415 - it opens memory

    if user is not None and (agent is not None or anchor):
        raise InputError(
            "--user cannot be combined with --agent or --anchor.",
            remedy="Give --user, or --agent with --anchor.",
        )
    keys = pairs(anchor or (), "--anchor")
    keys = keys if user is None else {"tenant_id": _TENANT, "user_id": user}
    who = as_ or f"operator:{getpass.getuser()}"
    principal_of(who)
    return {"agent": agent or _ASSISTANT, "as": who, "anchor": keys}


def _keep(path: Path, scope: dict[str, Any]) -> None:
    """Write the file, for its owner alone. A text of JSON is one of TOML."""
    lines = [f"{name} = {dumps(scope[name])}" for name in ("agent", "as")]
    lines += ["", "[anchor]"]
    lines += [f"{dumps(key)} = {dumps(value)}" for key, value in scope["anchor"].items()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    except OSError as error:
        raise InputError(
            f"The file {str(path)!r} cannot be written.",
            remedy="Check that you may write there, or set XDG_CONFIG_HOME.",
        ) from error

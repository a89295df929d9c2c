"""Where a command's input comes from: a database, a scope, a spec, a file, a pair of words."""

# ruff: noqa: PLC0415 - memory is imported when it is opened: `idetic --help` stays quick
from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from idetic.errors import AnchorRefused, InputError, SpecNotFound
from idetic.model import Principal, PrincipalKind
from idetic.surfaces.cli import config, output
from idetic.verbs.arguments import check_text

if TYPE_CHECKING:
    from idetic.library.handles import Agent, Memory
    from idetic.library.idetic import Idetic
    from idetic.library.settings import Settings
    from idetic.spec.memory_spec import MemorySpec
    from idetic.store.database import Connection
    from idetic.store.registry import SpecVersion

T = TypeVar("T")

_STORED = re.compile(r"([a-z][a-z0-9_]{0,35})@([0-9]{1,9})\Z")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")
_DSN_LIMIT = 4_000
_FILE_LIMIT = 1 << 20


def with_database(
    dsn: str | None,
    work: Callable[[Idetic], Awaitable[T]],
    settings: Settings | None = None,
    *,
    opened: bool = True,
) -> T:
    """Open the database as the settings say, do the work, close it again.

    Without `opened` the work itself is what opens it.
    """
    from idetic.library.idetic import Idetic

    chosen, admin = _logins(dsn)
    chosen_settings = settings or config.settled().settings

    async def run() -> T:
        db = Idetic.open(chosen, admin_dsn=admin, **chosen_settings.parts())
        try:
            return await work(await db.start() if opened else db)
        finally:
            await db.close()

    with chosen_settings.in_force():
        return anyio.run(run)


def with_admin_login(dsn: str | None, work: Callable[[Connection], Awaitable[T]]) -> T:
    """Reach the database with the admin login, of whatever release it is, and do the work."""
    from idetic.store.connect import admin_connection

    chosen, admin = _logins(dsn)

    async def run() -> T:
        async with admin_connection(admin or chosen) as connection:
            return await work(connection)

    return anyio.run(run)


def _logins(dsn: str | None) -> tuple[str | None, str | None]:
    """The DSN, and the admin login's, which goes with one."""
    admin = config.admin_dsn()
    return (
        dsn and check_text(dsn, _DSN_LIMIT, "The DSN"),
        admin and check_text(admin, _DSN_LIMIT, "The admin DSN"),
    )


def with_memory(
    agent: str,
    anchor: Sequence[str],
    principal: str,
    dsn: str | None,
    work: Callable[[Memory], Awaitable[T]],
) -> T:
    """Open the database, and do the work on the memory of a scope as it was typed."""
    who = principal_of(principal)

    async def run(db: Idetic) -> T:
        return await work(await memory_of(db, agent, anchor, who))

    return with_database(dsn, run)


async def memory_of(db: Idetic, agent: str, anchor: Sequence[str], who: Principal) -> Memory:
    """The memory of one scope."""
    holder = await stored_agent(db, agent)
    return holder.bind(principal=who, **anchor_of(holder.spec, anchor))


async def stored_agent(db: Idetic, name: str) -> Agent:
    """An agent as the database holds it: looking must not apply a spec.

    `persona_agent/subconscious` is the memory of its other persona, `my_agent@1` what an earlier
    version of its spec left behind.
    """
    from idetic.library.persona import is_persona
    from idetic.persona.events import Persona, persona_of
    from idetic.spec.loader import load

    whole, _, persona = name.partition("/")
    name, _, version = whole.partition("@")
    versions = await db.spec_versions()
    stored = [e for e in versions if e.agent == name and version in ("", str(e.version))]
    if not stored and version:
        _stored(whole, versions)
    if not stored:
        names = ", ".join(sorted({each.agent for each in versions})) or "none yet"
        raise SpecNotFound(
            f"This database has no agent called {name!r}.",
            remedy=f"It holds: {names}. `idetic spec apply` adds one.",
        )
    spec = load(stored[-1].spec)
    if persona and not is_persona(spec):
        raise InputError(f"{name} has no personas.", remedy=f"Give --agent {name}.")
    return await db.agent(whole if version else spec, persona=persona_of(persona or Persona.ACTOR))


def anchor_of(spec: MemorySpec, given: Sequence[str], option: str = "--anchor") -> dict[str, Any]:
    """The anchor in the types that the spec declares; whether it fits is for `bind` to say."""
    from idetic.spec.primitives import KeyType

    kinds = {key.name: key.type for key in spec.anchor.keys}
    values: dict[str, Any] = {}
    for key, value in pairs(given, option).items():
        if key not in kinds:
            raise AnchorRefused(
                f"Unknown anchor key: {key}.",
                remedy=f"The anchor of {spec.agent} is ({', '.join(kinds)}).",
            )
        number = kinds[key] is KeyType.BIGINT and _WHOLE_NUMBER.match(value)
        values[key] = int(value) if number else value
    return values


def principal_of(text: str) -> Principal:
    """`operator:ada` as a principal."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in set(PrincipalKind):
        raise InputError(
            f"--as {text!r} is not KIND:NAME.",
            remedy=f"For example operator:ada. Kinds: {', '.join(PrincipalKind)}.",
        )
    return Principal(PrincipalKind(kind), name)


def moment_of(text: str, option: str) -> datetime:
    """A moment as typed; whether it has a time zone is for the library to say."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{option} {text!r} is not a moment.", remedy="Write it as 2026-01-31T12:00:00Z."
        ) from None


def read_specs(sources: Iterable[str], dsn: str | None) -> list[MemorySpec]:
    """Specs by shipped name, by file, or `agent@version`; only the last opens a database."""
    from idetic.spec.loader import load

    wanted = list(sources)
    if not any(_STORED.match(source) for source in wanted):
        return [load(source) for source in wanted]

    async def read(db: Idetic) -> list[MemorySpec]:
        stored = await db.spec_versions()
        return [load(_stored(source, stored) or source) for source in wanted]

    return with_database(dsn, read)


def _stored(source: str, versions: list[SpecVersion]) -> Any:
    """The spec that `agent@version` names; None for a source of another form."""
    named = _STORED.match(source)
    if named is None:
        return None
    agent, number = named[1], int(named[2])
    for each in versions:
        if (each.agent, each.version) == (agent, number):
            return each.spec
    stored = ", ".join(str(each.version) for each in versions if each.agent == agent)
    raise SpecNotFound(
        f"This database has no version {number} of {agent}.",
        remedy=f"It holds: {stored}." if stored else "`idetic spec list` shows what it holds.",
    )


def agreed(question: str, *, asking: bool, changes: str | None, look: str) -> bool:
    """Whether somebody at the terminal says yes.

    Where nobody can be asked, what it `changes` is refused; where it changes nothing, it goes on.
    """
    if not (asking and sys.stdin.isatty()):
        if changes is None:
            return True
        raise InputError(
            f"{changes}, and there is no terminal to ask.",
            remedy=f"{look}, then give --yes; nothing was changed.",
        )
    output.console(stderr=True).print(output.literal(f"{question} [y/N] "), end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def pairs(words: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` words as a mapping; each key once."""
    values: dict[str, str] = {}
    for each in words:
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise InputError(
                f"{option} {each!r} is not KEY=VALUE.", remedy=f"Write it as {option} key=value."
            )
        if key in values:
            raise InputError(f"{option} {key} is given twice.", remedy="Keep one of them.")
        values[key] = value
    return values


def read_text(path: str) -> str:
    """A small UTF-8 file."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"The file {path!r} cannot be read: {_reason(error)}.",
            remedy="Check that it is a file and that you may read it.",
        ) from error
    if len(raw) > _FILE_LIMIT:
        raise InputError(f"The file {path!r} is larger than {_FILE_LIMIT >> 10} KB.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"Byte {error.start + 1} of the file {path!r} is not UTF-8.",
            remedy="Save it as UTF-8 and try again.",
        ) from error


def write_text(path: str, text: str, *, anew: bool) -> None:
    """Write a file; `anew` refuses to write over one that exists."""
    try:
        with Path(path).open("x" if anew else "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(
            f"The file {path!r} exists already.", remedy="Choose another name, or remove it first."
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"The file {path!r} cannot be written: {_reason(error)}.",
            remedy="Check that its directory exists and that you may write there.",
        ) from error


def _reason(error: OSError | ValueError) -> str:
    """Without the path, which the sentence has already."""
    code = error.errno if isinstance(error, OSError) else None
    return os.strerror(code).lower() if code else str(error)

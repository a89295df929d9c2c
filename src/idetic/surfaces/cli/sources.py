"""Where a command's input comes from: a database, a spec, a file of answers, a pair of words."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TypeVar

import anyio

from idetic.errors import InputError, SpecNotFound
from idetic.library.idetic import Idetic
from idetic.ports import Clock
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store.connect import admin_connection
from idetic.store.database import Connection
from idetic.store.registry import SpecVersion
from idetic.surfaces.cli import config, output
from idetic.verbs.arguments import check_text

T = TypeVar("T")

_STORED = re.compile(r"([a-z][a-z0-9_]{0,35})@([0-9]{1,9})\Z")
_DSN_LIMIT = 4_000
_FILE_LIMIT = 1 << 20


def with_database(
    dsn: str | None, work: Callable[[Idetic], Awaitable[T]], *, clock: Clock | None = None
) -> T:
    """Open the database, do the work, close it again."""
    chosen, admin = _logins(dsn)

    async def run() -> T:
        async with Idetic.open(chosen, admin_dsn=admin, clock=clock) as db:
            return await work(db)

    return anyio.run(run)


def with_admin_login(dsn: str | None, work: Callable[[Connection], Awaitable[T]]) -> T:
    """Reach the database with the admin login, of whatever release it is, and do the work."""
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


def read_specs(sources: Iterable[str], dsn: str | None) -> list[MemorySpec]:
    """Specs by shipped name, by file, or `agent@version`; only the last opens a database."""
    wanted = list(sources)
    if not any(_STORED.match(source) for source in wanted):
        return [load(source) for source in wanted]

    async def read(db: Idetic) -> list[MemorySpec]:
        stored = await db.spec_versions()
        return [_stored(source, stored) or load(source) for source in wanted]

    return with_database(dsn, read)


def _stored(source: str, versions: list[SpecVersion]) -> MemorySpec | None:
    named = _STORED.match(source)
    if named is None:
        return None
    agent, number = named[1], int(named[2])
    for each in versions:
        if (each.agent, each.version) == (agent, number):
            return load(each.spec)
    held = ", ".join(str(each.version) for each in versions if each.agent == agent)
    raise SpecNotFound(
        f"This database holds no version {number} of {agent}.",
        remedy=f"It holds: {held}." if held else "`idetic spec list` shows what it holds.",
    )


def confirmed(question: str) -> bool:
    """Whether somebody at the terminal says yes."""
    output.console(stderr=True).print(output.literal(f"{question} [y/N] "), end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` words as a mapping; each key once."""
    found: dict[str, str] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise InputError(
                f"{option} {each!r} is not KEY=VALUE.", remedy=f"As {option} key=value."
            )
        if key in found:
            raise InputError(f"{option} {key} is given twice.", remedy="Keep one of them.")
        found[key] = value
    return found


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

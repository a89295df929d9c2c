"""The right to work on a home while no server runs in it, and the running of programs there."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from idetic.errors import EmbeddedServerError

from .account import Account
from .home import Home

# Not os.environ: PGDATA, PGOPTIONS, LC_ALL and friends all change what PostgreSQL does.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_PATIENCE = 120.0


@dataclass(frozen=True)
class Claim:
    """A home, the account its server runs as, and the server lock."""

    home: Home
    account: Account
    lock_fd: int

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        stdin: str = "",
        stderr: IO[bytes] | int = subprocess.PIPE,
        as_account: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, whatever its exit code; only not being able to is an error.

        Every program inherits the server lock. If we are killed and it is not, whoever
        comes next waits until it is gone, instead of working in the same files.
        """
        switch = self.account if as_account and self.account.is_other else None
        try:
            return subprocess.run(  # noqa: S603 - our own programs, nothing from users
                [str(part) for part in argv],
                cwd=self.home.path,
                env={**_ENVIRONMENT, **env},
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                encoding="utf-8",
                errors="replace",
                timeout=_PATIENCE,
                check=False,
                pass_fds=(self.lock_fd,),
                # Ctrl-C in the parent's terminal is not meant for the server.
                start_new_session=True,
                umask=0o077 if as_account else 0o022,
                user=switch.uid if switch else None,
                group=switch.gid if switch else None,
                extra_groups=[] if switch else None,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise _could_not_run(argv[0], error) from error


def _could_not_run(program: str | Path, error: Exception) -> EmbeddedServerError:
    if isinstance(error, subprocess.TimeoutExpired):
        return EmbeddedServerError(
            f"`{program}` did not finish within {_PATIENCE:.0f} s.",
            remedy="Check the machine's disk and load, then try again.",
        )
    return EmbeddedServerError(
        f"`{program}` could not be run: {error}.",
        remedy="Check that its directory is reachable and not mounted noexec; set IDETIC_HOME "
        "to another place if it is, or give a DSN.",
    )

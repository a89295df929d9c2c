"""Who the server runs as, and how its programs are run in a home.

The account is the current user, or an unprivileged one when that is root.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from idetic.errors import EmbeddedServerError

from .home import Home

SYSTEM_USER = "idetic"
_OPTIONS = ("--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin")
# The directory that lists the users: a lock on it needs no file of its own.
_ACCOUNTS = "/etc"
_ADMIN_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
# Not os.environ: PGDATA, PGOPTIONS, LC_ALL and friends all change what PostgreSQL does.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_PATIENCE = 120.0


@dataclass(frozen=True)
class Account:
    """The operating system user that owns the data directory and runs PostgreSQL."""

    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """Whether running as this account means to switch users."""
        return self.uid != os.geteuid()

    @property
    def name(self) -> str:
        """The account's name, for messages."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return f"with id {self.uid}"

    @classmethod
    def of(cls, home: Home) -> Account:
        """The account for this home.

        As root an existing data directory decides: a rebuilt container may have given
        `idetic` another id than the volume it finds was written under.
        """
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid())
        if home.data.exists():
            owner = home.data.stat()
            if owner.st_uid == 0:
                raise EmbeddedServerError(
                    f"{home.data} belongs to root, and PostgreSQL refuses to run as root.",
                    remedy=f"Run `chown -R {SYSTEM_USER}: {home.data}` and try again.",
                )
            return cls(owner.st_uid, owner.st_gid)
        user = _find_user()
        if user is None:
            with _alone():
                user = _find_user() or _create_user()
        return cls(user.pw_uid, user.pw_gid)

    def own(self, path: Path) -> None:
        """Give `path` to this account."""
        if self.is_other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def own_directory(self, path: Path) -> None:
        """Make `path` a directory that only this account (and root) can enter.

        Anyone may create names in /tmp, so a directory that is already there is trusted only
        if it is a real directory of ours: lstat, because a symbolic link would pass a stat.
        """
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (self.uid, os.geteuid()):
                raise EmbeddedServerError(
                    f"{path} is needed for the embedded database's socket, but another user "
                    "made it first.",
                    remedy=f"Find out who owns {path} and remove it, or set IDETIC_HOME to a "
                    "shorter path.",
                ) from None
        self.own(path)
        path.chmod(0o700)

    def require_reach(self, home: Home) -> None:
        """Refuse a home this account cannot enter, and name the directory that blocks it."""
        if not self.is_other or self._can_enter(home.path):
            return
        chain = [*reversed(home.path.parents), home.path]
        blocking = next(step for step in chain if not self._can_enter(step))
        raise EmbeddedServerError(
            f"PostgreSQL refuses to run as root, so it runs as the user {self.name}, who cannot "
            f"enter {blocking} and therefore not reach {home.path}.",
            remedy=f"Run `chmod o+x {blocking}`, or set IDETIC_HOME to a directory that every "
            "user may enter, such as /var/lib/idetic, or give a DSN.",
        )

    def _can_enter(self, directory: Path) -> bool:
        """Whether this account may enter a directory, found by trying it as that user."""
        # Asking the kernel as that user, because mode bits do not tell about ACLs and mounts.
        try:
            entered = subprocess.run(  # noqa: S603 - a fixed command
                ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(directory)],
                user=self.uid,
                group=self.gid,
                extra_groups=[],
                cwd="/",
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedServerError(
                f"PostgreSQL refuses to run as root, and switching to the user {self.name} "
                f"failed: {error}.",
                remedy="Allow this container to change users (CAP_SETUID, CAP_SETGID), run "
                "Idetic as an ordinary user, or give a DSN.",
            ) from error
        return entered.returncode == 0


def _find_user() -> pwd.struct_passwd | None:
    """The system's user of that name, if there is one."""
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return None


@contextmanager
def _alone() -> Iterator[None]:
    """Only one process at a time makes the user.

    `useradd` asks whether the user is there before it takes its own lock: of three that were
    started together, the second gave the user of the first another id.
    """
    directory = os.open(_ACCOUNTS, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _create_user() -> pwd.struct_passwd:
    """Make the unprivileged system user that the server runs as, or say why that failed."""
    useradd = shutil.which("useradd", path=_ADMIN_PATH)
    if useradd is None:
        raise _no_user("there is no `useradd` here to make one")
    try:
        # A group of that name may be there already, and useradd would refuse to make it.
        group = ["--gid", grp.getgrnam(SYSTEM_USER).gr_name]
    except KeyError:
        group = ["--user-group"]
    made = subprocess.run(  # noqa: S603 - a fixed command
        [useradd, "--system", "--no-create-home", *_OPTIONS, *group, SYSTEM_USER],
        capture_output=True,
        text=True,
        check=False,
    )
    # A second process may have been faster, or hold the lock on /etc/passwd right now.
    for _ in range(20):
        if user := _find_user():
            return user
        if made.returncode == 0:
            break
        time.sleep(0.1)
    raise _no_user(f"`useradd` could not make one: {made.stderr.strip()}")


def _no_user(reason: str) -> EmbeddedServerError:
    """The error that says why there is no unprivileged user to run the server as."""
    return EmbeddedServerError(
        f"PostgreSQL refuses to run as root and needs an unprivileged user {SYSTEM_USER!r}, "
        f"but {reason}.",
        remedy=f"Create the system user {SYSTEM_USER!r} with your system's own tool, run Idetic "
        "as an ordinary user, or give a DSN.",
    )


@dataclass(frozen=True)
class ProgramRunner:
    """Runs PostgreSQL's programs in a home, as its account, under the server lock."""

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
        except subprocess.TimeoutExpired as error:
            raise EmbeddedServerError(
                f"`{argv[0]}` did not finish within {_PATIENCE:.0f} s.",
                remedy="Check the machine's disk and load, then try again.",
            ) from error
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedServerError(
                f"`{argv[0]}` could not be run: {error}.",
                remedy="Check that its directory is reachable and not mounted noexec; set "
                "IDETIC_HOME to another place if it is, or give a DSN.",
            ) from error

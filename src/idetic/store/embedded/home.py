"""The directory that holds everything of one embedded server, and who may use it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from idetic.errors import EmbeddedServerError

PORT = 5432
_SOCKET_NAME = f".s.PGSQL.{PORT}"
# Linux allows 107 bytes for a socket's path, macOS 103.
_SOCKET_PATH_LIMIT = 103
# initdb runs `"…/postgres" -V` through a shell: a home called `$(reboot)` would do it.
_SHELL_CHARACTERS = set('"$`\\\n\r')


def default_home() -> Path:
    """`IDETIC_HOME`; else `/var/lib/idetic` for root, the user's data directory for others."""
    if configured := os.environ.get("IDETIC_HOME"):
        return Path(configured)
    if os.geteuid() == 0:
        return Path("/var/lib/idetic")
    data_home = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    if data_home.startswith("/"):
        return Path(data_home) / "idetic"
    try:
        return Path.home() / ".local" / "share" / "idetic"
    except RuntimeError as error:
        raise EmbeddedServerError(
            "This user has no home directory to keep the embedded database in.",
            remedy="Set IDETIC_HOME to a directory this user may write, or give a DSN.",
        ) from error


@dataclass(frozen=True)
class Home:
    """Where each thing of one embedded server lies."""

    path: Path

    @classmethod
    def at(cls, path: Path | None) -> Home:
        """The home at `path`, in one spelling, so that every process means the same locks."""
        return cls((path or default_home()).expanduser().resolve())

    @property
    def data(self) -> Path:
        """PostgreSQL's data directory."""
        return self.path / "data"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.path / "server.log"

    @property
    def settings(self) -> Path:
        """What `data/postgresql.conf` includes; rewritten at every start."""
        return self.path / "server.conf"

    @property
    def credentials(self) -> Path:
        """Role names and their generated passwords."""
        return self.path / "credentials.json"

    @property
    def kept(self) -> Path:
        """While this file exists the server stays when its last user leaves."""
        return self.path / "kept"

    @property
    def scratch(self) -> Path:
        """Work that may be killed half-way; whatever is in it is worth nothing."""
        return self.path / "scratch"

    @property
    def socket_dir(self) -> Path:
        """A private directory whose path is short enough for a Unix socket."""
        inside = self.path / "run"
        if len(os.fsencode(inside / _SOCKET_NAME)) <= _SOCKET_PATH_LIMIT:
            return inside
        digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:24]
        # Not TMPDIR or /run/user: every process that shares this home must compute the same
        # place, and it must outlive a login session. PostgreSQL touches its socket hourly,
        # so that cleaners of /tmp leave it alone.
        return Path("/tmp") / f"idetic-{digest}"  # noqa: S108 - see private_dir

    def create(self) -> None:
        """Make the home if it is missing; refuse one that cannot be used safely."""
        if _SHELL_CHARACTERS & set(str(self.path)):
            raise EmbeddedServerError(
                f"The embedded database's home {self.path} has a character in its path that "
                "PostgreSQL's initdb would hand to a shell.",
                remedy='Set IDETIC_HOME to a path without " $ ` \\ and line breaks.',
            )
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        for directory in reversed(missing):
            directory.mkdir(exist_ok=True)
            # chmod, because a umask of 077 would lock the server's own user out. As root the
            # home may be entered, not listed; what is inside is protected file by file.
            own = 0o711 if os.geteuid() == 0 else 0o700
            directory.chmod(own if directory == self.path else 0o755)
        self.check()

    def check(self) -> None:
        """Refuse a home in which another user could plant files."""
        found = self.path.stat()
        if found.st_uid != os.geteuid():
            raise EmbeddedServerError(
                f"The embedded database's home {self.path} belongs to user id {found.st_uid}, "
                f"not to the current user id {os.geteuid()}.",
                remedy="Run as that user, chown the directory, or set IDETIC_HOME to a "
                "directory that does not exist yet.",
            )
        if found.st_mode & stat.S_IWOTH:
            raise EmbeddedServerError(
                f"Every user may write in the embedded database's home {self.path}.",
                remedy=f"Run `chmod o-w {self.path}`, or set IDETIC_HOME to a directory of its "
                "own below it.",
            )

    def fresh_scratch(self) -> Path:
        """An empty scratch directory; the caller holds the start lock."""
        self.clear_scratch()
        self.scratch.mkdir(mode=0o700)
        return self.scratch

    def clear_scratch(self) -> None:
        """Remove what finished or killed work left behind."""
        if self.scratch.exists():
            shutil.rmtree(self.scratch)


def private_dir(path: Path, uid: int, gid: int) -> None:
    """Make `path` a directory that only `uid` (and root) can enter.

    Anyone may create names in /tmp, so a directory that is already there is trusted only
    if it is a real directory of ours: lstat, because a symbolic link would pass a stat.
    """
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (uid, os.geteuid()):
            raise EmbeddedServerError(
                f"{path} is needed for the embedded database's socket, but another user "
                "made it first.",
                remedy=f"Find out who owns {path} and remove it, or set IDETIC_HOME to a "
                "shorter path.",
            ) from None
    if os.geteuid() == 0:
        os.chown(path, uid, gid, follow_symlinks=False)
    path.chmod(0o700)

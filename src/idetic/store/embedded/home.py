"""The home of one embedded server: where everything lies, its passwords, and its errors."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idetic.errors import EmbeddedServerError

from .files import write_durably

PORT = 5432
SUPERUSER = "postgres"
SOCKET_NAME = f".s.PGSQL.{PORT}"
# Linux allows 107 bytes for a socket's path, macOS 103.
_SOCKET_PATH_LIMIT = 103
# initdb runs `"…/postgres" -V` through a shell: a home called `$(reboot)` would do it.
_SHELL_CHARACTERS = set('"$`\\\n\r')
_LAST_LINES = 15
_NO_SPACE = 32 << 20
_REFUSALS = ("Permission denied", "Read-only", "not permitted")


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


class Home:
    """The directory that holds everything of one embedded server.

    `kept` is a file: while it exists the server stays when its last user leaves; while `stopped`
    exists nobody who watches brings the server back. `scratch` holds work that may be killed
    half-way. `settings` is what `data/postgresql.conf` includes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self.log = path / "server.log"
        self.settings = path / "server.conf"
        self.credentials = path / "credentials.json"
        self.kept = path / "kept"
        self.stopped = path / "stopped"
        self.scratch = path / "scratch"
        self.socket_dir = _socket_dir(path)

    @classmethod
    def at(cls, path: Path | None) -> Home:
        """The home at `path`, in one spelling, so that every process means the same locks."""
        return cls((path or default_home()).expanduser().resolve())

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

    def passwords(self) -> dict[str, str]:
        """The generated password of every role, from a file that only the home's owner reads."""
        try:
            stored = json.loads(self.credentials.read_text(encoding="utf-8"))
            return {str(role): str(password) for role, password in stored.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, AttributeError) as error:
            raise EmbeddedServerError(
                f"The passwords of the embedded database in {self.credentials} are not readable.",
                remedy="Delete that file and stop the server; the next start sets new passwords.",
            ) from error

    def ensure_password(self, role: str) -> str:
        """The password of a role, generated and saved first if need be; under the start lock.

        Saved before the server hears of it: a password the server does not know yet can be
        set again, one that was lost cannot be found again.
        """
        known = self.passwords()
        if role not in known:
            known[role] = secrets.token_urlsafe(32)
            write_durably(self.credentials, json.dumps(known, indent=1, sort_keys=True), 0o600)
        return known[role]

    def error(self, message: str, output: str = "") -> EmbeddedServerError:
        """The error for a program or server that failed, with its last lines and a remedy."""
        lines = [line.strip() for line in output.splitlines() if line.strip()][-_LAST_LINES:]
        quoted = "\n".join(["", *lines, ""]) if lines else ""
        message = f"{message} The server's log is {self.log}.{quoted}"
        return EmbeddedServerError(message, remedy=self._remedy(output))

    @contextmanager
    def os_errors_explained(self) -> Iterator[None]:
        """Turn the operating system's refusals into an error that says what to do."""
        try:
            yield
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            raise EmbeddedServerError(
                f"The embedded database in {self.path} could not be used: {error.strerror}{where}.",
                remedy=self._remedy(error.strerror or ""),
            ) from error

    def _remedy(self, output: str) -> str | None:
        """What to do about a failure, by the words that a program printed; None if unknown."""
        if "loading shared libraries" in output:
            return (
                "Install the system library it names (on Debian: libgssapi-krb5-2, libssl3, "
                "libxml2, liblz4-1, libzstd1), or give a DSN."
            )
        if "No space left" in output or self._is_full():
            return f"The disk is full: make room where {self.path} lies, then try again."
        if any(refusal in output for refusal in _REFUSALS):
            return (
                "Make that path writable for this user, set IDETIC_HOME to a directory that is, "
                "or give a DSN."
            )
        if "still in use" in output:
            return (
                "Processes of a killed server are still finishing: try again in a moment, or end "
                "the processes named `postgres: idetic`."
            )
        return None

    def _is_full(self) -> bool:
        """Whether the disk of the home is as good as full; False where that cannot be asked."""
        try:
            return shutil.disk_usage(self.path).free < _NO_SPACE
        except OSError:
            return False


def _socket_dir(home: Path) -> Path:
    """A private directory whose path is short enough for a Unix socket."""
    inside = home / "run"
    if len(os.fsencode(inside / SOCKET_NAME)) <= _SOCKET_PATH_LIMIT:
        return inside
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:24]
    # Not TMPDIR or /run/user: every process that shares this home must compute the same
    # place, and it must outlive a login session. PostgreSQL touches its socket hourly,
    # so that cleaners of /tmp leave it alone.
    return Path("/tmp") / f"idetic-{digest}"  # noqa: S108 - see Account.own_directory

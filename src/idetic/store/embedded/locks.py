"""Locks between processes. The kernel drops them with their holder, however it dies.

`flock` belongs to the open file, not to the process, so two leases in one process count
as two. Python opens files close-on-exec: the server inherits no lock but its own.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idetic.errors import EmbeddedServerError

from .home import Home

# A start that has to recover a crashed server is given 300 s; a waiter outlasts it.
_PATIENCE = 360.0
# Children of a killed server finish what they do and go.
_LEAVING_PATIENCE = 30.0


class FileLock:
    """One open file that can be locked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def fileno(self) -> int:
        """For whoever is meant to inherit the lock."""
        return self._fd

    def share(self) -> None:
        """Take the lock together with others."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """Take the lock if nobody else has it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def alone(self, patience: float) -> None:
        """Wait for the lock, but not behind a stopped process for ever."""
        deadline = time.monotonic() + patience
        while not self.try_alone():
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Another process has held {self._path} for {patience:.0f} s.",
                    remedy=f"Find it with `fuser {self._path}`, end it, and try again.",
                )
            time.sleep(0.005)

    def unlock(self) -> None:
        """Give the lock back, also on behalf of forked children that share the open file."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file; the lock goes when nobody has the file open."""
        os.close(self._fd)


@contextmanager
def start_lock(home: Home) -> Iterator[None]:
    """Held by whoever starts, stops or reconfigures the server: one at a time."""
    lock = FileLock(home.path / "start.lock")
    try:
        lock.alone(_PATIENCE)
        yield
        # Not left to close(): a child forked meanwhile has the file open too.
        lock.unlock()
    finally:
        lock.close()


@contextmanager
def server_lock(home: Home) -> Iterator[int]:
    """Proof that no process of an earlier server is left; yields what the next one inherits.

    Every process of a server holds this lock until it ends, and the kernel knows them all,
    also in other containers that share the home, where no pid would tell. Inheriting it is
    harmless, unlike the other two: it says that the server runs, not that it is used.
    """
    lock = FileLock(home.path / "server.lock")
    try:
        lock.alone(_LEAVING_PATIENCE)
        yield lock.fileno()
    finally:
        # Only closed: from here on the server holds it.
        lock.close()


def users_lock(home: Home) -> FileLock:
    """Shared by everyone who uses the server."""
    return FileLock(home.path / "users.lock")


def count_users(home: Home) -> int | None:
    """How many leases are out, where the kernel says so (Linux).

    Read from /proc/locks and not probed: a probe holds the lock for a moment, and a
    release in that moment would take the prober for a user and leave the server running.
    """
    try:
        inode = (home.path / "users.lock").stat().st_ino
        lines = Path("/proc/locks").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return sum(" FLOCK " in line and f":{inode} " in line and "->" not in line for line in lines)

"""Where a run's temporary files lie: in memory, where there is room for them.

The suite makes thousands of databases. A copy of one took 60 ms in memory and 900 ms on the disk
of a small machine, so without this most of a run is waiting for that disk. Whoever sets TMPDIR
decides otherwise.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in it has a name of its own
# Three processes have taken 0.6 GB; their logs may grow to 0.25 GB each (tests/support/servers.py).
ROOM = 3 * 1024**3
_PREFIX = "idetic-run-"


def take() -> Path | None:
    """Make a place in memory the one for temporary files; None where it is not to be had."""
    if "TMPDIR" in os.environ or not _fit(MEMORY):
        return None
    _sweep(MEMORY)
    place = MEMORY / f"{_PREFIX}{os.getpid()}"
    place.mkdir()
    # The embedded server runs as another user where the tests run as root.
    place.chmod(0o755)
    os.environ["TMPDIR"] = str(place)
    tempfile.tempdir = None
    return place


def give_back(place: Path) -> None:
    """Remove it with all that is in it: it would go on filling the memory."""
    shutil.rmtree(place, ignore_errors=True)


def _fit(where: Path) -> bool:
    """Whether files can be written and started there, and there is room."""
    try:
        room = os.statvfs(where)
    except OSError:
        return False
    roomy = room.f_bavail * room.f_frsize >= ROOM
    return roomy and os.access(where, os.W_OK) and not room.f_flag & os.ST_NOEXEC


def _sweep(where: Path) -> None:
    """Remove what runs left that were killed."""
    for left in where.glob(f"{_PREFIX}*"):
        if not Path("/proc", left.name.removeprefix(_PREFIX)).exists():
            shutil.rmtree(left, ignore_errors=True)

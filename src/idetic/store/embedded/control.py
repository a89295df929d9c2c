"""Looking at the server and steering it from outside: status, keep, stop."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .failures import told_as_ours
from .home import Home
from .installation import Installation
from .locks import count_users, start_lock
from .postmaster import answers, live_pid, stop_server


@dataclass(frozen=True)
class ServerStatus:
    """What there is to say about one home's server."""

    running: bool
    """Whether it accepts connections."""
    pid: int | None
    home: Path
    data_dir: Path
    socket_dir: Path
    version: str | None
    """PostgreSQL's version, once it is unpacked."""
    kept: bool
    users: int | None
    """How many leases are out; None where the system does not tell."""


def status(home: Path | None = None) -> ServerStatus:
    """Look without touching: nothing is created, started or waited for."""
    place = Home.at(home)
    with told_as_ours(place):
        installation = Installation.find(place)
        return ServerStatus(
            running=answers(place),
            pid=live_pid(place),
            home=place.path,
            data_dir=place.data,
            socket_dir=place.socket_dir,
            version=installation.version if installation else None,
            kept=place.kept.exists(),
            users=count_users(place),
        )


def stop(home: Path | None = None) -> bool:
    """Stop the server, whoever uses it, and no longer keep it; whether there was one."""
    place = Home.at(home)
    with told_as_ours(place):
        if not place.path.exists():
            return False
        place.check()
        with start_lock(place):
            place.kept.unlink(missing_ok=True)
            return stop_server(place)


def keep(home: Path | None = None) -> None:
    """Let the server stay when its last user leaves, until `stop`."""
    place = Home.at(home)
    with told_as_ours(place):
        place.create()
        with start_lock(place):
            place.kept.touch()

"""The server process: found, launched, waited for, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from psycopg import pq

from .address import is_listening, ping
from .claim import Claim
from .failures import server_failed
from .home import PORT, Home
from .installation import Installation

# Above every pid that Linux (4194304) or macOS (99999) hands out.
_NOBODY = 2**31 - 1
_STOP_PATIENCE = 60.0
_BUSY_PATIENCE = 300.0


def answers(home: Home) -> bool:
    """Whether the server accepts connections."""
    return ping(home) is pq.Ping.OK


def live_pid(home: Home) -> int | None:
    """The server's process id, if the process the pid file names is the server.

    After a reboot the file may name any process at all, and sending that one a signal
    would be unforgivable.
    """
    pid = _recorded_pid(home)
    return pid if pid is not None and f" -D {home.data} " in _command_line(pid) else None


def _recorded_pid(home: Home) -> int | None:
    try:
        first_line = (home.data / "postmaster.pid").read_text(encoding="utf-8").partition("\n")[0]
        return int(first_line)
    except (FileNotFoundError, ValueError):
        return None


def _command_line(pid: int) -> str:
    """What the process was called with, ending in a blank; empty for the dead and zombies.

    Not /proc/PID/cwd or exe: root without CAP_SYS_PTRACE, as in Docker, may not read those.
    """
    if Path("/proc/self").exists():
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return ""
        return os.fsdecode(raw).replace("\0", " ")
    listed = subprocess.run(  # noqa: S603 - macOS has no /proc
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{listed.stdout.strip()} " if listed.stdout.strip() else ""


def disarm_stale_files(home: Home) -> None:
    """Make leftovers of a dead server harmless; the caller knows that none is running.

    PostgreSQL judges its pid file by whether *some* process of its user has that pid. The
    file is not deleted but given a pid nobody has, because its last line names the shared
    memory by which PostgreSQL notices a server that someone started by hand.
    """
    for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
        (home.socket_dir / name).unlink(missing_ok=True)
    pidfile = home.data / "postmaster.pid"
    if not pidfile.exists():
        return
    if _recorded_pid(home) is None:
        # Empty or torn by a power cut; PostgreSQL would refuse it.
        pidfile.unlink()
        return
    fd = os.open(pidfile, os.O_RDWR | os.O_NOFOLLOW)
    with os.fdopen(fd, "r+", encoding="utf-8") as file:
        rest = file.read().partition("\n")[2]
        file.seek(0)
        file.write(f"{_NOBODY}\n{rest}")
        file.truncate()


def launch(claim: Claim, installation: Installation) -> int:
    """Start the server as a daemon and return its pid at once.

    The shell in between makes the server an orphan: it is nobody's child to be reaped, and
    it inherits the log instead of the caller's output. Unlike pg_ctl's, this shell never
    parses a path.
    """
    home = claim.home
    # Quoted, because the setting is a list that a comma in the path would split.
    socket_dir = f'unix_socket_directories="{home.socket_dir}"'
    where = ("-c", "listen_addresses=", "-c", socket_dir)
    server = (installation.program("postgres"), "-D", home.data, "-p", str(PORT), *where)
    fd = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "ab") as log:
        started = claim.run(
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *server],
            env=installation.environment,
            stderr=log,
        )
    if not started.stdout.strip().isdigit():
        raise server_failed("The embedded server could not be launched.", home, "")
    return int(started.stdout)


def wait_until_ready(home: Home, pid: int, patience: float) -> bool:
    """Wait until the server accepts connections; False if it died or never listened.

    One that says it is recovering, or is too busy to say anything, gets more time.
    """
    begun = time.monotonic()
    while (state := ping(home)) is not pq.Ping.OK:
        if not _command_line(pid):
            return False
        busy = state is pq.Ping.REJECT or is_listening(home)
        waited = time.monotonic() - begun
        if waited > (_BUSY_PATIENCE if busy else patience):
            return False
        # Slower and slower, because a recovering server logs every refusal.
        time.sleep(min(0.01 + waited / 50, 0.2))
    return True


def stop_server(home: Home) -> bool:
    """Stop the server: running statements are cancelled, committed work is kept."""
    pid = live_pid(home)
    if pid is None:
        return False
    # Fast; then immediate, which costs the next start a recovery and nothing else.
    for how, patience in ((signal.SIGINT, _STOP_PATIENCE), (signal.SIGQUIT, 10.0)):
        with suppress(ProcessLookupError):
            os.kill(pid, how)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if live_pid(home) != pid:
                return True
            time.sleep(0.005)
    raise server_failed(f"The embedded server (pid {pid}) does not stop.", home, "")

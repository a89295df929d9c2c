"""The server process: found, started, waited for, stopped, and the address it answers at."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
from psycopg import pq
from psycopg.conninfo import make_conninfo

from idetic.errors import EmbeddedServerError

from .account import Account, ProgramRunner
from .files import server_lock
from .home import PORT, SOCKET_NAME, Home
from .installation import Installation, ensure_data, write_settings

# Above every pid that Linux (4194304) or macOS (99999) hands out.
_NOBODY = 2**31 - 1
_START_PATIENCE = 30.0
_LISTEN_PATIENCE = 5.0
_BUSY_PATIENCE = 300.0
_STOP_PATIENCE = 60.0
_LOG_LIMIT = 10 << 20
# libpq fills what a connection string leaves out from the environment. PGHOSTADDR, meant for
# another server, would send us there; PGCHANNELBINDING=require cannot work without TLS. What
# is stated here is not looked up there.
_STATED: dict[str, str | int] = {
    "hostaddr": "",
    "port": PORT,
    "options": "",
    "sslmode": "disable",
    "gssencmode": "disable",
    "channel_binding": "disable",
    "target_session_attrs": "any",
}


def connection_string(home: Home, **parameters: str | int) -> str:
    """A libpq connection string for this home's server, whatever the environment says."""
    return make_conninfo("", host=str(home.socket_dir), **{**_STATED, **parameters})


def ping(home: Home) -> pq.Ping:
    """Ask the server how it is: a millisecond, without a password."""
    conninfo = connection_string(home, user="postgres", dbname="postgres", connect_timeout=2)
    state = pq.Ping(pq.PGconn.ping(os.fsencode(conninfo)))
    if state is pq.Ping.NO_ATTEMPT:
        suspects = ", ".join(sorted(name for name in os.environ if name.startswith("PG")))
        raise EmbeddedServerError(
            f"libpq does not try to connect to {home.socket_dir}. These variables of the "
            f"environment can be the cause: {suspects or 'none'}.",
            remedy="Unset PGSERVICE and other PG variables meant for another server.",
        )
    return state


def answers(home: Home) -> bool:
    """Whether the server accepts connections."""
    return ping(home) is pq.Ping.OK


def _is_listening(home: Home) -> bool:
    """Whether the socket has a listener, even one too busy to answer."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(home.socket_dir / SOCKET_NAME))
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True


def live_pid(home: Home) -> int | None:
    """The server's process id, if the process the pid file names is the server.

    After a reboot the file may name any process at all, and sending that one a signal
    would be unforgivable.
    """
    pid = _recorded_pid(home)
    named = pid is not None and ("-D", str(home.data)) in pairwise(_command_line(pid))
    return pid if named else None


def _recorded_pid(home: Home) -> int | None:
    """The process id that the server's pid file names, whosever it is by now; None without one."""
    try:
        first_line = (home.data / "postmaster.pid").read_text(encoding="utf-8").partition("\n")[0]
        return int(first_line)
    except (FileNotFoundError, ValueError):
        return None


def _command_line(pid: int) -> list[str]:
    """What a process was called with; nothing for the dead and zombies."""
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def ensure_running(home: Home) -> None:
    """Return when the server accepts connections; the caller holds the start lock."""
    trim_log(home)
    if answers(home):
        return
    pid = live_pid(home)
    if pid is not None:
        # Someone was killed while starting it, it is recovering, or its socket was deleted.
        if _wait_until_ready(home, pid, _LISTEN_PATIENCE):
            return
        if _is_listening(home):
            # Others may be using it: not ours to stop.
            raise home.error(f"The embedded server (pid {pid}) does not answer.")
        stop_server(home)
    with server_lock(home.path, _end_orphans) as lock_fd:
        try:
            _start(ProgramRunner(home, Account.of(home), lock_fd))
        finally:
            home.clear_scratch()


def _end_orphans(lock: Path) -> None:
    """Tell the children of a killed server to go; the caller knows that it is dead.

    One that computes looks up only when it is done, which may take minutes. What it has not
    committed by now it could tell nobody.
    """
    for process in psutil.process_iter(["name"]):
        if process.info["name"] != "postgres":
            continue
        with suppress(psutil.Error):
            if any(file.path == str(lock) for file in process.open_files()):
                process.send_signal(signal.SIGQUIT)


def trim_log(home: Home) -> None:
    """Keep the log bounded; the server appends, so that it may be cut under its hands."""
    if home.log.exists() and home.log.stat().st_size > _LOG_LIMIT:
        os.truncate(home.log, 0)


def _start(runner: ProgramRunner) -> None:
    """Start the server and wait until it answers; what may pass is tried again for a while."""
    home = runner.home
    runner.account.require_reach(home)
    installation = Installation.ensure(runner)
    runner.account.own_directory(home.socket_dir)
    write_settings(home)
    _disarm_stale_files(home)
    ensure_data(runner, installation)
    deadline = time.monotonic() + _START_PATIENCE
    while True:
        # The log keeps earlier starts: only what this one adds may explain it.
        logged_before = home.log.stat().st_size if home.log.exists() else 0
        pid = _launch(runner, installation)
        if _wait_until_ready(home, pid, _START_PATIENCE):
            return
        with home.log.open("rb") as log:
            log.seek(logged_before)
            logged = log.read().decode("utf-8", errors="replace")
        if time.monotonic() > deadline or not _may_pass(logged):
            raise home.error("The embedded server did not start.", logged)
        time.sleep(0.2)
        _disarm_stale_files(home)


def _may_pass(logged: str) -> bool:
    """Whether a server that did not start was killed, or found another one's children.

    Whoever gives a reason says it on a line that is neither LOG nor an answer to our asking.
    """
    noise = (" LOG:  ", "the database system is ")
    reasons = [line for line in logged.splitlines() if not any(word in line for word in noise)]
    return not reasons or "is still in use" in logged


def _disarm_stale_files(home: Home) -> None:
    """Make leftovers of a dead server harmless; the caller knows that none is running.

    PostgreSQL judges its pid file by whether *some* process of its user has that pid. The
    file is not deleted but given a pid nobody has, because its last line names the shared
    memory by which PostgreSQL notices a server that someone started by hand.
    """
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
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


def _launch(runner: ProgramRunner, installation: Installation) -> int:
    """Start the server as a daemon and return its pid at once.

    The shell in between makes the server an orphan: it is nobody's child to be reaped, and
    it inherits the log instead of the caller's output. Unlike pg_ctl's, this shell never
    parses a path.
    """
    home = runner.home
    # Quoted, because the setting is a list that a comma in the path would split.
    socket_dir = f'unix_socket_directories="{home.socket_dir}"'
    where = ("-c", "listen_addresses=", "-c", socket_dir)
    server = (installation.program("postgres"), "-D", home.data, "-p", str(PORT), *where)
    fd = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "ab") as log:
        started = runner.run(
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *server],
            env=installation.environment,
            stderr=log,
        )
    if not started.stdout.strip().isdigit():
        raise home.error("The embedded server could not be launched.")
    return int(started.stdout)


def _wait_until_ready(home: Home, pid: int, patience: float) -> bool:
    """Wait until the server accepts connections; False if it died or never listened.

    One that says it is recovering, or is too busy to say anything, gets more time.
    """
    begun = time.monotonic()
    while (state := ping(home)) is not pq.Ping.OK:
        if not _command_line(pid):
            return False
        busy = state is pq.Ping.REJECT or _is_listening(home)
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
    raise home.error(f"The embedded server (pid {pid}) does not stop.")

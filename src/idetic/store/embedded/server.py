"""Making sure that the server runs."""

from __future__ import annotations

import os
import time

from .account import Account
from .address import is_listening
from .claim import Claim
from .cluster import ensure_cluster
from .failures import server_failed
from .home import Home, private_dir
from .installation import Installation
from .locks import server_lock
from .postmaster import (
    answers,
    disarm_stale_files,
    launch,
    live_pid,
    stop_server,
    wait_until_ready,
)
from .settings import write_settings

_START_PATIENCE = 30.0
_LISTEN_PATIENCE = 5.0
_LOG_LIMIT = 10 << 20


def ensure_running(home: Home) -> None:
    """Return when the server accepts connections; the caller holds the start lock."""
    trim_log(home)
    if answers(home):
        return
    pid = live_pid(home)
    if pid is not None:
        # Someone was killed while starting it, it is recovering, or its socket was deleted.
        if wait_until_ready(home, pid, _LISTEN_PATIENCE):
            return
        if is_listening(home):
            # Others may be using it: not ours to stop.
            raise server_failed(f"The embedded server (pid {pid}) does not answer.", home, "")
        stop_server(home)
    with server_lock(home) as lock_fd:
        try:
            _start(Claim(home, Account.of(home), lock_fd))
        finally:
            home.clear_scratch()


def trim_log(home: Home) -> None:
    """Keep the log bounded; the server appends, so that it may be cut under its hands."""
    if home.log.exists() and home.log.stat().st_size > _LOG_LIMIT:
        os.truncate(home.log, 0)


def _start(claim: Claim) -> None:
    home = claim.home
    claim.account.require_reach(home)
    installation = Installation.ensure(claim)
    private_dir(home.socket_dir, claim.account.uid, claim.account.gid)
    write_settings(home)
    disarm_stale_files(home)
    ensure_cluster(claim, installation)
    deadline = time.monotonic() + _START_PATIENCE
    while True:
        already_said = home.log.stat().st_size if home.log.exists() else 0
        pid = launch(claim, installation)
        if wait_until_ready(home, pid, _START_PATIENCE):
            return
        said = _log_since(home, already_said)
        if time.monotonic() > deadline or not _may_pass(said):
            raise server_failed("The embedded server did not start.", home, said)
        time.sleep(0.2)
        disarm_stale_files(home)


def _may_pass(said: str) -> bool:
    """Whether a server that did not start was killed, or found another one's children.

    Whoever gives a reason says it on a line that is neither LOG nor an answer to our asking.
    """
    noise = (" LOG:  ", "the database system is ")
    reasons = [line for line in said.splitlines() if not any(word in line for word in noise)]
    return not reasons or "is still in use" in said


def _log_since(home: Home, position: int) -> str:
    with home.log.open("rb") as log:
        log.seek(position)
        return log.read().decode("utf-8", errors="replace")

"""The embedded server keeps its promises: shared, private, durable, and hard to break.

Everything here runs against real servers, as root and as an ordinary user alike.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from idetic.errors import EmbeddedServerError
from idetic.store.embedded import (
    EmbeddedServer,
    account,
    default_home,
    installation,
    keep,
    server,
    status,
    stop,
)
from idetic.store.embedded.home import Home
from tests.support.children import child

AS_ROOT = os.geteuid() == 0
CLIENT = """
import sys
from pathlib import Path
from idetic.store.embedded import EmbeddedServer
lease = EmbeddedServer.acquire(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    # Not pytest's own directory: that one only its owner may enter, which as root locks
    # the server's user out.
    made = Path(tempfile.mkdtemp(prefix="idetic-test-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    for pidfile in made.rglob("postmaster.pid"):
        stop(pidfile.parent.parent)
    # On some disks an unlink takes milliseconds, but many at once take no longer.
    files = [Path(where) / name for where, _, names in os.walk(made) for name in names]
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(Path.unlink, files))
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def finished_home(top: Path) -> Path:
    """A home whose programs are unpacked and whose database is made."""
    home = top / "home"
    EmbeddedServer.acquire(home).release()
    return home


@pytest.fixture
def home(finished_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("IDETIC_KEEP_SERVER", raising=False)
    yield finished_home
    stop(finished_home)


def client(home: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """Another process with a lease; it ends without releasing."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return child([sys.executable, "-c", CLIENT, str(home)], **pipes)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: subprocess.Popen[str]) -> None:
    # communicate() waits for the end of both pipes: it hangs if the server inherited one.
    out, err = process.communicate(input="\n", timeout=90)
    assert (out, err, process.returncode) == ("", "", 0)


def run_python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        argv, input="\n", capture_output=True, text=True, check=False, cwd="/", timeout=120
    )


def query(dsn: str, statement: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return str(row[0])


def server_pid(home: Path) -> int:
    pid = status(home).pid
    assert pid is not None
    return pid


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def kill_server(home: Path) -> None:
    pid = server_pid(home)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: status(home).pid is None)


# --- sharing ------------------------------------------------------------------------------


def test_the_first_lease_starts_and_the_last_one_stops(home: Path) -> None:
    first = EmbeddedServer.acquire(home)
    pid = server_pid(home)
    second = EmbeddedServer.acquire(home)
    assert server_pid(home) == pid
    assert status(home).users in (2, None)
    first.release()
    first.release()
    assert query(second.dsn(), "SELECT current_database() || ' ' || current_user") == (
        "idetic postgres"
    )
    second.release()
    after = status(home)
    assert (after.running, after.pid, after.version) == (False, None, "18.1.0")


def test_joining_a_running_server_takes_milliseconds(home: Path) -> None:
    with EmbeddedServer.acquire(home):
        took = []
        for _ in range(5):
            begun = time.perf_counter()
            EmbeddedServer.acquire(home).release()
            took.append(time.perf_counter() - begun)
    assert min(took) < 0.05


def test_processes_that_start_at_once_share_one_server(home: Path) -> None:
    with client(home) as one, client(home) as two:
        assert [line_of(one), line_of(two)] == ["ready", "ready"]
        assert status(home).users in (2, None)
        pid = server_pid(home)
        finish(one)
        assert server_pid(home) == pid
        finish(two)
    assert not status(home).running


def test_a_killed_process_leaves_the_server_to_the_next_one_out(home: Path) -> None:
    with client(home) as process:
        assert line_of(process) == "ready"
        pid = server_pid(home)
        process.kill()
        process.wait()
    assert status(home).running
    with EmbeddedServer.acquire(home):
        assert server_pid(home) == pid
    assert not status(home).running


def test_a_forked_child_cannot_give_back_its_parents_lease(home: Path) -> None:
    script = CLIENT + "import os\nif not os.fork(): lease.release(); os._exit(0)\nos.wait()\n"
    script += "from idetic.store.embedded import status\nprint(status(lease.home).running)\n"
    ran = run_python(script, str(home))
    assert (ran.stdout, ran.stderr) == ("ready\nTrue\n", "")
    assert not status(home).running


@pytest.mark.parametrize("how", ["argument", "environment", "call"])
def test_a_kept_server_stays_until_stop(
    home: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "environment":
        monkeypatch.setenv("IDETIC_KEEP_SERVER", "1")
    lease = EmbeddedServer.acquire(home, keep=True if how == "argument" else None)
    if how == "call":
        keep(home)
    lease.release()
    assert status(home).running
    assert status(home).kept
    assert stop(home)
    assert not stop(home)
    assert not status(home).kept


def test_the_caller_can_decline_what_the_environment_keeps(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_KEEP_SERVER", "1")
    EmbeddedServer.acquire(home, keep=False).release()
    assert not status(home).running


def test_the_server_is_out_of_reach_of_our_terminal(home: Path) -> None:
    with EmbeddedServer.acquire(home):
        assert os.getsid(server_pid(home)) != os.getsid(0)


def test_looking_creates_nothing(top: Path) -> None:
    seen = status(top / "nowhere")
    assert (seen.running, seen.version, seen.kept) == (False, None, False)
    assert not stop(top / "nowhere")
    assert not (top / "nowhere").exists()


# --- being private ------------------------------------------------------------------------


def test_it_never_listens_on_tcp(home: Path) -> None:
    with EmbeddedServer.acquire(home) as lease:
        assert query(lease.dsn(), "SHOW listen_addresses") == ""
        uid = str(Path(f"/proc/{server_pid(home)}").stat().st_uid)
        for table in ("tcp", "tcp6"):
            for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                local, state, owner = (row.split()[column] for column in (1, 3, 7))
                listening = state == "0A" and local.endswith(f":{5432:04X}")
                assert not (listening and owner == uid)


def test_it_runs_unprivileged_and_its_files_are_closed_to_others(home: Path) -> None:
    with EmbeddedServer.acquire(home) as lease:
        lease.ensure_login("reader")
        seen = status(home)
        uid = Path(f"/proc/{seen.pid}").stat().st_uid
        assert uid == (pwd.getpwnam("idetic").pw_uid if AS_ROOT else os.geteuid())
        for directory in (seen.data_dir, seen.socket_dir):
            assert (directory.stat().st_uid, directory.stat().st_mode & 0o777) == (uid, 0o700)
        for file in ("credentials.json", "server.log", "users.lock"):
            assert (home / file).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("password", ["wrong", ""])
def test_every_connection_needs_the_password(home: Path, password: str) -> None:
    with EmbeddedServer.acquire(home) as lease:
        dsn = make_conninfo(lease.dsn(), password=password, passfile="/dev/null")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(dsn)


def test_a_role_gets_a_login_of_its_own(home: Path) -> None:
    with EmbeddedServer.acquire(home) as lease:
        with pytest.raises(EmbeddedServerError, match="ensure_login"):
            lease.dsn(user="newcomer")
        with psycopg.connect(lease.dsn()) as connection:
            connection.execute('CREATE ROLE "Old one" NOLOGIN')
        for role in ("newcomer", "Old one", "Old one"):
            lease.ensure_login(role)
            assert query(lease.dsn(user=role), "SELECT current_user") == role
        assert query(lease.dsn(user="newcomer", dbname="postgres"), "SELECT 1") == "1"


def test_variables_meant_for_another_server_do_not_mislead_us(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers = {"PGHOSTADDR": "127.0.0.1", "PGPORT": "1", "PGOPTIONS": "-c no=1", "PGDATA": "/x"}
    for name, value in {**strangers, "PGCHANNELBINDING": "require"}.items():
        monkeypatch.setenv(name, value)
    with EmbeddedServer.acquire(home) as lease:
        assert query(lease.dsn(), "SELECT 1") == "1"


def test_the_log_never_holds_what_the_database_holds(home: Path) -> None:
    with EmbeddedServer.acquire(home) as lease, psycopg.connect(lease.dsn()) as connection:
        connection.execute("CREATE TEMP TABLE note (body text CHECK (length(body) < 3))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO note VALUES ('canary-body')")
    assert "ready to accept" in lease.log_path.read_text()
    assert "canary" not in lease.log_path.read_text()


# --- being what the rest needs ------------------------------------------------------------


def test_the_extensions_are_there_and_letters_are_letters(home: Path) -> None:
    with EmbeddedServer.acquire(home) as lease:
        with psycopg.connect(lease.dsn()) as connection:
            for extension in ("vector", "pg_trgm", "btree_gist", "pgcrypto"):
                connection.execute(f"CREATE EXTENSION {extension}".encode())
        assert query(lease.dsn(), "SELECT '[3,4]'::vector <-> '[0,0]'::vector") == "5.0"
        # Under LC_CTYPE = C pg_trgm finds no letters in this and says NaN or 0.
        assert query(lease.dsn(), "SELECT similarity('ЁЛКА', 'ёлка')") == "1.0"


def test_it_is_set_up_to_be_durable_and_the_same_everywhere(home: Path) -> None:
    expected = {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "timezone": "UTC",
        "jit": "off",
        "max_locks_per_transaction": "256",
    }
    with EmbeddedServer.acquire(home) as lease:
        assert {name: query(lease.dsn(), f"SHOW {name}") for name in expected} == expected


# --- being hard to break ------------------------------------------------------------------


def test_a_killed_server_comes_back_with_everything_committed(home: Path) -> None:
    with EmbeddedServer.acquire(home) as lease:
        with psycopg.connect(lease.dsn()) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        # A backend that computes does not notice the postmaster's death for a while.
        busy = "DO $$BEGIN WHILE clock_timestamp() < now() + '1.5 s' LOOP END LOOP; END$$"
        lingering = threading.Thread(target=_suffer, args=(lease.dsn(), busy))
        lingering.start()
        wait_for(lambda: query(lease.dsn(), _COUNT_BUSY) == "1")
        kill_server(home)
        lease.ensure_running()
        assert query(lease.dsn(), "SELECT answer FROM kept") == "42"
        lingering.join()
        kill_server(home)
        with EmbeddedServer.acquire(home) as second:
            assert query(second.dsn(), "SELECT answer FROM kept") == "42"


_COUNT_BUSY = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %'"


def _suffer(dsn: str, statement: str) -> None:
    with suppress(psycopg.OperationalError), psycopg.connect(dsn) as connection:
        connection.execute(statement.encode())


def test_a_server_killed_while_it_starts_is_started_again(home: Path) -> None:
    def kill_the_first() -> None:
        wait_for(lambda: status(home).pid is not None)
        os.kill(server_pid(home), signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    with EmbeddedServer.acquire(home) as lease:
        killer.join()
        lease.ensure_running()
        assert query(lease.dsn(), "SELECT 1") == "1"


def test_a_pid_file_that_names_a_stranger_harms_neither_side(home: Path) -> None:
    lease = EmbeddedServer.acquire(home)
    owner = (home / "data").stat()
    kill_server(home)
    switch: dict[str, Any] = (
        {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if AS_ROOT else {}
    )
    with child(["sleep", "60"], cwd="/", **switch) as stranger:
        for file in (home / "data" / "postmaster.pid", home / "run" / ".s.PGSQL.5432.lock"):
            rest = file.read_text().partition("\n")[2]
            file.write_text(f"{stranger.pid}\n{rest}")
        assert not stop(home)
        lease.ensure_running()
        assert query(lease.dsn(), "SELECT 1") == "1"
        assert server_pid(home) != stranger.pid
        assert stop(home)
        assert stranger.poll() is None
    lease.release()


def test_an_empty_pid_file_is_no_obstacle(home: Path) -> None:
    pidfile = home / "data" / "postmaster.pid"
    pidfile.touch()
    os.chown(pidfile, pidfile.parent.stat().st_uid, pidfile.parent.stat().st_gid)
    with EmbeddedServer.acquire(home) as lease:
        assert query(lease.dsn(), "SELECT 1") == "1"


def test_a_server_that_lost_its_socket_is_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LISTEN_PATIENCE", 0.2)
    with EmbeddedServer.acquire(home) as lease:
        pid = server_pid(home)
        (status(home).socket_dir / ".s.PGSQL.5432").unlink()
        lease.ensure_running()
        assert server_pid(home) != pid
        assert query(lease.dsn(), "SELECT 1") == "1"


def test_lost_passwords_are_replaced_at_the_next_start(home: Path) -> None:
    (home / "credentials.json").unlink()
    with EmbeddedServer.acquire(home) as lease:
        assert query(lease.dsn(), "SELECT 1") == "1"


def test_killed_while_unpacking_and_while_making_the_database(top: Path) -> None:
    home = top / "killed"
    for half_done in (".pg0/installation", "data/base"):
        with client(home) as process:
            wait_for((home / "scratch" / half_done).exists)
            process.kill()
            process.wait()
        assert not (home / "data").exists()
    with EmbeddedServer.acquire(home) as lease:
        assert query(lease.dsn(), "SELECT 1") == "1"
    assert not (home / "scratch").exists()


def test_a_server_that_cannot_start_is_quoted_with_its_log(home: Path) -> None:
    auto_conf = home / "data" / "postgresql.auto.conf"
    before = auto_conf.read_text()
    auto_conf.write_text("shared_buffers = 'plenty'\n")
    try:
        with pytest.raises(EmbeddedServerError) as failed:
            EmbeddedServer.acquire(home)
    finally:
        auto_conf.write_text(before)
    assert "plenty" in failed.value.message
    assert str(home / "server.log") in failed.value.message
    assert "DSN" in failed.value.remedy


def test_an_overgrown_log_is_cut(home: Path) -> None:
    with (home / "server.log").open("ab") as log:
        log.truncate(11 << 20)
    with EmbeddedServer.acquire(home):
        assert (home / "server.log").stat().st_size < 1 << 20


# --- where it lives -----------------------------------------------------------------------


def test_a_path_that_a_shell_would_read_is_refused(top: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="shell"):
        EmbeddedServer.acquire(top / "$(touch evil)")


def test_a_home_with_a_long_and_awkward_path(home: Path, top: Path) -> None:
    far = top / ("x" * 60) / ("it's, ü" + "y" * 60)
    far.parent.mkdir()
    # Whatever the umask takes away: as root the server runs as another user.
    far.parent.chmod(0o755)
    home.rename(far)
    try:
        socket_dir = Home.at(far).socket_dir
        assert not socket_dir.is_relative_to(far)
        socket_dir.symlink_to(top)
        with pytest.raises(EmbeddedServerError, match="another user made it first"):
            EmbeddedServer.acquire(far)
        socket_dir.unlink()
        with EmbeddedServer.acquire(far) as lease:
            assert query(lease.dsn(), "SELECT 1") == "1"
            assert socket_dir.stat().st_mode & 0o777 == 0o700
        socket_dir.rmdir()
    finally:
        far.rename(home)


def test_an_unreachable_home_names_what_blocks_it(top: Path) -> None:
    blocked = top / "blocked"
    blocked.mkdir(mode=0o700 if AS_ROOT else 0o000)
    with pytest.raises(EmbeddedServerError) as failed:
        EmbeddedServer.acquire(blocked / "home")
    assert str(blocked) in failed.value.message
    assert "IDETIC_HOME" in failed.value.remedy
    if AS_ROOT:
        assert f"chmod o+x {blocked}" in failed.value.remedy
    blocked.chmod(0o700)


def test_a_home_that_others_control_is_refused(top: Path) -> None:
    theirs = top / "theirs" if AS_ROOT else Path("/usr")
    if AS_ROOT:
        theirs.mkdir()
        os.chown(theirs, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(EmbeddedServerError, match="belongs to user id"):
        EmbeddedServer.acquire(theirs)
    open_to_all = top / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(EmbeddedServerError, match="chmod o-w"):
        EmbeddedServer.acquire(open_to_all)


def test_without_useradd_root_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "_ADMIN_PATH", "/nonexistent")
    with pytest.raises(EmbeddedServerError, match=r"no `useradd`.*as an ordinary user"):
        account._create_user()


@pytest.mark.parametrize("together", [False, True], ids=["", "control"])
def test_processes_that_start_together_make_one_user(
    together: bool, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[pwd.struct_passwd] = []
    nobody = pwd.getpwnam("nobody")

    def slowly() -> pwd.struct_passwd:
        time.sleep(0.2)
        made.append(nobody)
        return nobody

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account, "_find_user", lambda: made[0] if made else None)
    monkeypatch.setattr(account, "_create_user", slowly)
    if together:
        monkeypatch.setattr(account, "_alone", nullcontext)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: account.Account.of(Home(top / str(n))), range(3)))
    assert len(made) == (3 if together else 1)


def test_an_ordinary_user_needs_no_privilege(top: Path) -> None:
    """As root this is `nobody`, who imports everything first: our Python may be below /root."""
    home = top / "ordinary"
    home.mkdir(mode=0o700)
    binary = top / "pg0"
    shutil.copy(installation.pg0_binary(), binary)
    user = pwd.getpwnam("nobody") if AS_ROOT else pwd.getpwuid(os.geteuid())
    os.chown(home, user.pw_uid, user.pw_gid)
    drop = f"os.setgroups([]); os.setgid({user.pw_gid}); os.setuid({user.pw_uid})"
    script = f"""
import os, sys, psycopg
from pathlib import Path
from idetic.store.embedded import EmbeddedServer, installation, status
installation.pg0_binary = lambda: Path({str(binary)!r})
{drop if AS_ROOT else ""}
with EmbeddedServer.acquire(Path(sys.argv[1])) as lease:
    with psycopg.connect(lease.dsn()) as connection:
        print(connection.execute("SELECT 6 * 7").fetchone()[0])
    print(Path(f"/proc/{{status(lease.home).pid}}").stat().st_uid)
"""
    ran = run_python(script, str(home))
    assert (ran.stdout.split(), ran.stderr) == (["42", str(user.pw_uid)], "")


def test_where_the_home_is_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IDETIC_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data/xdg")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_home() == Path("/var/lib/idetic")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_home() == Path("/data/xdg/idetic")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_home() == Path("/home/me/.local/share/idetic")
    monkeypatch.setenv("IDETIC_HOME", "/srv/memory")
    assert default_home() == Path("/srv/memory")

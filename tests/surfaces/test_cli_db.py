"""`idetic db …`: the embedded server's life from the shell, and memory without a DSN."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from idetic.store.embedded import stop
from tests.surfaces.cli_runner import called


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Not tmp_path: pytest makes that 0700, and as root the server runs as another user.
    parent = Path(tempfile.mkdtemp(prefix="idetic-cli-"))
    parent.chmod(0o755)
    monkeypatch.setenv("IDETIC_HOME", str(parent / "home"))
    monkeypatch.delenv("IDETIC_DSN", raising=False)
    yield parent / "home"
    stop(parent / "home")
    shutil.rmtree(parent)


def test_looking_at_what_is_not_there_makes_nothing(home: Path) -> None:
    ran = called("db", "status")
    assert ran.code == 0
    assert "not running" in ran.out
    assert called("db", "status", "--json").json()["running"] is False
    assert called("db", "stop", "--json").json() == {"stopped": False}
    assert "No embedded server was running" in called("db", "stop").out
    assert not home.exists()


def test_start_use_status_stop(home: Path) -> None:
    started = called("db", "start", "--json").json()
    assert started["running"]
    assert started["kept"]
    assert started["home"] == str(home)
    told = called("spec", "apply", "world_agent", "--yes")
    assert (told.code, told.err) == (0, "")
    assert "world_agent@1" in called("spec", "list").out

    status = called("db", "status", "--json").json()
    assert (status["pid"], status["running"]) == (started["pid"], True)
    shown = called("db", "status").out
    assert str(status["pid"]) in shown
    assert "running" in shown
    memory = status["memory"]
    assert 0 < memory["shared_buffers"] < memory["bound"]
    assert 0 < memory["used"] < memory["bound"]
    assert f"shared_buffers {memory['shared_buffers'] >> 20} MB" in shown

    assert "stopped" in called("db", "stop").out
    after = called("db", "status", "--json").json()
    assert (after["running"], after["kept"], after["pid"]) == (False, False, None)
    assert after["memory"] is None
    assert called("spec", "list", "--json").json()["stored"], (
        "a database at rest is started to look"
    )
    assert called("db", "status", "--json").json()["running"] is False


def test_a_home_that_cannot_be_used_is_a_database_error(home: Path) -> None:
    home.write_text("a file", "utf-8")
    ran = called("db", "start")
    assert ran.code == 6
    assert "What to do: " in ran.err
    home.unlink()

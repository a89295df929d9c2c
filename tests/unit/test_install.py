"""The set-up installs the lock by uv, where pip would look, and by pip where uv cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.install import LOCK, main, pip_settings, uv_environment

# With underscores: no file of the project names an index, not even by the setting's own name.
LISTED = """:env:.find-links='/wheels'
global.cert='/etc/ca.crt'
global.extra_index_url='https://one.example/simple\\nhttps://two.example/simple'
global.find-links='/elsewhere'
global.index_url='https://all.example/simple'
install.index_url='https://install.example/simple'
freeze.timeout='10'
""".replace("_", "-")


def test_a_command_overrules_all_and_the_environment_both() -> None:
    assert pip_settings(LISTED) == {
        "cert": "/etc/ca.crt",
        "extra_index_url": "https://one.example/simple\nhttps://two.example/simple",
        "find_links": "/wheels",
        "index_url": "https://install.example/simple",
    }


def test_uv_looks_where_pip_would_and_what_is_given_for_uv_stays() -> None:
    given = {"PATH": "/bin", "SSL_CERT_FILE": "/given.crt"}
    settings = pip_settings(LISTED) | {"no_index": "true", "find_links": "/a /b"}
    assert uv_environment(settings, given) == {
        "PATH": "/bin",
        "SSL_CERT_FILE": "/given.crt",
        "UV_DEFAULT_INDEX": "https://install.example/simple",
        "UV_FIND_LINKS": "/a,/b",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_NO_INDEX": "1",
    }


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment whose python and pip write down what they are asked, and do nothing."""
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "python", tmp_path / "typed", 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path, typed: Path, code: int) -> None:
    path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> {typed}\nexit {code}\n')
    path.chmod(0o755)


def installs(place: Path) -> list[str]:
    lines = (place / "typed").read_text().splitlines()
    return [f"{line.split()[0]} {line.split()[-1]}" for line in lines if " install " in line]


@pytest.mark.parametrize("code", [0, 2])
def test_pip_installs_what_uv_does_not(typed: Path, code: int) -> None:
    program(typed / "uv", typed / "typed", code)
    assert main(typed / "bin" / "python") == 0
    root = str(LOCK.parent)
    by_uv = [f"uv {LOCK}", f"uv {root}"]
    by_pip = [f"uv {LOCK}", f"python {LOCK}", f"python {root}"]
    assert installs(typed) == (by_pip if code else by_uv)


def test_without_uv_the_lock_s_own_is_installed_first_by_its_hash(typed: Path) -> None:
    assert main(typed / "bin" / "python") == 0
    (first, *rest) = installs(typed)
    assert first == f"python {typed / 'uv.lock'}"
    assert rest == [f"python {LOCK}", f"python {LOCK.parent}"], "no uv came of it: pip does all"
    (pinned, *hashes) = (typed / "uv.lock").read_text("utf-8").splitlines()
    assert pinned.startswith("uv==")
    assert hashes
    assert all(line.strip().startswith("--hash=sha256:") for line in hashes)
    asked = (typed / "typed").read_text().splitlines()[0]
    assert "--require-hashes" in asked

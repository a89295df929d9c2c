"""`idetic serve`: one command, an address, keys that work, and a clean end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.conftest import TestDatabase
from tests.support.children import child
from tests.support.databases import copy_of
from tests.support.http_house import WAIT, serving
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import process


@pytest.fixture(scope="module")
def database(server: TestServer, demo_template: str) -> Iterator[TestDatabase]:
    """One database for all of them, with the world in it: loading it takes longest."""
    with copy_of(server, demo_template) as made:
        yield made


def test_a_demo_world_with_a_key_for_each_principal(database: TestDatabase) -> None:
    with serving(database, "--demo") as served:
        kinds = {each["principal"].partition(":")[0]: each["key"] for each in served.keys}
        assert set(kinds) == {"agent", "operator", "customer", "auditor"}
        assert len({each["organisation"] for each in served.keys}) == 2
        with httpx.Client(base_url=served.address, timeout=WAIT) as http:
            for kind, key in kinds.items():
                scope = http.get("/v1/scope", headers={"Authorization": f"Bearer {key}"})
                assert scope.json()["principal"]["kind"] == kind
        assert served.stop(signal.SIGINT)[0] == 0
    with psycopg.connect(database.admin_dsn) as connection:
        left = connection.execute(
            "SELECT count(*) FROM idetic.api_keys WHERE revoked_at IS NULL"
        ).fetchone()
    assert left == (0,), "keys to the demo end with the server"


def test_the_line_it_prints_works_when_copied(database: TestDatabase) -> None:
    with child(
        [sys.executable, "-m", "idetic", "serve", "--demo", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "IDETIC_DSN": database.dsn, "IDETIC_ADMIN_DSN": database.admin_dsn},
    ) as running:  # fmt: skip
        assert running.stdout
        line = next(each for each in running.stdout if each.startswith("  curl "))
        words = shlex.split(line)
        sent = dict(each.split(": ", 1) for each in words if ": " in each and each[0] != "{")
        answer = httpx.post(words[2], content=words[-1], headers=sent, timeout=WAIT)
        assert answer.status_code == 200, answer.text
        assert answer.json()["hits"], "the demo world has something to say"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT)
    assert running.returncode == 0
    assert out.endswith("Stopped.\n")
    assert re.search(r"POST /v1/recall 200 [\d.]+ ms", err)
    assert "Bearer" not in err
    assert "idk_" not in err


def test_an_address_that_is_taken(database: TestDatabase) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = process("serve", "--port", port, "--json", IDETIC_DSN=database.dsn)
    assert ran.code == 2
    assert "--port" in ran.error()["remedy"]


def test_without_its_packages_it_says_what_to_install(database: TestDatabase) -> None:
    gone = "import sys; sys.modules['fastapi'] = None;"
    run = "from idetic.surfaces.cli.app import main; sys.exit(main(['serve', '--json']))"
    done = subprocess.run(
        [sys.executable, "-c", f"{gone} {run}"], capture_output=True, text=True, check=False,
        timeout=WAIT, env={**os.environ, "IDETIC_DSN": database.dsn},
    )  # fmt: skip
    assert done.returncode == 1
    assert "pip install 'idetic[server]'" in done.stderr
    assert "Traceback" not in done.stderr

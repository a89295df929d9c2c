"""`idetic serve` with the console and without: where it is, and a good end with pages open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import anyio
import httpx
import pytest

from tests.conftest import TestDatabase
from tests.console.conftest import Console, Visit
from tests.support.children import child
from tests.support.databases import copy_of
from tests.support.http_house import WAIT, Process, serving
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio


async def test_the_server_ends_well_while_pages_are_open(console: Console, visit: Visit) -> None:
    """A browser's socket is no request under way: it is closed, not waited for."""
    house = console.house
    with serving(house.database, "--no-worker") as process:
        visitor = await visit(await house.key(), process)
        await visitor.go("/explore")
        with anyio.fail_after(WAIT):
            code, said = await anyio.to_thread.run_sync(process.stop, signal.SIGTERM)
    assert (code, "Traceback" in said, "ERROR" in said) == (0, False, False), said
    await visitor.page.wait_for_selector("#popup[aria-hidden=false]")
    assert "Connection lost" in await visitor.page.inner_text("#popup")
    # What it says about its lost socket is as it should be.
    visitor.errors.clear()
    await visitor.context.close()


def answer(process: Process, path: str) -> httpx.Response:
    return httpx.get(f"{process.address}{path}", timeout=WAIT)


def test_without_the_console_there_is_only_the_api(database: TestDatabase) -> None:
    with serving(database, "--no-worker", "--no-console") as process:
        assert process.told["console"] is None
        for path in ("/", "/console", "/console/login"):
            told = answer(process, path)
            assert (told.status_code, told.json()["code"]) == (404, "route_not_found")


def test_without_its_packages_the_api_is_served_all_the_same(database: TestDatabase) -> None:
    gone = "import sys; sys.modules['nicegui'] = None;"
    run = "from idetic.surfaces.cli.app import main; sys.exit(main(['serve', '--port', '0']))"
    with child(
        [sys.executable, "-c", f"{gone} {run}"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env={**os.environ, "IDETIC_DSN": database.dsn},
    ) as running:  # fmt: skip
        assert running.stdout
        said = running.stdout.readline()
        address = said.split()[2].rstrip(",")
        assert httpx.get(f"{address}/console", timeout=WAIT).status_code == 404
        running.send_signal(signal.SIGTERM)
        rest, _ = running.communicate(timeout=WAIT)
    assert running.returncode == 0
    assert said.startswith("Idetic serves http://127.0.0.1:")
    assert "console" not in said + rest


def test_the_log_names_no_question_and_no_key(server: TestServer, demo_template: str) -> None:
    with copy_of(server, demo_template) as database:
        said = _log_of_a_visit(database)
    assert "secretive" not in said
    assert "idk_" not in said


def _log_of_a_visit(database: TestDatabase) -> str:
    with serving(database, "--no-worker", "--demo") as process:
        key = next(k["key"] for k in process.keys if k["principal"].startswith("operator"))
        with httpx.Client(base_url=process.address, timeout=WAIT) as http:
            origin = {"Origin": process.address}
            http.post("/console/login", data={"key": key}, headers=origin)
            assert "Explorer" in http.get("/console/explore?q=secretive").text
        code, said = process.stop()
    assert code == 0
    return said

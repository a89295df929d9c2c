"""The MCP server at a port: who is let in, what a browser may not do, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import psycopg
import pytest

from idetic.keys import new_key
from tests.support.aside import run
from tests.support.children import child
from tests.support.databases import copy_of
from tests.support.mcp_house import (
    House,
    call,
    environment,
    make_house,
    named,
    over_http,
    over_stdio,
)
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import called, process

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def house(server: TestServer, template: str) -> Iterator[House]:
    with copy_of(server, template) as database:
        yield run(make_house, database)


async def test_only_a_key_that_holds_is_let_in(house: House) -> None:
    from uuid import uuid4  # noqa: PLC0415

    good = house.mine.keys["agent"]
    wrong = [
        None, "", "Bearer", f"Basic {good}", f"bearer{good}", f"Bearer {good}x",
        f"Bearer {good[:-1]}", f"Bearer {new_key(uuid4()).key}", "Bearer idk_",
        "Bearer " + "x" * 4_000,
    ]  # fmt: skip
    with over_http(house) as served:
        async with httpx2.AsyncClient(timeout=60) as http:
            for shown in wrong:
                headers = ACCEPT | ({} if shown is None else {"Authorization": shown})
                sent = await http.post(served.address, json=LIST, headers=headers)
                assert sent.status_code == 401, shown
                assert sent.headers["www-authenticate"] == "Bearer"
                assert sent.json()["error"]["code"] == "key_refused"
                assert sent.json()["error"]["remedy"]
            two = [("Authorization", f"Bearer {good}"), ("Authorization", "Bearer x")]
            sent = await http.post(served.address, json=LIST, headers=[*ACCEPT.items(), *two])
            assert sent.status_code == 401, "not one of two"
            fine = ACCEPT | {"Authorization": f"Bearer {good}"}
            sent = await http.post(served.address, json=LIST, headers=fine)
            assert sent.status_code == 200, "control: with the key it is let in"
            named_tools = [tool["name"] for tool in sent.json()["result"]["tools"]]
            assert "observe" in named_tools
            assert "mcp-session-id" not in sent.headers, "nothing to take over"


async def test_a_page_in_a_browser_cannot_reach_it(house: House) -> None:
    with over_http(house) as served:
        fine = ACCEPT | {"Authorization": f"Bearer {house.mine.keys['agent']}"}
        async with httpx2.AsyncClient(timeout=60) as http:
            for bad in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
                sent = await http.post(served.address, json=LIST, headers=fine | bad)
                assert sent.status_code in (403, 421)
            sent = await http.post(served.address, json=LIST, headers=fine)
            assert sent.status_code == 200


async def test_two_keys_on_one_server_have_two_sessions(house: House) -> None:
    with over_http(house) as served:
        async with (
            served.client(house.mine.keys["agent"]) as one,
            served.client(house.mine.keys["operator"]) as other,
        ):
            sessions = set()
            for client in (one, other, one, other):
                told = await call(client, "observe", text="A note of one of two keys.")
                sessions.add(named(told, "session"))
    assert len(sessions) == 2


async def test_many_at_once_share_a_session_and_every_note_is_there(house: House) -> None:
    told: list[str] = []
    with over_http(house) as served:
        async with served.client(house.theirs.keys["agent"]) as client:

            async def note(number: int) -> None:
                told.append(await call(client, "observe", text=f"Note number {number} of many."))

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(note, number)
            assert len({named(one, "session") for one in told}) == 1
            assert len({named(one, "entry") for one in told}) == 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_well_when_told(house: House, number: int) -> None:
    with over_http(house) as served:
        async with served.client(house.mine.keys["agent"]) as client:
            await call(client, "observe", text="Just before the end.")
        assert served.stop(number) == 0
        assert served.said.read_text() == ""


def test_a_port_that_is_taken_is_said_with_what_to_do(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = process("mcp", "--http", "--port", port, "--json", IDETIC_DSN=house.database.dsn)
    assert ran.code == 2
    assert "--port" in ran.error()["remedy"]
    ran = process("mcp", "--http", "--host", "no such host", IDETIC_DSN=house.database.dsn)
    assert ran.code == 2
    assert "Traceback" not in ran.err


# --- whose memory: said once, in one way --------------------------------------------------------

SCOPE = ("--agent", "world_agent", "--anchor", "org_id=x", "--as", "operator:ada")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mcp", "--as", "agent:explorer"), "The scope is missing."),
        (("mcp", "--agent", "world_agent"), "The scope is missing."),
        (("mcp", "--user", ""), "user_id"),
        (("mcp", "--http", "--user", "ada"), "each request shows its own key"),
        (("mcp", *SCOPE), "not a UUID"),
        (("mcp", "--http", *SCOPE), "each request shows its own key"),
        (("mcp", "--http", "--key-file", "x"), "each request shows its own key"),
        (("mcp", "--key-file", "/no/such/file"), "cannot be read"),
        (("mcp", "--max-tokens", "10"), "1,000 to 20,000"),
        (("mcp", "--http", "--port", "70000"), "--port"),
    ],
    ids=str,
)
def test_what_cannot_be_served(house: House, arguments: tuple[str, ...], said: str) -> None:
    ran = called(*arguments, *([] if "--dsn" in arguments else ["--dsn", house.database.dsn]))
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert "What to do: " in ran.err


def test_a_key_and_a_scope_are_refused_together(house: House, tmp_path: Path) -> None:
    kept = tmp_path / "key"
    kept.write_text(house.mine.keys["agent"] + "\n")
    ran = called("mcp", "--key-file", str(kept), *SCOPE, "--dsn", house.database.dsn)
    assert ran.code == 2
    assert "the key says whose memory it is" in ran.err
    kept.write_text("idk_nonsense")
    ran = called("mcp", "--key-file", str(kept), "--dsn", house.database.dsn)
    assert ran.code == 3
    assert "nonsense" not in ran.err


async def test_a_key_from_a_file_wins_over_settings(house: House, tmp_path: Path) -> None:
    kept = tmp_path / "key"
    kept.write_text(house.mine.keys["operator"] + "\n")
    async with over_stdio(house, "--key-file", str(kept), IDETIC_AS="agent:x") as (client, _):
        told = await call(client, "observe", text="The file's key wrote this.")
        shown = await call(client, "explain", entry_id=str(named(told, "entry")))
        assert "observed by operator\n> ada" in shown


STARTED = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
NOTE = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
    "name": "observe", "arguments": {"text": "The last note of this connection."}}}  # fmt: skip


@contextmanager
def noted(house: House) -> Iterator[subprocess.Popen[str]]:
    """A stdio server that has written one note, and whose stdin is still open."""
    with child(
        [sys.executable, "-m", "idetic", "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **environment(house, IDETIC_KEY=house.mine.keys["agent"])},
    ) as serving:  # fmt: skip
        assert serving.stdin is not None
        assert serving.stdout is not None
        for message in (STARTED, READY, NOTE):
            serving.stdin.write(json.dumps(message) + "\n")
        serving.stdin.flush()
        assert json.loads(serving.stdout.readline())["id"] == 1
        answer = json.loads(serving.stdout.readline())["result"]["content"][0]["text"]
        serving.args = str(named(answer, "session"))
        yield serving


def closed(house: House, session: object) -> bool:
    with psycopg.connect(house.database.admin_dsn) as admin:
        row = admin.execute(
            "SELECT closed_at FROM worlds.world_agent_memory_scopes WHERE scope_id = %s", (session,)
        ).fetchone()
    assert row is not None
    return row[0] is not None


def test_when_the_client_leaves_its_own_session_is_closed(house: House) -> None:
    with noted(house) as serving:
        assert not closed(house, serving.args)
        _, err = serving.communicate(timeout=60)
        assert (serving.returncode, err) == (0, "")
        assert closed(house, serving.args)


def test_a_signal_ends_a_stdio_server_although_its_stdin_is_open(house: House) -> None:
    with noted(house) as serving:
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(timeout=60) == 128 + signal.SIGTERM
        assert serving.stderr is not None
        assert serving.stderr.read() == ""

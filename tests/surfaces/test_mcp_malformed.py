"""Hundreds of calls that are none: each is refused with a remedy, and nothing is written.

One server process over each transport takes all of them and is as well afterwards as before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from mcp import Client, MCPError

from tests.support.aside import run
from tests.support.children import child
from tests.support.databases import copy_of
from tests.support.mcp_house import (
    House,
    call,
    clean,
    environment,
    make_house,
    over_http,
    over_stdio,
    refusal,
)
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def house(server: TestServer, template: str) -> Iterator[House]:
    with copy_of(server, template) as database:
        yield run(make_house, database)


def deep(levels: int) -> Any:
    made: Any = "end"
    for _ in range(levels):
        made = [made]
    return made


INJECTION = "'; DROP TABLE worlds.world_agent_memory; --"
NO_TEXT: list[Any] = [None, 1, 1.5, True, [], {}, ["a"], {"a": "b"}, deep(50)]
BAD_TEXT = [*NO_TEXT, "", "   ", "a\x00b", "x" * 100_000]
BAD_UUID = [*NO_TEXT[1:], "", "x", INJECTION, "a\x00b", "💥" * 50, "0" * 400, "../../etc/passwd"]
BAD_NUMBER = ["1", 1.5, True, [], {}, -1, 0, 10**30, "x" * 1_000]
BAD_MAP = [1, "x", [], True, {"nonsense": 1}, {"topic": {"a": "b"}}, {"topic": deep(40)},
           {"tags": "x"}, {"topic": "a//b"}, {"topic": ""}, {"tags": ["x"] * 1_000},
           {"activity": 10**40}, {"topic": INJECTION * 20}, {"a\x00": "b"}]  # fmt: skip
BAD_CLAIM = [1, "x", [], {}, {"subject": "a"}, {"subject": "a", "attribute": "b", "value": 3},
             {"subject": "a", "attribute": "b", "value": "c", "more": "d"},
             {"subject": "", "attribute": "b", "value": "c"},
             {"subject": "a" * 500, "attribute": "b", "value": "c"}]  # fmt: skip
BAD_REFS = [1, "x", {}, [1], ["x"], [{}], [{"noun": "rule"}], [{"noun": "rule", "id": "x"}],
            [{"noun": "rule", "id": INJECTION}], [{"noun": "runbook", "id": str(uuid4())}],
            [{"noun": "rule", "id": str(uuid4()), "version": -1}],
            [{"noun": "rule", "id": str(uuid4()), "version": 2**40}],
            [{"noun": "rule", "id": str(uuid4()), "extra": 1}],
            [{"noun": "rule", "id": str(uuid4())} for _ in range(65)]]  # fmt: skip
BAD_TIME = [1, True, [], "yesterday", "2026-01-01", "2026-01-01T00:00:00", "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59-12:00", INJECTION]  # fmt: skip
BAD_CURSOR = [1, True, [], "", "x", "-1", "9" * 30, INJECTION]
BAD_ENUMS = [1, "x", [], ["x"], [1], [["persistent"]], {"a": 1}]
SCOPES = ["org_id", "domain_id", "tenant", "agent", "anchor", "principal", "as", "scope", "key",
          "x" * 5_000, "a\x00b"]  # fmt: skip

BASE: dict[str, dict[str, Any]] = {
    "observe": {"text": "A note."},
    "prefer": {"text": "A preference."},
    "recall": {"query": "a question"},
    "ask_world_agent": {"question": "a question"},
    "context": {"query": "a question"},
    "explain": {},
    "list_contradictions": {},
    "close_session": {},
    "forget": {},
}
WRONG: dict[str, dict[str, list[Any]]] = {
    "observe": {
        "text": BAD_TEXT, "session_id": BAD_UUID, "envelope": BAD_MAP, "claim": BAD_CLAIM,
        "refs": BAD_REFS, "valid_at": BAD_TIME, "heard_from": ["canonical", "x", 1, []],
        "provenance": [1, "x", {"x": "y"}, {"world_model_version": 1}],
        "idempotency_key": ["", 1, "x" * 300, "a\x00b"],
    },
    "prefer": {
        "text": BAD_TEXT, "envelope": BAD_MAP, "claim": BAD_CLAIM, "refs": BAD_REFS,
        "idempotency_key": ["", 1, "x" * 300],
    },
    "recall": {
        "query": [*BAD_TEXT], "limit": BAD_NUMBER, "min_trust": [-1, 101, "x", 1.5],
        "envelope": [1, "x", {"nonsense": 1}, {"topic": {"a": 1}}, {"tags": ["x"] * 1_000}],
        "tiers": BAD_ENUMS, "as_of": BAD_TIME, "cursor": BAD_CURSOR,
    },
    "ask_world_agent": {"question": BAD_TEXT},
    "context": {
        "query": BAD_TEXT, "budget": ["1", 1.5, True, [], -1, 0], "session_id": BAD_UUID,
    },
    "explain": {"entry_id": BAD_UUID, "action_id": BAD_UUID},
    "list_contradictions": {"status": BAD_ENUMS, "cursor": BAD_CURSOR},
    "close_session": {"session_id": BAD_UUID, "reason": ["", 1, "x" * 500, "a\x00b"]},
    "forget": {
        "entry": BAD_UUID, "everything": [1, "yes", True, [], {}], "confirm": ["", 1, "yes"],
        "sources": [1, "x", []],
    },
}  # fmt: skip


def calls() -> list[tuple[str, dict[str, Any]]]:
    made = [
        (tool, {**BASE[tool], argument: value})
        for tool, arguments in WRONG.items()
        for argument, values in arguments.items()
        for value in values
    ]
    made += [(tool, {**BASE[tool], word: str(uuid4())}) for tool in BASE for word in SCOPES]
    made += [("explain", {}), ("explain", {"entry_id": str(uuid4()), "action_id": str(uuid4())})]
    made += [("explain", {"query": "only"}), ("close_session", {}), ("observe", {}), ("recall", {})]
    made += [(name, {"text": "x"}) for name in ("", "erase", "x" * 1_000, INJECTION, "Observe")]
    return made


CALLS = calls()
URIS = ["", "x", "idetic:", "idetic://", "idetic://spec?from=x", "idetic://spec?from=-1",
        "idetic://spec?a=b", "idetic://spec#x", "idetic://spec/../entries", "idetic://entries/",
        "idetic://entries/x", f"idetic://entries/{INJECTION}", f"idetic://entries/{uuid4()}/x",
        "idetic://[", "file:///etc/passwd", "idetic://spec?" + "x" * 5_000,
        "http://127.0.0.1/", "idetic://entries/\x00", "💥"]  # fmt: skip


def test_there_are_hundreds() -> None:
    assert len(CALLS) + len(URIS) > 300


async def every_call_is_refused(client: Client, *, every: int = 1) -> None:
    for name, arguments in CALLS[::every]:
        await refusal(client, name, **arguments)
    for uri in URIS:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        clean(str(caught.value) + json.dumps(caught.value.data))
    for cursor in ("x", "-1", "", INJECTION):
        with pytest.raises(MCPError):
            await client.list_resources(cursor=cursor)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_stdio_nothing_is_written_and_nothing_is_told(house: House, mode: str) -> None:
    before = house.counts()
    key = house.mine.keys["operator"]
    async with over_stdio(house, key=key, mode=mode) as (client, said):
        # What differs between the eras is the envelope, so the older one needs only some.
        await every_call_is_refused(client, every=1 if mode == "auto" else 9)
        assert house.counts() == before, "not even a session"
        assert "I don't know" in await call(client, "recall", query="anything at all")
        said.seek(0)
        assert said.read() == ""


async def test_over_http_nothing_is_written_and_nothing_is_told(house: House) -> None:
    before = house.counts()
    with over_http(house) as served:
        async with served.client(house.mine.keys["operator"]) as client:
            await every_call_is_refused(client)
            assert house.counts() == before
            assert "I don't know" in await call(client, "recall", query="anything at all")
        assert served.said.read_text() == ""


BODIES: list[bytes] = [
    b"", b"null", b"[]", b"{}", b"1", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000,
    b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":7}', b'{"jsonrpc":"2.0","id":1,"method":"no/such"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"observe","arguments":[]}}',
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"observe",'
    b'"arguments":{"text":"a\\ud800b"}}}'),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall",'
    b'"arguments":{"query":"x","min_trust":NaN}}}'),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall",'
    b'"arguments":{"query":"x","limit":1e999}}}'),
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":7}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
]  # fmt: skip
VERSIONS = (None, "2025-11-25", "2026-07-28", "1999-01-01", "x" * 500)


async def test_bodies_and_headers_that_are_no_protocol(house: House) -> None:
    before = house.counts()
    with over_http(house) as served:
        headers = {
            "Authorization": f"Bearer {house.mine.keys['operator']}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        async with httpx2.AsyncClient(timeout=60) as http:
            for version in VERSIONS:
                more = {} if version is None else {"MCP-Protocol-Version": version}
                for body in BODIES:
                    sent = await http.post(served.address, content=body, headers=headers | more)
                    assert sent.status_code < 500, (version, body[:80], sent.text)
                    clean(sent.text)
                    assert (
                        sent.status_code >= 400
                        or '"error"' in sent.text
                        or ('"isError":true' in sent.text.replace(" ", ""))
                        or sent.text == ""
                    ), (version, body[:80], sent.text)
            large = await http.post(served.address, content=b"x" * (2 << 20), headers=headers)
            assert large.status_code == 413
            for method in ("GET", "DELETE", "PUT"):
                odd = await http.request(method, served.address, headers=headers)
                assert 400 <= odd.status_code < 500
                clean(odd.text)
        assert house.counts() == before
        assert served.said.read_text() == ""


LINES = [*BODIES, b"hello", b"\x00" * 100, b"Content-Length: 5"]


def test_lines_that_are_no_protocol_do_not_end_a_stdio_server(house: House) -> None:
    before = house.counts()
    started = {"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    listing = {"jsonrpc": "2.0", "id": "last", "method": "tools/list"}
    first, second, last = (json.dumps(one).encode() for one in (started, initialized, listing))
    with child(
        [sys.executable, "-m", "idetic", "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        errors="surrogateescape",
        env=environment(house, IDETIC_KEY=house.mine.keys["operator"]),
    ) as serving:  # fmt: skip
        assert serving.stdin is not None
        assert serving.stdout is not None
        lines = b"\n".join([first, second, *LINES, last, b""])
        serving.stdin.write(lines.decode(errors="surrogateescape"))
        serving.stdin.flush()
        answers: list[str] = []
        for line in serving.stdout:
            answers.append(line)
            if json.loads(line).get("id") == "last":
                break
        assert '"tools":' in answers[-1]
        out, err = serving.communicate(timeout=60)
    clean("".join([*answers, out]))
    assert err == ""
    assert serving.returncode == 0
    assert house.counts() == before

"""Nobody stalls the others: bounds on connections, heads, bodies, answers, batches and exports.

Each bound has a control in which it is far away, and the same attempt is let be.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import anyio
import httpx
import pytest
import uvicorn
from pydantic import ConfigDict, ValidationError, create_model

from idetic import Idetic, Observation, Principal
from idetic.errors import Busy, InputError
from idetic.gates import crossing
from idetic.gates.crossing import Turns
from idetic.model import Tier, Typology
from idetic.surfaces.http import authentication
from idetic.surfaces.http.app import create_app
from idetic.surfaces.http.authentication import (
    LARGE,
    Authentication,
    Limits,
    check_values,
)
from idetic.surfaces.http.connections import ConnectionBounds, bounded
from idetic.surfaces.http.request_errors import BodyTooLarge
from idetic.surfaces.listening import Server, address, listen
from idetic.surfaces.request_forms import body_model
from idetic.verbs.declaration import VERBS
from tests.conftest import World

pytestmark = pytest.mark.anyio

FAR = 60.0
LIMITS = Limits(body_seconds=0.5, send_seconds=0.5, open_bytes=1_000)
BOUNDS = ConnectionBounds(most=20, head_seconds=0.5, head_bytes=4_000)
LENIENT = Limits(open_bytes=1 << 20)
FAR_BOUNDS = ConnectionBounds(most=1_000, head_seconds=FAR, head_bytes=1 << 20)


@dataclass
class Place:
    """A server in this process, and a key to it."""

    url: str
    key: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def head(self, path: str = "/v1/observations/batch", length: int = 10, key: str = "") -> bytes:
        lines = [
            f"POST {path} HTTP/1.1",
            "Host: here",
            f"Authorization: Bearer {key or self.key}",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        return "\r\n".join([*lines, "", ""]).encode()


@asynccontextmanager
async def served(
    db: Idetic, world: World, limits: Limits = LIMITS, bounds: ConnectionBounds = BOUNDS
) -> AsyncIterator[Place]:
    """The application on a port of its own, within these bounds."""
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    made = await db.keys.create(
        agent="world_agent", principal=Principal.operator("ada"), anchor=anchor
    )
    listening = listen("127.0.0.1", 0)
    config = uvicorn.Config(
        create_app(db, limits), log_config=None, lifespan="off", http=bounded(bounds)
    )
    ready = anyio.Event()
    server = Server(config, ready.set)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    await ready.wait()
    try:
        yield Place(address(listening), made.key)
    finally:
        server.stop()
        server.stop()
        await task


async def said(place: Place, *parts: bytes, wait: float = 3.0) -> bytes | None:
    """What a connection answers to some bytes; empty if it just ends, None if it stays."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    answered: bytes | None = None
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        with anyio.move_on_after(wait):
            answered = await reader.read(4_096)
    except ConnectionError:
        answered = b""
    finally:
        writer.close()
    return answered


HALF = [b"", b"POST /v1/recall HTTP/1.1\r\nHost: here\r\nAuth"]


@pytest.mark.parametrize("sent", HALF, ids=["nothing", "half a head"])
async def test_who_does_not_say_what_it_wants_is_left(
    db: Idetic, world: World, sent: bytes
) -> None:
    async with served(db, world) as place:
        begun = time.monotonic()
        assert await said(place, sent) == b""
        assert time.monotonic() - begun < 2.5
    async with served(db, world, bounds=FAR_BOUNDS) as place:
        assert await said(place, sent, wait=1.5) is None, "the control is waited for"


async def test_a_head_without_end_is_not_kept(db: Idetic, world: World) -> None:
    long = b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 20_000
    patient = replace(BOUNDS, head_seconds=FAR)
    async with served(db, world, bounds=patient) as place:
        assert await said(place, long) == b""
    async with served(db, world, bounds=FAR_BOUNDS) as place:
        assert await said(place, long, wait=1.0) is None


async def test_there_is_room_for_so_many_connections(db: Idetic, world: World) -> None:
    for bounds, refused in ((replace(BOUNDS, head_seconds=FAR), True), (FAR_BOUNDS, False)):
        async with served(db, world, bounds=bounds) as place:
            held = [await asyncio.open_connection("127.0.0.1", place.port) for _ in range(20)]
            await anyio.sleep(0.1)
            answered = await said(place, b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
            assert answered is not None
            assert (answered == b"") is refused
            for _, writer in held:
                writer.close()
            await anyio.sleep(0.1)
            async with httpx.AsyncClient(base_url=place.url) as http:
                assert (await http.get("/healthz")).status_code == 200


async def test_a_body_that_does_not_come_is_not_waited_for(db: Idetic, world: World) -> None:
    async with served(db, world) as place:
        answered = await said(place, place.head(), b"{")
        assert answered is not None
        assert answered.startswith(b"HTTP/1.1 408")
        assert b"body_too_slow" in answered
    async with served(db, world, LENIENT, FAR_BOUNDS) as place:
        assert await said(place, place.head(), b"{", wait=1.5) is None


async def test_nothing_is_read_before_the_key_is_checked(db: Idetic, world: World) -> None:
    async with served(db, world) as place:
        # Not one byte of the body has come, and none is waited for.
        for key in ("idk_wrong", "x"):
            answered = await said(place, place.head(length=1 << 20, key=key))
            assert answered is not None
            assert answered.startswith(b"HTTP/1.1 401")
            assert b"connection: close" in answered.lower()
        without = b"POST /healthz HTTP/1.1\r\nHost: here\r\nContent-Length: 5000\r\n\r\n"
        answered = await said(place, without)
        assert answered is not None
        assert answered.startswith(b"HTTP/1.1 413")
        # The control: a key that holds has its body waited for.
        answered = await said(place, place.head(length=1 << 20))
        assert answered is not None
        assert answered.startswith(b"HTTP/1.1 408")


async def test_a_tenant_has_few_turns_at_once_and_the_others_theirs() -> None:
    turns, running, most = Turns(2), {"a": 0, "b": 0}, {"a": 0, "b": 0}

    async def work(tenant: str) -> None:
        async with turns.taken(tenant):
            running[tenant] += 1
            most[tenant] = max(most[tenant], running[tenant])
            await anyio.sleep(0.02)
            running[tenant] -= 1

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(work, "a")
        with anyio.fail_after(0.06):
            await work("b")
    assert most == {"a": 2, "b": 1}
    assert not turns._tenants


class Worked:
    """An application behind authentication that counts how much of a tenant is at work at once."""

    def __init__(self) -> None:
        self.at_work, self.most = 0, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        await anyio.sleep(0.02)
        self.at_work -= 1
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def sent(database: Idetic, key: str, size: int) -> int:
    """Four requests of one key with bodies of a size; how many were at work at once."""
    worked = Worked()
    app = Authentication(worked, database, Limits())
    transport = httpx.ASGITransport(app=app)
    head = {"Authorization": f"Bearer {key}"}
    http = httpx.AsyncClient(transport=transport, base_url="http://a", headers=head)
    async with http, anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(partial(http.post, "/v1/anything", content=b"a" * size))
    return worked.most


async def test_large_bodies_of_a_tenant_are_taken_one_after_the_other(
    db: Idetic, world: World
) -> None:
    made = await db.keys.create(
        agent="world_agent",
        principal=Principal.agent("explorer"),
        anchor={"org_id": world.org_id, "domain_id": world.domain_id},
    )
    assert await sent(db, made.key, LARGE + 1) == 1
    # The control: small ones are not.
    assert await sent(db, made.key, 100) == 4


# --- exports ------------------------------------------------------------------------------------


def exporting(world: World) -> AsyncGenerator[bytes]:
    return cast("AsyncGenerator[bytes]", world.operator.export())


async def test_unread_exports_leave_the_pool_to_others(
    db: Idetic, world: World, other_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.operator.prefer("Keep this.")
    unread = [exporting(world) for _ in range(2)]
    for one in unread:
        await anext(one)
    with pytest.raises(Busy, match="exports"):
        await anext(exporting(world))
    other = exporting(other_world)
    assert await anext(other)
    for one in (*unread, other):
        await one.aclose()
    assert not db.database.exports
    assert [line async for line in world.operator.export()]
    # The control: without the limit, as many as there are connections, and nobody else has one.
    for name in ("MOST_EXPORTS", "MOST_OF_A_TENANT"):
        monkeypatch.setattr(f"idetic.store.export_rows.{name}", 1_000)
    monkeypatch.setattr(db.database._pool, "timeout", 0.5)
    unread = [exporting(world) for _ in range(10)]
    for one in unread:
        await anext(one)
    with pytest.raises(Busy, match="connection"):
        await world.operator.recall("this")
    for one in unread:
        await one.aclose()


async def test_an_answer_that_nobody_takes_is_not_held(
    db: Idetic, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [Observation(f"{n} {'long ' * 350}") for n in range(2_000)]
    async with world.memory.session() as session:
        await session.observe_many(many)
        async with served(db, world, bounds=FAR_BOUNDS) as place:
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            head = place.head("/v1/export", 0).replace(b"POST", b"GET")
            writer.write(head)
            await reader.read(1_000)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            assert db.database.exports.total() == 1
            with anyio.fail_after(10):
                while db.database.exports:  # noqa: ASYNC110 - it is the server's to end
                    await anyio.sleep(0.05)
            writer.transport.abort()


# --- batches ------------------------------------------------------------------------------------


async def test_a_batch_is_bounded_in_characters(
    db: Idetic, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [Observation("a few words " * 10) for _ in range(20)]
    async with world.memory.session() as session:
        monkeypatch.setattr(crossing, "MOST", 2_000)
        with pytest.raises(InputError, match="2,400 characters in all; the bound of one call"):
            await session.observe_many(batch)
        monkeypatch.undo()
        assert len(await session.observe_many(batch)) == 20


async def ticks_during(work: Callable[[], Any]) -> float:
    """The longest time that the event loop was not free while something was done."""
    worst, ended = 0.0, False

    async def tick() -> None:
        nonlocal worst
        while not ended:
            begun = time.perf_counter()
            await anyio.sleep(0.001)
            worst = max(worst, time.perf_counter() - begun)

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await anyio.sleep(0.01)
        await work()
        ended = True
    return worst


async def test_the_gates_read_a_batch_beside_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, scope = world.agent.engine.gateway, world.memory.scope
    batch = [Observation(f"{n} {'The desk was short again. ' * 60}") for n in range(400)]

    async def prepared() -> None:
        await gateway.prepared(scope, Tier.SESSION, Typology.EPISODIC, batch)

    free = await ticks_during(prepared)
    monkeypatch.setattr(crossing, "INLINE", 10**9)
    held = await ticks_during(prepared)
    assert free < held / 3


# --- bodies of many values ------------------------------------------------------------------------

EMPTIES = b'{"observations":[' + b"{}," * 100_000 + b"{}]}"
# As large, and all of it in one text.
COMMAS = b'{"text":"' + b"[{,:," * 60_000 + b'"}'


async def answered(db: Idetic, world: World, body: bytes, limits: Limits) -> tuple[int, str]:
    """The status and code of an answer to a body."""
    http = httpx.AsyncClient(timeout=60)
    async with http, served(db, world, limits) as place:
        head = {"Authorization": f"Bearer {place.key}", "Content-Type": "application/json"}
        answer = await http.post(f"{place.url}/v1/preferences", content=body, headers=head)
    return answer.status_code, answer.json()["code"]


async def test_a_body_of_many_values_is_refused_unread(db: Idetic, world: World) -> None:
    assert await answered(db, world, EMPTIES, Limits()) == (413, "body_too_large")
    control = Limits(body_values=1_000_000)
    assert await answered(db, world, EMPTIES, control) == (422, "bad_input")
    # What stands in a text is no value.
    assert await answered(db, world, COMMAS, Limits()) == (422, "text_refused")


async def test_to_count_the_values_of_a_body_takes_no_longer_than_the_bound() -> None:
    most, took = Limits().body_values, {}
    for unit in (b"{},", b'"",', b'""', b"[", b"1,", b'{"a":', b'"\\"'):
        for size in (1_000_000, 4_000_000):
            body = (b'{"a":[' + unit * (size // len(unit)))[:size]
            begun = time.process_time()
            with pytest.raises(BodyTooLarge) if unit[-1:] != b'"' else nullcontext():
                check_values(body, most)
            took[unit, size] = time.process_time() - begun
    # Reading 4 MB of them took 23 to 230 ms.
    assert max(took.values()) < 0.5, took


def test_what_is_wrong_with_a_body_is_told_in_few_words() -> None:
    """A list up to its first wrong item, an object of too many members by their number."""
    verb = VERBS["observe_many"]
    body = body_model("Sent", [one for one in verb.parameters.values() if one.travels])
    many = {f"k{number}": 1 for number in range(10_000)}
    wrong: list[list[dict[str, Any]]] = [
        [{}] * 10_000,
        [{"text": "a", **many}],
        [{"text": "a", "provenance": many}],
    ]
    for told in wrong:
        with pytest.raises(ValidationError) as refused:
            body.model_validate({"observations": told})
        assert refused.value.error_count() == 1
    plain = create_model("Plain", __config__=ConfigDict(extra="forbid"), text=str)
    with pytest.raises(ValidationError) as refused:
        plain.model_validate({"text": "a", **many})
    assert refused.value.error_count() == 10_000, "control: pydantic tells each"


async def refusing(scope: Any, receive: Any, send: Any) -> None:
    """An application that refuses at once whatever it is sent."""
    await send({"type": "http.response.start", "status": 422, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("pause", [0.5, 0.0], ids=["as it is", "control"])
async def test_after_a_refusal_the_next_large_body_of_a_tenant_waits(
    db: Idetic, world: World, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr(authentication, "_AFTER_REFUSAL", pause)
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    made = await db.keys.create(
        agent="world_agent", principal=Principal.agent("explorer"), anchor=anchor
    )
    transport = httpx.ASGITransport(app=Authentication(refusing, db, Limits()))
    head = {"Authorization": f"Bearer {made.key}"}
    began: list[float] = []
    async with httpx.AsyncClient(transport=transport, base_url="http://a", headers=head) as http:
        await http.post("/v1/anything", content=b"a" * 100)
        for _ in range(4):
            assert (await http.post("/v1/anything", content=b"a" * (LARGE + 1))).status_code == 422
            began.append(time.monotonic())
    assert (began[-1] - began[0] >= 1.4) is (pause > 0)

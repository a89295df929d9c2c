"""SIGTERM while clients write: what was acknowledged is there, and the server ends well."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

import anyio
import httpx
import psycopg
import pytest

from idetic import Principal
from tests.conftest import TestDatabase
from tests.support.http_house import WAIT, House, Process, serving

pytestmark = pytest.mark.anyio
CLIENTS = 32
# Enough that every client is in the middle of something.
BEFORE = 2_000 if os.environ.get("IDETIC_FAULTS") else 200


@dataclass
class Told:
    """What the clients were told: entry ids and texts of acknowledged writes."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    enough: anyio.Event = field(default_factory=anyio.Event)


async def write(process: Process, key: str, number: int, told: Told) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=process.address, headers=headers, timeout=60) as http:
        session = (await http.post("/v1/sessions", json={})).json()["id"]
        count = 0
        while True:
            text = f"Client {number} notes the number {count}."
            try:
                answer = await http.post(
                    "/v1/observations", json={"text": text, "session_id": session}
                )
            except httpx.TransportError:
                told.cut += 1
                return
            if answer.status_code == 200:
                told.acknowledged[answer.json()["entry_id"]] = text
            if len(told.acknowledged) >= BEFORE:
                told.enough.set()
            count += 1


async def test_every_acknowledged_write_is_there_after_a_restart(house: House) -> None:
    key, auditor = await house.key(), await house.key(Principal.auditor("ben"))
    told = Told()
    with serving(house.database, "--rate", "100000") as process:
        async with anyio.create_task_group() as group:
            for number in range(CLIENTS):
                group.start_soon(write, process, key, number, told)
            with anyio.fail_after(120):
                await told.enough.wait()
            process.running.send_signal(signal.SIGTERM)
        await ended(process)
    assert told.cut == CLIENTS
    assert len(told.acknowledged) >= BEFORE
    with serving(house.database, "--no-worker", "--rate", "100000") as again:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=again.address, headers=headers, timeout=60) as http:
            for entry_id, text in told.acknowledged.items():
                found = (await http.get(f"/v1/entries/{entry_id}")).json()
                assert found["body_text"] == text
            proof = {"Authorization": f"Bearer {auditor}"}
            chain = await http.post("/v1/chain/verify", json={}, headers=proof)
            assert chain.json()["intact"]


async def ended(process: Process) -> None:
    _, said = await anyio.to_thread.run_sync(lambda: process.running.communicate(timeout=WAIT))
    assert process.running.returncode == 0, said
    assert "Traceback" not in said


async def test_a_request_under_way_is_answered_and_no_new_one_taken(house: House) -> None:
    """A write that waits for its anchor's lock when the signal comes."""
    headers = {"Authorization": f"Bearer {await house.key(world=house.other)}"}
    await house.other.operator.prefer("So that the anchor exists.")
    answers: list[httpx.Response] = []
    with serving(house.database, "--no-worker") as process:
        async with httpx.AsyncClient(base_url=process.address, headers=headers) as http:

            async def late() -> None:
                late = {"text": "Late."}
                answers.append(await http.post("/v1/preferences", json=late, timeout=60))

            with psycopg.connect(house.database.admin_dsn) as held:
                held.execute("SELECT * FROM worlds.world_agent_memory_anchors FOR UPDATE")
                async with anyio.create_task_group() as group:
                    group.start_soon(late)
                    await waiting(house.database)
                    process.running.send_signal(signal.SIGTERM)
                    await refused(process.address)
                    assert answers == []
                    held.rollback()
        assert answers[0].status_code == 200
        assert answers[0].json()["decision"] == "ADD"
        await ended(process)


async def waiting(database: TestDatabase) -> None:
    """Until some statement waits for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with psycopg.connect(database.admin_dsn, autocommit=True) as looking, anyio.fail_after(60):
        while not (looking.execute(query).fetchone() or (0,))[0]:  # noqa: ASYNC110 - it waits for the database, which sets no event
            await anyio.sleep(0.02)


async def refused(address: str) -> None:
    """Until nothing listens any more."""
    with anyio.fail_after(60):
        async with httpx.AsyncClient(base_url=address) as http:
            while True:
                try:
                    await http.get("/healthz", headers={"Connection": "close"})
                except httpx.ConnectError:
                    return
                except httpx.TransportError:
                    pass
                await anyio.sleep(0.02)

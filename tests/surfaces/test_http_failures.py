"""What fails behind the door: told by an id, logged without content, never a traceback."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest

from idetic import Idetic, Principal, errors
from idetic.surfaces.http.app import create_app
from idetic.verbs.declaration import VERBS
from tests.conftest import World

pytestmark = pytest.mark.anyio
SECRET = 'relation "worlds.secret": SELECT body_text'


@pytest.fixture
async def key(db: Idetic, world: World) -> str:
    made = await db.keys.create(
        agent="world_agent",
        principal=Principal.auditor("ben"),
        anchor={"org_id": world.org_id, "domain_id": world.domain_id},
    )
    return made.key


@asynccontextmanager
async def called(db: Idetic, key: str) -> Any:
    """The application in this process, where a method of the library can be made to fail."""
    transport = httpx.ASGITransport(create_app(db))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://here", headers=headers
    ) as http:
        yield http


@contextmanager
def failing(where: Any, name: str, error: Exception) -> Iterator[None]:
    async def fail(*_: Any, **__: Any) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, fail)
        yield


def told(answer: httpx.Response, caplog: pytest.LogCaptureFixture, status: int) -> Any:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert "secret" not in answer.text
    assert "SELECT" not in answer.text
    assert "Traceback" not in answer.text
    assert problem["id"] in caplog.text, "whoever is told the id finds it in the log"
    return problem


@pytest.mark.parametrize("where", ["route", "door"])
async def test_what_nobody_foresaw(
    db: Idetic, key: str, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with called(db, key) as http:
        place, name = (VERBS["overdue"], "function") if where == "route" else (db, "authenticate")
        with failing(place, name, RuntimeError(SECRET)):
            problem = told(await http.get("/v1/overdue"), caplog, 500)
    assert problem["code"] == "idetic_error"
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text, "a driver's message may hold content"
    assert caplog.text.count("unexpected RuntimeError") == 1


async def test_a_database_that_is_away_is_a_503_without_its_message(
    db: Idetic, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with called(db, key) as http:
        with failing(
            VERBS["overdue"], "function", errors.DatabaseUnavailable(f"host secret: {SECRET}")
        ):
            answer = await http.get("/v1/overdue")
    assert told(answer, caplog, 503)["code"] == "database_unavailable"
    assert answer.headers["retry-after"] == "1"


async def test_a_closed_database_is_not_ready(
    db: Idetic, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with called(db, key) as http:
        await db.close()
        assert told(await http.get("/readyz"), caplog, 503)["code"] == "database_closed"
        assert told(await http.get("/v1/scope"), caplog, 503)["code"] == "database_closed"
        assert (await http.get("/healthz")).status_code == 200


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    found = []
    for part in answer.text.strip().split("\n\n"):
        name, data = part.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


STREAM = {"Accept": "text/event-stream"}


async def test_work_that_fails_on_the_way_says_so_as_an_event(
    db: Idetic, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def halfway(_: Any, progress: Any) -> None:
        progress(1, 2)
        raise RuntimeError(SECRET)

    async with called(db, key) as http:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(VERBS["verify"], "function", halfway)
            answer = await http.post("/v1/chain/verify", json={}, headers=STREAM)
    assert [name for name, _ in events(answer)] == ["progress", "failed"]
    problem = events(answer)[-1][1]
    assert problem["code"] == "idetic_error"
    assert problem["id"] in caplog.text
    assert "secret" not in answer.text + caplog.text


async def test_work_that_is_refused_at_once_has_its_own_status(db: Idetic, world: World) -> None:
    made = await db.keys.create(
        agent="world_agent",
        principal=Principal.customer("cleo"),
        anchor={"org_id": world.org_id, "domain_id": world.domain_id},
    )
    async with called(db, made.key) as http:
        answer = await http.post("/v1/chain/verify", json={}, headers=STREAM)
    assert answer.status_code == 403
    assert answer.json()["code"] == "capability"


async def test_work_that_ends_well_ends_with_the_same_answer(
    db: Idetic, world: World, key: str
) -> None:
    await world.operator.prefer("Something to verify.")
    async with called(db, key) as http:
        streamed = events(await http.post("/v1/chain/verify", json={}, headers=STREAM))
        plain = (await http.post("/v1/chain/verify", json={})).json()
    assert streamed[0][0] == "progress"
    assert streamed[-1] == ("done", plain)

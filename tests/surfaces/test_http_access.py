"""Who gets in over HTTP, how often and with how much; and how a refusal reads."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from idetic import Capability, Idetic, Principal
from idetic.keys import key_id_of, new_key
from idetic.surfaces.http.authentication import Limits, Rates
from idetic.surfaces.http.request_errors import RateLimited
from tests.support.clock import SettableClock
from tests.support.http_house import House, serving

pytestmark = pytest.mark.anyio
MEMBERS = {"type", "title", "status", "detail", "code", "remedy", "about"}


def problem(answer: httpx.Response, status: int, code: str) -> Any:
    """The body of a refusal, which always has the same form."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert set(told) >= MEMBERS
    assert (told["status"], told["code"]) == (status, code), told
    assert told["type"] == f"urn:idetic:error:{code}"
    assert re.match(r"[A-Z].*[.)]$", told["remedy"])
    return told


# --- keys ---------------------------------------------------------------------------------------


async def test_without_a_key_nothing_under_v1_answers(house: House) -> None:
    async with house.http() as http:
        for path in ("/v1/entries", "/v1/scope", "/v1/nothing-here"):
            answer = await http.get(path)
            problem(answer, 401, "key_refused")
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer", "Basic YTpi", "Bearer idk_x", "Bearer \xff", "idk_x"])
async def test_what_is_no_key_is_refused(house: House, header: str) -> None:
    async with house.http() as http:
        sent = {"Authorization": header.encode("latin-1")}
        problem(await http.get("/v1/scope", headers=sent), 401, "key_refused")  # type: ignore[arg-type]


async def made_long_ago(house: House) -> str:
    """A key that ended the day after it was made."""
    then, database = SettableClock(), house.database
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=then) as db:
        made = await db.keys.create(
            agent="world_agent",
            principal=Principal.operator("ada"),
            anchor={"org_id": house.world.org_id, "domain_id": house.world.domain_id},
            expires_at=then.now() + timedelta(days=1),
        )
    return made.key


async def test_unknown_revoked_and_expired_keys_are_told_alike(house: House) -> None:
    unknown = new_key(uuid4()).key
    revoked = await house.key()
    await house.db.keys.revoke(key_id_of(revoked))
    expired = await made_long_ago(house)
    told = []
    for key in (unknown, revoked, expired):
        async with house.http(key) as http:
            told.append(problem(await http.get("/v1/scope"), 401, "key_refused"))
    assert told[0] == told[1] == told[2]


async def test_a_key_that_is_revoked_stops_at_once(house: House) -> None:
    key = await house.key()
    async with house.http(key) as http:
        assert (await http.get("/v1/scope")).status_code == 200
        await house.db.keys.revoke(key_id_of(key))
        problem(await http.get("/v1/scope"), 401, "key_refused")


async def test_the_scope_is_the_key_s_whatever_is_asked_for(house: House) -> None:
    async with house.http(await house.key()) as http:
        other = {"org_id": str(house.other.org_id), "domain_id": str(house.other.domain_id)}
        seen = (await http.get("/v1/scope", params=other)).json()
        assert seen["anchor"]["org_id"] == str(house.world.org_id)
        asked = {"query": "anything", "anchor": other}
        problem(await http.post("/v1/recall", json=asked), 422, "bad_input")


async def test_a_capability_that_is_missing_is_a_403(house: House) -> None:
    narrow = await house.key(only=[Capability.READ])
    async with house.http(narrow) as http:
        told = problem(await http.post("/v1/preferences", json={"text": "No."}), 403, "capability")
        assert "The spec would allow it" in told["remedy"]
    async with house.http(await house.key(Principal.customer("cleo"))) as http:
        told = problem(await http.post("/v1/chain/verify", json={}), 403, "capability")
        assert "auditor" in told["remedy"]


# --- how much -----------------------------------------------------------------------------------


async def test_a_body_that_is_too_large_is_refused_however_it_comes(house: House) -> None:
    async def parts() -> Any:
        for _ in range(6):
            yield b" " * (1 << 20)

    before = house.rows()
    async with house.http(await house.key()) as http:
        for content in (b" " * (5 << 20), parts()):
            try:
                answer = await http.post("/v1/preferences", content=content)
            except httpx.WriteError:
                continue  # the server had answered and closed while we were still sending
            problem(answer, 413, "body_too_large")
    assert house.rows() == before


async def test_a_key_that_asks_too_often_is_told_when_to_come_back(house: House) -> None:
    key, other = await house.key(), await house.key()
    with serving(house.database, "--no-worker", "--rate", "0.1") as process:
        async with httpx.AsyncClient(base_url=process.address, timeout=60) as http:
            mine = {"Authorization": f"Bearer {key}"}
            answers = [await http.get("/v1/scope", headers=mine) for _ in range(2)]
            assert [each.status_code for each in answers] == [200, 429]
            problem(answers[-1], 429, "rate_limited")
            assert int(answers[-1].headers["retry-after"]) >= 1
            theirs = {"Authorization": f"Bearer {other}"}
            assert (await http.get("/v1/scope", headers=theirs)).status_code == 200


def test_a_bucket_refills_as_time_passes_and_belongs_to_one_key() -> None:
    now = [0.0]
    rates = Rates(Limits(rate=2.0, burst=2), clock=lambda: now[0])
    rates.take(b"a")
    rates.take(b"a")
    with pytest.raises(RateLimited):
        rates.take(b"a")
    rates.take(b"b")
    now[0] = 0.5
    rates.take(b"a")
    with pytest.raises(RateLimited) as caught:
        rates.take(b"a")
    assert caught.value.detail["retry_after"] == 1


def test_buckets_of_made_up_keys_do_not_pile_up() -> None:
    rates = Rates(Limits())
    for number in range(12_000):
        rates.take(str(number).encode())
    assert len(rates._buckets) == 10_000


# --- addresses ----------------------------------------------------------------------------------


async def test_addresses_and_methods_that_do_not_exist(house: House) -> None:
    async with house.http(await house.key()) as http:
        problem(await http.get("/v1/nothing"), 404, "route_not_found")
        problem(await http.get("/nothing"), 404, "route_not_found")
        answer = await http.delete("/v1/entries")
        problem(answer, 405, "method_refused")
        assert "GET" in answer.headers["allow"]


async def test_probes_need_no_key_and_nothing_is_kept_on_the_way(house: House) -> None:
    async with house.http() as http:
        for path, said in (("/healthz", "alive"), ("/readyz", "ready")):
            answer = await http.get(path)
            assert (answer.status_code, answer.json()) == (200, {"status": said})
            assert answer.headers["cache-control"] == "no-store"
            assert "server" not in answer.headers


async def test_the_openapi_is_3_1_and_says_that_v1_needs_a_key(house: House) -> None:
    async with house.http() as http:
        told = (await http.get("/openapi.json")).json()
    assert told["openapi"].startswith("3.1")
    for path, operations in told["paths"].items():
        for operation in operations.values():
            assert ("security" in operation) == path.startswith("/v1/"), path
            for status, response in operation["responses"].items():
                if status[0] in "45":
                    assert list(response["content"]) == ["application/problem+json"]


# --- idempotency and pages ----------------------------------------------------------------------


async def test_an_idempotency_key_gives_the_first_receipt_again(house: House) -> None:
    async with house.http(await house.key()) as http:
        key, body = {"Idempotency-Key": "one"}, {"text": "Count twice."}
        first = (await http.post("/v1/preferences", json=body, headers=key)).json()
        again = (await http.post("/v1/preferences", json=body, headers=key)).json()
        assert (first.pop("replayed"), again.pop("replayed")) == (False, True)
        assert first == again
        other = await http.post("/v1/preferences", json={"text": "Another."}, headers=key)
        problem(other, 409, "idempotency_conflict")
        for bad in ("", "x" * 201):
            sent = await http.post("/v1/preferences", json=body, headers={"Idempotency-Key": bad})
            problem(sent, 422, "bad_input")


async def test_a_batch_is_replayed_as_a_whole(house: House) -> None:
    async with house.http(await house.key()) as http:
        session = (await http.post("/v1/sessions", json={})).json()["id"]
        body = {
            "session_id": session,
            "observations": [{"text": "One."}, {"text": "Two.", "idempotency_key": "mine"}],
        }
        key = {"Idempotency-Key": "batch"}
        first = (await http.post("/v1/observations/batch", json=body, headers=key)).json()
        again = (await http.post("/v1/observations/batch", json=body, headers=key)).json()
        assert [each["id"] for each in first] == [each["id"] for each in again]
        assert [each["replayed"] for each in again] == [True, True]
        inside = await http.get("/v1/entries", params={"session_id": session})
        assert len(inside.json()["entries"]) == 2


async def test_pages_follow_one_another_to_the_end(house: House) -> None:
    async with house.http(await house.key(world=house.other)) as http:
        session = (await http.post("/v1/sessions", json={})).json()["id"]
        seen = [{"text": f"Note {number}."} for number in range(25)]
        sent = await http.post(
            "/v1/observations/batch", json={"session_id": session, "observations": seen}
        )
        wanted = [each["entry_id"] for each in sent.json()]
        found: list[str] = []
        cursor: dict[str, Any] = {}
        while True:
            asked = {"limit": 10, "session_id": session, **cursor}
            page = (await http.get("/v1/entries", params=asked)).json()
            found += [each["id"] for each in page["entries"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert found == wanted[::-1]

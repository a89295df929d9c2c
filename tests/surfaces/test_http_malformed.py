"""Input that is not what it should be, over HTTP: a refusal with a remedy, and nothing written.

2,000 of them with IDETIC_FAULTS set, 300 otherwise; the same ones each time.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.support.http_house import House

pytestmark = pytest.mark.anyio
HOW_MANY = 2_000 if os.environ.get("IDETIC_FAULTS") else 300

# What must never be seen of the inside.
INSIDE = re.compile(
    r"Traceback|psycopg|SQLSTATE|SELECT |INSERT |UPDATE |relation \"|worlds\.|\.py\b|site-packages"
)
ID = "01920000-0000-7000-8000-000000000000"


@dataclass(frozen=True)
class Sent:
    """A request that must be refused."""

    method: str
    path: str
    content: bytes | None = None
    query: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)


def raw(value: Any) -> bytes:
    """JSON as a careless sender makes it: NaN, lone surrogates and all."""
    return json.dumps(value).encode()


# --- values -------------------------------------------------------------------------------------


def bad_text(chance: random.Random) -> Any:
    """What no text of memory can be."""
    return chance.choice(
        [
            "a\x00b",
            "a\ud800b",
            "\udfff" * 3,
            "",
            " \t\n",
            "x" * chance.choice([20_000, 100_000, 1_000_000]),
            chance.randrange(-9, 9),
            float("nan"),
            True,
            None,
            [],
            ["a"],
            {"text": "a"},
            deep(chance),
        ]
    )


def deep(chance: random.Random) -> Any:
    """Lists in lists, deeper than anyone means."""
    value: Any = []
    for _ in range(chance.choice([50, 300])):
        value = [value]
    return value


def bad_id(chance: random.Random) -> Any:
    return chance.choice(
        ["", "x", ID[:-1], ID + "0", "../..", "\x00", "1; DROP TABLE x", 0, -1, 1.5, None, [], {}]
    )


def bad_envelope(chance: random.Random) -> Any:
    huge = {f"key{number}": number for number in range(3_000)}
    inner = chance.choice(
        [float("inf"), float("nan"), 2**70, {"a": 1}, None, "a\x00", deep(chance)]
    )
    return chance.choice(
        [{"nobody declared this": 1}, {"topic": inner}, {"tags": [inner]}, {"tags": "one"}, huge,
         {"topic": "a//b"}, {"topic": ""}, [], "topic", 7, {"claim": {}}, {"claim": 5}]
    )  # fmt: skip


def bad_moment(chance: random.Random) -> Any:
    return chance.choice(
        ["", "now", "2026-01-31", "2026-01-31T12:00:00", "0001-01-01T00:00:00Z", "99999-01-01",
         "2026-13-01T00:00:00Z", 0, 1e30, -5, True, []]
    )  # fmt: skip


def bad_number(chance: random.Random) -> Any:
    return chance.choice([0, -1, 10**6, 2**80, 1.5, "10", "", None, True, [], float("nan")])


Bad = Callable[[random.Random], Any]
# A body that would do, and what to put into it so that it does not.
FIELDS: list[tuple[str, dict[str, Any], dict[str, Bad]]] = [
    ("/v1/preferences", {"text": "Fine."}, {"text": bad_text, "envelope": bad_envelope}),
    ("/v1/observations", {"text": "Fine.", "session_id": ID},
     {"text": bad_text, "envelope": bad_envelope, "valid_at": bad_moment}),
    ("/v1/observations/batch", {"session_id": ID},
     {"observations": lambda c: [{"text": bad_text(c)}]}),
    ("/v1/recall", {"query": "Fine?"},
     {"query": lambda c: c.choice(["a\x00", "\ud800", 1, None, [], "x" * 20_000]),
      "limit": bad_number, "as_of": bad_moment, "tiers": lambda c: c.choice([["x"], "x", 1, [1]])}),
    ("/v1/context", {"query": "Fine?"}, {"limit": bad_number}),
    ("/v1/actions", {"action_id": ID, "kind": "rule_promotion", "entries": [ID]},
     {"action_id": bad_id, "entries": lambda c: [bad_id(c)], "reason": bad_text,
      "kind": lambda c: c.choice(["x", "", None, 5])}),
    (f"/v1/entries/{ID}/archive", {"reason": "Fine."}, {"reason": bad_text}),
    (f"/v1/entries/{ID}/corroborations", {"source": None},
     {"source": bad_id,
      "holds": lambda c: c.choice([1, "yes", None])}),
    (f"/v1/entries/{ID}/contradictions", {"ref": {"noun": "rule", "id": ID}, "reason": "Fine."},
     {"ref": lambda c: c.choice([{"noun": "x", "id": ID}, {"noun": "rule", "id": bad_id(c)}, 5]),
      "reason": bad_text}),
    ("/v1/dispositions", {"entries": [ID], "outcome": "archive", "reason": "Fine."},
     {"outcome": bad_text, "reason": bad_text, "entries": lambda c: [bad_id(c)]}),
    ("/v1/undo", {"position": 1, "reason": "Fine."}, {"position": bad_number, "reason": bad_text}),
    ("/v1/erasures", {"identifiers": ["Nobody Atall"], "reason": "Fine."},
     {"identifiers": lambda c: c.choice([[], [""], ["a\x00b"], "x", None, [1], ["\ud800x"]]),
      "reason": bad_text}),
    ("/v1/quarantines", {"origin": "tool", "reason": "Fine."},
     {"origin": bad_text, "since": bad_moment, "session_id": lambda c: bad_id(c) or "x"}),
    ("/v1/sessions", {}, {"id": lambda c: bad_id(c) or "x"}),
    ("/v1/chain/verify", {}, {"head": lambda c: c.choice([5, {}, {"hash": "x"}, [ID]])}),
]  # fmt: skip


# --- requests -----------------------------------------------------------------------------------


def poisoned(chance: random.Random) -> Sent:
    """A body that is right but for one member."""
    path, body, fields = chance.choice(FIELDS)
    member = chance.choice(sorted(fields))
    return Sent("POST", path, raw({**body, member: fields[member](chance)}))


def extended(chance: random.Random) -> Sent:
    """A member that nobody reads, such as somebody else's scope."""
    path, body, _ = chance.choice(FIELDS)
    more = chance.choice(["org_id", "anchor", "principal", "capabilities", "__proto__", "\x00"])
    return Sent("POST", path, raw({**body, more: chance.choice([ID, {}, 1])}))


def broken(chance: random.Random) -> Sent:
    """Bytes that are no JSON object."""
    path, body, _ = chance.choice(FIELDS)
    good = raw({**body, "reason": "Fine."})
    content = chance.choice(
        [b"", b"null", b"[]", b"1", b'"x"', good[:-1], good + b"}", b"\xff\xfe" + good,
         b"\x00" + good, b'{"text": "\xff"}', b"{" * 5_000, b"[" * 100_000 + b"]" * 100_000,
         b'{"a":' * 2_000 + b"1" + b"}" * 2_000, b"9" * 10_000, b"-", b"Infinity"]
    )  # fmt: skip
    return Sent("POST", path, content)


def mislabelled(chance: random.Random) -> Sent:
    path, body, _ = chance.choice(FIELDS)
    kind = chance.choice(["text/plain", "application/xml", "multipart/form-data", "x", "image/png"])
    return Sent("POST", path, raw({**body, "wrong": 1}), headers={"Content-Type": kind})


def asked(chance: random.Random) -> Sent:
    """Addresses and queries that lead nowhere."""
    wrong = chance.choice(["x", ID[:-1], "%00", "..%2f..", "a" * 5_000, "%ff", "'--", "{}"])
    path = chance.choice(["/v1/entries/{}", "/v1/entries/{}/history", "/v1/actions/{}/explanation"])
    query: dict[str, Any] = chance.choice(
        [{"limit": 0}, {"limit": -1}, {"limit": "x"}, {"limit": 10**9}, {"limit": "1" * 5_000},
         {"cursor": "x"}, {"cursor": "\x00"}, {"tier": "x"}, {"typology": ""},
         {"interaction_id": ID}, {"session_id": "x"}]
    )  # fmt: skip
    moment = {"moment": chance.choice(["", "now", "2026-01-31T12:00:00", "\x00", "1" * 400])}
    return chance.choice(
        [
            Sent("GET", path.format(wrong)),
            Sent("GET", "/v1/entries", query=query),
            Sent("GET", "/v1/as-of", query=moment),
            Sent("GET", "/v1/contradictions", query={"status": "x"}),
            Sent(chance.choice(["PUT", "DELETE", "PATCH"]), "/v1/entries"),
            Sent("POST", f"/v1/quarantines/{chance.choice(['x', '-1', '0', '9' * 30])}/release",
                 raw({"reason": "Fine."})),
        ]
    )  # fmt: skip


def keyed(chance: random.Random) -> Sent:
    key = chance.choice(["", "x" * 201, "x" * 5_000])
    return Sent("POST", "/v1/preferences", raw({"text": "Fine."}), headers={"Idempotency-Key": key})


KINDS = (poisoned, poisoned, poisoned, extended, broken, mislabelled, asked, asked, keyed)


def malformed(count: int) -> Iterator[Sent]:
    chance = random.Random(7)  # noqa: S311 - the same ones each time
    for _ in range(count):
        yield chance.choice(KINDS)(chance)


async def test_every_one_is_refused_with_a_remedy_and_nothing_is_written(house: House) -> None:
    before = house.rows()
    seen: Counter[int] = Counter()
    async with house.http(await house.key()) as http:
        for sent in malformed(HOW_MANY):
            headers = {"Content-Type": "application/json", **sent.headers}
            answer = await http.request(
                sent.method, sent.path, content=sent.content, params=sent.query, headers=headers
            )
            refused(sent, answer)
            seen[answer.status_code] += 1
    assert sum(seen.values()) == HOW_MANY
    assert set(seen) <= {401, 403, 404, 405, 409, 413, 422}, seen
    assert house.rows() == before


def refused(sent: Sent, answer: httpx.Response) -> None:
    about = (sent.method, sent.path, (sent.content or b"")[:300], sent.query, answer.text[:500])
    assert 400 <= answer.status_code < 500, about
    assert answer.headers["content-type"] == "application/problem+json", about
    told = answer.json()
    assert told["remedy"], about
    assert told["code"], about
    assert not INSIDE.search(answer.text), about


async def test_control_the_same_bodies_without_the_poison_are_understood(house: House) -> None:
    """So what is refused above is refused for its poison."""
    async with house.http(await house.key()) as http:
        for path, body, _ in FIELDS:
            if path in ("/v1/observations/batch",):
                continue
            answer = await http.post(path, json=body)
            code = answer.json()["code"] if answer.status_code >= 400 else ""
            assert code not in ("bad_input", "text_refused", "envelope_refused"), (
                path,
                answer.text,
            )


async def test_ten_megabytes_are_not_read(house: House) -> None:
    before = house.rows()
    async with house.http(await house.key()) as http:
        try:
            answer = await http.post("/v1/preferences", content=raw({"text": "x" * 10_000_000}))
        except httpx.WriteError:
            return  # refused while it was still being sent
        assert answer.status_code == 413
    assert house.rows() == before


async def test_requests_that_are_no_http(house: House) -> None:
    """Bytes on the wire: the server lives on and says nothing of itself."""
    import anyio  # noqa: PLC0415 - only here

    host, _, port = house.address.removeprefix("http://").partition(":")
    for junk in (b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", os.urandom(500),
                 b"POST /v1/recall HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                 b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n"):  # fmt: skip
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(junk)
            await stream.send_eof()
            said = b""
            try:
                while part := await stream.receive():
                    said += part
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
            assert not INSIDE.search(said.decode("latin-1"))
    async with house.http() as http:
        assert (await http.get("/healthz")).status_code == 200


def test_the_generator_is_varied_and_repeatable() -> None:
    """The generator makes many kinds of requests, and the same ones in every run."""
    once, again = list(malformed(300)), list(malformed(300))
    assert [s.path for s in once] == [s.path for s in again]
    assert len({(s.method, s.path, s.content) for s in once}) > 150

"""What a server says is understood as far as it makes sense, and never passed on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from idetic.reason.endpoint import ChatReply, Failed, by_body, by_status, content_of


def waits(said: str) -> float | None:
    return by_status("host", 429, {"retry-after": said}).wait


def test_a_wait_is_seconds_or_a_date() -> None:
    later = waits(format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True))
    earlier = waits(format_datetime(datetime.now(UTC) - timedelta(days=1)))
    assert (waits("7"), waits(" 0.5 "), earlier) == (7.0, 0.5, 0.0)
    assert later == pytest.approx(90, abs=5)


@pytest.mark.parametrize("said", ["", "soon", "-1", "nan", "inf", "1e9", "9" * 400, "Mon, 99 Foo"])
def test_a_wait_that_makes_no_sense_is_none(said: str) -> None:
    assert waits(said) is None


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    failed = by_status("host", status, {})
    assert (failed.again, failed.spent, failed.turned_away) == (True, False, False)


@pytest.mark.parametrize("status", [307, 400, 401, 403, 404, 413, 422])
def test_what_will_not_pass_is_not(status: int) -> None:
    failed = by_status("host", status, {"retry-after": "1"})
    assert (failed.again, failed.wait) == (False, None)
    assert failed.turned_away is (status in (400, 422))


@pytest.mark.parametrize("kind", ["a secret note", "text/html; x=secret", "x" * 99, ""])
def test_a_content_type_is_named_only_if_it_is_one(kind: str) -> None:
    failed = by_body("host", b"<html>", kind)
    assert isinstance(failed, Failed)
    assert "secret" not in failed.message
    assert "xxx" not in failed.message


@pytest.mark.parametrize("body", [b"", b"[]", b'{"choices": []}', b"\xff", b"[" * 99_999])
def test_a_body_that_is_no_completion_is_a_failure(body: bytes) -> None:
    assert isinstance(by_body("host", body, "application/json"), Failed)


COUNTS = [
    ({"prompt_tokens": 5, "completion_tokens": 2}, (5, 2)),
    ({"prompt_tokens": 5}, (5, 0)),
    ({"prompt_tokens": 0, "completion_tokens": 0}, None),
    ({"prompt_tokens": 5, "completion_tokens": -1}, None),
    ({"prompt_tokens": "5", "completion_tokens": 2}, None),
    ({"prompt_tokens": True, "completion_tokens": 2}, None),
    ([5, 2], None),
    (None, None),
]


@pytest.mark.parametrize(("usage", "counted"), COUNTS, ids=str)
def test_a_count_is_believed_only_if_it_is_one(
    usage: object, counted: tuple[int, int] | None
) -> None:
    body = {"choices": [{"message": {"content": "{}"}}], "usage": usage}
    reply = by_body("host", json.dumps(body).encode(), "application/json")
    assert isinstance(reply, ChatReply)
    assert reply.tokens == counted


@pytest.mark.parametrize(
    "content",
    ['{"why": "I cannot say"}', '{"text": "Sorry, as an AI"}', "Sorrypour is a village.", "", "[]"],
)
def test_an_answer_is_not_taken_for_a_refusal(content: str) -> None:
    assert content_of(ChatReply(content, refused=False, cut=False, tokens=None)) == content

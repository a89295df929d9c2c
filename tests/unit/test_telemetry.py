"""Setting telemetry up, and what Sentry is allowed to see."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from idetic import errors, telemetry
from idetic.telemetry.record import Metric
from idetic.telemetry.recorders import start_sentry, to_stream

CANARY = "zqxcanary"
METRICS = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    yield
    telemetry.use()
    sentry_sdk.get_client().close(timeout=0)
    sentry_sdk.get_global_scope().set_client(None)


class Kept(Transport):
    """A transport that keeps what would have been sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        self.sent.append(envelope.serialize().decode())


def fail(note: str) -> None:
    """As code would that nobody foresaw: with the note in a variable and in the message."""
    body = {"body_text": note}
    raise RuntimeError(f"cannot handle {body}")


def recorded(note: str) -> None:
    logging.getLogger("elsewhere").error("about %s", note)
    sentry_sdk.add_breadcrumb(message=note)
    sentry_sdk.set_extra("note", note)
    sentry_sdk.set_user({"id": note})
    with pytest.raises(RuntimeError), telemetry.span("observe", text=note):
        fail(note)


def test_sentry_is_told_of_unforeseen_errors_without_what_they_hold() -> None:
    kept = Kept()
    telemetry.use(start_sentry("http://key@localhost/1", transport=kept))
    recorded(CANARY)
    told = "".join(kept.sent)
    assert CANARY not in told
    assert "RuntimeError" in told
    assert '"operation":"observe"' in told
    assert "test_telemetry.py" in told


def test_control_without_the_scrubbing_sentry_sees_it() -> None:
    kept = Kept()
    recorder = start_sentry("http://key@localhost/1", transport=kept)
    sentry_sdk.init("http://key@localhost/1", transport=kept)
    telemetry.use(recorder)
    recorded(CANARY)
    assert CANARY in "".join(kept.sent)


def test_an_error_of_ours_is_an_answer_and_not_reported() -> None:
    kept = Kept()
    telemetry.use(start_sentry("http://key@localhost/1", transport=kept))
    with pytest.raises(errors.ScopeClosed), telemetry.span("observe"):
        raise errors.ScopeClosed
    assert kept.sent == []


def test_sentry_is_warned_of_a_refusal_by_its_reason_alone() -> None:
    kept = Kept()
    telemetry.use(start_sentry("http://key@localhost/1", transport=kept))
    with pytest.raises(errors.ShadowRefused), telemetry.span("observe", text=CANARY):
        raise errors.ShadowRefused(CANARY)
    told = "".join(kept.sent)
    assert CANARY not in told
    assert '"message":"memory.rejected"' in told
    assert '"level":"warning"' in told
    assert '"reason":"shadow"' in told


def test_a_log_line_is_json_with_a_level_by_how_it_ended() -> None:
    stream = io.StringIO()
    telemetry.use(to_stream(logging.DEBUG, stream))
    with telemetry.span("recall", query=CANARY) as told:
        told.tell(hits=3, similarity=0.8123456789)
    with pytest.raises(errors.ScopeClosed), telemetry.span("observe"):
        raise errors.ScopeClosed(CANARY)
    with pytest.raises(RuntimeError), telemetry.span("observe"):
        fail(CANARY)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    events = [(one["event"], one["level"]) for one in lines]
    assert events == [
        ("memory.recall", "debug"),
        ("memory.observe", "info"),
        ("gen_ai.memory.guard.rejections", "debug"),
        ("memory.observe", "error"),
    ]
    assert (lines[0]["hits"], lines[0]["similarity"], lines[0]["query_length"]) == (3, 0.812346, 9)
    assert [one.get("outcome") for one in lines] == [
        "ok",
        "scope_closed",
        "scope_closed",
        "RuntimeError",
    ]
    assert CANARY not in stream.getvalue()


def test_what_is_configured_records(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure()
    assert not telemetry.recording()
    telemetry.configure(logs="info")
    assert telemetry.recording()
    with pytest.raises(errors.InputError, match="debug, info"):
        telemetry.configure(logs="loud")
    with pytest.raises(errors.InputError, match="DSN of Sentry"):
        telemetry.configure(sentry_dsn="no dsn")
    telemetry.configure(otel=True)
    assert telemetry.recording()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("missing", "option"), [("opentelemetry", "otel"), ("sentry_sdk", "sentry")]
)
def test_the_core_works_without_the_extras_and_says_what_is_missing(
    missing: str, option: str
) -> None:
    asked = {"otel": "otel=True", "sentry": "sentry_dsn='http://key@localhost/1'"}[option]
    code = f"""
import sys
sys.modules[{missing!r}] = None
import idetic, idetic.library.idetic, idetic.telemetry
from idetic import errors
assert "structlog" not in sys.modules
with idetic.telemetry.span("recall"):
    pass
try:
    idetic.telemetry.configure({asked})
except errors.InputError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert f"idetic[{option}]" in ran.stdout


def test_the_reference_lists_every_metric_with_its_unit_and_meaning() -> None:
    text = METRICS.read_text("utf-8")
    rows = re.findall(
        r"^\| `(gen_ai[\w.]+)` \| (\w+) \| (\S+) \| [^|]+ \| (.+) \|$", text, re.MULTILINE
    )
    told: list[tuple[Any, ...]] = [(m.title, m.shape.value, m.unit, m.meaning) for m in Metric]
    assert rows == told

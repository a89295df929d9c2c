"""Settings: three sources in rising order, checked whole, shown with where each comes from."""

from __future__ import annotations

import gzip
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import sentry_sdk
from pydantic import SecretStr

from idetic import Idetic, open_sync, telemetry
from idetic.errors import InputError
from idetic.library.health import examine_settings
from idetic.library.reasoner_settings import ReasonerSettings
from idetic.library.settings import RerankerOff, Settings, flat, keys, settle, variable
from idetic.reason import OpenAICompatible
from idetic.recall.floors import FloorOverride
from idetic.recall.hits import AppliedFloors
from idetic.recall.rerank import RerankerError
from idetic.spec.primitives import Floors
from tests.support.docs import DOCS

pytestmark = pytest.mark.anyio
MODEL = {"reasoner.model": "small-model", "reasoner.base_url": "http://127.0.0.1:9/v1"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for key in keys():
        monkeypatch.delenv(variable(key), raising=False)
    yield
    telemetry.use()


def only(**given: str) -> Settings:
    return settle({}, {}, {key.replace("__", "."): each for key, each in given.items()}).settings


def test_a_file_is_weaker_than_the_environment_and_that_than_an_option() -> None:
    file: Mapping[str, Any] = flat(
        {"log": "info", "reranker": "off", "reasoner": {"model": "a", "calls_per_run": 7}}
    )
    environment = {"IDETIC_LOG": "warning", "IDETIC_REASONER_MODEL": "b"}
    held = settle(file, environment, {"reasoner.model": "c"}, "idetic.toml")
    settings = held.settings
    assert (settings.log, settings.reranker, settings.reasoner.model) == ("warning", "off", "c")
    assert settings.reasoner.calls_per_run == 7
    assert held.sources == {
        "log": "the environment variable IDETIC_LOG",
        "reranker": "the file idetic.toml",
        "reasoner.model": "the option --set reasoner.model",
        "reasoner.calls_per_run": "the file idetic.toml",
    }
    shown = {one["name"]: one for one in held.shown()}
    assert list(shown) == list(keys())
    assert shown["otel"]["source"] == "the default"
    assert shown["embedder"] == {"name": "embedder", "value": None, "source": "not set"}


def test_every_setting_has_a_variable_of_its_own() -> None:
    assert len({variable(key) for key in keys()}) == len(keys())
    assert variable("reasoner.tokens_per_run") == "IDETIC_REASONER_TOKENS_PER_RUN"
    assert (variable("sentry_dsn"), variable("embedder")) == ("SENTRY_DSN", "IDETIC_MODEL")


def test_the_page_lists_every_setting_with_its_variable_and_default() -> None:
    text = (DOCS / "how-to" / "configure.md").read_text("utf-8")
    for one in settle({}, {}, {}).shown():
        row = re.search(rf"^\| `{one['name']}` \| `(\w+)` \| (.+?) \|", text, re.MULTILINE)
        assert row is not None, one["name"]
        assert row[1] == variable(one["name"])
        if one["value"] is not None:
            assert row[2].strip("`") == str(one["value"]).lower(), one["name"]


def test_an_empty_variable_sets_nothing() -> None:
    assert settle({}, {"IDETIC_LOG": ""}, {}).sources == {}


def test_secrets_are_neither_shown_nor_told() -> None:
    secret = {"IDETIC_REASONER_KEY": "sk-hush", "SENTRY_DSN": "http://hush@127.0.0.1:9/1"}
    held = settle({}, {**secret, "IDETIC_REASONER_MODEL": "m"}, {})
    assert "hush" not in f"{held} {held.shown()}"
    assert {one["value"] for one in held.shown() if one["name"] == "reasoner.key"} == {"***"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reasoner.modle": "m"}, "There is no setting 'reasoner.modle'"),
        ({"reasoner.key": "sk-1"}, "every user of this machine can read"),
        ({"log": "loud"}, "`log` cannot be used"),
        ({"embedder": "fp8"}, "`embedder` cannot be used"),
        ({"reranker": "maybe"}, "`reranker` cannot be used"),
        ({"otel": "sometimes"}, "`otel` cannot be used"),
        ({**MODEL, "reasoner.tokens_per_run": "many"}, "`reasoner.tokens_per_run` cannot be used"),
        ({**MODEL, "reasoner.base_url": "localhost"}, "base_url is not an address"),
        ({**MODEL, "reasoner.base_url": "http://me:pw@host/v1"}, "base_url holds credentials"),
        ({**MODEL, "reasoner.retries": "99"}, "retries"),
        ({**MODEL, "reasoner.calls_per_run": "-1"}, "calls_per_run"),
        ({"reasoner.base_url": "http://h/v1"}, "is set without a model"),
        ({**MODEL, "reasoner.prompt_price": "0.1"}, "is not set"),
        ({**MODEL, "reasoner.money_per_run": "0.1"}, "needs prices"),
    ],
)
def test_what_cannot_be_set_is_told(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as raised:
        settle({}, {}, options)
    assert said in raised.value.message
    assert raised.value.remedy


def test_an_error_names_the_source_and_not_a_secret() -> None:
    with pytest.raises(InputError) as raised:
        settle({"sentry_dsn": 7}, {}, {}, "here.toml")
    assert "here.toml" in raised.value.remedy
    with pytest.raises(InputError) as raised:
        settle({}, {"IDETIC_LOG": "zqxcanary"}, {})
    assert "IDETIC_LOG" in raised.value.remedy
    assert "zqxcanary" not in raised.value.message


async def test_a_reasoner_is_made_for_each_run_within_its_caps() -> None:
    given = {**MODEL, "reasoner.calls_per_run": "3", "reasoner.money_per_run": "0.10",
             "reasoner.prompt_price": "0.15", "reasoner.completion_price": "0.60"}  # fmt: skip
    factory = settle({}, {}, given).settings.parts()["reasoner"]
    assert factory is not None
    async with factory() as one, factory() as other:
        assert isinstance(one, OpenAICompatible)
        assert isinstance(other, OpenAICompatible)
        assert one.meter is not other.meter, "each run may take the same"
        assert (one.meter.caps.calls_per_run, one.meter.caps.money_per_run) == (3, Decimal("0.10"))
    assert set(Settings().parts().values()) == {None}, "nothing is set"


def test_every_way_to_open_takes_the_parts_that_settings_make() -> None:
    for opening in (Idetic.open, open_sync):
        assert Settings().parts().keys() <= signature(opening).parameters.keys()
    with pytest.raises(InputError, match="without dsn"), open_sync(admin_dsn="x"):
        pass


def test_a_key_alone_asks_for_no_reasoner() -> None:
    held = settle({}, {"IDETIC_REASONER_KEY": "sk-1"}, {}).settings
    assert held.parts()["reasoner"] is None


def test_the_key_comes_from_its_file_each_time(tmp_path: Path) -> None:
    file = tmp_path / "key"
    settings = ReasonerSettings(model="m", base_url="http://h/v1", key_file=file)
    with pytest.raises(InputError, match="cannot be read: no such file"):
        settings.endpoint()
    file.write_text("sk-first\n")
    assert _key(settings) == "sk-first"
    file.write_text("sk-second\n")
    assert _key(settings) == "sk-second", "a rotated key holds from the next run on"
    for wrong in (b"", b"two words\n", b"\xff"):
        file.write_bytes(wrong)
        with pytest.raises(InputError) as raised:
            settings.endpoint()
        assert str(file) in raised.value.message
    both = {"reasoner.key": SecretStr("a"), "reasoner.key_file": file}
    with pytest.raises(InputError, match="both set"):
        settle({**MODEL, **both}, {}, {})


def _key(settings: ReasonerSettings) -> str:
    endpoint = settings.endpoint()
    assert endpoint is not None
    return endpoint.key()


def test_a_process_is_not_started_that_could_not_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from idetic.library import settings as module  # noqa: PLC0415

    held = only(reasoner__model="m", reasoner__base_url="http://h/v1")
    held.check_ready()
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(Exception, match="`openai` is not installed") as raised:
        held.check_ready()
    assert "idetic[llm]" in getattr(raised.value, "remedy", "")
    Settings().check_ready()


def test_a_reranker_that_is_off_says_so() -> None:
    off = only(reranker="off").parts()["reranker"]
    assert isinstance(off, RerankerOff)
    with pytest.raises(RerankerError, match="off here"):
        off.rerank("q", ["a"])


def test_which_model_loads_holds_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDETIC_MODEL", "int8")
    with only(embedder="fp16").in_force():
        assert os.environ["IDETIC_MODEL"] == "fp16"
    assert os.environ["IDETIC_MODEL"] == "int8"
    with Settings().in_force():
        assert os.environ["IDETIC_MODEL"] == "int8"
        assert not telemetry.recording()
    with only(log="info").in_force():
        assert telemetry.recording()
    assert not telemetry.recording()


@contextmanager
def ingest() -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes what Sentry's SDK sends, and the DSN that leads to it."""
    taken: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["content-length"] or 0)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://abc@127.0.0.1:{server.server_address[1]}/1", taken
        server.shutdown()
        thread.join()


async def test_sentry_is_told_of_what_nobody_foresaw_and_of_no_text() -> None:
    with ingest() as (dsn, taken):
        held = settle({}, {"SENTRY_DSN": dsn}, {})
        (_, check) = await examine_settings(held, None)
        assert (check.name, check.verdict) == ("sentry", "good")
        assert "abc" not in check.found
        assert taken == [], "doctor sends nothing"
        with held.settings.in_force(), pytest.raises(RuntimeError), telemetry.span("observe"):
            raise RuntimeError("zqxcanary")
        sentry_sdk.flush(5)
        sentry_sdk.get_client().close(timeout=1)
        sentry_sdk.get_global_scope().set_client(None)
    # The SDK compresses what it sends.
    told = b"".join(gzip.decompress(one) if one[:2] == b"\x1f\x8b" else one for one in taken)
    assert b"RuntimeError" in told
    assert b"zqxcanary" not in told


@pytest.mark.parametrize("dsn", ["no dsn", "http://127.0.0.1/1", "ftp://a@b/1", "http://a@b:x/1"])
async def test_a_dsn_of_sentry_that_is_none_is_bad(dsn: str) -> None:
    (_, check) = await examine_settings(settle({}, {"SENTRY_DSN": dsn}, {}), None)
    assert (check.verdict, bool(check.remedy)) == ("bad", True)


def test_floors_of_a_process_hold_in_the_place_of_the_specs() -> None:
    """One that is not set is the spec's."""
    assert only().parts()["floors"] is None
    override = only(floors__hit="0.2").parts()["floors"]
    assert override == FloorOverride(hit=0.2)
    assert override.over(Floors(question=0.5, hit=0.1)) == AppliedFloors(0.5, 0.2)
    with pytest.raises(InputError, match=r"floors\.question"):
        only(floors__question="1.5")

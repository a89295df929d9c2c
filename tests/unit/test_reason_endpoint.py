"""Where a reasoner lives is said once, checked at once, and its key is never shown."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from idetic.errors import InputError
from idetic.reason import Endpoint, OpenAICompatible, ReasonerUnavailable

LOCAL = Endpoint("small-model", "http://localhost:8000/v1")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "IDETIC_REASONER_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ReasonerUnavailable) as caught:
        OpenAICompatible(LOCAL)
    assert "pip install 'idetic[llm]'" in caught.value.remedy


def test_importing_the_package_does_not_load_the_sdk() -> None:
    code = "import sys, idetic.reason; assert 'openai' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_openai_itself_is_not_asked_without_a_key() -> None:
    with pytest.raises(ReasonerUnavailable, match="no key"):
        OpenAICompatible(Endpoint("small-model"))


async def test_openais_own_variable_serves_only_openais_own_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert Endpoint("small-model").key() == "sk-openai"
    assert LOCAL.key() == "none"
    async with OpenAICompatible(Endpoint("small-model")) as reasoner:
        assert reasoner.meter.used.calls == 0


def test_the_argument_comes_before_our_variable_and_that_before_openais(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("IDETIC_REASONER_KEY", "ours")
    assert Endpoint("small-model").key() == LOCAL.key() == "ours"
    assert replace(LOCAL, api_key="given").key() == "given"


WRONG: list[dict[str, object]] = [
    {"model": " "},
    {"model": None},
    {"base_url": "localhost:11434"},
    {"base_url": "ftp://models/v1"},
    {"base_url": "http://[broken/v1"},
    {"base_url": "http://host:99999/v1"},
    {"base_url": "http://user:hunter2@host/v1"},
    {"retries": -1},
    {"retries": True},
    {"answer_tokens": 0},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_endpoint_is_refused_when_it_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        replace(LOCAL, **wrong)  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)


def test_a_key_is_never_shown() -> None:
    endpoint = replace(LOCAL, api_key="sk-1\n")
    assert "sk-1" not in repr(endpoint)
    with pytest.raises(InputError) as caught:
        endpoint.key()
    assert "sk-1" not in str(caught.value)

"""What the page about reasoners says is so."""

from __future__ import annotations

import dataclasses
import re

import pytest

from idetic.reason import Caps
from tests.support.docs import DOCS
from tests.support.following import follow
from tests.support.llm_server import running

PAGE = DOCS / "how-to" / "use-a-reasoner.md"


def test_the_page_runs_and_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as server:
        monkeypatch.setenv("REASONER_URL", server.url)
        assert follow(PAGE, {"_KEY=…": "_KEY=sk-the-readers-own"}) > 1
    (asked,) = server.requests
    assert asked.headers["authorization"] == "Bearer sk-the-readers-own"


def test_every_cap_is_there_with_its_default() -> None:
    text = PAGE.read_text("utf-8")
    for cap in dataclasses.fields(Caps):
        default = "none" if cap.default is None else f"{cap.default:,g}"
        assert re.search(rf"^\| `{cap.name}` \| {default}\b", text, re.MULTILINE), cap.name

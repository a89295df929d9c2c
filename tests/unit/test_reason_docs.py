"""What the page about reasoners says is so."""

from __future__ import annotations

import dataclasses
import re

from idetic.reason import Caps
from tests.support.docs import DOCS, follow

PAGE = DOCS / "how-to" / "use-a-reasoner.md"


def test_what_needs_no_key_runs_and_prints_what_it_shows() -> None:
    assert follow(PAGE) > 0


def test_every_cap_is_there_with_its_default() -> None:
    text = PAGE.read_text("utf-8")
    for cap in dataclasses.fields(Caps):
        default = "none" if cap.default is None else f"{cap.default:,g}"
        assert re.search(rf"^\| `{cap.name}` \| {default}\b", text, re.MULTILINE), cap.name

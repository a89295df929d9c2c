"""What the page about identity files says is so."""

from __future__ import annotations

import re

from idetic.persona.events import EventKind, Persona
from idetic.persona.identity import INSTRUCTIONS_MAX, KEYS, Identity, default_heuristics
from idetic.persona.learning import ADDED_CHARS_MAX, CHANGED_LINES_MAX
from idetic.spec.primitives import FuzzyHeuristics
from tests.support.docs import DOCS, blocks, table_rows

PAGE = DOCS / "reference" / "identity.md"
TEXT = PAGE.read_text("utf-8")


def test_the_example_is_an_identity() -> None:
    (example,) = [block for block in blocks(PAGE) if block.language == "yaml"]
    assert Identity.parse(example.text).actor.threshold == 50


def test_every_key_has_a_row_and_no_other() -> None:
    rows = [row.split("`")[1] for row in table_rows(PAGE, "key")]
    assert rows == [*KEYS, *FuzzyHeuristics.model_fields]


def test_the_defaults_are_those_of_the_code() -> None:
    actor, subconscious = map(default_heuristics, Persona)
    for key in ("window", "threshold", "top_k", "recency_half_life_seconds"):
        said = f"| `{key}` | {getattr(actor, key):g} | {getattr(subconscious, key):g} |"
        assert said.replace("8.64e+04", "86400") in TEXT, key
    for kind, boost in actor.kind_boosts.items():
        assert f"`{kind}` {boost}" in TEXT
    least = Identity("a")
    assert f"| `prompt_tokens` | {least.prompt_tokens} |" in TEXT
    assert f"{INSTRUCTIONS_MAX:,} characters" in TEXT


def test_every_kind_is_named_and_the_rubrics_bounds_are_its_own() -> None:
    listed = TEXT.split("## Kinds of events")[1].split("##")[0]
    assert set(re.findall(r"`([a-z_]+)`", listed)) == set(EventKind)
    assert f"more than {CHANGED_LINES_MAX} lines" in TEXT
    assert f"more than {ADDED_CHARS_MAX} characters" in TEXT

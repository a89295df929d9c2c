"""A rendered spec reads as a parameterization of the primitives, in the documents' order."""

from __future__ import annotations

import re

import pytest

from idetic.spec.loader import load, shipped
from idetic.spec.problems import PRIMITIVES
from idetic.spec.render import render


@pytest.mark.parametrize("name", shipped())
def test_every_primitive_has_its_heading_in_order(name: str) -> None:
    headings = re.findall(r"^### (.+)$", render(load(name)), re.MULTILINE)
    assert headings == [re.sub(r"^(\d+) ", r"\1. ", primitive) for primitive in PRIMITIVES.values()]
    assert len(headings) == 15 + 2


def test_accepted_defaults_are_tables_by_cell() -> None:
    page = render(load("world_agent"))
    assert "| `semantic` | `validity_window` | 7 | 90 | default |" in page
    assert "| `procedural` | `exempt` | 7 | 90 | default |" in page
    assert "`episodic_persistent`" not in page, "a cell that the mix does not produce"
    behavioural = page.split("## Behavioral", 1)[1].split("###", 1)[1]
    assert behavioural.count("**deviation**") == 1, "what makes a candidate there"
    assert page.count("Typology defaults, accepted for every cell.") == 5


def test_deviations_are_marked_with_their_justification() -> None:
    page = render(load("persona_agent"))
    assert "| `episodic_persistent` | **`exempt`** | 7 | 90 | **deviation** |" in page
    assert (
        "- **Deviation** for `episodic_persistent`: `model` is `exempt` instead of "
        "`forcing_function`. Justification: Long-term memory is kept one to one"
    ) in page
    assert "Deviations from the typology defaults: 4" in page


def test_other_budgets_are_marked_too() -> None:
    data = load("world_agent").as_data()
    data["injection"]["ceiling"] = 8000
    data["injection"]["persistent"]["budget"] = 5000
    data["injection"]["justification"] = "Recall at 5,000 tokens measured better on rule work."
    page = render(load(data))
    assert "| persistent | 5000 | 50 | `on_demand` | **deviation** |" in page
    assert "Justification: Recall at 5,000 tokens measured better" in page


def test_explicit_answers_are_shown() -> None:
    page = render(load("world_agent"))
    for answer in (
        "(`org_id`, `domain_id`)",
        "`worlds.worlds.world_id`",
        "`world_model_version`",
        "`worlds.rule_versions.version`",
        "- Override-pattern signal row bodies",
        "| `customer` | `hedge`, `read_only` |",
        "| `auditor` | `read`, `read_across`, `audit` |",
        "| `canonical` | 100 |",
        "The shadow guard is the primary defence.",
    ):
        assert answer in page


def test_equal_specs_give_equal_pages_whatever_the_order_of_their_keys() -> None:
    spec = load("world_agent")
    data = dict(reversed(spec.as_data().items()))
    for section in ("retrieval", "visibility"):
        data[section] = {
            key: dict(reversed(value.items())) if isinstance(value, dict) else value
            for key, value in data[section].items()
        }
    assert render(load(data)) == render(spec) == render(load("world_agent"))


def test_free_text_cannot_break_the_page() -> None:
    data = load("world_agent").as_data()
    data["gates"][0]["because"] = "a | b\n## Not a heading <script> [link](javascript:x)"
    page = render(load(data))
    assert "a \\| b ## Not a heading \\<script> \\[link](javascript:x) |" in page

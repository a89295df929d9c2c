"""Differences are told per primitive, by path, and only where there are any."""

from __future__ import annotations

from typing import Any

import pytest

from idetic.spec.differences import Difference, differences
from idetic.spec.loader import load, shipped


def changed(edit: Any) -> list[tuple[str, str, Any, Any]]:
    old = load("world_agent")
    data = old.as_data()
    edit(data)
    found = differences(old, load(data))
    return [(d.primitive, d.path, d.before, d.after) for d in found]


@pytest.mark.parametrize("name", shipped())
def test_a_spec_does_not_differ_from_itself(name: str) -> None:
    assert differences(load(name), load(name)) == ()


def test_a_changed_answer_shows_both_sides() -> None:
    assert changed(lambda d: d["retrieval"]["signals"].update(decay=2.0)) == [
        ("5 Retrieval model", "retrieval.signals.decay", 1.0, 2.0)
    ]


def test_an_added_deviation_stands_under_its_cell() -> None:
    deviation = {
        "cell": "semantic",
        "set": {"validity_days": 30},
        "justification": "Prices change every month here.",
    }
    ((primitive, path, before, after),) = changed(
        lambda d: d.update(decay={"deviations": [deviation]})
    )
    assert (primitive, path) == ("7 Time decay model", "decay.deviations.semantic")
    assert (before, after) == (None, deviation)


def test_an_insertion_does_not_change_what_follows() -> None:
    gate = {"boundary": "session_end", "apply": ["pii"], "because": "What lasts names nobody."}
    found = changed(lambda d: d["gates"].insert(0, gate))
    assert [path for _, path, _, _ in found] == ["gates.session_end"]


def test_the_order_of_anchor_keys_is_a_difference() -> None:
    def swap(data: Any) -> None:
        data["anchor"]["keys"].reverse()
        for key in data["anchor"]["keys"]:
            key["nullable_for_queries"] = False

    found = changed(swap)
    assert (
        "1 Anchor entity",
        "anchor.keys",
        ["org_id", "domain_id"],
        ["domain_id", "org_id"],
    ) in found


def test_differences_come_in_the_documents_order() -> None:
    found = differences(load("world_agent"), load("persona_agent"))
    numbers = [int(d.primitive.split()[0]) for d in found if d.primitive[0].isdigit()]
    assert numbers == sorted(numbers)
    assert len(found) > 20


def test_a_difference_reads_as_a_line() -> None:
    line = str(Difference("5 Retrieval model", "retrieval.fusion.k", 60, None))
    assert line == "5 Retrieval model, `retrieval.fusion.k`: 60 → not given"

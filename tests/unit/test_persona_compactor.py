"""The compactor keeps what was said, in fewer words, and always the same ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idetic.persona.compactor import (
    COMPACT_MAX,
    SUMMARY_MAX,
    compact,
    extract,
    importance,
    summarise_loop,
)
from idetic.persona.events import EventKind, Visibility
from tests.support.persona_nouns import event

LONG = (
    "The invoice of March was paid twice. "
    + "We looked at the weather for a while, and it was fine. " * 12
    + "The bank will return the second payment of the invoice on 14 May. "
    + "Somebody made coffee. " * 8
    + "In the end the invoice was marked as settled."
)


def test_what_fits_is_kept_word_for_word() -> None:
    assert compact(event("  Paid\n  twice, on 14 May. ")) == "Paid twice, on 14 May."


def test_a_long_text_keeps_whole_sentences_of_its_own_in_order() -> None:
    found = compact(event(LONG))
    assert len(found) <= COMPACT_MAX
    assert found.startswith("The invoice of March was paid twice.")
    assert found.endswith("the invoice was marked as settled.")
    assert found.count("coffee") <= 8


def test_a_text_without_sentences_keeps_both_ends() -> None:
    found = compact(event("begin " + "word " * 1_000 + "end"))
    assert found.startswith("begin word")
    assert found.endswith("word end")
    assert " … " in found
    assert len(found) <= COMPACT_MAX


def test_json_becomes_words() -> None:
    call = json.dumps({"tool": "search", "arguments": {"query": "Fuji", "deep": {"n": [1, 2]}}})
    found = compact(event(call, EventKind.TOOL_CALL))
    assert found == "tool: search; arguments.query: Fuji; arguments.deep.n: 1; arguments.deep.n: 2"
    assert compact(event("{not json")) == "{not json"
    assert compact(event("[" * 10_000))


def test_an_event_without_content_still_has_an_entry() -> None:
    assert compact(event("  ", EventKind.TOOL_RESULT)) == "(tool_result without content)"
    assert summarise_loop([]) == "(a loop without events)"
    assert summarise_loop([event("")]) == "(a loop without events)"


def test_a_summary_has_the_task_the_outcome_and_what_went_wrong() -> None:
    loop = [
        event("How tall is Mount Fuji?"),
        event("{}", EventKind.TOOL_CALL, Visibility.INTERNAL, tool="search"),
        event("{}", EventKind.TOOL_CALL, Visibility.INTERNAL, tool="search"),
        event("no network", EventKind.ERROR),
        event("It is 3,776 metres tall.", EventKind.ACTOR_OUTPUT),
    ]
    found = summarise_loop(loop)
    assert found.splitlines()[:4] == [
        "Task: How tall is Mount Fuji?",
        "Error: no network",
        "Outcome: It is 3,776 metres tall.",
        "Tools: search x2",
    ]


def test_a_long_loop_keeps_the_important_events() -> None:
    small = [event(f"chatter number {i} " * 9, EventKind.SYSTEM_EVENT) for i in range(60)]
    told = event("Never call the customer Bob before noon on Mondays.", EventKind.FEEDBACK)
    found = summarise_loop([event("Plan the week."), *small, told])
    assert "Never call the customer Bob" in found
    assert len(found) <= SUMMARY_MAX


def test_importance_follows_kind_specifics_and_visibility() -> None:
    plain = event("please do something about it")
    assert importance(plain) == 0.6
    assert importance(event("please pay 300 EUR to Ada by 14 May")) > importance(plain)
    inside = event("please do something about it", visibility=Visibility.INTERNAL)
    assert importance(inside) == pytest.approx(0.5)
    assert importance(event("ok")) == pytest.approx(0.4)
    by_kind = {kind: importance(event("please do something about it", kind)) for kind in EventKind}
    assert by_kind[EventKind.ERROR] > by_kind[EventKind.ACTOR_OUTPUT] > by_kind[EventKind.TOOL_CALL]
    assert by_kind[EventKind.SYSTEM_EVENT] == min(by_kind.values())


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=3_000), st.sampled_from(EventKind))
def test_any_content_is_compacted_within_bounds_and_always_alike(
    content: str, kind: EventKind
) -> None:
    made = event(content, kind)
    found = compact(made)
    assert 0 < len(found) <= COMPACT_MAX
    assert found == compact(made)
    assert 0.0 <= importance(made) <= 1.0
    summary = summarise_loop([made, event(content), event(content, EventKind.ACTOR_OUTPUT)])
    assert 0 < len(summary) <= SUMMARY_MAX


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=500), st.integers(1, 300))
def test_an_extract_is_never_longer_than_asked(text: str, most: int) -> None:
    assert len(extract(text, most)) <= most

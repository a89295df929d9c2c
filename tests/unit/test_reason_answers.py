"""An answer is believed only if it has the form asked for and rests on what was given."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic.errors import InputError
from idetic.model import Claim, Decision
from idetic.reason import (
    ConflictAsked,
    ConflictVerdict,
    MergeAsked,
    ReasonerError,
    ReasonerLied,
    ReasonerMalformed,
    ShownEntry,
    SummaryAsked,
)
from idetic.reason.questions import read_conflict, read_merge, read_summary

A = ShownEntry(UUID(int=0xA), "The cap is 10,000.", Claim("wires", "cap", "10,000"))
B = ShownEntry(
    UUID(int=0xB),
    "The cap was raised.",
    valid_at=datetime(2025, 6, 2, 1, tzinfo=timezone(timedelta(hours=3))),
)
ASKED = MergeAsked((A, B))
RIGHT = {
    "decision": "UPDATE",
    "text": "The cap of 10,000 was raised.",
    "claim": None,
    "cites": [str(A.id), str(B.id)],
    "why": "They belong together.",
}


def merge(**changes: Any) -> Any:
    return read_merge(json.dumps({**RIGHT, **changes}), ASKED)


def test_a_right_answer_is_taken_over() -> None:
    answered = merge()
    assert answered.decision is Decision.UPDATE
    assert answered.text == RIGHT["text"]
    assert answered.cites == (A.id, B.id)


def test_a_citation_is_counted_once_however_it_is_written() -> None:
    assert merge(cites=[str(A.id), str(A.id).upper(), f" {A.id} "]).cites == (A.id,)


LIES: list[dict[str, Any]] = [
    {"cites": [str(A.id), str(UUID(int=0xC))]},
    {"cites": ["entry 1"]},
    {"cites": [""]},
    {"text": "The cap is 10,001."},
    {"text": "The cap of 10,000 was raised.", "cites": [str(B.id)]},
    {"text": "Raised on 2025-06-02."},
    {"claim": {"subject": "wires", "attribute": "floor", "value": "10,000"}},
    {"claim": {"subject": "wires", "attribute": "cap", "value": "20,000"}},
    {"claim": {"subject": "wires", "attribute": "cap", "value": "high"}, "cites": [str(B.id)]},
]


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_lie_is_called_one(lie: dict[str, Any]) -> None:
    with pytest.raises(ReasonerLied):
        merge(**lie)


def test_an_entrys_date_may_be_said_as_it_was_shown() -> None:
    assert merge(text="Raised on 2025-06-01.").text, "in UTC"


def test_a_claim_keeps_the_key_that_an_entry_gave_it() -> None:
    entry = ShownEntry(UUID(int=0xD), "Off.", Claim(" wires ", "cap", "none"))
    said = {"subject": "wires", "attribute": "cap", "value": "off"}
    content = json.dumps({**RIGHT, "text": "Off.", "claim": said, "cites": [str(entry.id)]})
    assert read_merge(content, MergeAsked((entry,))).claim == Claim(" wires ", "cap", "off")


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"decision": "REJECT"}, "`decision`: Input should be"),
    ({"decision": "ADD", "text": None}, "ADD needs a `text`"),
    ({"decision": "NOOP"}, "NOOP has no `text`"),
    ({"text": "x" * 2001}, "2,001 characters; at most 2,000"),
    ({"text": "  "}, "`text`: is empty"),
    ({"text": "a\x00b"}, "NUL"),
    ({"text": 5}, "`text`: Input should be a valid string"),
    ({"cites": []}, "`cites` is empty"),
    ({"cites": None}, "`cites`"),
    ({"why": "x" * 1001}, "`why`"),
    ({"claim": {"subject": "wires"}}, "`claim`: Field required"),
    ({"more": 1}, "a key that was not asked for"),
]


@pytest.mark.parametrize(("wrong", "said"), MALFORMED, ids=lambda each: str(each)[:40])
def test_a_wrong_form_is_said_in_words_a_model_can_act_on(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ReasonerMalformed) as caught:
        merge(**wrong)
    assert said in caught.value.message
    assert caught.value.__context__ is None, "what was wrong hangs on to nothing"


def test_a_summary_keeps_to_its_length() -> None:
    said = {"text": "The cap was raised.", "cites": [str(B.id)], "why": "Short."}
    assert read_summary(json.dumps(said), SummaryAsked((A, B), 19)).text == said["text"]
    with pytest.raises(ReasonerMalformed, match="longer than 18"):
        read_summary(json.dumps(said), SummaryAsked((A, B), 18))


@pytest.mark.parametrize("verdict", ConflictVerdict)
def test_a_verdict_is_one_of_three(verdict: ConflictVerdict) -> None:
    assert read_conflict(json.dumps({"verdict": verdict, "why": "So."})).verdict is verdict
    with pytest.raises(ReasonerMalformed):
        read_conflict(json.dumps({"verdict": f"{verdict}?", "why": "So."}))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(sorted(RIGHT)), inner),
)


@given(st.text() | json_values.map(json.dumps))
def test_whatever_comes_is_an_answer_or_an_error_of_ours(content: str) -> None:
    with pytest.raises(ReasonerError):
        read_merge(content, ASKED)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "9" * 100_000])
def test_depth_and_length_do_no_harm(content: str) -> None:
    with pytest.raises(ReasonerMalformed):
        read_conflict(content)


# --- what may be asked --------------------------------------------------------------------------


def test_an_entrys_representation_keeps_its_content_to_itself() -> None:
    shown = repr([ASKED, ConflictAsked(A, B), merge()])
    assert "cap" not in shown
    assert "together" not in shown


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ShownEntry(A.id, ""),
        lambda: ShownEntry(A.id, "a\x00secret"),
        lambda: ShownEntry(A.id, "secret\ud800"),
        lambda: ShownEntry(A.id, "secret", Claim("s", "a", "\x00")),
        lambda: ShownEntry(A.id, "secret", valid_at=datetime(2025, 1, 1)),  # noqa: DTZ001
        lambda: ShownEntry(A.id, None),  # type: ignore[arg-type]
        lambda: MergeAsked(()),
        lambda: MergeAsked((A, A)),
        lambda: ConflictAsked(A, A),
        lambda: SummaryAsked((A,), 0),
        lambda: SummaryAsked((A,), 2001),
    ],
)
def test_what_no_reasoner_can_be_asked_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError) as caught:
        wrong()
    assert "secret" not in str(caught.value)


def test_evidence_may_carry_any_time_zone() -> None:
    assert ShownEntry(A.id, "a", valid_at=datetime(2025, 1, 1, tzinfo=UTC)).valid_at is not None

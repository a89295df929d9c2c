"""A note that is a record written out is told from words about one."""

from __future__ import annotations

import csv
import io
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic.gateway.records import record_form

RULE = "018f3c1e-0000-7000-8000-00000000002a"
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
ROW = {"rule_id": RULE, "version": 3, "body_text": "Ask twice.", "source_strength": "curated"}


RECORDS = [
    (json.dumps(ROW), "json"),
    (json.dumps([ROW, ROW], indent=2), "json"),
    (json.dumps({"rule": ROW}), "json"),
    (f"The row reads: {json.dumps(ROW)}", "json"),
    (str(ROW), "json"),
    (str([tuple(ROW.items()), ROW]), "json"),
    (json.dumps({"id": 7, "name": "x", "limit": 3}), "json"),
    (json.dumps({"position": 4, "transition": "observed", "prev_hash": HASH}), "json"),
    ("\n".join(f"{name}: {value}" for name, value in ROW.items()), "fields"),
    ("\n".join(f"{name} = {value}" for name, value in ROW.items()), "fields"),
    ("\n".join(f"- {name} | {value}" for name, value in ROW.items()), "fields"),
    (f"({RULE},3,\"Ask twice.\",curated)", "row"),
    (f"{RULE}\t3\tAsk twice.\tcurated", "row"),
    (f"| {RULE} | 3 | Ask twice before you release. | curated |", "row"),
    (f"4,observed,{HASH},agent", "row"),
    (f"INSERT INTO worlds.rules (rule_id, version) VALUES ('{RULE}', 3);", "sql"),  # noqa: S608
]  # fmt: skip

NOTES = [
    "Wires above ten thousand stall on Fridays, because the second operator leaves early.",
    f"Rule {RULE} was applied to three wires today, and two of them stalled.",
    f"Compared {RULE}, the older one and the draft: the draft is clearer about who signs, I think.",
    json.dumps({"tone": "brief"}),
    json.dumps({"tone": "brief", "audience": "operators", "language": "en"}),
    json.dumps([1, 2, 3]),
    "Tone: brief\nAudience: operators\nLanguage: English",
    "Seen today: one wire, two refunds, three questions about limits, and no complaint.",
    "The form asks to insert into the ledger the values that both operators read out (twice).",
    "{not json at all, id: unknown",
    "An [aside] in brackets, (another one), and a brace } at the end.",
    "Ada: the id is missing.\nBob: I will add it tomorrow.\nAda: thanks.",
]


@pytest.mark.parametrize(("text", "form"), RECORDS)
def test_a_record_written_out_is_recognised(text: str, form: str) -> None:
    assert record_form(text) == form


@pytest.mark.parametrize("text", NOTES)
def test_words_about_a_record_are_not_one(text: str) -> None:
    assert record_form(text) is None


def test_a_record_beside_a_longer_conclusion_is_an_example_of_it() -> None:
    """The share decides: what is mostly reasoning may show the short record that it is about."""
    row = json.dumps({"id": 7, "state": "open", "age": 3})
    assert record_form(f"{row} is typical: " + "it waits for a second operator. " * 6) is None
    assert record_form(f"Typical: {row}") == "json"


@given(
    st.uuids(),
    st.dictionaries(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.integers(), min_size=2),
)
def test_any_row_with_its_key_is_recognised_in_any_form(key: UUID, more: dict[str, int]) -> None:
    row = {**more, "row_id": str(key)}
    line = io.StringIO()
    csv.writer(line).writerow(row.values())
    forms = {
        "json": json.dumps(row),
        "fields": "\n".join(f"{name}: {value}" for name, value in row.items()),
        "row": line.getvalue(),
    }
    assert {form: record_form(text) for form, text in forms.items()} == {f: f for f in forms}


@given(st.text(max_size=2_000))
def test_whatever_the_text_there_is_an_answer(text: str) -> None:
    assert record_form(text) in (None, "json", "fields", "row", "sql")

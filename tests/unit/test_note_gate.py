"""The gate for notes, on labelled notes of which half are held out."""

from __future__ import annotations

import pytest
from bench.notes import COUNT, PRECISION, RECALL, SEEDS, figures

from idetic.persona import notes
from idetic.persona.notes import NoteGate
from tests.support.labelled_notes import labelled

SAID = "I suspect that Ilse Brandauer hides 4,200 crowns; I should mention the timezone to her."


def passes(note: str, *recent: str) -> bool:
    gate = NoteGate(note, recent)
    return not gate.overlaps(SAID) and not gate.carried


@pytest.mark.parametrize("half", SEEDS)
def test_precision_and_recall_are_what_the_page_says(half: str) -> None:
    found = figures(half, labelled(SEEDS[half], COUNT, held_out=half == "held out"))
    assert found["notes"] >= 200
    assert found["precision"] >= PRECISION, found
    assert found["recall"] >= RECALL, found


def test_how_to_work_may_be_said_in_words_that_were_thought() -> None:
    assert passes("Mention the timezone.")
    assert passes("Ask first, then answer in two short sentences.")


@pytest.mark.parametrize(
    "note",
    [
        "Be gentle with ilse.",
        "Be gentle with IlseBrandauer.",
        "Be gentle with I-l-s-e B-r-a-n-d-a-u-e-r.",
        "Be gentle with Brаndаuer.",  # noqa: RUF001 - two of the letters are Cyrillic
        "There are 4200 reasons.",
        "Think of crowns.",
    ],
)
def test_a_name_a_number_or_a_rare_word_is_refused(note: str) -> None:
    assert not passes(note)


def test_what_the_actor_knows_is_no_secret() -> None:
    gate = NoteGate("Be gentle with Ilse.")
    assert not gate.overlaps(SAID)
    assert gate.carried
    gate.know("Ilse wrote again.")
    assert not gate.carried


def test_two_notes_are_read_together() -> None:
    first, second = "Be gentle with Brand", "auer is meant."
    assert passes(first)
    assert passes(second), "alone it says nothing"
    assert not passes(second, first)


def test_control_without_the_words_that_a_note_carries_only_quotations_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notes, "_tokens", lambda text: iter(()))
    monkeypatch.setattr(notes, "_names", lambda text: iter(()))
    assert passes("Be gentle with ilse.")
    assert figures("in view", labelled(SEEDS["in view"], COUNT))["recall"] < 0.5

"""What a change of a canonical text says about a note: deterministic, and in doubt against it."""

from __future__ import annotations

import pytest

from idetic.lifecycle.canonical_bearing import Bearing, CanonicalChange

BEFORE = "A wire above 10,000 is released after two operators have checked it."
SAME, CONFIRMS, FAILS = Bearing


@pytest.mark.parametrize(
    ("now", "note", "bearing"),
    [
        (BEFORE.replace(" ", "  ").lower(), "Anything at all.", SAME),
        (f"{BEFORE} Each check is recorded.", "Two operators check a wire above 10,000.", CONFIRMS),
        # What it rested on is gone, has another number, or is turned around.
        ("Transfers are screened by the bank.", "Two operators check a wire.", FAILS),
        (BEFORE.replace("two", "three"), "Two operators check a wire above 10,000.", FAILS),
        (BEFORE.replace("is released", "is not released"), "Two operators check a wire.", FAILS),
        # The note is about something else: nothing shows that it still holds.
        (f"{BEFORE} Each check is recorded.", "Wires leave until 16:00 on a short desk.", FAILS),
    ],
)
def test_words_decide(now: str, note: str, bearing: Bearing) -> None:
    assert CanonicalChange(BEFORE, now).bearing_on(note)[0] is bearing


def test_the_reason_has_numbers_and_no_words() -> None:
    _, why = CanonicalChange(BEFORE, BEFORE.replace("two", "three")).bearing_on("Two operators.")
    assert why == "the new text has 1 of 2 words of the note; 1 went"


def test_what_cannot_be_read_confirms_nothing() -> None:
    assert CanonicalChange(None, BEFORE).bearing_on("Two operators check a wire.")[0] is FAILS
    assert CanonicalChange(None, None).bearing_on("Two operators check a wire.")[0] is FAILS

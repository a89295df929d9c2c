"""Of two hits about the same with other values the newer comes first; others stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from idetic.ids import uuid7
from idetic.model import Claim, Entry, Origin, Tier, Typology
from idetic.recall.hits import Hit
from idetic.recall.updates import newest_first

START = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = "When is the deadline of the sprint?"
RARITY = {"deadlin": 3.0, "sprint": 2.5, "batteri": 3.0}
OLD = "The deadline of the first sprint is April 1."
NEW = "The deadline of the sprint was moved to April 5."


def hit(text: str, day: int, claim: Claim | None = None, origin: Origin = Origin.USER) -> Hit:
    at = START + timedelta(days=day)
    entry = Entry(
        id=uuid7(),
        anchor={},
        tier=Tier.SESSION,
        typology=Typology.EPISODIC,
        body_text=text,
        envelope={"claim": claim.as_dict()} if claim else {},
        origin=origin,
        trust=50,
        created_at=at,
        created_by="agent:a",
        spec_version=1,
        session_id=uuid4(),
        valid_at=at,
    )
    return Hit(entry, 1.0, {})


def order(*hits: Hit) -> list[str]:
    return [one.entry.body_text for one in newest_first(QUESTION, hits, RARITY)]


def test_an_update_comes_before_what_it_updates() -> None:
    other = hit("Lunch was at 12.", 0)
    assert order(hit(OLD, 1), other, hit(NEW, 2)) == [NEW, OLD, "Lunch was at 12."]


def test_what_is_newest_already_stays_first() -> None:
    assert order(hit(NEW, 2), hit(OLD, 1)) == [NEW, OLD]


def test_a_newer_note_about_something_else_stays_behind() -> None:
    other = "The battery of the new car lasts 5 hours now."
    assert order(hit(OLD, 1), hit(other, 2)) == [OLD, other]


def test_a_newer_note_without_another_value_stays_behind() -> None:
    same = "The deadline of the sprint is now April 1."
    assert order(hit(OLD, 1), hit(same, 2)) == [OLD, same]


def test_a_newer_note_that_tells_of_no_change_stays_behind() -> None:
    also = "The deadline of the second sprint is May 9."
    assert order(hit(OLD, 1), hit(also, 2)) == [OLD, also]


def test_another_voice_updates_nothing() -> None:
    assert order(hit(OLD, 1), hit(NEW, 2, origin=Origin.AGENT)) == [OLD, NEW]


def test_claims_decide_where_both_have_one() -> None:
    hamburg = hit("Lives there.", 1, Claim("Ada", "lives in", "Hamburg"))
    berlin = hit("Lives here.", 2, Claim("ada", "lives in", "Berlin"))
    works = hit("Works here.", 3, Claim("ada", "works in", "Berlin"))
    assert order(hamburg, berlin, works) == ["Lives here.", "Lives there.", "Works here."]


def test_without_a_word_of_the_question_nothing_is_about_it() -> None:
    hits = (hit(OLD, 1), hit(NEW, 2))
    assert newest_first(QUESTION, hits, {}) == hits


def test_beyond_the_first_hits_the_order_stands() -> None:
    many = [hit(f"Note {n}.", 0) for n in range(10)]
    assert order(hit(OLD, 1), *many, hit(NEW, 2))[0] == OLD


def test_a_question_that_compares_wants_both_in_their_order() -> None:
    hits = (hit(OLD, 1), hit(NEW, 2))
    asked = "What is the difference between the deadlines of the sprint?"
    assert newest_first(asked, hits, RARITY) == hits

"""What the rules draw, what they never draw, and that no text takes them long."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic.errors import InputError
from idetic.extract import ExtractedClaim, Extractor, RuleExtractor, Turn
from idetic.extract.attributes import KINDS, kind_of
from idetic.extract.clauses import LONGEST
from idetic.extract.rule_extractor import claims_of
from idetic.extract.wordings import wordings
from idetic.model import Origin, Typology

from .said import DRAWN, NOTHING, OVER

# A Friday.
NOW = datetime(2023, 10, 13, 15, 30, tzinfo=UTC)


def turn(text: str, origin: Origin = Origin.USER, speaker: str | None = "Ada") -> Turn:
    return Turn(uuid4(), origin, speaker, text, NOW)


def drawn(text: str) -> list[ExtractedClaim]:
    return list(claims_of(turn(text)))


@pytest.mark.parametrize("text", DRAWN)
def test_a_statement_is_drawn(text: str) -> None:
    found = drawn(text)
    assert [(each.claim.attribute, each.claim.value) for each in found] == DRAWN[text]
    assert all(each.text.startswith("Ada") and each.text.endswith(".") for each in found)


@pytest.mark.parametrize("text", OVER)
def test_what_is_over_is_no_statement_of_what_is(text: str) -> None:
    (found,) = drawn(text)
    assert (found.claim.attribute, found.claim.value, found.ends) == (*OVER[text], True)
    assert "no longer" in found.text


@pytest.mark.parametrize("text", [text for texts in NOTHING.values() for text in texts])
def test_nothing_is_drawn(text: str) -> None:
    assert drawn(text) == []


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("If I'm allergic to nuts, tell me.", "I'm allergic to nuts."),
        ('She said "I live in Rome".', "I live in Rome."),
        ("I'm a nurse, jk.", "I'm a nurse."),
        ("I love Mondays. Not!", "I love Mondays."),
        ("Translate: I live in Rome.", "I live in Rome."),
        ("He told me I'm allergic to cats.", "I'm allergic to cats."),
        ("I live in Berlin, don't I?", "I live in Berlin."),
        ("Maybe my dog Rex is hungry.", "My dog Rex is hungry."),
    ],
)
def test_control_without_what_forbids_it_the_same_is_drawn(text: str, control: str) -> None:
    assert drawn(text) == []
    assert len(drawn(control)) == 1


@pytest.mark.parametrize("origin", [Origin.AGENT, Origin.TOOL, Origin.EXTERNAL, Origin.CANONICAL])
def test_only_what_people_say_counts(origin: Origin) -> None:
    text = "I live in Berlin."
    assert list(claims_of(turn(text, origin))) == []
    assert len(list(claims_of(turn(text, Origin.OPERATOR)))) == 1


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Hamburg.", "I moved to Berlin."),
        ("I'm allergic to peanuts.", "I'm no longer allergic to peanuts."),
        ("I love hiking.", "I'm not into hiking."),
        ("I prefer tea to coffee.", "I prefer coffee over tea."),
        ("Always use tabs.", "Never use tabs."),
        ("Please answer in German.", "From now on, answer in French."),
    ],
)
def test_what_changes_has_the_same_key(earlier: str, later: str) -> None:
    (old,), (new,) = drawn(earlier), drawn(later)
    assert old.claim.key == new.claim.key
    assert old.claim.value != new.claim.value


def test_two_likes_have_two_keys() -> None:
    (one,), (other,) = drawn("I love hiking."), drawn("I love painting.")
    assert one.claim.key != other.claim.key


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("We moved to Berlin last month.", "2023-09-01"),
        ("In May I moved to Berlin.", "2023-05-01"),
        ("I've lived in Berlin since 2016.", "2016-01-01"),
        ("I've lived in Berlin for three years.", "2020-10-12"),
        ("I was diagnosed with asthma in 2019.", "2019-01-01"),
        ("I live in Berlin.", None),
        ("I love hiking, and last week it rained.", None),
    ],
)
def test_a_time_is_resolved_against_the_turn(text: str, since: str | None) -> None:
    (found,) = drawn(text)
    assert (f"{found.valid_at:%Y-%m-%d}" if found.valid_at else None) == since


def test_a_claim_says_how_things_are_done_or_what_is_so() -> None:
    assert drawn("Please call me Addie.")[0].typology is Typology.PROCEDURAL
    assert drawn("Never call me before noon.")[0].typology is Typology.PROCEDURAL
    assert drawn("I live in Berlin.")[0].typology is Typology.SEMANTIC


def test_without_a_speaker_it_is_the_user() -> None:
    (found,) = claims_of(turn("I'm allergic to peanuts.", speaker=None))
    assert found.claim.subject == "the user"
    assert found.text == "The user is allergic to peanuts."
    (spaced,) = claims_of(turn("I'm allergic to peanuts.", speaker="  Ada   L. "))
    assert spaced.claim.subject == "Ada L."


async def test_the_same_turns_give_the_same_claims() -> None:
    extractor: Extractor = RuleExtractor()
    turns = [turn(text) for text in DRAWN]
    first, again = await extractor.extract(turns), await extractor.extract(turns)
    assert first == again
    assert first.usage.calls == 0
    known = {each.id: each for each in turns}
    assert all(each.rests_on(known) for each in first.claims)


def test_every_kind_of_the_list_is_drawn_by_some_sentence() -> None:
    said = {kind_of(each.claim) for text in DRAWN for each in drawn(text)}
    assert {wording.kind for wording in wordings()} == set(KINDS.values())
    assert said == set(KINDS.values())


# --- any text -----------------------------------------------------------------------------------

_PARTS = st.sampled_from([
    *DRAWN, *(text for texts in NOTHING.values() for text in texts),
    "I", "my", "love", "and", "in", "'", '"', "\u201c", "\u2019", "`", "\n", ".", "?", " - ", ",",
    "Berlin", "\u00df", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "\u00a0",
])  # fmt: skip


@given(st.lists(_PARTS | st.text(max_size=8), max_size=30).map(" ".join))
def test_what_is_drawn_stands_in_the_turn(text: str) -> None:
    said = turn(text)
    for found in claims_of(said):
        assert found.quote in text
        assert found.rests_on({said.id: said})
        assert found.claim.subject == "Ada"
        assert kind_of(found.claim) is not None
        assert max(map(len, found.claim.as_dict().values())) <= 200


def test_control_a_quotation_that_does_not_stand_there_is_seen() -> None:
    said = turn("I live in Berlin.")
    (found,) = claims_of(said)
    other = Turn(said.id, said.origin, said.speaker, "I live in Rome.", NOW)
    assert not found.rests_on({said.id: other})
    assert not found.rests_on({})


_LONG = LONGEST - 10
_UNITS = [
    "I love ", "I live in Berlin. ", "my sister ", "'a ", '"', "`", "a", ".", "> I\n", "I'm ",
    "I love a, ", "my favorite ", "and I love hiking ", "A b ", "\n", "is my favourite ",
]  # fmt: skip


def _seconds(text: str) -> float:
    """The processor time of a text, the shorter of two."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        drawn(text)
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize("unit", _UNITS)
def test_a_long_text_takes_time_by_its_length(unit: str) -> None:
    # Also as sentences that are as long as a sentence may be.
    dense = f"{(unit * _LONG)[:_LONG]}. "
    for text in (unit * 8_000, dense * 20):
        # Four times the text: a square would take sixteen times as long.
        assert _seconds(text[:8_000]) < 0.1 + 8 * _seconds(text[:2_000])


def test_a_moment_needs_a_time_zone() -> None:
    with pytest.raises(InputError, match="time zone"):
        Turn(UUID(int=1), Origin.USER, None, "I", datetime(2023, 1, 1))  # noqa: DTZ001

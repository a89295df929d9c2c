"""The stories of the demo world are told as they are written: every word of them is used."""

from __future__ import annotations

from collections import Counter

import pytest

from idetic.errors import IdeticError
from idetic.world.events import ScriptedSession
from idetic.world.organisations import PLANS, identity, logins, organisations
from idetic.world.story import (
    ASK,
    COPY,
    Saying,
    Story,
    read_data,
    read_event,
    read_saying,
    read_story,
)

STORIES = sorted({story for plan in PLANS for story in plan.domains.values()})


def labels(story: Story) -> list[str]:
    sessions = [event for event in story.events if event.kind == "session"]
    return [label for session in sessions for label in ScriptedSession(**session.said).labels]


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_told_in_order_and_ends_within_the_month(name: str) -> None:
    days = [event.day for event in read_story(name).events]
    assert days == sorted(days)
    assert max(days) == 31
    assert not [event for event in read_story(name).events if event.kind == "look"]


@pytest.mark.parametrize("name", STORIES)
def test_everything_that_is_written_is_said_and_everything_said_is_written(name: str) -> None:
    story = read_story(name)
    said = {word.removesuffix("~") for word in labels(story) if ":" not in word}
    stated = {event.said["what"] for event in story.events if event.kind == "prefer"}
    assert said | stated == set(story.sayings)
    asked = {word.removeprefix(ASK) for word in labels(story) if word.startswith(ASK)}
    asked |= {event.said["question"] for event in story.events if event.kind == "ask"}
    assert asked == set(story.questions)
    copied = [word.removeprefix(COPY) for word in labels(story) if word.startswith(COPY)]
    assert set(copied) <= set(story.rules)
    assert max(Counter(copied).values()) == 1, "nobody insists"


@pytest.mark.parametrize("name", STORIES)
def test_rules_are_long_enough_for_the_guard_and_referred_to_by_name(name: str) -> None:
    story = read_story(name)
    texts = [text.says for versions in story.rules.values() for text in versions]
    assert len(set(texts)) == len(texts)
    assert all(80 <= len(text) <= 400 for text in texts)
    published = {event.said["name"] for event in story.events if event.kind == "publish"}
    referred = {rule for said in story.sayings.values() for rule in said.rules}
    assert referred <= set(story.rules) | published


def test_a_story_with_a_word_too_many_is_refused() -> None:
    with pytest.raises(IdeticError, match=r"(?s)makes no Saying.*colour"):
        read_saying("one", {"says": "This.", "colour": "red"})
    with pytest.raises(IdeticError, match="names a dance"):
        read_event("ball", {"dance": {"day": 1}})
    with pytest.raises(IdeticError, match="ball, prefer: this makes no StoryEvent"):
        read_event("ball", {"prefer": {"day": "soon", "what": "this"}})
    with pytest.raises(IdeticError, match="makes no prefer"):
        read_event("ball", {"prefer": {"day": 1, "how": "this"}})
    assert read_saying("one", {"says": "This."}) == Saying("This.")


def test_another_attempt_has_other_ids_and_the_same_names() -> None:
    first, second = organisations(0), organisations(1)
    assert [one.name for one in first] == [one.name for one in second]
    ids = [{domain.id for one in found for domain in one.domains} for found in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    assert identity("begun", 0) == identity("begun", 0) != identity("begun", 1)
    assert len(logins(0)) == 20


def test_the_help_desk_talks_about_what_its_bank_knows() -> None:
    days = [step["day"] for step in read_data("harbour-desk")["days"]]
    assert days == sorted(days)
    assert max(days) < 31

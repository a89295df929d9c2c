"""Every named thing of the documents has a room and a test, and the page lists them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idetic.spec.problems import PRIMITIVES
from tests.support.named_things import (
    DOCUMENTS,
    PAGE,
    NamedThing,
    is_shown,
    named_things,
    page,
    room_is_there,
)

THINGS = named_things()


@pytest.mark.parametrize("thing", THINGS, ids=lambda one: f"{one.part[:20]}: {one.name[:40]}")
def test_it_lives_somewhere_and_a_test_shows_it(thing: NamedThing) -> None:
    assert thing.document in DOCUMENTS
    assert room_is_there(thing), f"src/idetic/{thing.room} is not there"
    assert is_shown(thing), f"tests/{thing.test} is not there"


def test_the_page_is_made_from_the_list() -> None:
    assert PAGE.read_text("utf-8") == page(THINGS), "run `python -m tests.support.named_things`"


def test_the_list_is_whole() -> None:
    """Each primitive, each decision and each access rule has its rows."""
    parts = {one.part for one in THINGS}
    assert len(THINGS) >= 120
    assert {f"D{n}" for n in range(1, 16)} <= {part.split()[0] for part in parts}
    assert set(PRIMITIVES.values()) <= parts | {"Audit posture", "Leak-defence calibration"}
    rules = [one for one in THINGS if one.part in ("Access rules", "Isolation by construction")]
    assert len(rules) >= 10


def test_no_thing_is_named_twice() -> None:
    names = [(one.document, one.part, one.name) for one in THINGS]
    assert len(names) == len(set(names))


def test_control_what_is_not_there_is_found() -> None:
    thing = THINGS[0]
    assert not room_is_there(replace(thing, room="spec/nowhere.py"))
    assert not is_shown(replace(thing, test=f"{thing.test}_which_nobody_wrote"))
    assert not is_shown(replace(thing, test="unit/test_nowhere.py::test_it"))
    assert not is_shown(replace(thing, test=thing.test.partition("::")[0]))
    assert page(THINGS[1:]) != page(THINGS)

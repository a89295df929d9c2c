"""A batch is checked whole before anything of it is sent: a bad item costs the database nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from idetic import Observation, errors
from tests.conftest import World
from tests.support.trace import sending

pytestmark = pytest.mark.anyio
SHARED = True

MANY = 10_000
BAD: dict[str, Callable[[], Observation]] = {
    "no text": lambda: Observation(""),
    "an undeclared key": lambda: Observation("A note.", envelope={"undeclared": "x"}),
}


def notes(count: int) -> list[Observation]:
    return [Observation(f"Note {number} of the night desk.") for number in range(count)]


@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_last_observation_of_many_sends_no_statement(world: World, bad: str) -> None:
    async with world.memory.session() as session:
        with sending() as sent, pytest.raises(errors.IdeticError):
            await session.observe_many([*notes(MANY - 1), BAD[bad]()])
        assert len(sent) == 0
        assert await session.list() == []


async def test_a_bad_last_preference_of_many_sends_no_statement(world: World) -> None:
    with sending() as sent, pytest.raises(errors.IdeticError):
        await world.operator.prefer_many([*notes(MANY - 1), BAD["no text"]()])
    assert len(sent) == 0


async def test_control_a_good_batch_sends_statements(world: World) -> None:
    session = await world.memory.session().open()
    with sending() as sent:
        receipts = await session.observe_many(notes(2_500))
    assert len(receipts) == 2_500
    assert len(sent) > 2, "it is written in chunks, and each of them was seen"

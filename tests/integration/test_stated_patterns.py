"""How things are to be done is learnt from what people say and correct; nobody writes a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from idetic import Observation, Origin, Typology
from idetic.library.handles import Memory
from tests.conftest import World
from tests.support.voices import another

pytestmark = pytest.mark.anyio

# One preference in four forms: said, corrected, asked for.
FOR = (
    "I prefer lists over tables.",
    "No, send me lists rather than tables.",
    "Please use lists instead of tables.",
    "Please write lists and not tables.",
)
AGAINST = "I prefer tables over lists."
LEARNT = "Ada prefers lists."


async def hear(memory: Memory, *texts: str, alone: bool = False, **more: Any) -> None:
    """A session for each text, in which an agent notes what Ada said."""
    said = {"heard_from": Origin.USER, "speaker": "Ada"} | more
    for text in texts:
        async with (memory if alone else another(memory)).session() as session:
            await session.observe_many([Observation(text, **said)])


async def habits(world: World, *, candidate: bool = False) -> Sequence[str]:
    found = await world.operator.list(typology=Typology.PROCEDURAL)
    return [one.body_text for one in found if one.candidate is candidate]


async def test_a_pattern_is_learnt_from_what_people_say_and_correct(world: World) -> None:
    await hear(world.memory, *FOR, *FOR[:3])
    assert await habits(world) == []
    assert await habits(world, candidate=True) == [LEARNT]
    await hear(world.memory, FOR[3])
    assert await habits(world) == [LEARNT]
    (entry,) = await world.operator.list(typology=Typology.PROCEDURAL)
    assert len(await world.operator.corroborations(entry.id)) == 8
    # It ends in somebody's words: what was said stays as evidence.
    behind = [one.source_id for one in await world.operator.lineage(entry.id)]
    assert {(await world.operator.get(one)).body_text for one in behind} == set(FOR)


async def test_what_speaks_against_a_pattern_holds_it_back(world: World) -> None:
    await hear(world.memory, *FOR, AGAINST, *FOR)
    assert await habits(world) == []


async def test_an_instruction_is_a_pattern_too(world: World) -> None:
    await hear(world.memory, *["Never call me before noon."] * 8)
    assert await habits(world) == ["Ada asks: never call me before noon."]


@pytest.mark.parametrize(
    ("alone", "more"),
    [(True, {}), (False, {"heard_from": Origin.TOOL}), (False, {"heard_from": Origin.EXTERNAL})],
)
async def test_control_one_voice_and_what_no_person_said_teach_nothing(
    world: World, alone: bool, more: dict[str, Any]
) -> None:
    await hear(world.memory, *FOR, *FOR, alone=alone, **more)
    assert await habits(world) == []
    assert await habits(world, candidate=True) == ([LEARNT] if alone else [])


async def test_what_an_agent_thinks_itself_is_no_pattern(world: World) -> None:
    await hear(world.memory, *FOR, *FOR, heard_from=None)
    assert await habits(world, candidate=True) == []

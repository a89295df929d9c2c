"""The month's story, played in a tenant of its own: the demo and its test run this same thing."""

from __future__ import annotations

from datetime import UTC, datetime

from idetic.ids import uuid7
from idetic.library.idetic import Idetic
from idetic.surfaces.cli.month_state import State, read_state
from idetic.world.cast import Setting
from idetic.world.clock import StoryClock
from idetic.world.player import Player, Tell, play
from idetic.world.story import read_story

STORY = "month"


def month_clock() -> StoryClock:
    """The month's own clock: it is the same month each time."""
    return StoryClock(datetime(2026, 3, 2, tzinfo=UTC))


async def play_month(db: Idetic, clock: StoryClock, tell: Tell) -> dict[str, State]:
    """The month from beginning to end; what each look at it found."""
    found: dict[str, State] = {}

    async def look(player: Player, name: str) -> None:
        found[name] = await read_state(player.book, player.others.cast.operator)

    story = read_story(STORY)
    await play(db, clock, story, Setting(uuid7(), uuid7(), story.name), tell, look)
    return found

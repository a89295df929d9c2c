"""Loading the demo world: once, the same each time, and known to be whole or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

import anyio

from idetic.library.idetic import Idetic
from idetic.recall.embedding import Model
from idetic.world import places
from idetic.world.cast import AGENT, Cast
from idetic.world.clock import StoryClock
from idetic.world.counting import count
from idetic.world.governing import action_of
from idetic.world.journal import Journal
from idetic.world.personas import PersonaPlayer
from idetic.world.places import Action, Domain, PersonaAgent, World
from idetic.world.player import Told, play
from idetic.world.story import read_story

Progress = Callable[[str, int, int], None]

DAYS = 31
# Longer than a scope's lease: what a process left open has been found by then.
_BETWEEN = timedelta(minutes=70)
_THREAD = timedelta(minutes=4)


async def load_world(db: Idetic, *, progress: Progress | None = None) -> World:
    """Load the demo world, or find that it is there, which is quick.

    A load that was interrupted cannot be taken up again, because memory forgets nothing: it is left
    where it is, and the world begins anew in other tenants. `abandoned` says how often.
    """
    await db.agent(AGENT)
    await db.agent("persona_agent")
    journal = await Journal.open(db)
    attempt = 0
    while True:
        came_to = await journal.complete(attempt)
        if came_to is not None:
            return _world(attempt, came_to, loaded=False)
        if not await journal.begun(attempt) and await journal.begin(attempt):
            break
        attempt += 1
    came_to = await _Load(db, attempt, progress).run()
    await journal.end(attempt, came_to)
    return _world(attempt, came_to, loaded=True)


class _NoModel(Model):
    """No model, even if there is one: then stories come out the same with and without."""

    async def get(self) -> None:
        """Nothing."""
        return


class _Load:
    """One attempt: every domain and every persona agent, side by side, each with its clock.

    The month ends yesterday, so that it looks alive; what happens in it does not depend on that.
    """

    def __init__(self, db: Idetic, attempt: int, progress: Progress | None) -> None:
        self._db = db
        self._organisations = places.organisations(attempt)
        self._personas = places.personas(attempt)
        self._progress = progress
        self._done = self._total = 0
        self._counts: dict[str, dict[str, int]] = {}
        self._actions: dict[str, list[str]] = {}
        today = datetime.combine(db.clock.now().astimezone(UTC), time(), UTC)
        self._begins = today - timedelta(days=DAYS)

    async def run(self) -> dict[str, Any]:
        """Load it all; what it came to, as the journal keeps it."""
        embedded = await self._db.model.get() is not None
        try:
            await self._all()
            if embedded:
                await self._embed()
        except ExceptionGroup as failed:
            # One story that fails ends the others; what it failed with is what a caller can use.
            raise failed.exceptions[0] from None
        return {
            "begins": self._begins.isoformat(),
            "embedded": embedded,
            "counts": dict(sorted(self._counts.items())),
            "actions": dict(sorted(self._actions.items())),
        }

    async def _all(self) -> None:
        async with anyio.create_task_group() as group:
            for organisation in self._organisations:
                for domain in organisation.domains:
                    group.start_soon(self._domain, f"{organisation.name}/{domain.name}", domain)
            for agent in self._personas:
                group.start_soon(self._persona, f"{places.PERSONA[2]}/{agent.agent_id}", agent)

    async def _domain(self, where: str, domain: Domain) -> None:
        story, clock = read_story(domain.story), self._clock()
        self._total += len(story.events)

        def tell(told: Told) -> None:
            self._tell(f"day {told.day}: {where}")

        db = self._db.under(clock)
        db.model = _NoModel()
        player = await play(db, clock, story, domain.setting, tell)
        self._counts[where] = await count(player)
        self._actions[where] = list(player.book.actions)

    async def _embed(self) -> None:
        """Vectors for what there is in the end, in batches; each thread for itself took 20 s."""
        clock = self._clock()
        clock.turn_to(DAYS)
        agent = await self._db.under(clock).agent(AGENT)
        for organisation in self._organisations:
            for domain in organisation.domains:
                await Cast(agent, domain.setting).keeper.embed()

    async def _persona(self, where: str, agent: PersonaAgent) -> None:
        clock = self._clock()
        player = PersonaPlayer(self._db.under(clock), clock, agent)
        self._total += len(player.days)
        for step in player.days:
            await player.step(step)
            self._tell(f"day {step['day']}: {where}")
        self._counts[where] = player.counts

    def _clock(self) -> StoryClock:
        return StoryClock(self._begins, _BETWEEN, _THREAD)

    def _tell(self, what: str) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(what, self._done, self._total)


def _world(attempt: int, came_to: Mapping[str, Any], *, loaded: bool) -> World:
    begins = datetime.fromisoformat(came_to["begins"])
    found = places.organisations(attempt)
    actions = [
        Action(action_of(domain.id, name), name, organisation.name, domain.name)
        for organisation in found
        for domain in organisation.domains
        for name in came_to["actions"].get(f"{organisation.name}/{domain.name}", ())
    ]
    return World(
        found,
        places.personas(attempt),
        places.logins(attempt),
        begins,
        begins + timedelta(days=DAYS),
        came_to["counts"],
        tuple(actions),
        loaded,
        attempt,
        came_to["embedded"],
    )

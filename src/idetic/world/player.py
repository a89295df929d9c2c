"""The player of stories, and the loader that plays all of them once to make the demo world.

The demos, the loader and their tests play with this one. The loader keeps a log of its own, which
is persona memory in a tenant of its own. The id of an event follows from what it says, and an id is
written once: so only one process can begin an attempt, and one that died before its last event is
known to be incomplete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from itertools import count as attempts
from typing import Any

import anyio

from idetic.context import Worlds
from idetic.errors import IdempotencyConflict
from idetic.ids import uuid7
from idetic.library.idetic import Idetic
from idetic.model import Principal
from idetic.persona.events import EventDraft, EventKind, Persona, Visibility
from idetic.persona.identity import Identity
from idetic.persona.persona_memory import PersonaMemory
from idetic.recall.embedding import Model
from idetic.world import events as _events  # noqa: F401 - so that every kind of event is known
from idetic.world import outbox_events as _outbox  # noqa: F401 - these too
from idetic.world.looks import count
from idetic.world.organisations import (
    APP,
    EDITION,
    PERSONA,
    Domain,
    World,
    WorldAction,
    WorldPersona,
    identity,
    logins,
    operator_of,
    organisations,
    personas,
)
from idetic.world.performance import Performance
from idetic.world.stage import AGENT, ASSISTANT, Cast, Rulebook, Setting, StoryClock
from idetic.world.story import Scene, Story, read_data, read_story

Progress = Callable[[str, int, int], None]
Tell = Callable[[Scene], None]

TENANT = "idetic-demo-world"
DAYS = 31
# Longer than a scope's lease: what a process left open has been found by then.
_BETWEEN = timedelta(minutes=70)
_THREAD = timedelta(minutes=4)
_BETWEEN_EVENTS = timedelta(seconds=20)
# What an action of the assistant's rests on: the first of what the prompt was given.
_RESTS_ON = 3
_EXTERNAL = {EventKind.USER_INPUT, EventKind.ACTOR_OUTPUT, EventKind.FEEDBACK}
MONTH_BEGINS = datetime(2026, 3, 2, tzinfo=UTC)
"""The first day of the month that is the same each time, wherever it is played."""


class _NoModel(Model):
    """No model, even if there is one: stories come out the same with and without."""

    async def get(self) -> None:
        """Nothing."""
        return


async def perform(
    db: Idetic, name: str, tell: Tell, *, begins: datetime | None = None
) -> Performance:
    """Play a story in a tenant of its own; `tell` is given each scene as it happens.

    Unless it is said when it `begins`, it ends yesterday.
    """
    story = read_story(name)
    clock = StoryClock(begins or _days_ago(db, story.events[-1].day))
    return await play(db, clock, story, Setting(uuid7(), uuid7(), story.name), tell)


def _days_ago(db: Idetic, days: int) -> datetime:
    """Midnight in UTC, so many days before today by the clock of the handle."""
    today = datetime.combine(db.clock.now().astimezone(UTC), time(), UTC)
    return today - timedelta(days=days)


async def play(
    db: Idetic, clock: StoryClock, story: Story, setting: Setting, tell: Tell
) -> Performance:
    """Play a story from beginning to end, under its own clock and without a model."""
    db = db.under(clock)
    db.model = _NoModel()
    # Under the machine's clock: when a spec was applied is no part of the story.
    cast = Cast(await db.agent(AGENT), setting)
    worlds = Worlds(db)
    clock.turn_to(min(text.day for texts in story.rules.values() for text in texts))
    world_id = await worlds.register(setting.org_id, setting.domain_id, setting.name)
    performance = Performance(story, cast, Rulebook(worlds, setting, world_id), clock)
    await performance.rules.open(story, clock)
    for event in story.events:
        clock.turn_to(event.day)
        performance.event = event
        tell(await event.happen(performance))
    return performance


async def load_world(db: Idetic, *, progress: Progress | None = None) -> World:
    """Load the demo world, or find that it is there, which is quick.

    A load that was interrupted cannot be taken up again, because memory forgets nothing: it is left
    where it is, and the world begins anew in other tenants. `abandoned` says how often.
    """
    for name in (AGENT, ASSISTANT, "persona_agent"):
        await db.agent(name)
    # Nothing is derived from the journal: nobody searches it.
    journal = await db.persona(Identity(agent_id="loader"), tenant=TENANT, derive=False)
    for attempt in attempts():
        complete = await journal.actor.get_by_id(identity("complete", attempt))
        if complete is not None:
            return _world(attempt, complete.metadata, loaded=False)
        begun = await journal.actor.get_by_id(identity("begun", attempt))
        if begun is None and await _recorded(journal, "begun", attempt):
            break
    came_to = await _Load(db, attempt, progress).run()
    await _recorded(journal, "complete", attempt, came_to)
    return _world(attempt, came_to, loaded=True)


async def _recorded(
    journal: PersonaMemory, what: str, attempt: int, came_to: Mapping[str, Any] | None = None
) -> bool:
    """Write into the journal what an attempt has reached; False if somebody else was faster."""
    async with journal.loop("load the demo world") as loop:
        try:
            # Another load has another loop, so its event is another one under the same id.
            await loop.append(
                EventKind.SYSTEM_EVENT,
                f"Loading edition {EDITION}, attempt {attempt}: {what}.",
                visibility=Visibility.INTERNAL,
                metadata=came_to,
                id=identity(what, attempt),
            )
        except IdempotencyConflict:
            return False
    return True


class _Load:
    """One attempt: every domain and every persona agent, side by side, each with its clock.

    The month ends yesterday, so that it looks alive; what happens in it does not depend on that.
    """

    def __init__(self, db: Idetic, attempt: int, progress: Progress | None) -> None:
        self._db = db
        self._organisations = organisations(attempt)
        self._personas = personas(attempt)
        self._progress = progress
        self._done = self._total = 0
        self._counts: dict[str, Mapping[str, int]] = {}
        self._actions: dict[str, list[str]] = {}
        self._begins = _days_ago(db, DAYS)

    async def run(self) -> dict[str, Any]:
        """Load it all; what it came to, as the journal keeps it."""
        embedded = await self._db.model.get() is not None
        try:
            async with anyio.create_task_group() as group:
                for organisation in self._organisations:
                    for domain in organisation.domains:
                        where = f"{organisation.name}/{domain.name}"
                        group.start_soon(self._domain, where, domain)
                for agent in self._personas:
                    where = f"{PERSONA[2]}/{agent.agent_id}"
                    group.start_soon(self._persona, where, agent)
                group.start_soon(self._app)
        except ExceptionGroup as failed:
            # One story that fails ends the others; what it failed with is what a caller can use.
            raise failed.exceptions[0] from None
        if embedded:
            await self._embed()
        return {
            "begins": self._begins.isoformat(),
            "embedded": embedded,
            "counts": dict(sorted(self._counts.items())),
            "actions": dict(sorted(self._actions.items())),
        }

    async def _domain(self, where: str, domain: Domain) -> None:
        """Play the story of one domain, and keep what it came to."""
        story = read_story(domain.story)
        self._total += len(story.events)

        def tell(scene: Scene) -> None:
            self._tell(f"day {scene.day}: {where}")

        performance = await play(self._db, self._clock(), story, domain.setting, tell)
        self._counts[where] = await count(performance)
        self._actions[where] = list(performance.actions)

    async def _embed(self) -> None:
        """Vectors for what there is in the end, in batches; each thread for itself took 20 s."""
        clock = self._clock()
        clock.turn_to(DAYS)
        agent = await self._db.under(clock).agent(AGENT)
        for organisation in self._organisations:
            for domain in organisation.domains:
                await Cast(agent, domain.setting).keeper.embed()

    async def _persona(self, where: str, agent: WorldPersona) -> None:
        """Play the days of one agent with personas, and keep what they came to."""
        story, clock = read_data(agent.agent_id), self._clock()
        player = _PersonaPlayer(self._db.under(clock), clock, agent, story["instructions"])
        self._total += len(story["days"])
        for step in story["days"]:
            await player.step(step)
            self._tell(f"day {step['day']}: {where}")
        self._counts[where] = dict(player.counts)

    async def _app(self) -> None:
        """Play what the users of the app told its assistant, and keep what it came to."""
        whose = next(each for each in self._organisations if each.name == APP[0])
        people, counts, where = read_data(APP[2])["people"], Counter[str](), f"{APP[0]}/{APP[1]}"
        self._total += sum(map(len, people.values()))
        for user, steps in people.items():
            anchor = {"tenant_id": str(whose.id), "user_id": user}
            player = _AppPlayer(self._db, self._clock(), anchor, counts)
            for step in steps:
                await player.step(step)
                self._tell(f"day {step['day']}: {where}")
        self._counts[where] = dict(counts)

    def _clock(self) -> StoryClock:
        """A new clock from the world's first day: each story tells its own time."""
        return StoryClock(self._begins, _BETWEEN, _THREAD)

    def _tell(self, what: str) -> None:
        """Count one more step, and tell how far the load is if somebody wants to know."""
        self._done += 1
        if self._progress is not None:
            self._progress(what, self._done, self._total)


class _PersonaPlayer:
    """Plays the story of an agent with two personas.

    A step of it is a loop of a persona with its events, a note that the Subconscious leaves to the
    Actor, or a dream. A loop that is `underived` is in the log and nowhere else: what the next
    dream is for.
    """

    def __init__(self, db: Idetic, clock: StoryClock, agent: WorldPersona, instructions: str):
        self._db = db
        self._clock = clock
        self._tenant = agent.tenant
        self._identity = Identity(
            agent_id=agent.agent_id, name=agent.name, instructions=instructions
        )
        self._memories: dict[bool, PersonaMemory] = {}
        self.counts: Counter[str] = Counter()

    async def step(self, step: Mapping[str, Any]) -> None:
        """Play one step."""
        self._clock.turn_to(step["day"])
        memory = await self._memory(derive=not step.get("underived", False))
        if "events" in step:
            drafts = list(self._drafts(step["events"]))
            async with memory.loop(step["task"], Persona(step.get("persona", "actor"))) as loop:
                await loop.append_many(drafts)
            underived = int(step.get("underived", False))
            self.counts.update(loops=1, events=len(drafts), underived=underived)
        elif "note" in step:
            await memory.note(step["note"])
            self.counts["notes"] += 1
        else:
            await memory.dream()
            self.counts.update(dreams=1, loops=1)
            self.counts["underived"] = 0

    async def _memory(self, *, derive: bool) -> PersonaMemory:
        """The agent's memory with or without derivation, each opened once."""
        if derive not in self._memories:
            self._memories[derive] = await self._db.persona(
                self._identity, tenant=self._tenant, derive=derive
            )
        return self._memories[derive]

    def _drafts(self, events: Iterable[Mapping[str, str]]) -> Iterator[EventDraft]:
        """Events as they are written down: `kind: text`, and the tool's name beside a call."""
        moment = self._clock.now()
        for event in events:
            tool = {"tool": event["tool"]} if "tool" in event else None
            ((word, text),) = [pair for pair in event.items() if pair[0] != "tool"]
            kind = EventKind(word)
            visibility = Visibility.EXTERNAL if kind in _EXTERNAL else Visibility.INTERNAL
            yield EventDraft(kind, text, visibility, tool, moment)
            moment += _BETWEEN_EVENTS


class _AppPlayer:
    """Plays the month of one user of an app.

    A step of it is a talk, of which facts and wishes are drawn; a question of the assistant's, and
    its answer; or something that is forgotten.
    """

    def __init__(
        self, db: Idetic, clock: StoryClock, anchor: Mapping[str, str], counts: Counter[str]
    ):
        self._db = db.under(clock)
        self._clock = clock
        self._anchor = anchor
        self._operator = Principal.operator(operator_of(APP[0]))
        self._counts = counts

    async def step(self, step: Mapping[str, Any]) -> None:
        """Play one step."""
        self._clock.turn_to(step["day"])
        agent = await self._db.agent(ASSISTANT, embed_inline=True)
        memory = agent.bind(principal=Principal.agent("app"), **self._anchor)
        if "talk" in step:
            await memory.add(list(self._messages(step["talk"])), speaker=self._anchor["user_id"])
            keeper = agent.bind(principal=self._operator, **self._anchor)
            drawn = await keeper.extract()
            self._counts.update(messages=len(step["talk"]), claims=drawn.claims)
        elif "asks" in step:
            shown = await memory.context(step["asks"])
            ids = [each.entry_id for each in shown.included][:_RESTS_ON]
            answer = identity(f"{APP[1]}/{step['does']}", 0)
            await memory.link_action(answer, "assistant_message", ids, reason=step["does"])
            self._counts["answers"] += 1
        else:
            known = await memory.profile()
            fact = next(one for one in known.facts if step["forgets"] in one.body_text)
            # With the words that it rests on, the fact goes too.
            (why,) = await memory.why([fact.id])
            for said in why.sayings:
                await memory.forget(said.entry_id, reason=step["because"])
            self._counts["forgotten"] += 1

    def _messages(self, talk: Iterable[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
        """Messages as an application hands them over: `role: text` is how they are written down."""
        moment = self._clock.now()
        for said in talk:
            ((role, text),) = said.items()
            yield {"role": role, "content": text, "timestamp": moment.isoformat()}
            moment += _BETWEEN_EVENTS


def _world(attempt: int, came_to: Mapping[str, Any], *, loaded: bool) -> World:
    """The demo world of an attempt, as told by what its load came to."""
    begins = datetime.fromisoformat(came_to["begins"])
    found = organisations(attempt)
    actions = [
        WorldAction(domain.setting.action_id(name), name, organisation.name, domain.name)
        for organisation in found
        for domain in organisation.domains
        for name in came_to["actions"].get(f"{organisation.name}/{domain.name}", ())
    ]
    return World(
        found,
        personas(attempt),
        logins(attempt),
        begins,
        begins + timedelta(days=DAYS),
        came_to["counts"],
        tuple(actions),
        loaded,
        attempt,
        came_to["embedded"],
    )

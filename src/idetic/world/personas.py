"""An agent with two personas through its month: loops of both, a note, a dream, and what it lacks.

Its story is a file as the others are. A step is one of: a loop of a persona with its events, a note
that the Subconscious leaves to the Actor, or a dream. A loop that is `underived` is in the log and
nowhere else: what the next dream is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from idetic.library.idetic import Idetic
from idetic.persona.event_validation import EventDraft
from idetic.persona.events import EventKind, Persona, Visibility
from idetic.persona.identity import Identity
from idetic.persona.persona_memory import PersonaMemory
from idetic.world.clock import StoryClock
from idetic.world.places import PersonaAgent
from idetic.world.story import read_data

_EXTERNAL = {EventKind.USER_INPUT, EventKind.ACTOR_OUTPUT, EventKind.FEEDBACK}
_BETWEEN = timedelta(seconds=20)


class PersonaPlayer:
    """Plays the loops of one agent."""

    def __init__(self, db: Idetic, clock: StoryClock, agent: PersonaAgent) -> None:
        self._db = db
        self._clock = clock
        self._agent = agent
        self._story = read_data(agent.agent_id)
        self._memories: dict[bool, PersonaMemory] = {}
        self.counts = {"loops": 0, "events": 0, "notes": 0, "dreams": 0, "underived": 0}

    @property
    def days(self) -> list[dict[str, Any]]:
        """The steps of the story, in order."""
        days: list[dict[str, Any]] = self._story["days"]
        return days

    async def step(self, step: Mapping[str, Any]) -> None:
        """One step of the story."""
        self._clock.turn_to(step["day"])
        memory = await self._memory(derive=not step.get("underived", False))
        if "events" in step:
            await self._loop(memory, step)
        elif "note" in step:
            await memory.note(step["note"])
            self.counts["notes"] += 1
        else:
            await memory.dream()
            self.counts["dreams"] += 1
            self.counts["loops"] += 1
            self.counts["underived"] = 0

    async def _memory(self, *, derive: bool) -> PersonaMemory:
        if derive not in self._memories:
            identity = Identity(
                agent_id=self._agent.agent_id,
                name=self._agent.name,
                instructions=self._story["instructions"],
            )
            self._memories[derive] = await self._db.persona(
                identity, tenant=self._agent.tenant, derive=derive
            )
        return self._memories[derive]

    async def _loop(self, memory: PersonaMemory, step: Mapping[str, Any]) -> None:
        persona = Persona(step.get("persona", Persona.ACTOR))
        drafts = list(self._drafts(step["events"]))
        async with memory.loop(step["task"], persona) as loop:
            await loop.append_many(drafts)
        self.counts["loops"] += 1
        self.counts["events"] += len(drafts)
        self.counts["underived"] += step.get("underived", False)

    def _drafts(self, events: Iterable[Mapping[str, str]]) -> Iterable[EventDraft]:
        """Events as they are written down: `kind: text`, and the tool's name beside a call."""
        moment = self._clock.now()
        for event in events:
            named = {"tool": event["tool"]} if "tool" in event else None
            ((said, text),) = [pair for pair in event.items() if pair[0] != "tool"]
            kind = EventKind(said)
            seen = Visibility.EXTERNAL if kind in _EXTERNAL else Visibility.INTERNAL
            yield EventDraft(kind, text, seen, named, moment)
            moment += _BETWEEN

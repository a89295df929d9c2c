"""What a spec ranks for the questions of conversations, all of it through the public API.

`run(db, spec, conversations)` is the whole of it: each conversation becomes an anchor (an agent
with a log, where the spec has one), is written once and asked. A changed version of the same
agent, other weights for instance, reads what the first one wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import NAMESPACE_URL, UUID, uuid5
from weakref import WeakKeyDictionary

import anyio

from bench.sets import Conversation, Message
from idetic import Identity, Idetic, Observation, Origin, Principal
from idetic import pieces as engine
from idetic.context import Worlds
from idetic.embed.port import EmbedderHangs
from idetic.library.handles import Agent, Memory
from idetic.persona.events import EventDraft, EventKind
from idetic.persona.persona_memory import PersonaMemory
from idetic.pieces import WHOLE
from idetic.recall.hits import NotUsed
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import KeyType
from idetic.verbs.arguments import MAX_HITS

LIMIT = 50
# What was found for one question: the places of the messages, best first.
Ranking = list[int]
# Conversations at a time: PostgreSQL answers one while Python prepares the next.
AT_ONCE = 4
# Characters that two pieces of a long message share.
OVERLAP = 200
# Room that a piece leaves in its entry: what a gate puts in place of a name may be longer.
ROOM = 200
START = datetime(2026, 1, 1, tzinfo=UTC)
# How often a slow machine may exceed the engine's patience before the run gives up.
_TRIES = 40


class ConversationClock:
    """A clock that stands where the conversation is: at its message, then at its question."""

    simulated = True

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        """The moment of the conversation."""
        return self.moment


@dataclass(slots=True)
class Written:
    """Which message each entry of a conversation is from, and how many pieces were refused."""

    places: dict[UUID, int] = field(default_factory=dict)
    refused: int = 0


class ConversationMemory(Protocol):
    """The memory that one conversation is written to and asked from."""

    async def write(self, session: Sequence[tuple[int, Message]], written: Written) -> None:
        """Write the messages of one session, each with its place in the conversation."""

    async def embed(self) -> None:
        """Give every entry its vector."""

    async def search(self, question: str, limit: int) -> list[UUID]:
        """The ids of what was found, best first."""


async def run(
    db: Idetic,
    spec: Mapping[str, Any] | str,
    conversations: Sequence[Conversation],
    count: Callable[[], None] = lambda: None,
) -> list[list[Ranking]]:
    """The rankings of one spec: for each conversation, for each of its questions.

    `count` is called after each. What this agent holds of a conversation in this database is not
    written again. To measure what a spec changes at write time, open another database.
    """
    chosen = load(spec)
    await db.agent(chosen, apply=True)
    found: list[list[Ranking]] = [[] for _ in conversations]
    waiting = iter(enumerate(conversations))
    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(_work, db, chosen, waiting, found, count)
    return found


def refused(
    db: Idetic, spec: Mapping[str, Any] | str, conversations: Sequence[Conversation]
) -> int:
    """How many pieces the agent of a spec refused to remember of these conversations."""
    held, agent = _HELD.get(db, {}), load(spec).agent
    return sum(held[agent, c.name].refused for c in conversations if (agent, c.name) in held)


_HELD: WeakKeyDictionary[Idetic, dict[tuple[str, str], Written]] = WeakKeyDictionary()


async def _work(
    db: Idetic,
    spec: MemorySpec,
    waiting: Iterator[tuple[int, Conversation]],
    found: list[list[Ranking]],
    count: Callable[[], None],
) -> None:
    """Take conversations until none is left; each worker has a clock of its own."""
    clock = ConversationClock()
    view = db.under(clock)
    agent = await view.agent(spec)
    for number, conversation in waiting:
        memory = await _memory(view, agent, conversation)
        written = await hold(db, agent, memory, clock, conversation)
        clock.moment = _moment(len(conversation.messages), conversation.asked_at)
        places = written.places
        for question in conversation.questions:
            found[number].append(await _ask(memory, question.text, places))
            count()


async def bound(view: Idetic, agent: Agent, conversation: Conversation) -> Memory:
    """The anchor of a conversation, of an agent without a log."""
    memory = await _memory(view, agent, conversation)
    assert isinstance(memory, NoteMemory), "an agent with a log has no anchor of notes"
    return memory.memory


async def hold(
    db: Idetic,
    agent: Agent,
    memory: ConversationMemory,
    clock: ConversationClock,
    conversation: Conversation,
) -> Written:
    """What an agent holds of a conversation; it is written where it is not there yet."""
    held = _HELD.setdefault(db, {})
    key = agent.spec.agent, conversation.name
    if key not in held:
        held[key] = await _write(memory, clock, conversation)
    return held[key]


async def _write(
    memory: ConversationMemory, clock: ConversationClock, conversation: Conversation
) -> Written:
    """Write the sessions in the order of their time, which not every set tells them in."""
    written = Written()
    sessions: dict[int, list[tuple[int, Message]]] = {}
    for place, message in enumerate(conversation.messages):
        sessions.setdefault(message.session, []).append((place, message))
    for session in sorted(sessions.values(), key=_begin):
        place, last = session[-1]
        clock.moment = _moment(place, last.at)
        await memory.write(session, written)
    await memory.embed()
    return written


def _begin(session: Sequence[tuple[int, Message]]) -> datetime:
    place, first = session[0]
    return _moment(place, first.at)


def _moment(place: int, at: datetime | None) -> datetime:
    """When something was said; where a set does not tell, messages are a minute apart."""
    return at or START + timedelta(minutes=place)


async def _ask(memory: ConversationMemory, question: str, places: dict[UUID, int]) -> Ranking:
    """The messages found: of several pieces of one, the best counts."""
    cut = len(places) > len(set(places.values()))
    hits = await memory.search(question, MAX_HITS if cut else LIMIT)
    return list(dict.fromkeys(places[one] for one in hits if one in places))[:LIMIT]


async def _memory(view: Idetic, agent: Agent, conversation: Conversation) -> ConversationMemory:
    if agent.spec.backend.log is not None:
        identity = Identity(agent_id=conversation.name)
        return LogMemory(await view.persona(identity, tenant="bench", spec=agent.spec))
    keys = {
        key.name: _key(key.type, f"{conversation.name}/{key.name}")
        for key in agent.spec.anchor.keys
    }
    if agent.spec.anchor.root is not None:
        await Worlds(view).register(keys["org_id"], keys["domain_id"], conversation.name)
    return NoteMemory(agent.bind(principal=Principal.agent("bench"), **keys))


def _key(kind: KeyType, name: str) -> Any:
    unique = uuid5(NAMESPACE_URL, name)
    return {KeyType.UUID: unique, KeyType.TEXT: name, KeyType.BIGINT: unique.int >> 65}[kind]


def observation(place: int, message: Message, text: str) -> Observation:
    """A message, or a piece of one, as it is observed: when, and whose words it is."""
    heard_from = Origin.USER if message.role == "user" else None
    said = text.removeprefix(f"{message.speaker}: ")
    at = _moment(place, message.at)
    return Observation(said, valid_at=at, heard_from=heard_from, speaker=message.speaker)


def pieces(text: str, most: int) -> list[str]:
    """A text in overlapping pieces that an entry has room for; most texts are one.

    Short entries take the engine's own pieces of a long one: specs of both kinds share vectors.
    """
    if len(text) > WHOLE >= most:
        return [piece for piece in engine.pieces(text) if piece.strip()]
    starts = range(0, max(1, len(text) - OVERLAP), most - OVERLAP)
    return [piece for start in starts if (piece := text[start : start + most]).strip()]


@dataclass(frozen=True, slots=True)
class NoteMemory:
    """An anchor of an agent: a message is an observation of its session, which stays open.

    What closing a session does to its entries is not measured here.
    """

    memory: Memory

    async def write(self, session: Sequence[tuple[int, Message]], written: Written) -> None:
        """Observe the messages of one session, long ones in pieces."""
        most = self.memory.agent.spec.backend.body_text_max
        seen = [
            (place, observation(place, message, piece))
            for place, message in session
            for piece in pieces(message.text, most - ROOM)
        ]
        opened = await self.memory.session().open()
        receipts = await opened.observe_many([one for _, one in seen])
        for (place, _), receipt in zip(seen, receipts, strict=True):
            if receipt.entry_id is None:
                written.refused += 1
            else:
                written.places[receipt.entry_id] = place

    async def embed(self) -> None:
        """Embed the whole anchor, again where the machine was too slow for the engine."""
        for _ in range(_TRIES):
            try:
                await self.memory.embed()
            except EmbedderHangs:
                await anyio.sleep(5)
            else:
                return
        raise EmbedderHangs

    async def search(self, question: str, limit: int) -> list[UUID]:
        """The entries that recall finds."""
        found = await self.memory.recall(question, limit=limit)
        _check_meaning(found.not_used)
        return [hit.entry.id for hit in found]


@dataclass(frozen=True, slots=True)
class LogMemory:
    """A persona's log: a session is a loop, a message an event of any length."""

    memory: PersonaMemory

    async def write(self, session: Sequence[tuple[int, Message]], written: Written) -> None:
        """Append the messages of one session; its entries are derived and embedded at its end."""
        async with self.memory.loop() as loop:
            events = await loop.append_many([draft(*one) for one in session])
        for (place, _), event in zip(session, events, strict=True):
            written.places[event.id] = place

    async def embed(self) -> None:
        """Every loop embedded its own entries; a dream makes up for what a slow machine left."""
        for _ in range(_TRIES):
            if (await self.memory.actor.rag_query("anything", limit=1)).pending == 0:
                return
            await self.memory.dream()
        raise EmbedderHangs

    async def search(self, question: str, limit: int) -> list[UUID]:
        """The events whose entries `rag_query` finds."""
        found = await self.memory.actor.rag_query(question, limit=limit)
        _check_meaning(found.not_used)
        return [hit.entry.event_id for hit in found]


def draft(place: int, message: Message) -> EventDraft:
    """A message as an event of the log: when, and whose words it is."""
    kind = EventKind.USER_INPUT if message.role == "user" else EventKind.ACTOR_OUTPUT
    told = {"speaker": message.speaker} if message.speaker else None
    said = message.text.removeprefix(f"{message.speaker}: ")
    return EventDraft(kind, said, metadata=told, ts=_moment(place, message.at))


def _check_meaning(not_used: Sequence[NotUsed]) -> None:
    """A recall that had to do without meaning is no measurement."""
    for one in not_used:
        assert not one.what.startswith("semantic"), f"{one.what}: {one.why}. {one.remedy}"

"""The arms of a run side by side: Idetic, plain BM25, and a peer; what was measured of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bench.baselines import WordIndex
from bench.peer_stores import PeerStore
from bench.rankings import observation, pieces
from bench.sets import Message
from idetic import Principal
from idetic.library.handles import Agent, Memory


class IdeticStore:
    """Idetic's `observe_many`, `embed` and `recall`, an anchor for each space."""

    def __init__(self, agent: Agent):
        self._agent = agent
        self._keys: dict[UUID, str] = {}

    def _memory(self, space: str) -> Memory:
        return self._agent.bind(conversation_id=space, principal=Principal.agent("bench"))

    async def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """Observe one session, which stays open, and embed it."""
        most = self._agent.spec.backend.body_text_max
        seen = [
            (key, observation(int(key), message, piece))
            for key, message in messages.items()
            for piece in pieces(message.text, most)
        ]
        memory = self._memory(space)
        session = await memory.session().open()
        receipts = await session.observe_many([one for _, one in seen])
        for (key, _), receipt in zip(seen, receipts, strict=True):
            if receipt.entry_id is not None:
                self._keys[receipt.entry_id] = key
        await memory.embed()

    async def search(self, space: str, question: str, limit: int) -> list[str]:
        """What recall finds; several pieces of one message count once."""
        found = await self._memory(space).recall(question, limit=limit)
        return list(dict.fromkeys(self._keys[hit.entry.id] for hit in found))


class WordStore:
    """Plain BM25 in this process, an index for each space, made anew with each session."""

    def __init__(self) -> None:
        self._messages: dict[str, dict[str, str]] = {}
        self._indexes: dict[str, WordIndex] = {}

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """Keep the texts; the index follows with the first question."""
        held = self._messages.setdefault(space, {})
        held |= {key: message.text for key, message in messages.items()}
        self._indexes.pop(space, None)

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The best by their words."""
        held = self._messages[space]
        if space not in self._indexes:
            self._indexes[space] = WordIndex(list(held.values()))
        keys = list(held)
        return [keys[place] for place in self._indexes[space].search(question, limit)]

    def close(self) -> None:
        """Nothing is open."""


Write = Callable[[str, Mapping[str, Message]], Awaitable[None]]
Search = Callable[[str, str, int], Awaitable[list[str]]]


@dataclass(slots=True)
class Arm:
    """One memory of the run: how it is written and asked, and what was measured of it."""

    write: Write
    search: Search
    failed: str = ""
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    found: list[list[int]] = field(default_factory=list)


def peer_arm(store: PeerStore) -> Arm:
    """The arm of a peer, whose calls block."""

    async def write(space: str, messages: Mapping[str, Message]) -> None:
        store.write(space, messages)

    async def search(space: str, question: str, limit: int) -> list[str]:
        return store.search(space, question, limit)

    return Arm(write, search)


def broken(reason: str) -> Arm:
    """The arm of a memory that could not be made."""

    async def refuse(*_: object) -> Any:
        raise RuntimeError(reason)

    return Arm(refuse, refuse, failed=reason)

"""Persona memory for tests: an agent with both personas, and embedders that misbehave."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from idetic import Idetic
from idetic.model import Principal, Scope
from idetic.persona.events import Event, EventKind, Persona, Visibility
from idetic.persona.identity import Identity
from idetic.persona.persona_memory import PersonaMemory
from idetic.store.database import Database
from tests.support.fake_embedder import FakeEmbedder

TENANT = "acme"
INTERNAL = Visibility.INTERNAL
# Longer than the patience of those who test with it.
HANG = 0.25


async def remembering(
    db: Idetic, agent_id: str = "help-desk", tenant: str = TENANT, **options: Any
) -> PersonaMemory:
    """Persona memory of one agent."""
    return await db.persona(Identity(agent_id=agent_id), tenant=tenant, **options)


async def task(memory: PersonaMemory, asked: str, answered: str) -> list[Event]:
    """One loop of the Actor: a question, a tool, an answer."""
    async with memory.loop(asked) as loop:
        return [
            await loop.append(EventKind.USER_INPUT, asked),
            await loop.append(EventKind.TOOL_CALL, '{"tool": "look up"}', visibility=INTERNAL),
            await loop.append(EventKind.TOOL_RESULT, f"found: {answered}", visibility=INTERNAL),
            await loop.append(EventKind.ACTOR_OUTPUT, answered),
        ]


async def thought(memory: PersonaMemory, *said: str) -> list[Event]:
    """One loop of the Subconscious."""
    async with memory.loop("think", Persona.SUBCONSCIOUS) as loop:
        return [
            await loop.append(EventKind.SUBCONSCIOUS_OUTPUT, text, visibility=INTERNAL)
            for text in said
        ]


def pool_of(memory: PersonaMemory, persona: Persona) -> Database:
    """The pool that a persona's memory works through."""
    return memory.stores[persona].store.database


def table_of(persona: str, noun: str) -> str:
    """A table of a persona's family, as SQL names it: `log`, `memory`, `memory_ledger`, `notes`."""
    return f"persona_{persona}.persona_agent_{persona}_{noun}"


def scope_of(tenant: str, agent_id: str) -> Scope:
    """The scope of one agent's persona memory; the same for both personas."""
    anchor = {"tenant_id": tenant, "agent_id": agent_id}
    return Scope("persona_agent", anchor, Principal.agent(agent_id))


class UnreliableEmbedder(FakeEmbedder):
    """Raises, then hangs, then does either, or returns what is no vector, or is well, at random.

    `calm` makes it reliable.
    """

    def __init__(self, seed: int = 1, share: float = 0.5):
        super().__init__("unreliable-model")
        self._chance = Random(seed)  # noqa: S311 - repeatable, not secret
        self._share = share
        self._freed = threading.Event()
        self.did: list[str] = []

    def calm(self) -> None:
        """Let go whoever hangs, and be reliable from now on."""
        self._share = 0.0
        self._freed.set()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        made = super().embed(texts, query=query)
        # The first two are certain: how often it is asked hangs on how busy the machine is.
        first = {0: "raise", 1: "hang"}.get(len(self.did)) if self._share else None
        if first is None and self._chance.random() >= self._share:
            self.did.append("well")
            return made
        way = first or self._chance.choice(["raise", "hang", "nan", "short"])
        self.did.append(way)
        if way == "raise":
            raise RuntimeError(texts[0])
        if way == "hang":
            self._freed.wait(HANG)
        elif way == "nan":
            made[0, 3] = np.nan
        else:
            return made[:, :100]
        return made

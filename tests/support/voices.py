"""Voices that count: evidence of one principal alone is one source, so tests speak with several."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any
from uuid import UUID

from idetic import Principal, Receipt
from idetic.library.handles import Memory

_SESSIONS = count()
_WORDS = count()
_VOICES = 3


def another(memory: Memory) -> Memory:
    """The same memory for one of three principals in turn, the memory's own among them."""
    held, turn = memory.scope.principal, next(_SESSIONS) % _VOICES
    return memory if turn == 0 else as_principal(memory, replace(held, name=f"{held.name}-{turn}"))


def as_principal(memory: Memory, principal: Principal) -> Memory:
    """The same memory, bound by somebody else."""
    return memory.agent.within(replace(memory.scope, principal=principal))


async def vouch(memory: Memory, entry_id: UUID, **more: Any) -> Receipt:
    """The word of an operator who has not spoken before."""
    operator = Principal.operator(f"operator-{next(_WORDS)}")
    return await as_principal(memory, operator).corroborate(entry_id, **more)

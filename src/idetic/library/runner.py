"""How another bounded context asks an agent (ADR-058 D13).

It never reads memory tables and holds no handle. At the composition root it is given an
`AgentRunner`, and may ask: what comes back has crossed the spec's operator or customer gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from idetic.errors import CapabilityRefused, InputError
from idetic.library.answering import Answered, Mode, as_mode, mode_of
from idetic.library.handles import Memory
from idetic.model import Capability
from idetic.verbs.authorization import require_whole_anchor


class AgentRunner(Protocol):
    """All that another context gets to see of an agent's memory."""

    async def ask(self, question: str, mode: Mode) -> Answered:
        """A hedged answer with its evidence, or "I don't know"."""
        ...


Ask = Callable[[str, Mode], Awaitable[Answered]]


class _Runner:
    """Holds a function and no handle: nothing can be reached through it but the question."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Ask):
        self._ask = ask

    async def ask(self, question: str, mode: Mode) -> Answered:
        return await self._ask(question, mode)


def runner(*memories: Memory) -> AgentRunner:
    """A runner that answers from memories bound for an operator, a customer, or one of each.

    A memory's principal decides the mode it serves, so a runner made from a customer's memory can
    never be asked in operator mode. Whatever the principal may do, the runner only reads.
    """
    served: dict[Mode, Memory] = {}
    for memory in memories:
        mode = mode_of(memory.scope)
        if mode in served:
            raise InputError(f"Two memories serve {mode} mode.", remedy="Give one for each mode.")
        require_whole_anchor(memory.scope)
        served[mode] = memory.narrowed(Capability.READ)
    if not served:
        raise InputError("A runner needs a memory to answer from.")

    async def ask(question: str, mode: Mode) -> Answered:
        chosen = served.get(as_mode(mode))
        if chosen is None:
            raise CapabilityRefused(
                f"This runner does not answer in {mode} mode.",
                remedy=f"It was made for: {', '.join(served)}.",
            )
        return await chosen.ask(question)

    return _Runner(ask)

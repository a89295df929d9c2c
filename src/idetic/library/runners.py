"""Runners: how another bounded context asks an agent, and the tool that another agent is given.

Another context (ADR-058 D13) never reads memory tables and holds no handle. Where the program is
put together it is given an `AgentRunner`, made from memories in this process or behind a server
(`idetic.client.connect_runner`), and may ask in operator or customer mode.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from idetic.errors import CapabilityRefused, InputError
from idetic.library.answers import Answered, Mode, mode_of
from idetic.library.handles import Memory
from idetic.model import Capability
from idetic.recall.evidence import HEADER
from idetic.verbs.arguments import MAX_QUERY, member_of
from idetic.verbs.authorization import require_whole_anchor

Ask = Callable[[str], Awaitable[Answered]]


class AgentRunner:
    """The only access of another context to an agent's memory.

    It holds a function and no handle, so a caller can ask a question and do nothing else.
    """

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[[str, Mode], Awaitable[Answered]]):
        self._ask = ask

    async def ask(self, question: str, mode: Mode) -> Answered:
        """Give a hedged answer with its evidence, or "I don't know"."""
        return await self._ask(question, mode)


def runner(*memories: Memory) -> AgentRunner:
    """A runner that answers from memories bound for an operator, a customer, or one of each.

    A memory's principal decides the mode it serves, so a runner made from a customer's memory can
    never be asked in operator mode. Whatever the principal may do, the runner only reads.
    """
    served: list[tuple[Mode, Ask]] = []
    for memory in memories:
        mode = mode_of(memory.scope.principal)
        require_whole_anchor(memory.scope)
        served.append((mode, memory.narrowed(Capability.READ).ask))
    return serving(served)


def serving(asks: list[tuple[Mode, Ask]]) -> AgentRunner:
    """A runner of the functions that answer in each mode."""
    served: dict[Mode, Ask] = {}
    for mode, ask in asks:
        if mode in served:
            raise InputError(f"Two memories serve {mode} mode.", remedy="Give one for each mode.")
        served[mode] = ask
    if not served:
        raise InputError("A runner needs a memory to answer from.")

    async def answer(question: str, mode: Mode) -> Answered:
        """Answer from the memory that serves the mode; a mode without one is refused."""
        chosen = served.get(member_of(Mode, mode, "mode"))
        if chosen is None:
            raise CapabilityRefused(
                f"This runner does not answer in {mode} mode.",
                remedy=f"It was made for: {', '.join(served)}.",
            )
        return await chosen(question)

    return AgentRunner(answer)


class AskTool:
    """A tool for another agent, such as `ask_world_agent`: a question in, quoted evidence out.

    A framework calls `await tool(question)`. `schema` describes the tool to a model, as a function
    of OpenAI-compatible endpoints.
    """

    __slots__ = ("__name__", "_mode", "_runner")

    def __init__(self, agent: AgentRunner, name: str, mode: Mode):
        self._runner = agent
        self._mode = member_of(Mode, mode, "mode")
        self.__name__ = name

    async def __call__(self, question: str) -> str:
        """Ask; what memory says stands behind the mark of a quotation, and is no instruction."""
        answered = await self._runner.ask(question, self._mode)
        return quoted_answer(answered)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The tool as a model's function: name, description, parameters."""
        told = {"type": "string", "maxLength": MAX_QUERY, "description": "What is to be known."}
        return {
            "name": self.__name__,
            "description": "Ask what is known. The answer is hedged and quotes its evidence, "
            'or is "I don\'t know."',
            "parameters": {
                "type": "object",
                "properties": {"question": told},
                "required": ["question"],
                "additionalProperties": False,
            },
        }


def quoted_answer(answered: Answered) -> str:
    """An answer for a model: quoted evidence with its preamble, or "I don't know"."""
    return f"{HEADER}{answered.text}" if answered.known else answered.text

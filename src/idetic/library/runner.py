"""How another bounded context asks an agent (ADR-058 D13).

It never reads memory tables and holds no handle. At the composition root it is given an
`AgentRunner`, and may ask: what comes back has crossed the spec's operator or customer gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from idetic.errors import CapabilityRefused, InputError
from idetic.gates.gate import Gates, Pipeline
from idetic.gateway.binding import require_whole_anchor
from idetic.library.handles import Memory
from idetic.model import Capability, Entry, PrincipalKind, Ref, Tier
from idetic.recall.evidence import QUOTE, hedge_for, visible
from idetic.recall.hits import Hit
from idetic.spec.primitives import Boundary, Signal, SourceStrength

DONT_KNOW = "I don't know."
MOST_EVIDENCE = 5
# The semantic value is the cosine stretched from 0.4..0.8: from here on a note is near a question.
# Whatever it leaves out costs an "I don't know", never a wrong answer.
NEAR = 0.5


class Mode(StrEnum):
    """For whom an answer is."""

    OPERATOR = "operator"
    CUSTOMER = "customer"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One entry as it crossed the gate: what it says, and how strong its source is."""

    entry_id: UUID
    text: str
    hedge: str | None
    strength: SourceStrength
    noted_at: datetime
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with what it rests on; without evidence, memory does not know and says so."""

    text: str
    evidence: tuple[Evidence, ...]
    mode: Mode

    @property
    def known(self) -> bool:
        """Whether memory had an answer."""
        return bool(self.evidence)


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
        mode = _mode_of(memory)
        if mode in served:
            raise InputError(f"Two memories serve {mode} mode.", remedy="Give one for each mode.")
        require_whole_anchor(memory.scope)
        reading = memory.scope.narrowed(frozenset({Capability.READ}))
        served[mode] = Memory(memory.agent, reading)
    if not served:
        raise InputError("A runner needs a memory to answer from.")

    async def ask(question: str, mode: Mode) -> Answered:
        chosen = served.get(_mode(mode))
        if chosen is None:
            raise CapabilityRefused(
                f"This runner does not answer in {mode} mode.",
                remedy=f"It was made for: {', '.join(served)}.",
            )
        return await _answer(chosen, question, _mode(mode))

    return _Runner(ask)


async def _answer(memory: Memory, question: str, mode: Mode) -> Answered:
    gate = Gates(memory.agent.spec).at(Boundary(mode.value))
    recall = await memory.recall(question, tiers=[Tier.PERSISTENT])
    crossed = (_crossed(memory, gate, hit) for hit in recall if _speaks_to_it(hit))
    evidence = tuple(each for each in crossed if each is not None)[:MOST_EVIDENCE]
    if not evidence:
        return Answered(DONT_KNOW, (), mode)
    rooms = memory.agent.rooms
    read = [each.entry_id for each in evidence]
    await rooms.embeddings.read(memory.scope, memory.place, read, rooms.clock.now())
    return Answered("\n".join(map(_said, evidence)), evidence, mode)


def _speaks_to_it(hit: Hit) -> bool:
    """Whether a hit has to do with the question: a recall ranks what is merely fresh as well."""
    words, meaning = hit.signals.get(Signal.LEXICAL), hit.signals.get(Signal.SEMANTIC)
    if words is not None and words.rank is not None:
        return True
    return meaning is not None and meaning.value is not None and meaning.value >= NEAR


def _crossed(memory: Memory, gate: Pipeline, hit: Hit) -> Evidence | None:
    """A hit as it may be told behind the gate; None where nothing of it is left."""
    entry: Entry = hit.entry
    passed = gate.apply(entry.body_text, [str(value) for value in memory.scope.anchor.values()])
    if passed.refused is not None:
        return None
    strength = hit.strength if entry.refs and hit.strength else SourceStrength.OBSERVED
    hedges = memory.agent.spec.visibility.hedges
    hedge = hedge_for(entry, hedges, hit.strength) if gate.hedges else None
    text = visible(passed.text)
    return Evidence(entry.id, text, hedge, strength, entry.created_at, entry.refs)


def _said(evidence: Evidence) -> str:
    # Every line of a note stays behind a mark: it is quoted, and never an instruction.
    quoted = "\n".join(QUOTE + line for line in evidence.text.split("\n"))
    return quoted if evidence.hedge is None else f"{evidence.hedge.rstrip(' .:')}:\n{quoted}"


def _mode_of(memory: Memory) -> Mode:
    kind = memory.scope.principal.kind
    if kind not in (PrincipalKind.OPERATOR, PrincipalKind.CUSTOMER):
        raise CapabilityRefused(
            f"A memory bound for a {kind} principal serves no other context.",
            remedy="Bind it for an operator or a customer.",
        )
    return Mode(kind.value)


def _mode(value: object) -> Mode:
    try:
        return Mode(value)  # type: ignore[arg-type]
    except ValueError:
        raise InputError(f"mode is one of {', '.join(Mode)}.") from None

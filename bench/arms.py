"""The arms of a run of `bench.quality`, and which of them are one measurement.

A signal alone ranks the same for every spec that writes the same texts and reads them the same way.
Gates that let all messages of a set pass are no difference, and neither are its weight and the way
of fusing, where nothing is fused. So it is measured once, and stands in the table for each of these
specs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.floors import alone
from bench.rankings import ROOM
from bench.sets import Conversation
from bench.specs import SINGLE, SpecData, single
from idetic.gates.gate import Gates
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, Signal


@dataclass(frozen=True, slots=True)
class Arm:
    """One spec to ask; `names` are the arms of the table that its rankings are."""

    spec: SpecData
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What one process measures in one go: the arms of one agent, which writes a set once."""

    set: str
    conversations: Sequence[Conversation]
    arms: tuple[Arm, ...]

    @property
    def questions(self) -> int:
        """How many questions it asks."""
        return len(self.arms) * sum(len(c.questions) for c in self.conversations)


def units(sets: Mapping[str, Sequence[Conversation]], specs: Mapping[str, SpecData]) -> list[Unit]:
    """All that has to be measured, the longest first."""
    made = [
        Unit(name, conversations, arms)
        for name, conversations in sets.items()
        for arms in _by_agent(arms_of(conversations, specs))
    ]
    return sorted(made, key=lambda unit: -unit.questions)


def arms_of(conversations: Sequence[Conversation], specs: Mapping[str, SpecData]) -> list[Arm]:
    """Every spec and every single signal, each measurement once, in the order of the specs."""
    said = [m.text for c in conversations for m in c.messages]
    names: dict[Any, list[str]] = {}
    asked: dict[Any, SpecData] = {}
    for name, spec in specs.items():
        asked[name], names[name] = spec, [name]
        reads = _reads(spec, said)
        for signal in SINGLE:
            key = Signal(signal), *reads
            asked.setdefault(key, single(spec, signal))
            names.setdefault(key, []).append(alone(name, signal))
    return [Arm(spec, tuple(names[key])) for key, spec in asked.items()]


def _by_agent(arms: Sequence[Arm]) -> list[tuple[Arm, ...]]:
    agents = dict.fromkeys(arm.spec["agent"] for arm in arms)
    return [tuple(arm for arm in arms if arm.spec["agent"] == agent) for agent in agents]


def _reads(data: SpecData, said: Sequence[str]) -> tuple[Any, ...]:
    """All of a spec that a signal alone depends on, when these are the messages."""
    spec, longest = load(data), max(map(len, said))
    reading = spec.retrieval.model_dump(include={"embedding", "neighbours", "tiers", "unconfirmed"})
    # An event is never cut by us, but its entry is.
    cut = min(longest, spec.backend.body_text_max)
    gates = _gates(spec, said)
    return gates, str(reading), cut, min(longest, longest_entry(data)), _logged(data)


def _gates(spec: MemorySpec, said: Sequence[str]) -> str:
    """The gates that messages are written through; none where they let all of these pass."""
    apply = Gates(spec).at(Boundary.INGEST).apply
    if all(apply(text).text == text for text in said):
        return ""
    return str([gate.apply for gate in spec.gates if gate.boundary is Boundary.INGEST])


def longest_entry(spec: SpecData) -> int:
    """How long an entry of a spec may be here; an event of a log is never cut by us."""
    return sys.maxsize if _logged(spec) else load(spec).backend.body_text_max - ROOM


def _logged(spec: SpecData) -> bool:
    return "log" in spec["backend"]

"""What the demo's scenes hold, as data: the same for the terminal and for `--json`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import Entry, LedgerRecord, Receipt, Ref
from idetic.spec.memory_spec import MemorySpec


@dataclass(frozen=True)
class SpecScene:
    """The declared memory that everything else follows from."""

    spec: MemorySpec
    version: int


@dataclass(frozen=True)
class WorldScene:
    """A tenant's world and its canonical rules."""

    org_id: UUID
    domain_id: UUID
    world_id: UUID
    rules: dict[str, Ref]


@dataclass(frozen=True)
class SessionScene:
    """What one session wrote down."""

    name: str
    entries: list[Entry]


@dataclass(frozen=True)
class ReplayScene:
    """The same write sent twice."""

    first: Receipt
    again: Receipt


@dataclass(frozen=True)
class Attempt:
    """A write that is refused, and what its caller is told."""

    text: str
    error: dict[str, Any]


@dataclass(frozen=True)
class RefusalScene:
    """Writes that the spec does not allow."""

    attempts: list[Attempt]


@dataclass(frozen=True)
class PreferenceScene:
    """One preference, and another that takes its place."""

    first: Receipt
    second: Receipt


@dataclass(frozen=True)
class ActionScene:
    """An action and the entries that it rests on."""

    action_id: UUID
    kind: str
    entries: list[UUID]
    receipt: Receipt


@dataclass(frozen=True)
class LedgerScene:
    """One entry's chain, and the preferences in force before and after."""

    world: WorldScene
    entry_id: UUID
    history: list[LedgerRecord]
    moment: datetime
    then: list[Entry]
    now: list[Entry]


Scene = (
    SpecScene
    | WorldScene
    | SessionScene
    | ReplayScene
    | RefusalScene
    | ActionScene
    | PreferenceScene
    | LedgerScene
)

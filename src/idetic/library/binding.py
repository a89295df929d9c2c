"""What a verb works on: one agent's rooms, bound to a scope and a place."""

from __future__ import annotations

from dataclasses import dataclass

from idetic.library.rooms import Rooms
from idetic.model import Place, Scope
from idetic.spec.memory_spec import MemorySpec


@dataclass(frozen=True, slots=True)
class Binding:
    """One agent within one scope, at one place; verbs are functions of it."""

    spec: MemorySpec
    version: int
    rooms: Rooms
    scope: Scope
    place: Place
    embed_inline: bool = False

"""Verbs about the memory itself: what a scope stands for, and the spec behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idetic.engine import Binding
from idetic.model import Capability, Principal
from idetic.verbs.authorization import allows, readable_spec
from idetic.verbs.declaration import get, verb


@dataclass(frozen=True, slots=True)
class KeyScope:
    """What a key stands for: an agent, an anchor, a principal, and what it may do."""

    agent: str
    version: int
    anchor: Mapping[str, Any]
    principal: Principal
    capabilities: frozenset[Capability]


@verb(http=get("/scope", "about"), command=None)
async def key_scope(binding: Binding) -> KeyScope:
    """Say what this memory's key or scope stands for."""
    scope, spec = binding.scope, binding.spec
    may = frozenset(each for each in Capability if allows(spec, scope, each))
    return KeyScope(scope.agent, binding.engine.version, scope.anchor, scope.principal, may)


@verb(http=get("/spec", "about"), command=None)
async def spec(binding: Binding) -> dict[str, Any]:
    """Give the agent's spec as data."""
    return readable_spec(binding.spec, binding.scope).as_data()

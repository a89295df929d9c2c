"""Which persona memory an API key stands for, and how much of it.

The shipped spec `persona_agent` has the anchor `(agent_id, persona)`. Persona memory has a tenant
besides, so a key's `agent_id` reads `<tenant>/<agent_id>`, and its `persona` decides what it sees.
A key of the Actor is handed the Actor's view and nothing that leads further.
"""

from __future__ import annotations

from dataclasses import dataclass

from idetic.errors import AnchorRefused, CapabilityRefused
from idetic.gateway.binding import allows, require
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.library.persona import SPEC, PersonaMemory
from idetic.model import Capability, Scope
from idetic.persona.events import Persona
from idetic.persona.identity import Identity
from idetic.persona.views import ActorMemoryView
from idetic.spec.memory_spec import MemorySpec

SEPARATOR = "/"


@dataclass(frozen=True, slots=True)
class PersonaAccess:
    """What a key may see of persona memory: the Actor's view; all of it where `whole` is given."""

    actor: ActorMemoryView
    whole: PersonaMemory | None = None
    may_dream: bool = False


def is_persona(scope: Scope) -> bool:
    """Whether a scope is one of persona memory, and not of what a spec was compiled to."""
    return scope.agent == SPEC


def is_actor(scope: Scope) -> bool:
    """Whether a scope of persona memory is not to know of more than the Actor's."""
    return is_persona(scope) and scope.anchor.get("persona") not in (None, Persona.SUBCONSCIOUS)


def spec_behind(memory: Memory) -> MemorySpec:
    """The spec behind a key, for whoever is to know of all that it speaks of."""
    if is_actor(memory.scope):
        raise CapabilityRefused(
            "This key does not read the spec behind it.",
            remedy="Ask an operator, whose key does.",
        )
    return memory.agent.spec


async def persona_access(db: Idetic, memory: Memory) -> PersonaAccess:
    """The persona memory that a key's memory stands for.

    `persona` of its anchor is `actor`: the Actor's view. It is `subconscious`, or open, which takes
    `read_across`: both personas. Dreaming takes `maintain` as well.
    """
    spec, scope = memory.agent.spec, memory.scope
    require(spec, scope, Capability.READ)
    tenant, found, agent_id = str(scope.anchor.get("agent_id") or "").rpartition(SEPARATOR)
    if not is_persona(scope) or not (tenant and found and agent_id):
        raise AnchorRefused(
            "This key stands for no persona memory.",
            remedy=f"Make one for {SPEC} whose agent_id reads `tenant{SEPARATOR}agent`.",
        )
    whose = scope.anchor.get("persona")
    if whose not in (None, *Persona):
        raise AnchorRefused(f"persona is one of {', '.join(Persona)}.")
    whole = await db.persona(Identity(agent_id), tenant=tenant)
    if is_actor(scope):
        return PersonaAccess(whole.actor)
    return PersonaAccess(whole.actor, whole, allows(spec, scope, Capability.MAINTAIN))

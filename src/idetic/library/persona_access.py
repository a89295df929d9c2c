"""Which persona memory an API key stands for, and how much of it.

A key of a spec whose log has two personas is bound to a tenant and an agent, as any other. Who it
is for decides what it sees: principals that may `read_across` both personas, all others the
Actor's. A key of the Actor is handed the Actor's view and nothing that leads further.
"""

from __future__ import annotations

from dataclasses import dataclass

from idetic.errors import AnchorRefused, CapabilityRefused
from idetic.library.handles import Memory
from idetic.library.idetic import Idetic
from idetic.library.persona import PersonaMemory
from idetic.model import Capability, Scope
from idetic.persona.identity import Identity
from idetic.persona.views import ActorMemoryView
from idetic.spec.memory_spec import MemorySpec
from idetic.verbs.authorization import allows, require


@dataclass(frozen=True, slots=True)
class PersonaAccess:
    """What a key may see of persona memory: the Actor's view; all of it where `whole` is given."""

    actor: ActorMemoryView
    whole: PersonaMemory | None = None
    may_dream: bool = False


def is_persona(spec: MemorySpec) -> bool:
    """Whether a spec is one of persona memory: two personas, apart from each other."""
    return None not in spec.backend.personas


def is_actor(spec: MemorySpec, scope: Scope) -> bool:
    """Whether a scope of persona memory is not to know of more than the Actor's."""
    return is_persona(spec) and not allows(spec, scope, Capability.READ_ACROSS)


def spec_behind(memory: Memory) -> MemorySpec:
    """The spec behind a key, for whoever is to know of all that it speaks of."""
    if is_actor(memory.agent.spec, memory.scope):
        raise CapabilityRefused(
            "This key does not read the spec behind it.",
            remedy="Ask an operator, whose key does.",
        )
    return memory.agent.spec


async def persona_access(db: Idetic, memory: Memory) -> PersonaAccess:
    """The persona memory that a key's memory stands for.

    Both personas take `read_across`; dreaming takes `maintain` as well.
    """
    spec, scope = memory.agent.spec, memory.scope
    require(spec, scope, Capability.READ)
    if not is_persona(spec):
        raise AnchorRefused(
            "This key stands for no persona memory.",
            remedy="Make one for an agent whose log has two personas, such as `persona_agent`.",
        )
    tenant, agent_id = map(str, scope.anchor.values())
    whole = await db.persona(Identity(agent_id), tenant=tenant, spec=spec)
    if is_actor(spec, scope):
        return PersonaAccess(whole.actor)
    return PersonaAccess(whole.actor, whole, allows(spec, scope, Capability.MAINTAIN))

"""Composition of persona memory, and what an API key may see of it.

A key of a spec whose log has two personas is bound to a tenant and an agent, as any other. Its
principal decides what it sees: both personas with `read_across`, else the Actor's alone. A key of
the Actor is handed the Actor's view and nothing that leads further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from idetic.engine import Binding
from idetic.erasure import Erased, Subject
from idetic.errors import AnchorRefused, InputError
from idetic.gates.gate import Gates
from idetic.library.composition import compose
from idetic.lifecycle import erasure
from idetic.model import Capability, Scope
from idetic.persona.events import Persona
from idetic.persona.identity import Identity
from idetic.persona.ltm_derivation import Derivation, Deriver
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.persona_stores import Common, PersonaStores
from idetic.persona.views import ActorMemoryView
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.database import Database
from idetic.store.plan import Plan
from idetic.verbs.authorization import (
    allows,
    check_authorized,
    check_key_text,
    reads_spec,
    require,
    require_ungated,
)

if TYPE_CHECKING:
    from idetic.library.handles import Memory
    from idetic.library.idetic import Idetic


@dataclass(frozen=True, slots=True)
class PersonaPools:
    """The same database as three roles: one for each persona, and one that governs both."""

    actor: Database
    subconscious: Database
    steward: Database

    async def close(self) -> None:
        """Give the connections back."""
        for pool in (self.actor, self.subconscious, self.steward):
            await pool.close()


def compose_persona(
    db: Idetic,
    plan: Plan,
    pools: PersonaPools,
    tenant: str | UUID,
    identity: Identity,
    *,
    derivation: Derivation | None,
    derive: bool,
    patience: float,
) -> PersonaMemory:
    """Compose one agent's persona memory; the only place where both personas meet."""
    if not isinstance(identity, Identity):
        raise InputError(
            "identity must be an Identity.", remedy='For example `Identity(agent_id="help-desk")`.'
        )
    spec, personas = plan.spec, _personas(plan.spec)
    uuid = isinstance(tenant, UUID)
    common = Common(
        spec=spec,
        version=plan.to_version,
        extensions=plan.extensions,
        tenant=check_key_text(str(tenant) if uuid else tenant, "tenant", "The tenant"),
        agent_id=identity.agent_id,
        clock=db.clock,
        model=db.model,
        patience=patience,
        deriver=Deriver(derivation or Derivation(), spec),
        ingest=Gates(spec).at(Boundary.INGEST),
        derive=derive,
    )

    # Made here: what is handed out must not lead to `db`, which administers.
    stewards = {p: compose(db, plan, pools.steward, p, alone=True) for p in personas}

    async def erase(persona: Persona, scope: Scope, subject: Subject, reason: str) -> Erased:
        """Erase with the steward's rights."""
        check_authorized(spec, scope, erasure.erase)
        binding = Binding(stewards[persona], scope)
        erased: Erased = await erasure.erase.function(binding, subject, reason=reason)
        return erased

    databases = {Persona.ACTOR: pools.actor, Persona.SUBCONSCIOUS: pools.subconscious}
    stores = {p: PersonaStores.through(databases[p], common, p) for p in personas}
    # The Actor's tables through the Subconscious's role, which may only read them.
    actors_seen = PersonaStores.through(pools.subconscious, common, Persona.ACTOR)
    return PersonaMemory(identity, stores, actors_seen, erase)


def _personas(spec: MemorySpec) -> tuple[Persona, ...]:
    """The personas that a spec's log declares; a spec without such a log is refused."""
    log = spec.backend.log
    if log is None or [key.type.value for key in spec.anchor.keys] != ["text", "text"]:
        raise InputError(
            f"The spec of {spec.agent} does not declare persona memory.",
            remedy="Declare `backend.log` and two anchor keys of type text: tenant and agent.",
        )
    return log.personas


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
    return not reads_spec(spec, scope)


async def persona_access(db: Idetic, memory: Memory) -> PersonaAccess:
    """The persona memory that a key's memory stands for.

    Both personas take `read_across`; dreaming takes `maintain` as well.
    """
    spec, scope = memory.agent.spec, memory.scope
    require(spec, scope, Capability.READ)
    # A log is read as it was written: views pass no gate.
    require_ungated(spec, scope)
    if not is_persona(spec):
        raise AnchorRefused(
            "This key does not belong to an agent with persona memory.",
            remedy="Create a key for an agent whose log has two personas, such as `persona_agent`.",
        )
    tenant, agent_id = map(str, scope.anchor.values())
    whole = await db.persona(Identity(agent_id), tenant=tenant, spec=spec)
    if is_actor(spec, scope):
        return PersonaAccess(whole.actor)
    return PersonaAccess(whole.actor, whole, allows(spec, scope, Capability.MAINTAIN))

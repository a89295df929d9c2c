"""Which persona memory an API key stands for: the Actor's key leads to the Actor's view alone."""

from __future__ import annotations

from typing import Any

import pytest

from idetic import Identity, Idetic, Principal, errors
from idetic.library.handles import Memory
from idetic.library.persona import PersonaAccess, is_persona, persona_access
from idetic.model import Capability
from idetic.persona.events import EventKind, Persona
from idetic.persona.views import ActorMemoryView
from idetic.spec.loader import load
from idetic.store.database import Database
from idetic.surfaces.mcp import resources
from idetic.surfaces.mcp.formatting import MOST_BOUND
from idetic.verbs.authorization import readable_spec
from tests.support.reaching import reached

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"


async def login(db: Idetic, principal: Principal, **anchor: Any) -> Memory:
    """What a key bound like this stands for."""
    await db.agent("persona_agent")
    made = await db.keys.create(agent="persona_agent", principal=principal, anchor=anchor)
    return await db.authenticate(made.key)


async def access(db: Idetic, principal: Principal, **anchor: Any) -> PersonaAccess:
    return await persona_access(db, await login(db, principal, **anchor))


async def test_an_actors_key_holds_the_actors_view_and_nothing_that_leads_further(
    db: Idetic,
) -> None:
    memory = await db.persona(Identity("desk"), tenant="acme")
    for persona in Persona:
        async with memory.loop("a task", persona) as loop:
            await loop.append(EventKind.SYSTEM_EVENT, f"Said by the {persona}.")
    found = await access(db, Principal.agent("desk"), tenant_id="acme", agent_id="desk")
    assert isinstance(found.actor, ActorMemoryView)
    assert (found.whole, found.may_dream) == (None, False)
    assert [event.content for event in await found.actor.tail()] == ["Said by the actor."]


async def test_an_operators_key_sees_both_and_may_dream(db: Idetic) -> None:
    found = await access(db, Principal.operator("ada"), tenant_id="acme", agent_id="desk")
    assert found.whole is not None
    assert found.may_dream
    auditor = await access(db, Principal.auditor("ben"), tenant_id="acme", agent_id="desk")
    assert auditor.whole is not None
    assert not auditor.may_dream


async def test_an_operators_key_that_cannot_read_across_is_the_actors(db: Idetic) -> None:
    await db.agent("persona_agent")
    made = await db.keys.create(
        agent="persona_agent",
        principal=Principal.operator("ada"),
        anchor={"tenant_id": "acme", "agent_id": "desk"},
        capabilities=[Capability.READ],
    )
    found = await persona_access(db, await db.authenticate(made.key))
    assert (found.whole, found.may_dream) == (None, False)


async def test_an_actors_memory_holds_the_actors_pool_alone(db: Idetic) -> None:
    actor = await login(db, Principal.agent("desk"), tenant_id="acme", agent_id="desk")
    operator = await login(db, Principal.operator("ada"), tenant_id="acme", agent_id="desk")
    assert roles_reached(actor) == {"idetic_actor"}
    assert roles_reached(operator) >= {"idetic_steward"}, "control: the walk finds pools"


def roles_reached(memory: Memory) -> set[str]:
    """The roles of all pools that an object leads to."""
    return {found.role for _, found in reached(memory) if isinstance(found, Database)}


async def test_an_actors_key_does_not_read_the_spec_of_both(db: Idetic) -> None:
    actor = await login(db, Principal.agent("desk"), tenant_id="acme", agent_id="desk")
    operator = await login(db, Principal.operator("ada"), tenant_id="acme", agent_id="desk")
    with pytest.raises(errors.CapabilityRefused):
        readable_spec(actor.agent.spec, actor.scope)
    assert readable_spec(operator.agent.spec, operator.scope) is operator.agent.spec
    with pytest.raises(errors.CapabilityRefused):
        await resources.read(actor, resources.SPEC, MOST_BOUND)
    listed = {one: (await resources.listed(one, None))[0] for one in (actor, operator)}
    assert [str(each.uri) for each in listed[actor]] == []
    assert [str(each.uri) for each in listed[operator]] == [resources.SPEC]


async def test_tenants_are_told_apart_by_the_key(db: Idetic) -> None:
    memory = await db.persona(Identity("desk"), tenant="acme")
    async with memory.loop("a task") as loop:
        await loop.append(EventKind.USER_INPUT, "Where is the garage?")
    here = await access(db, Principal.agent("desk"), tenant_id="acme", agent_id="desk")
    there = await access(db, Principal.agent("desk"), tenant_id="globex", agent_id="desk")
    assert (len(await here.actor.tail()), len(await there.actor.tail())) == (1, 0)


async def test_other_agents_and_customers_are_refused(db: Idetic, world: Any) -> None:
    with pytest.raises(errors.AnchorRefused, match="persona"):
        await login(db, Principal.agent("x"), tenant_id="acme", agent_id="desk", persona="actor")
    assert is_persona(load("persona_agent"))
    assert not is_persona(world.operator.agent.spec)
    with pytest.raises(errors.AnchorRefused):
        await persona_access(db, world.operator)

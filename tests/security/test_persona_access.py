"""Which persona memory an API key stands for: the Actor's key leads to the Actor's view alone."""

from __future__ import annotations

from typing import Any

import pytest

from idetic import Identity, Idetic, Principal, errors
from idetic.library.handles import Memory
from idetic.library.persona_access import (
    PersonaAccess,
    is_persona,
    persona_access,
    spec_behind,
)
from idetic.persona.events import EventKind, Persona
from idetic.persona.views import ActorMemoryView
from idetic.surfaces.mcp import resources
from idetic.surfaces.mcp.paging import MOST_BOUND

pytestmark = pytest.mark.anyio


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
    found = await access(db, Principal.agent("desk"), agent_id="acme/desk", persona="actor")
    assert isinstance(found.actor, ActorMemoryView)
    assert (found.whole, found.may_dream) == (None, False)
    assert [event.content for event in await found.actor.tail()] == ["Said by the actor."]


@pytest.mark.parametrize("persona", [None, "subconscious"])
async def test_an_operators_key_sees_both_and_may_dream(db: Idetic, persona: str | None) -> None:
    whose = {} if persona is None else {"persona": persona}
    found = await access(db, Principal.operator("ada"), agent_id="acme/desk", **whose)
    assert found.whole is not None
    assert found.may_dream
    auditor = await access(db, Principal.auditor("ben"), agent_id="acme/desk", **whose)
    assert auditor.whole is not None
    assert not auditor.may_dream


async def test_an_operators_key_for_the_actor_is_the_actors(db: Idetic) -> None:
    found = await access(db, Principal.operator("ada"), agent_id="acme/desk", persona="actor")
    assert (found.whole, found.may_dream) == (None, False)


async def test_an_agents_key_cannot_leave_the_persona_open(db: Idetic) -> None:
    with pytest.raises(errors.AnchorRefused):
        await login(db, Principal.agent("desk"), agent_id="acme/desk")


async def test_an_actors_key_does_not_read_the_spec_of_both(db: Idetic) -> None:
    actor = await login(db, Principal.agent("desk"), agent_id="acme/desk", persona="actor")
    operator = await login(db, Principal.operator("ada"), agent_id="acme/desk")
    with pytest.raises(errors.CapabilityRefused):
        spec_behind(actor)
    assert spec_behind(operator) is operator.agent.spec
    with pytest.raises(errors.CapabilityRefused):
        await resources.read(actor, resources.SPEC, MOST_BOUND)
    listed = {one: (await resources.listed(one, None))[0] for one in (actor, operator)}
    assert [str(each.uri) for each in listed[actor]] == []
    assert [str(each.uri) for each in listed[operator]] == [resources.SPEC]


async def test_tenants_are_told_apart_by_the_key(db: Idetic) -> None:
    memory = await db.persona(Identity("desk"), tenant="acme")
    async with memory.loop("a task") as loop:
        await loop.append(EventKind.USER_INPUT, "Where is the garage?")
    here = await access(db, Principal.agent("desk"), agent_id="acme/desk", persona="actor")
    there = await access(db, Principal.agent("desk"), agent_id="globex/desk", persona="actor")
    assert (len(await here.actor.tail()), len(await there.actor.tail())) == (1, 0)


@pytest.mark.parametrize("agent_id", ["desk", "/desk", "acme/", "/"], ids=str)
async def test_a_key_without_a_tenant_stands_for_nothing(db: Idetic, agent_id: str) -> None:
    memory = await login(db, Principal.agent("desk"), agent_id=agent_id, persona="actor")
    with pytest.raises(errors.AnchorRefused):
        await persona_access(db, memory)


async def test_other_personas_other_agents_and_customers_are_refused(
    db: Idetic, world: Any
) -> None:
    stranger = await login(db, Principal.agent("x"), agent_id="acme/desk", persona="bystander")
    assert is_persona(stranger.scope)
    with pytest.raises(errors.AnchorRefused):
        await persona_access(db, stranger)
    assert not is_persona(world.operator.scope)
    with pytest.raises(errors.AnchorRefused):
        await persona_access(db, world.operator)

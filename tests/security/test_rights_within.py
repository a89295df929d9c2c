"""Rights within one anchor: what one principal begins, numbers or states is not another's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from idetic import MemorySpec, Principal, errors
from idetic.evidence import Outcome
from idetic.gateway import gateway, write_items
from idetic.library.handles import Agent
from idetic.lifecycle import close_scope, core_memory, dispositions, observations
from tests.conftest import World

pytestmark = pytest.mark.anyio
SHARED = True

ELSE = Principal.agent("somebody else")


@contextmanager
def _shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keys as they would be if they belonged to nobody."""
    with monkeypatch.context() as off:
        for module in (gateway, write_items):
            off.setattr(module, "own_key", lambda _, key: key)
        yield


async def test_a_key_of_one_principal_says_nothing_to_another(world: World) -> None:
    mine, other = world.memory, world.bind(ELSE)
    first = await (await mine.session().open()).observe("A.", idempotency_key="turn 1")
    theirs = await (await other.session().open()).observe("B.", idempotency_key="turn 1")
    assert not theirs.replayed
    assert theirs.entry_id != first.entry_id
    # The same words: a shared key would hand over the other's receipt.
    said = await world.operator.prefer("Wires early.", idempotency_key="turn 1")
    assert not said.replayed
    # A verb that goes another way to the database, and one that holds the anchor.
    kept = said.entry_id
    assert kept is not None
    await world.operator.archive(kept, reason="a reason", idempotency_key="turn 2")
    again = await other.session().open()
    seen = await again.observe("C.", idempotency_key="turn 2")
    assert not seen.replayed


async def test_its_own_key_still_gives_its_first_receipt(world: World) -> None:
    session = await world.memory.session().open()
    first = await session.observe("A.", idempotency_key="turn 1")
    again = await session.observe("A.", idempotency_key="turn 1")
    assert again.replayed
    assert again == first
    with pytest.raises(errors.IdempotencyConflict):
        await session.observe("Something else.", idempotency_key="turn 1")


async def test_control_keys_of_nobody_collide(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _shared(monkeypatch):
        await (await world.memory.session().open()).observe("A.", idempotency_key="turn 1")
        session = await world.bind(ELSE).session().open()
        with pytest.raises(errors.IdempotencyConflict):
            await session.observe("B.", idempotency_key="turn 1")


async def test_an_agent_closes_only_what_it_opened(world: World) -> None:
    session = await world.memory.session().open()
    await session.observe("The second check was late.")
    theirs = world.bind(ELSE).session(session.id)
    with pytest.raises(errors.CapabilityRefused, match="only its own sessions"):
        await theirs.close()
    # Nor by naming it as an interaction of its own session.
    own = await world.bind(ELSE).session().open()
    disguised = own.interaction(session.id)
    with pytest.raises(errors.CapabilityRefused, match="only its own sessions"):
        await disguised.close()
    assert len(await session.list()) == 1
    await session.close()


async def test_the_opener_of_a_session_closes_what_lies_in_it(world: World) -> None:
    session = await world.memory.session().open()
    inner = await world.bind(ELSE).session(session.id).interaction().open()
    await world.memory.session(session.id).interaction(inner.id).close()
    with pytest.raises(errors.ScopeClosed):
        await inner.observe("Too late.")
    inner = await world.bind(ELSE).session(session.id).interaction().open()
    await inner.close()
    await session.close()
    with pytest.raises(errors.ScopeClosed):
        await session.observe("Too late.")


async def is_closed_by(world: World, principal: Principal) -> bool:
    """Whether a session that the agent opened takes no more once another has closed it."""
    session = await world.memory.session().open()
    await world.bind(principal).session(session.id).close()
    with pytest.raises(errors.ScopeClosed):
        await session.observe("Too late.")
    return True


async def test_operators_and_maintenance_close_any(world: World) -> None:
    for principal in (Principal.operator("ada"), Principal.maintenance("sweep")):
        assert await is_closed_by(world, principal)


async def test_control_without_the_check_an_agent_closes_anothers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(close_scope, "_closes_own_alone", lambda _: False)
    assert await is_closed_by(world, ELSE)


async def test_an_agent_does_not_pin_an_operators_word(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = world.agent.spec.as_data()
    data["visibility"]["principals"]["agent"] += ["exempt", "prefer"]
    spec = MemorySpec.model_validate(data)
    granted = replace(world, agent=Agent(replace(world.agent.engine, spec=spec)))
    memory = granted.memory
    said = await world.operator.prefer("Wires go out early.")
    assert said.entry_id is not None
    for attempt in (
        lambda: memory.exempt(said.entry_id, reason="forever"),
        lambda: memory.dispose([said.entry_id], Outcome.EXEMPT, reason="forever"),
    ):
        with pytest.raises(errors.CapabilityRefused, match="operator stated"):
            await attempt()
        assert (await memory.get(said.entry_id)).exempt_at is None
    own = await memory.prefer("I read the rules first.")
    assert own.entry_id is not None
    await memory.exempt(own.entry_id, reason="forever")
    # The control: without the check it is pinned.
    for module in (observations, dispositions):
        monkeypatch.setattr(module, "check_pinnable", lambda *_: None)
    await memory.exempt(said.entry_id, reason="forever")
    assert (await memory.get(said.entry_id)).exempt_at is not None
    await world.operator.exempt(said.entry_id, reason="It is mine.")


@pytest.mark.parametrize("checked", [True, False], ids=["as it is", "control"])
async def test_an_agent_takes_nothing_out_of_the_core_that_an_operator_put_there(
    world: World, monkeypatch: pytest.MonkeyPatch, *, checked: bool
) -> None:
    """Nor after it has paged it in once more, which changes nothing."""
    said = await world.operator.prefer("No wire leaves without a second look.")
    own = await world.operator.prefer("Wires go out early.")
    assert said.entry_id is not None
    assert own.entry_id is not None
    await world.operator.page_in(said.entry_id, reason="a house rule")
    await world.memory.page_in(said.entry_id, reason="mine now")
    await world.memory.page_in(own.entry_id, reason="needed")
    await world.memory.page_out(own.entry_id, reason="it paged it in itself")
    if not checked:
        monkeypatch.setattr(core_memory, "_check_own", _unchecked)
        await world.memory.page_out(said.entry_id, reason="in the way")
        assert await world.memory.core() == []
        return
    with pytest.raises(errors.CapabilityRefused, match="an operator paged in"):
        await world.memory.page_out(said.entry_id, reason="in the way")
    assert [one.id for one in await world.memory.core()] == [said.entry_id]
    await world.operator.page_out(said.entry_id, reason="no longer")


async def _unchecked(*_: object) -> None:
    return None

"""The same words are one source more; what only reads alike is proposed, and a person decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from idetic import EntryState, Idetic, Observation, Principal, Typology, errors
from idetic.evidence import Proposal, ProposalKind, ProposalStatus
from idetic.library.handles import Memory
from tests.conftest import TestDatabase, World, make_world
from tests.support.consolidating import Near
from tests.support.voices import another

pytestmark = pytest.mark.anyio

SAID = "Late wires wait in the queue until the desk answers."
ALIKE = "Wires that come late stay in the queue until the desk replies."
ACCEPTED, DECLINED = ProposalStatus.ACCEPTED, ProposalStatus.DECLINED


@pytest.fixture
def near() -> Near:
    return Near()


@pytest.fixture
async def world(database: TestDatabase, near: Near) -> AsyncIterator[World]:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=near)
    async with opened as db:
        yield await make_world(db, await db.agent("world_agent"))


async def hear(world: World, *texts: str, memory: Memory | None = None) -> None:
    """One session in which one thread says something about the rule, and its vectors."""
    async with another(memory or world.memory).session() as session:
        await session.observe_many([Observation(text, refs=(world.rule,)) for text in texts])
    await keeper(world).embed()


def keeper(world: World) -> Memory:
    return world.bind(Principal.maintenance("keeper"))


async def known(world: World) -> list[str]:
    """What persistent memory holds, candidates included, oldest first."""
    found = await world.operator.list(tier="persistent")
    return [one.body_text for one in reversed(found)]


async def proposed(world: World) -> Proposal:
    made = (await keeper(world).consolidate()).proposed
    (found,) = await world.operator.proposals()
    assert (found.kind, made) == (ProposalKind.SAMENESS, (found.id,))
    return found


async def sources(world: World, entry_id: UUID) -> int:
    return len(await world.operator.corroborations(entry_id))


@pytest.mark.parametrize(
    "again",
    [
        "LATE wires wait, in the queue, until the desk answers",
        "Láte wires wait in the queue until the désk answers.",
        "Until the desk answers late wires wait in the queue.",
        "In the queue until the desk answers late wires wait.",
    ],
)
async def test_the_same_words_are_a_corroboration(world: World, near: Near, again: str) -> None:
    """Although it is not near by its vector, and more entries are than a look-up brings."""
    nearer = [f"Desk {number} closes at noon." for number in range(20)]
    near.place([again, *nearer])
    await hear(world, SAID)
    await hear(world, *nearer)
    await hear(world, again)
    assert set(await known(world)) == {SAID, *nearer}
    (entry,) = [one for one in await world.operator.list() if one.body_text == SAID]
    assert await sources(world, entry.id) == 2


async def test_of_preferences_in_the_same_words_the_latest_stays(world: World) -> None:
    """Whatever their spelling and the order of their phrases; the controls say something else."""
    said = [
        "Two people look at every wire.",
        "two people look at every wire",
        "At every wire, two people look.",
    ]
    first, second, last = [(await world.operator.prefer(text)).entry_id for text in said]
    for other in ("Three people look at every wire.", "Two people do not look at every wire."):
        await world.operator.prefer(other)
    tagged = await world.operator.prefer(f"{said[0]}!", envelope={"topic": "payments"})
    assert first is not None
    done = await keeper(world).consolidate()
    gone = [one.entry_id for one in done.decided if one.transition == "superseded"]
    assert sorted(map(str, gone)) == sorted(map(str, [first, second]))
    kept = {entry.id for entry in await world.operator.list(typology=Typology.PROCEDURAL)}
    assert {last, tagged.entry_id} <= kept
    assert len(kept) == 4
    assert (await world.operator.get(first)).superseded_by == last
    assert (await keeper(world).consolidate()).decided == (), "once"
    (receipt,) = [one.receipt for one in done.decided if one.entry_id == first]
    await world.operator.undo(receipt, reason="both are meant")
    assert (await world.operator.get(first)).state is EntryState.CURRENT
    assert not (await world.bind(Principal.auditor("eve")).verify()).problems


async def test_words_that_may_say_something_else_are_only_proposed(world: World) -> None:
    one, other = (f"The depot in {a} ships to the one in {b}." for a, b in ("LT", "TL"))
    await hear(world, one)
    await hear(world, other)
    assert await known(world) == [one, other]
    assert (await proposed(world)).support == {"similarity_percent": 100}


async def test_a_paraphrase_is_proposed_with_both_texts_and_merged_by_a_person(
    world: World, near: Near
) -> None:
    near.place([SAID, ALIKE], 0.979)
    await hear(world, SAID)
    await hear(world, ALIKE)
    found = await proposed(world)
    assert await known(world) == [SAID, ALIKE], "nothing is merged by similarity"
    assert found.statement is not None
    assert SAID in found.statement
    assert ALIKE in found.statement
    assert found.support == {"similarity_percent": 98}
    assert (await keeper(world).consolidate()).proposed == (), "it is proposed once"
    with pytest.raises(errors.CapabilityRefused):
        await world.memory.decide(found.id, ACCEPTED, reason="they are mine")
    await world.operator.decide(found.id, ACCEPTED, reason="the same queue")
    (kept,) = await world.operator.list()
    (gone,) = set(found.entries) - {kept.id}
    assert (await world.operator.get(gone)).superseded_by == kept.id
    assert await sources(world, kept.id) == 2
    # It never leaves: whose words they are is told by them.
    assert await world.operator.outbox() == []
    assert not (await world.bind(Principal.auditor("eve")).verify()).problems
    merged = next(o for o in await world.operator.history(gone) if o.transition == "superseded")
    await world.operator.undo(merged, reason="two queues after all")
    assert (await world.operator.get(gone)).state is EntryState.CURRENT


async def test_what_a_person_declined_is_not_proposed_again(world: World, near: Near) -> None:
    near.place([SAID, ALIKE], 0.979)
    await hear(world, SAID)
    await hear(world, ALIKE)
    found = await proposed(world)
    await world.operator.decide(found.id, DECLINED, reason="another queue")
    await hear(world, SAID)
    assert (await keeper(world).consolidate()).proposed == ()
    assert await known(world) == [SAID, ALIKE]
    assert not (await world.bind(Principal.auditor("eve")).verify()).problems


async def test_a_decision_about_what_is_gone_is_refused(world: World, near: Near) -> None:
    near.place([SAID, ALIKE], 0.979)
    await hear(world, SAID)
    await hear(world, ALIKE)
    found = await proposed(world)
    await world.operator.archive(found.entries[0], reason="no longer so")
    with pytest.raises(errors.TransitionRefused, match="is not current"):
        await world.operator.decide(found.id, ACCEPTED, reason="the same queue")
    await world.operator.decide(found.id, ProposalStatus.WITHDRAWN, reason="it is gone")
    assert await world.operator.outbox() == []


@pytest.mark.parametrize(
    ("other", "cosine"),
    [
        (ALIKE, 0.94),
        (SAID.replace("Late", "2 late"), 0.99),
        (SAID.replace("wait", "never wait"), 0.99),
    ],
)
async def test_control_what_is_far_or_differs_in_a_detail_is_not_proposed(
    world: World, near: Near, other: str, cosine: float
) -> None:
    near.place([SAID, other], cosine)
    await hear(world, SAID)
    await hear(world, other)
    assert (await keeper(world).consolidate()).proposed == ()
    assert len(await known(world)) == 2

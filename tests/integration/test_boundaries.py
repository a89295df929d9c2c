"""Every boundary that a spec declares: what crosses it is transformed, and told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from idetic import Idetic, Principal, Rule, Tier, errors
from idetic.library.answers import DONT_KNOW
from idetic.library.handles import Memory
from idetic.spec.loader import load
from tests.conftest import World, make_world

pytestmark = pytest.mark.anyio
SHARED = True

NOTE = "Wires over the limit wait for a second approver, ticket PAY-4711 says."


def gate(boundary: str, *kinds: str) -> dict[str, Any]:
    return {"boundary": boundary, "apply": list(kinds), "because": "A test wants it here."}


async def gated(db: Idetic, *gates: dict[str, Any], without: str = "") -> World:
    """The world agent with other gates."""
    data = load("world_agent").as_data()
    data["gates"] = [each for each in data["gates"] if each["boundary"] != without] + list(gates)
    return await make_world(db, await db.agent(load(data), apply=True))


# --- the ends of an interaction and of a session --------------------------------------------------


@pytest.mark.alone
async def test_an_interactions_end_transforms_what_the_session_gets(db: Idetic) -> None:
    world = await gated(db, gate("interaction_end", "strip_identifiers"))
    session = await world.operator.session().open()
    async with session.interaction() as thread:
        await thread.observe(NOTE)
    (left,) = await session.list()
    assert left.body_text == NOTE.replace("PAY-4711", "[identifier]")


@pytest.mark.alone
async def test_what_means_nothing_without_its_names_ends_with_its_interaction(db: Idetic) -> None:
    world = await gated(db, gate("interaction_end", "strip_identifiers"))
    session = await world.operator.session().open()
    thread = await session.interaction().open()
    said = (await thread.observe("See PAY-4711.")).entry_id
    closed = await thread.close()
    assert closed.decided[0].transition == "compounding_refused"
    assert await session.list() == []
    assert said is not None
    story = [link.transition for link in await world.operator.history(said)]
    assert story == ["observed", "compounding_refused", "dropped"]


@pytest.mark.alone
async def test_a_sessions_end_transforms_what_memory_gets(db: Idetic) -> None:
    world = await gated(db, gate("session_end", "strip_identifiers"))
    async with world.operator.session() as session:
        await session.observe(NOTE, refs=[world.rule])
    (left,) = await world.operator.list(tier=Tier.PERSISTENT)
    assert left.body_text == NOTE.replace("PAY-4711", "[identifier]")


async def test_without_those_gates_it_crosses_as_it_is(world: World) -> None:
    """The control: what the tests above see is the gates' doing."""
    async with world.operator.session() as session:
        async with session.interaction() as thread:
            await thread.observe(NOTE, refs=[world.rule])
        (left,) = await session.list()
    (kept,) = await world.operator.list(tier=Tier.PERSISTENT)
    assert left.body_text == kept.body_text == NOTE


# --- aggregation ----------------------------------------------------------------------------------


async def test_a_pattern_leaves_without_whose_it_is(world: World) -> None:
    memory, rule = world.operator, Rule(world.rule.id)
    told = [
        await memory.prefer(
            f"Wires over the limit wait for a second approver, says {name}.", refs=[rule]
        )
        for name in ("PAY-4711", "PAY-4712")
    ]
    bare = await memory.prefer("Ask PAY-4713.")
    ids = [receipt.entry_id for receipt in (*told, bare) if receipt.entry_id]
    found = await memory.propose(ids, reason="for the rule board")
    (pattern,) = found.proposals
    assert (
        pattern.statement == "Wires over the limit wait for a second approver, says [identifier]."
    )
    assert (pattern.support["entries"], pattern.support["removed"]) == (2, 2)
    assert [ref.id for ref in pattern.refs] == [world.rule.id], "what they have in common stays"
    assert list(found.refused) == [bare.entry_id]
    assert not any(str(one) in repr(pattern) for one in (*ids, world.org_id, world.domain_id))


async def test_an_anchors_own_names_are_identifiers(world: World) -> None:
    noted = await world.operator.prefer(
        f"Wires of {world.domain_id} over the limit wait for a second approver."
    )
    found = await world.operator.propose([noted.entry_id or uuid4()], reason="for the board")
    assert str(world.domain_id) not in str(found.proposals[0].statement)


SAID = "Operators of {} override the weekend limit whenever queues grow."


def declaring(**identifiers: Any) -> dict[str, Any]:
    return gate("aggregation", "strip_identifiers") | {"identifiers": identifiers}


async def left_of(world: World, *names: str, **told: Any) -> list[str | None]:
    """What the proposals say of notes with these names in them."""
    noted = [await world.operator.prefer(SAID.format(name), **told) for name in names]
    ids = [receipt.entry_id for receipt in noted if receipt.entry_id]
    found = await world.operator.propose(ids, reason="for the board")
    return [one.statement for one in found.proposals]


@pytest.mark.alone
@pytest.mark.parametrize(
    ("declared", "names"),
    [
        ({"names": ["Borealis", "Zephyr Foods"]}, ("Borealis", "zephyr-foods")),
        ({"patterns": ["plant ?#", "bau*halle"]}, ("plant x9", "bau-nord-halle")),
        ({"lookups": [{"envelope": "tags"}]}, ("kiruna", "lulea")),
    ],
)
async def test_what_a_spec_declares_is_stripped_and_the_rest_is_one_pattern(
    db: Idetic, declared: dict[str, Any], names: tuple[str, str]
) -> None:
    world = await gated(db, declaring(**declared), without="aggregation")
    told = {"envelope": {"tags": [*names]}} if "lookups" in declared else {}
    assert await left_of(world, *names, **told) == [SAID.format("[identifier]")]


async def test_without_the_declaration_the_names_stay(world: World) -> None:
    """The control: what the test above sees is the declaration's doing."""
    names = ("Borealis", "kiruna", "bau-nord-halle")
    assert await left_of(world, *names, envelope={"tags": [*names]}) == [
        SAID.format(name) for name in names
    ]


@pytest.mark.alone
async def test_a_canonical_column_is_looked_up_within_its_world(db: Idetic) -> None:
    lookup = {"noun": "rule", "column": "rule_id"}
    world = await gated(db, declaring(lookups=[lookup]), without="aggregation")
    mine, foreign = str(world.rule.id).replace("-", " "), str(uuid4()).replace("-", " ")
    assert await left_of(world, mine) == [SAID.format("[identifier]")]
    assert await left_of(world, foreign) != [SAID.format("[identifier]")]


@pytest.mark.alone
async def test_too_many_names_are_refused_and_not_left_out(
    db: Idetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idetic.store.identifier_rows.LIFECYCLE_NAMES", 2)
    world = await gated(db, declaring(lookups=[{"envelope": "tags"}]), without="aggregation")
    few = {"tags": ["kiruna", "lulea"]}
    assert await left_of(world, "kiruna", envelope=few) == [SAID.format("[identifier]")]
    with pytest.raises(errors.WritePolicyRefused, match="looks up more than"):
        await left_of(world, "pitea", envelope={"tags": ["pitea"]})


async def test_what_left_is_in_the_history(world: World) -> None:
    noted = await world.operator.prefer("Wires over the limit wait for a second approver.")
    assert noted.entry_id is not None
    found = await world.operator.propose([noted.entry_id], reason="for the board")
    story = (await world.operator.history(noted.entry_id))[-3:]
    assert [link.transition for link in story] == ["aggregated", "rule_proposed", "action_linked"]
    assert {link.reason for link in story} == {"for the board"}
    assert found.receipt.detail == {"patterns": 1, "refused": 0}


async def test_what_is_not_known_yet_is_no_pattern(world: World) -> None:
    session = await world.operator.session().open()
    said = await session.observe("Wires over the limit wait for a second approver.")
    found = await world.operator.propose([said.entry_id or uuid4()], reason="for the board")
    assert found.proposals == ()
    assert list(found.refused) == [said.entry_id]


async def test_propose_refuses_what_it_cannot_do(
    db: Idetic, world: World, other_world: World
) -> None:
    theirs = await other_world.operator.prefer("Wires over the limit wait for a second approver.")
    assert theirs.entry_id is not None
    for wrong, refusal in (
        ([], errors.InputError),
        (["x"], errors.InputError),
        ([theirs.entry_id], errors.EntryNotFound),
    ):
        with pytest.raises(refusal):
            await world.operator.propose(wrong, reason="for the board")  # type: ignore[arg-type]


@pytest.mark.alone
async def test_without_an_aggregation_gate_nothing_leaves(db: Idetic) -> None:
    world = await gated(db, without="aggregation")
    noted = await world.operator.prefer("Wires over the limit wait for a second approver.")
    with pytest.raises(errors.WritePolicyRefused, match="aggregation"):
        await world.operator.propose([noted.entry_id or uuid4()], reason="for the board")


# --- customers ------------------------------------------------------------------------------------

LOOKS: list[Callable[[Memory], Awaitable[Any]]] = [
    lambda m: m.list(),
    lambda m: m.recall("wires"),
    lambda m: m.context("wires"),
    lambda m: m.get(uuid4()),
    lambda m: m.history(uuid4()),
    lambda m: m.overdue(),
    lambda m: m.contradictions(),
    lambda m: m.gates(uuid4()),
    lambda m: m.lineage(uuid4()),
]


@pytest.mark.parametrize("look", LOOKS, ids=[str(n) for n in range(len(LOOKS))])
async def test_a_customer_asks_and_does_nothing_else(
    world: World, look: Callable[[Memory], Awaitable[Any]]
) -> None:
    with pytest.raises(errors.CapabilityRefused, match="may only ask"):
        await look(world.bind(Principal.customer("cora")))


async def test_a_customer_is_answered_and_an_agent_is_not_an_audience(world: World) -> None:
    await world.operator.prefer("Release Friday wires only after the screening.")
    customer = world.bind(Principal.customer("cora"))
    answered = await customer.ask("When are Friday wires released?")
    assert "> Release Friday wires only after the screening." in answered.text
    assert (await customer.ask("Which soup is there?")).text == DONT_KNOW
    with pytest.raises(errors.CapabilityRefused):
        await world.memory.ask("When are Friday wires released?")

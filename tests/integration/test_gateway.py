"""The write path as a user meets it: verbs, receipts, the ledger, what is refused."""

from __future__ import annotations

from uuid import uuid4

import pytest

from idetic import (
    Claim,
    Decision,
    EntryState,
    Observation,
    Origin,
    Principal,
    Rule,
    Tier,
    Typology,
    errors,
)
from tests.conftest import RULE_TEXT, World

pytestmark = pytest.mark.anyio
SHARED = True


async def test_an_observation_is_read_back_as_it_was_written(world: World) -> None:
    async with world.memory.session() as session, session.interaction() as turn:
        receipt = await turn.observe(
            "Transfers above the threshold skip the second check on Fridays.",
            envelope={"topic": "payments/wire", "tags": ["friday", "second-check"]},
            refs=[Rule(world.rule.id)],
            provenance={"world_model_version": "v12"},
        )
        entry = await world.memory.get(receipt.entry_id)  # type: ignore[arg-type]
    assert receipt.decision is Decision.ADD
    assert entry.tier is Tier.INTERACTION
    assert entry.typology is Typology.EPISODIC
    assert entry.envelope["topic"] == "payments/wire"
    assert entry.refs == (world.rule,), "an unpinned reference is pinned to the current version"
    assert entry.provenance == {"world_model_version": "v12"}
    assert (entry.origin, entry.trust) == (Origin.AGENT, 60)
    assert entry.state is EntryState.CURRENT


async def test_a_preference_supersedes_the_one_with_the_same_claim_key(world: World) -> None:
    brief = await world.operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    again = await world.operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    full = await world.operator.prefer("Say it all.", claim=Claim("output", "style", "full"))
    other = await world.operator.prefer("In English.", claim=Claim("output", "language", "en"))

    assert [r.decision for r in (brief, again, full, other)] == ["ADD", "NOOP", "UPDATE", "ADD"]
    assert full.superseded == brief.entry_id
    current = {e.body_text for e in await world.memory.list()}
    assert current == {"Say it all.", "In English."}
    old = await world.memory.get(brief.entry_id)  # type: ignore[arg-type]
    assert old.state is EntryState.SUPERSEDED
    assert old.superseded_by == full.entry_id


async def test_every_transition_is_in_the_entrys_history(world: World) -> None:
    brief = await world.operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    await world.operator.exempt(brief.entry_id, reason="house rule")  # type: ignore[arg-type]
    await world.operator.link_action(uuid4(), "rule_promotion", [brief.entry_id])  # type: ignore[list-item]
    await world.operator.archive(brief.entry_id, reason="obsolete")  # type: ignore[arg-type]
    history = await world.memory.history(brief.entry_id)  # type: ignore[arg-type]
    assert [h.transition for h in history] == ["preferred", "exempted", "action_linked", "archived"]
    assert all(h.actor == "ada" for h in history)
    assert [h.state_to for h in history] == ["current", "current", None, "archived"]
    positions = [h.position for h in history]
    assert positions == sorted(positions)


async def test_a_note_that_restates_a_rule_is_refused_and_the_refusal_is_recorded(
    world: World,
) -> None:
    async with world.memory.session() as session:
        with pytest.raises(errors.ShadowRefused) as caught:
            await session.observe(RULE_TEXT.replace("two operators", "two  operators"))
        assert await session.list() == []
    assert caught.value.detail["id"] == str(world.rule.id)
    assert RULE_TEXT[:40] not in str(caught.value)
    receipt = caught.value.detail["receipt"]
    assert receipt.decision is Decision.REJECT
    assert receipt.position > 0


async def test_in_a_batch_only_the_restating_note_is_refused(world: World) -> None:
    seen = [Observation("A first note."), Observation(RULE_TEXT), Observation("A last note.")]
    async with world.memory.session() as session:
        receipts = await session.observe_many(seen)
        assert [r.decision for r in receipts] == ["ADD", "REJECT", "ADD"]
        assert {e.body_text for e in await session.list()} == {"A first note.", "A last note."}


async def test_semantic_memory_is_never_written_directly(world: World) -> None:
    with pytest.raises(errors.WritePolicyRefused, match="promotion"):
        await world.memory.observe("Fridays are short.", typology=Typology.SEMANTIC)
    async with world.memory.session() as session:
        with pytest.raises(errors.WritePolicyRefused):
            await session.observe("Fridays are short.", typology=Typology.SEMANTIC)


async def test_a_repeated_key_gives_the_same_receipt_and_one_entry(world: World) -> None:
    async with world.memory.session() as session:
        first = await session.observe("Once.", idempotency_key="k")
        again = await session.observe("Once.", idempotency_key="k")
        assert again == first
        assert (first.replayed, again.replayed) == (False, True)
        assert len(await session.list()) == 1
        with pytest.raises(errors.IdempotencyConflict):
            await session.observe("Something else.", idempotency_key="k")
        assert len(await session.list()) == 1


async def test_every_verb_takes_an_idempotency_key(world: World) -> None:
    entry = (await world.operator.prefer("Be brief.", idempotency_key="p")).entry_id
    assert (await world.operator.prefer("Be brief.", idempotency_key="p")).replayed
    action = uuid4()
    for _ in range(2):
        linked = await world.operator.link_action(
            action,
            "rule_promotion",
            [entry],  # type: ignore[list-item]
            idempotency_key="l",
        )
        exempted = await world.operator.exempt(entry, reason="why", idempotency_key="e")  # type: ignore[arg-type]
        archived = await world.operator.archive(entry, reason="why", idempotency_key="a")  # type: ignore[arg-type]
    assert all(r.replayed for r in (linked, exempted, archived))
    assert archived.decision is Decision.UPDATE
    with pytest.raises(errors.IdempotencyConflict):
        await world.operator.exempt(entry, reason="why", idempotency_key="a")  # type: ignore[arg-type]


async def test_turning_what_is_already_turned_is_a_noop_and_the_superseded_cannot_turn(
    world: World,
) -> None:
    brief = await world.operator.prefer("Brief.", claim=Claim("o", "s", "brief"))
    full = await world.operator.prefer("Full.", claim=Claim("o", "s", "full"))
    with pytest.raises(errors.TransitionRefused, match="superseded"):
        await world.operator.archive(brief.entry_id, reason="late")  # type: ignore[arg-type]
    await world.operator.archive(full.entry_id, reason="first")  # type: ignore[arg-type]
    second = await world.operator.archive(full.entry_id, reason="second")  # type: ignore[arg-type]
    assert second.decision is Decision.NOOP


async def test_a_reference_must_exist(world: World) -> None:
    async with world.memory.session() as session:
        with pytest.raises(errors.ReferenceNotFound):
            await session.observe("About a rule.", refs=[Rule(uuid4())])
        with pytest.raises(errors.ReferenceNotFound):
            await session.observe("About a version.", refs=[Rule(world.rule.id, version=7)])
        assert await session.list() == []


async def test_a_rule_of_another_tenant_cannot_be_referenced(
    world: World, other_world: World
) -> None:
    async with world.memory.session() as session:
        with pytest.raises(errors.ReferenceNotFound):
            await session.observe("About theirs.", refs=[other_world.rule])


async def test_an_agent_may_weaken_an_origin_but_never_strengthen_it(world: World) -> None:
    async with world.memory.session() as session:
        heard = await session.observe("The tool said so.", heard_from=Origin.TOOL)
        entry = await world.memory.get(heard.entry_id)  # type: ignore[arg-type]
        assert (entry.origin, entry.trust) == (Origin.TOOL, 40)
        with pytest.raises(errors.CapabilityRefused):
            await session.observe("The operator said so.", heard_from=Origin.OPERATOR)


async def test_capabilities_come_from_the_spec(world: World) -> None:
    with pytest.raises(errors.CapabilityRefused, match="operator"):
        await world.memory.prefer("Be brief.")
    with pytest.raises(errors.CapabilityRefused):
        await world.memory.archive(uuid4(), reason="no")


async def test_a_closed_scope_takes_nothing_not_even_from_another_handle(world: World) -> None:
    async with world.memory.session() as session:
        async with session.interaction() as turn:
            pass
        with pytest.raises(errors.ScopeClosed):
            await turn.observe("Too late.")
        turn._open = True
        with pytest.raises(errors.ScopeClosed):
            await turn.observe("Too late, and the database knows it too.")
    with pytest.raises(errors.ScopeClosed):
        await session.observe("Too late.")


async def test_a_scope_closes_when_its_body_raises(world: World) -> None:
    with pytest.raises(RuntimeError, match="boom"):
        async with world.memory.session() as session:
            raise RuntimeError("boom")
    session._open = True
    with pytest.raises(errors.ScopeClosed):
        await session.observe("After the crash.")


async def test_an_unregistered_anchor_says_what_is_missing(world: World) -> None:
    stray = world.agent.bind(
        org_id=world.org_id, domain_id=uuid4(), principal=Principal.agent("explorer")
    )
    with pytest.raises(errors.AnchorNotFound, match="world"):
        async with stray.session():
            pass

"""Models of two and of four tiers, each through a month: events, promotion, escalation and audit.

The specs are the examples beside the source, `examples/ward_agent.yaml` and
`examples/field_agent.yaml`, without a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, Idetic, Observation, Principal, Tier, errors
from idetic.library.handles import Agent, Memory
from tests.conftest import TestDatabase
from tests.support.chain import read_chain
from tests.support.clock import SettableClock
from tests.support.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples"
RIGS = ("rig-1", "rig-2", "rig-3")


@dataclass(frozen=True)
class Firm:
    """An agent of one of the examples, and the clock of its month."""

    agent: Agent
    clock: SettableClock
    database: TestDatabase

    def at(self, place: str, principal: Principal) -> Memory:
        tenant, second = (key.name for key in self.agent.spec.anchor.keys)
        return self.agent.bind(**{tenant: "acme", second: place}, principal=principal)

    def rig(self, place: str, number: int) -> Memory:
        return self.at(place, Principal.agent(RIGS[number % len(RIGS)]))

    def boss(self, place: str) -> Memory:
        return self.at(place, Principal.operator("ada"))


@pytest.fixture(params=["ward_agent", "field_agent"])
async def firm(request: pytest.FixtureRequest, database: TestDatabase) -> AsyncIterator[Firm]:
    clock = SettableClock()
    opened = Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, clock=clock, embedder=FakeEmbedder()
    )
    async with opened as db:
        agent = await db.agent(EXAMPLES / f"{request.param}.yaml")
        yield Firm(agent, clock, database)


def worn(part: str) -> Observation:
    said = f"The {part} of the pump wears out within a quarter when it runs dry."
    return Observation(said, claim=Claim("pump", f"{part} wears out", "within a quarter"))


@pytest.mark.parametrize("firm", ["ward_agent"], indirect=True)
async def test_two_tiers_through_a_month(firm: Firm) -> None:
    spec = firm.agent.spec
    assert (spec.tiers.declared, spec.tiers.names["shift"]) == (
        (Tier.SESSION, Tier.PERSISTENT),
        Tier.SESSION,
    )
    wards = ("north", "south")
    for day in range(30):
        ward = wards[day % 2]
        shift = await firm.rig(ward, day // 2).session().open()
        await shift.observe(worn("seal").text, claim=worn("seal").claim)
        # Nobody closes it: the rig's next shift is at the other ward, or its lease runs out.
        firm.clock.advance(days=1)
    boss = firm.boss("north")
    known = [e for e in await boss.list(tier="ward") if not e.candidate]
    assert [e.body_text for e in known] == [worn("seal").text]
    closes = closed(firm, "north")
    assert closes["its principal went on at another anchor"] > 0
    assert set(closes) <= {"its principal went on at another anchor", "its lease ran out"}
    action = uuid4()
    receipt = await boss.link_action(action, "handover", [known[0].id])
    assert receipt.decision is Decision.ADD
    behind = await explained(firm, "north", action)
    assert len(behind) >= 3, "the shifts' own words, kept as evidence of the fact"
    assert set(behind.values()) == {worn("seal").text}
    assert await verified(firm, "north")


@pytest.mark.parametrize("firm", ["ward_agent"], indirect=True)
async def test_two_tiers_have_no_interactions(firm: Firm) -> None:
    async with firm.rig("north", 0).session() as shift:
        with pytest.raises(errors.WritePolicyRefused, match="has no interaction tier"):
            await shift.interaction().open()
        with pytest.raises(errors.InputError, match="session, persistent, shift, ward"):
            await firm.boss("north").list(tier="visit")


@pytest.mark.parametrize("firm", ["ward_agent"], indirect=True)
async def test_only_another_anchor_ends_a_shift(firm: Firm) -> None:
    """Control: a second shift at the same ward, and a colleague's at another, end nothing."""
    mine = await firm.rig("north", 0).session().open()
    await firm.rig("north", 0).session().open()
    await firm.rig("south", 1).session().open()
    assert (await mine.observe("The corridor is closed until noon.")).decision is Decision.ADD
    await firm.rig("south", 0).session().open()
    with pytest.raises(errors.ScopeClosed):
        await mine.observe("The corridor is open again.")


@pytest.mark.parametrize("firm", ["field_agent"], indirect=True)
async def test_four_tiers_through_a_month(firm: Firm) -> None:
    spec = firm.agent.spec
    levels = ["interaction", "session", "persistent"]
    assert list(spec.tiers.names) == [*levels, "visit", "shift", "site"]
    decisions: Counter[str] = Counter()
    for day in range(30):
        for site in ("Harbour 7", "Quarry 12"):
            async with firm.rig(site, day).session() as shift, shift.interaction() as visit:
                await visit.observe(worn("bearing").text, claim=worn("bearing").claim)
                receipts = await visit.observe_many(
                    [Observation("beat", envelope={"event": "heartbeat"})] * 10
                )
                decisions.update(f"{r.decision} {r.reason}" for r in receipts)
        firm.clock.advance(days=1)
    assert decisions == {"ADD new": 60, "NOOP sampled out": 540}
    left_out = [(await firm.boss(site).overview(days=40)).sampled_out for site in
                ("Harbour 7", "Quarry 12", "Depot 3")]  # fmt: skip
    assert left_out == [270, 270, 0], "each anchor counts its own"
    facts = {site: await fact(firm, site) for site in ("Harbour 7", "Quarry 12")}

    up = await firm.boss("Harbour 7").escalate([facts["Harbour 7"]], reason="seen in every quarter")
    again = await firm.boss("Quarry 12").escalate([facts["Quarry 12"]], reason="here as well")
    (new,) = up.entries.values()
    assert again.entries == {facts["Quarry 12"]: new}, "one entry, known by two sites"

    above = firm.boss("Harbour 7").broader()
    held = await above.get(new)
    assert (held.tier, held.anchor["site"], held.body_text) == (
        Tier.PERSISTENT, "(all)", worn("bearing").text,
    )  # fmt: skip
    assert len(await above.corroborations(new)) == 2
    assert {one.source_id for one in await above.lineage(new)} == set(facts.values())
    # A third site, which never saw it, is told; the weight of the tier counts.
    hits = (await firm.rig("Depot 3", 0).recall("which part of the pump wears out?")).hits
    assert [hit.entry.id for hit in hits] == [new]

    action = uuid4()
    await above.link_action(action, "replacement", [new])
    assert await explained(firm, "(all)", action) == {}, "what a site said stays at the site"
    await firm.boss("Harbour 7").link_action(action, "replacement", [facts["Harbour 7"]])
    assert set((await explained(firm, "Harbour 7", action)).values()) == {worn("bearing").text}
    for site in ("Harbour 7", "Quarry 12", "(all)"):
        assert await verified(firm, site)


@pytest.mark.parametrize("firm", ["field_agent"], indirect=True)
async def test_what_escalates_names_no_site(firm: Firm) -> None:
    named = await firm.boss("Harbour 7").prefer(
        "At Harbour 7 the crane operator wants to be called before the main valve is shut."
    )
    bare = await firm.boss("Harbour 7").prefer("Call Harbour 7 first.")
    assert named.entry_id
    assert bare.entry_id
    done = await firm.boss("Harbour 7").escalate([named.entry_id, bare.entry_id], reason="for all")
    assert list(done.refused) == [bare.entry_id], "nothing is left of it without the name"
    (entry,) = await firm.boss("Quarry 12").broader().list()
    assert "Harbour" not in entry.body_text
    assert "[" in entry.body_text
    told = [link.transition for link in await firm.boss("Harbour 7").history(bare.entry_id)]
    assert told[-1] == "escalation_refused"
    # Doing it again changes nothing above: the anchor is one source.
    repeated = await firm.boss("Harbour 7").escalate([named.entry_id], reason="for all")
    assert repeated.entries == done.entries
    assert len(await firm.boss("Quarry 12").broader().list()) == 1


@pytest.mark.parametrize("firm", ["field_agent"], indirect=True)
async def test_the_broader_tier_is_not_written_directly(firm: Firm) -> None:
    above = firm.boss("Harbour 7").broader()
    with pytest.raises(errors.WritePolicyRefused, match="organisation tier is not written"):
        await above.prefer("Always call first.")
    with pytest.raises(errors.WritePolicyRefused, match="organisation tier is not written"):
        await above.session().open()
    with pytest.raises(errors.WritePolicyRefused, match="has no broader tier"):
        await above.escalate([uuid4()], reason="no")
    with pytest.raises(errors.CapabilityRefused):
        await firm.rig("Harbour 7", 0).escalate([uuid4()], reason="an agent may not")


@pytest.mark.parametrize("firm", ["field_agent"], indirect=True)
async def test_a_share_is_decided_by_the_id_and_every_one_is_counted(firm: Firm) -> None:
    async with firm.rig("Harbour 7", 0).session() as shift:
        seen = [
            Observation(f"Reading {n}.", envelope={"event": "reading"}, idempotency_key=f"r{n}")
            for n in range(400)
        ]
        first = await shift.observe_many(seen)
        again = await shift.observe_many(seen)
        kept = [r for r in first if r.decision is Decision.ADD]
        assert 70 < len(kept) < 130, "a quarter, by chance of the ids"
        assert [r.position for r in again] == [r.position for r in first]
        out = next(r for r in first if r.decision is Decision.NOOP)
        assert (out.reason, out.entry_id) == ("sampled out", None)
        assert out.detail["sampling"] == {"share": 0.25, "where": {"event": "reading"}, "rule": 1}
        # Control: what no rule is about is kept, all of it.
        plain = await shift.observe_many([Observation("The gate squeaks.")] * 20)
        assert {r.decision for r in plain} == {Decision.ADD}
        assert len(await shift.list(limit=1000)) == len(kept) + 20
    async with firm.rig("Quarry 12", 0).session() as shift:
        there = await shift.observe_many(seen)
    assert [r.decision for r in there] == [r.decision for r in first], "by the ids and no chance"


# --- looks --------------------------------------------------------------------------------------


async def fact(firm: Firm, site: str) -> UUID:
    (one,) = [e for e in await firm.boss(site).list(tier="site") if not e.candidate]
    return one.id


async def verified(firm: Firm, place: str) -> bool:
    report = await firm.at(place, Principal.auditor("eve")).verify()
    tenant, second = (key.name for key in firm.agent.spec.anchor.keys)
    backend = firm.agent.spec.backend
    with psycopg.connect(firm.database.admin_dsn) as connection:
        keys = {tenant: "acme", second: place}
        chain = read_chain(connection, backend.schema_, backend.family, keys)
    return report.intact and chain.faults() == []


async def explained(firm: Firm, place: str, action: UUID) -> dict[UUID, str]:
    """The words behind an action, of all that its entries were made of."""
    told = await firm.at(place, Principal.auditor("eve")).explain_action(action)
    return {one: kept.then.body_text for one, kept in told.made_of.items() if kept.then}


def closed(firm: Firm, place: str) -> Counter[str]:
    """How often sessions at a place were closed for each reason; each link names the event."""
    family = f"{firm.agent.spec.backend.schema_}.{firm.agent.spec.backend.family}"
    with psycopg.connect(firm.database.admin_dsn) as connection:
        rows = connection.execute(
            f"SELECT l.reason, l.detail ->> 'event' FROM {family}_memory_ledger l "  # noqa: S608
            f"JOIN {family}_memory_anchors a USING (anchor_id) "
            "WHERE l.transition = 'session_closed' AND a.ward = %s",
            [place],
        ).fetchall()
    assert {event for _, event in rows} == {firm.agent.spec.tiers.session.event}
    return Counter(reason for reason, _ in rows)

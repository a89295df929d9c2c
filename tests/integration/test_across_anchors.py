"""What several anchors of a tenant know becomes known at the broader one, and says no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import yaml

from idetic import Claim, Idetic, Observation, Principal, Ref
from idetic.context import Runbooks
from idetic.library.handles import Agent, Memory
from idetic.spec.loader import load
from tests.conftest import TestDatabase

pytestmark = pytest.mark.anyio

HARBOUR, QUARRY, DEPOT = "Harbour 7", "Quarry 12", "Depot 3"
EXAMPLE = Path(__file__).parents[2] / "examples" / "field_agent.yaml"


def field_spec(**promotion: Any) -> dict[str, Any]:
    """The field agent, whose sites share the runbooks of their operator."""
    data: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    data["anchor"]["keys"][0] = {"name": "operator_id", "type": "uuid"}
    data["tiers"]["broader"]["keys"] = ["operator_id"]
    data["references"]["canonical"] = [
        {"noun": "runbook", "table": "operations.runbooks", "key": "runbook_id",
         "body": "body_text", "versions": "operations.runbook_versions", "version": "version"}
    ]  # fmt: skip
    if promotion:
        why = "Two sites are often alike."
        deviation = {"cell": "semantic", "set": promotion, "justification": why}
        data["promotion"] = {"deviations": [deviation]}
    return data


@dataclass(frozen=True)
class Firm:
    """An operator with a runbook, and the agent that works at all of its sites."""

    agent: Agent
    operator_id: UUID
    runbook: Ref

    def at(self, site: str, principal: Principal) -> Memory:
        return self.agent.bind(operator_id=self.operator_id, site=site, principal=principal)

    async def fact(self, site: str, text: str = "", **more: Any) -> UUID:
        """A fact of a site: what two rigs said in three visits, with the runbook in mind."""
        said = text or f"At {site} the seal of the pump wears out when it runs dry."
        claim = Claim("pump", "seal wears out", "when it runs dry")
        seen = Observation(said, claim=claim, **{"refs": [self.runbook], **more})
        for visit in range(3):
            rig = self.at(site, Principal.agent(f"rig-{visit % 2}"))
            async with rig.session() as shift:
                await shift.observe_many([seen])
        (made,) = await self.at(site, Principal.operator("ada")).list(tier="site")
        assert not made.candidate
        return made.id

    async def nominate(self, site: str) -> dict[UUID, UUID]:
        return await self.at(site, Principal.maintenance("keeper")).nominate()

    @property
    def above(self) -> Memory:
        return self.at(DEPOT, Principal.operator("ada")).broader()


@pytest.fixture
async def firm(database: TestDatabase, request: pytest.FixtureRequest) -> AsyncIterator[Firm]:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = await db.agent(load(field_spec(**getattr(request, "param", {}))))
        operator_id = uuid4()
        runbook = await Runbooks(db).put_runbook(operator_id, "Shut the valve before you open it.")
        yield Firm(agent, operator_id, runbook)


async def test_what_two_anchors_know_is_known_across_them(firm: Firm) -> None:
    facts = {site: await firm.fact(site) for site in (HARBOUR, QUARRY)}
    (one,) = (await firm.nominate(HARBOUR)).values()
    waiting = await firm.above.get(one)
    assert (waiting.candidate, waiting.meta_at) == (True, None)
    depot = firm.at(DEPOT, Principal.agent("rig-0"))
    assert (await depot.recall("which seal wears out?")).hits == ()
    assert await firm.nominate(HARBOUR) == {}, "an anchor counts once"
    assert (await firm.above.get(one)).candidate

    assert await firm.nominate(QUARRY) == {facts[QUARRY]: one}
    held = await firm.above.get(one)
    assert not held.candidate
    assert held.meta_at is not None
    assert [ref.id for ref in held.refs] == [firm.runbook.id]
    assert {source.source_id for source in await firm.above.lineage(one)} == set(facts.values())
    assert [hit.entry.id for hit in (await depot.recall("which seal wears out?")).hits] == [one]
    told = (await firm.above.history(one))[-1]
    assert (told.transition, told.detail["anchors"]) == ("meta_promoted", 2)
    for place in (HARBOUR, QUARRY, "(all)"):
        assert not (await firm.at(place, Principal.auditor("eve")).verify()).problems


async def test_nobody_is_told_more_than_the_gate_lets_through(firm: Firm) -> None:
    for site in (HARBOUR, QUARRY):
        await firm.fact(site)
        await firm.nominate(site)
    told = repr([await firm.above.list(), await firm.above.candidates()])
    told += repr([await firm.above.history(one.id) for one in await firm.above.list()])
    assert "pump" in told
    assert HARBOUR not in told
    assert QUARRY not in told


@pytest.mark.parametrize("firm", [{"min_anchors": 3}], indirect=True)
async def test_control_as_many_anchors_as_the_spec_says(firm: Firm) -> None:
    for site in (HARBOUR, QUARRY):
        await firm.fact(site)
        await firm.nominate(site)
    (entry,) = await firm.above.list()
    assert entry.candidate


async def test_control_what_refers_to_nothing_stays_where_it_is(firm: Firm) -> None:
    for site in (HARBOUR, QUARRY):
        await firm.fact(site, refs=[])
        assert await firm.nominate(site) == {}
    assert await firm.above.list() == []


async def test_what_is_nothing_without_its_site_stays(firm: Firm) -> None:
    await firm.fact(HARBOUR, f"Ask {HARBOUR}.")
    assert await firm.nominate(HARBOUR) == {}
    assert await firm.above.list() == []


async def test_an_operator_need_not_wait_for_a_second_anchor(firm: Firm) -> None:
    fact = await firm.fact(HARBOUR)
    (one,) = (await firm.nominate(HARBOUR)).values()
    done = await firm.at(HARBOUR, Principal.operator("ada")).escalate([fact], reason="it holds")
    assert done.entries == {fact: one}
    held = await firm.above.get(one)
    assert (held.candidate, held.meta_at) == (False, None), "one anchor is no recurrence"

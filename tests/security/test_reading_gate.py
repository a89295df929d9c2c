"""The gate of a principal stands before each of its reads, and not before `ask` alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from idetic import Claim, Idetic, MemorySpec, Principal, errors
from idetic.gates.reading import ReadingGate
from idetic.library.handles import Memory
from idetic.model import plain
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec as Spec
from idetic.spec.retention import RetentionState
from idetic.verbs.declaration import VERBS
from tests.conftest import TestDatabase, World, make_world
from tests.support.http_house import serving

pytestmark = pytest.mark.anyio

PHONE = "+49 30 901820"
REMOVED = "[phone removed]"


def gated(apply: list[str]) -> Spec:
    """The world agent that writes all down as it is, and reads to its operator behind a gate."""
    data = load("world_agent").as_data()
    kept = [g for g in data["gates"] if g["boundary"] in ("customer", "aggregation")]
    because = "Operators know what happened and not whom to call."
    data["gates"] = [*kept, {"boundary": "operator", "apply": apply, "because": because}]
    return MemorySpec.model_validate(data)


@dataclass(frozen=True, slots=True)
class Seeded:
    """A world whose every kind of evidence holds a telephone number."""

    world: World
    note: UUID
    preference: UUID

    @property
    def operator(self) -> Memory:
        return self.world.operator

    async def read(self, memory: Memory) -> dict[str, Any]:
        """What each verb that reads tells a principal, as plain data."""
        now = self.world.agent.engine.clock.now()
        asked = {
            "recall": memory.recall("Whom to call about a late wire?", include_candidates=True),
            "context": memory.context("Whom to call about a late wire?"),
            "list": memory.list(),
            "get": memory.get(self.preference),
            "history": memory.history(self.note),
            "as_of": memory.as_of(now),
            "about": memory.about([f"Case {PHONE}"]),
            "profile": memory.profile(),
            "corroborations": memory.corroborations(self.preference),
            "kept": memory.kept(RetentionState.ACTIVE),
            "written": memory.written(now - timedelta(hours=1), now + timedelta(hours=1)),
            "unembedded": memory.unembedded(),
            "quarantines": memory.quarantines(),
            "tally": memory.tally("topic"),
        }
        return {name: str(plain(await answer)) for name, answer in asked.items()}


async def seed(world: World) -> Seeded:
    """Write the number wherever somebody may write."""
    agent, operator = world.memory, world.operator
    kept = await operator.prefer(
        f"Call {PHONE} first whenever a wire is late in the morning.",
        envelope={"topic": f"calls/{PHONE}"},
        claim=Claim(f"Case {PHONE}", "contact", PHONE),
    )
    note = await operator.prefer(f"The late wire was told to {PHONE} and to nobody else.")
    assert kept.entry_id
    assert note.entry_id
    notes = f"{PHONE} said so again."
    await operator.corroborate(kept.entry_id, notes=notes)
    session = await agent.session().open()
    await session.observe("A stranger asked for the list of wires.")
    await operator.quarantine(session_id=session.id, reason=f"{PHONE} asked for it.")
    await operator.archive(note.entry_id, reason=f"{PHONE} does not answer.")
    return Seeded(world, note.entry_id, kept.entry_id)


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as opened:
        yield opened


@pytest.fixture
async def seeded(db: Idetic) -> Seeded:
    agent = await db.agent(gated(["hedge", "pii"]), apply=True)
    return await seed(await make_world(db, agent))


async def test_no_read_of_the_operator_shows_what_the_gate_removes(seeded: Seeded) -> None:
    for name, told in (await seeded.read(seeded.operator)).items():
        assert PHONE not in told, name
    entry = await seeded.operator.get(seeded.preference)
    assert entry.body_text == f"Call {REMOVED} first whenever a wire is late in the morning."
    assert entry.claim == Claim(f"Case {REMOVED}", "contact", REMOVED)
    (link,) = [one for one in await seeded.operator.history(seeded.note) if "answer" in one.reason]
    assert link.reason == f"{REMOVED} does not answer."
    assert await seeded.operator.tally("topic") == {f"calls/{REMOVED}": 1}


async def test_those_without_a_boundary_read_what_was_written(seeded: Seeded) -> None:
    for principal in (Principal.agent("explorer"), Principal.auditor("eve")):
        entry = await seeded.world.bind(principal).get(seeded.preference)
        assert PHONE in entry.body_text


async def test_control_without_the_gate_every_one_of_them_shows_it(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReadingGate, "of", lambda *_: None)
    told = await seeded.read(seeded.operator)
    silent = {name for name, text in told.items() if PHONE not in text}
    assert silent == set()


async def test_what_is_whole_or_nothing_is_refused_behind_a_gate(
    seeded: Seeded, tmp_path: Path
) -> None:
    for leaving in (seeded.operator.export_to, seeded.operator.disclose_to):
        with pytest.raises(errors.CapabilityRefused, match="behind a gate"):
            await leaving(tmp_path / "all")
    for stream in (seeded.operator.export, seeded.operator.disclosure):
        with pytest.raises(errors.CapabilityRefused, match="behind a gate"):
            await anext(aiter(stream()))
    maintenance = seeded.world.bind(Principal.maintenance("backup"))
    await maintenance.export_to(tmp_path / "all")
    assert PHONE in (tmp_path / "all").read_text()


def test_verbs_that_pass_no_gate_at_their_end_are_few() -> None:
    """`spec` tells no memory; the others make a text, and what goes into it passes before."""
    ungated = {name for name, verb in VERBS.items() if not verb.gated}
    assert ungated == {"ask", "context", "profile", "spec"}


async def test_identifiers_go_and_ids_stay(db: Idetic) -> None:
    agent = await db.agent(gated(["hedge", "strip_identifiers"]), apply=True)
    world = await make_world(db, agent)
    said = await world.operator.prefer(f"The tenant {world.org_id} wants its wires early, always.")
    entry = await world.operator.get(said.entry_id)  # type: ignore[arg-type]
    assert entry.body_text == "The tenant [identifier] wants its wires early, always."
    assert entry.anchor == world.operator.scope.anchor
    shown = await world.operator.context("When does the tenant want its wires?")
    assert str(said.entry_id)[-6:] in shown.text
    assert str(world.org_id) not in shown.text


async def test_over_http_it_is_the_same_gate(
    seeded: Seeded, db: Idetic, database: TestDatabase
) -> None:
    scope = seeded.operator.scope
    issued = await db.keys.create(
        agent=scope.agent, principal=scope.principal, anchor=dict(scope.anchor)
    )
    with serving(database) as server:
        async with httpx.AsyncClient(
            base_url=server.address, headers={"Authorization": f"Bearer {issued.key}"}, timeout=60
        ) as client:
            listed = await client.get("/v1/entries")
            told = await client.get(f"/v1/entries/{seeded.note}/history")
    assert REMOVED in listed.text
    assert REMOVED in told.text
    assert PHONE not in listed.text + told.text

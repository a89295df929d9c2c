"""R6: nothing can be changed unseen. A superuser makes one fault at a time; each is found.

The ordinary run makes 75 faults from a fixed seed; `IDETIC_FAULTS=1` makes 1,500. Most of them are
drawn from the catalog: any column of any table of the agent, a row gone, a row made up.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from idetic import ChainHead, Claim, Idetic, Observation, Principal, Tier
from idetic.audit import proposal_faults, side_rows, verify
from idetic.evidence import ContradictionStatus, ProposalStatus
from idetic.library.handles import Memory
from tests.conftest import TestDatabase, World, make_world
from tests.support.tampering import FAULTS, TABLES, Fault, Tamperer, changes, make_change

pytestmark = pytest.mark.anyio
TIMES = 1_500 if os.environ.get("IDETIC_FAULTS") else 75
SEED = 20_260_301


async def write_a_life(world: World) -> None:
    """A chain with every kind of write: notes, preferences, refusals, actions, closed scopes."""
    for number in range(3):
        async with world.memory.session() as session, session.interaction() as turn:
            claim = Claim("wires", "second check", "late")
            await turn.observe(
                f"The check came late, {number}.", refs=[world.rule], claim=claim,
                provenance={"world_model_version": f"v{number}"},
            )  # fmt: skip
            await turn.observe_many([Observation(f"Note {number}.{n} “ü”\t") for n in range(3)])
            kept = await session.observe(f"Kept {number}.", idempotency_key=f"key {number}")
            assert kept.entry_id
            await world.memory.link_action(uuid4(), "rule_promotion", [kept.entry_id])
    for style in ("brief", "full", "brief"):
        stated = await world.operator.prefer(style, claim=Claim("output", "style", style))
    assert stated.entry_id
    await world.operator.exempt(stated.entry_id, reason="a house rule\nwith a line")
    other = await world.operator.prefer("Speak plainly.", envelope={"topic": "a/b"})
    assert other.entry_id
    await world.operator.archive(other.entry_id, reason="said twice")
    await _weigh(world)


async def _weigh(world: World) -> None:
    """Evidence of every kind: what supports an entry, what speaks against it, who was shown it."""
    operator = world.operator
    fact = (await operator.list(tier=Tier.PERSISTENT))[-1]
    for note in ("Seen twice.", None):
        given = await operator.corroborate(fact.id, notes=note)
    await operator.undo(given, reason="said in error")
    for status in (ContradictionStatus.SURFACED, ContradictionStatus.DISMISSED):
        async with world.memory.session() as session:
            said = await session.observe(f"It is otherwise, {status}.")
            assert said.entry_id
            await session.context("what is late?")
        entry = (await operator.list(tier=Tier.PERSISTENT))[0]
        await operator.contradict(entry.id, world.rule, reason="a rule says no")
        found = (await operator.contradictions())[0]
        await operator.resolve(found.id, status, notes="Looked at.", idempotency_key=f"r {status}")
    stated = await operator.prefer("Open every report with a count.")
    assert stated.entry_id
    made = (await operator.propose([stated.entry_id], reason="everywhere")).proposals[0]
    await operator.decide(made.id, ProposalStatus.DECLINED, reason="Said elsewhere.")
    async with world.memory.session() as session:
        await session.context("style", limit=5)


@dataclass(frozen=True)
class Scene:
    """An anchor with a life behind it, who may verify it, and the end of its chain kept aside."""

    auditor: Memory
    head: ChainHead
    database: TestDatabase


@pytest.fixture
async def scene(database: TestDatabase) -> AsyncIterator[Scene]:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        world = await make_world(db, await db.agent("world_agent"))
        await write_a_life(world)
        auditor = world.bind(Principal.auditor("ben"))
        yield Scene(auditor, await auditor.head(), database)


@pytest.fixture
def hands(scene: Scene) -> Iterator[Tamperer]:
    made = Tamperer(scene.database.admin_dsn, dict(scene.auditor.scope.anchor))
    yield made
    made.connection.close()


def faults(hands: Tamperer, rng: random.Random, times: int) -> Iterator[Fault]:
    """Faults one after the other, by weight; the rows are put back in between."""
    makes, weights = zip(*FAULTS, strict=True)
    done = 0
    while done < times:
        made = rng.choices(makes, weights)[0](hands, rng)
        if made is not None:
            done += 1
            yield made
        hands.restore()


async def test_every_single_fault_is_found_and_named(scene: Scene, hands: Tamperer) -> None:
    missed, misnamed, found = [], [], 0
    for fault in faults(hands, random.Random(SEED), TIMES):  # noqa: S311 - not for secrets
        verified = await scene.auditor.verify(scene.head if fault.needs_head else None)
        told = [(p.kind, p.position) for p in verified.problems]
        if verified.intact:
            missed.append(fault.what)
        elif not {kind for kind, _ in told} & fault.kinds or (
            fault.positions and not {position for _, position in told} & fault.positions
        ):
            misnamed.append((fault.what, told))
        else:
            found += 1
    assert (missed, misnamed) == ([], [])
    assert found == TIMES


async def test_control_an_untouched_chain_verifies_before_and_after(
    scene: Scene, hands: Tamperer
) -> None:
    seen: list[tuple[int, int]] = []
    verified = await scene.auditor.verify(scene.head, lambda done, of: seen.append((done, of)))
    assert verified.problems == ()
    assert (verified.intact, verified.links, verified.more) == (True, hands.length, 0)
    assert verified.entries > 5
    assert verified.head == scene.head
    assert seen[-1] == (hands.length, hands.length)
    hands.restore()
    assert (await scene.auditor.verify(scene.head)).intact


async def test_a_hidden_cut_shows_only_against_a_head_kept_elsewhere(
    scene: Scene, hands: Tamperer
) -> None:
    from tests.support.tampering import cut_tail  # noqa: PLC0415 - only this test names one

    rng = random.Random(2)  # noqa: S311 - not for secrets
    while not cut_tail(hands, rng).needs_head:
        hands.restore()
    assert all(p.kind != "cut" for p in (await scene.auditor.verify()).problems)
    kinds = [p.kind for p in (await scene.auditor.verify(scene.head)).problems]
    assert "cut" in kinds


BESIDE = ("lineage", "corroborations", "rule_refs", "rule_contradictions", "actions", "scopes",
          "receipts", "reads", "proposals")  # fmt: skip


async def test_every_column_beside_entries_is_witnessed_and_without_the_check_is_not(
    scene: Scene, hands: Tamperer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change that the catalog knows of, once; the control is the same with the check off."""
    rng, made, missed, seen = random.Random(5), 0, [], []  # noqa: S311 - not for secrets
    checked = side_rows.check_side_rows

    async def unchecked(*_: object) -> int:
        return 0

    for change in changes(hands):
        if change.noun not in BESIDE or not change.shown:
            continue
        if make_change(hands, change, rng):
            made += 1
            if (await scene.auditor.verify()).intact:
                missed.append(change)
            monkeypatch.setattr(verify, "check_side_rows", unchecked)
            monkeypatch.setattr(verify, "check_proposals", unchecked)
            if not (await scene.auditor.verify()).intact:
                seen.append((change.noun, change.column))
            monkeypatch.setattr(verify, "check_side_rows", checked)
            monkeypatch.setattr(verify, "check_proposals", proposal_faults.check_proposals)
        hands.restore()
    assert missed == []
    assert made >= 60
    # What was seen before is the origin and trust of sources, against the sources' own links.
    assert {noun for noun, _ in seen} <= {"lineage"}


async def test_the_life_has_rows_in_every_table_that_is_witnessed(
    scene: Scene, hands: Tamperer
) -> None:
    """Else a fault in a table could not be made, and its absence would prove nothing."""
    rows = {table: hands.one(f"SELECT count(*) FROM {table}") for table in TABLES}  # noqa: S608
    empty = [table for table, count in rows.items() if not count]
    assert not [table for table in empty if table.endswith(BESIDE)]
    assert (await scene.auditor.verify()).unwitnessed == 0

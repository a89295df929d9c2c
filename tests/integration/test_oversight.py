"""What an operator and an auditor see at a glance: overview, queues, actions, readers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from idetic import Claim, Observation, Origin, Principal, Tier, Typology, errors
from idetic.evidence import PromotionGate
from idetic.library.health import CheckVerdict, vital
from idetic.model import Scope
from idetic.spec.retention import RetentionState
from idetic.store.queue import JobState, Queue
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.key_house import House

pytestmark = pytest.mark.anyio
SHARED = True


async def seen(world: World, *said: str, heard_from: Origin | None = None) -> None:
    """One session in which some things were said about the rule."""
    async with world.memory.session() as session, session.interaction() as turn:
        for text in said:
            await turn.observe(
                text,
                claim=Claim("wires", "cutoff", text.split()[-1].rstrip(".")),
                refs=[world.rule],
                heard_from=heard_from,
            )


async def test_the_overview_counts_by_cell_day_and_queue(house: House) -> None:
    world = house.world
    operator = world.operator
    await operator.prefer("Be brief.")
    await seen(world, "The cutoff for wires is 16:00.")
    house.clock.advance(days=2)
    with pytest.raises(errors.ShadowRefused):
        async with world.memory.session() as session:
            await session.observe(RULE_TEXT)
    kept = await operator.prefer("Say the count first.")
    assert kept.entry_id
    await operator.link_action(uuid4(), "rule_promotion", [kept.entry_id])
    found = await operator.overview(days=7)
    cells = {(cell.tier, cell.typology): (cell.count, cell.candidates) for cell in found.cells}
    assert cells[Tier.PERSISTENT, Typology.PROCEDURAL] == (2, 0)
    assert cells[Tier.PERSISTENT, Typology.SEMANTIC] == (1, 1)
    assert (found.entries, found.candidates) == (3, 1)
    days = {(day.day.date(), day.typology): day.count for day in found.written}
    today = found.at.date()
    assert days[today, Typology.PROCEDURAL] == 1
    assert days[today - timedelta(days=2), Typology.PROCEDURAL] == 1
    assert [(each.day.date(), each.reason, each.count) for each in found.refused] == [
        (today, "shadow", 1)
    ]
    assert found.states[RetentionState.REFERENCED] == 1 + 2, "an action, and two as evidence"
    for state, count in found.states.items():
        assert len(await operator.kept(state)) == count, "each number has its list"
    (refused,) = await operator.refusals()
    assert (refused.transition, refused.reason) == ("refused", "shadow")
    assert refused.detail["noun"] == "rule"
    assert RULE_TEXT not in str(refused)
    assert sum(found.states.values()) == 3 + 2
    assert (found.due, found.contradictions, found.quarantines) == (0, 0, 0)
    assert (found.unembedded, found.since.date()) == (3, today - timedelta(days=6))
    assert found.unembedded_since is not None
    assert [each.count for each in (await operator.overview(days=1)).written] == [1]


async def test_every_number_of_the_overview_is_the_length_of_its_list(house: House) -> None:
    world = house.world
    operator = world.operator
    await seen(world, "The cutoff for wires is 16:00.", heard_from=Origin.TOOL)
    entry = (await operator.candidates())[0].entry
    await operator.contradict(entry.id, world.rule, reason="the rule says otherwise")
    await operator.quarantine(origin=Origin.TOOL, reason="a poisoned tool")
    await seen(world, "The cutoff for wires is 17:00.")
    house.clock.advance(days=200)
    found = await operator.overview()
    assert found.candidates == len(await operator.candidates()) == 1
    assert found.due == len(await operator.disposition()) == 1
    assert found.contradictions == len(await operator.contradictions()) == 1
    assert found.quarantines == len(await operator.quarantines()) == 1
    assert found.unembedded == len(await operator.unembedded())
    past = await operator.overview(days=366)
    for day in past.written:
        within = (day.day, day.day + timedelta(days=1))
        listed = await operator.written(*within, tier=day.tier, typology=day.typology)
        assert len(listed) == day.count
    assert sum(day.count for day in past.written) == 2
    first, second = await operator.written(found.since - timedelta(days=400), found.at)
    assert second.id == entry.id
    assert await operator.written(past.since, found.at, before=first.id) == [second]
    assert await operator.unembedded(limit=1, before=first.id) == []


async def test_what_was_written_and_refused_is_listed_by_its_time(house: House) -> None:
    world = house.world
    start = house.clock.now()
    await seen(world, "The cutoff for wires is 16:00.")
    with pytest.raises(errors.ShadowRefused):
        async with world.memory.session() as session:
            await session.observe(RULE_TEXT)
    house.clock.advance(days=1)
    later = house.clock.now()
    kept = await world.operator.prefer("Be brief.")
    listed = await world.operator.written(later, later + timedelta(seconds=1))
    assert [entry.id for entry in listed] == [kept.entry_id]
    assert await world.operator.written(start, later, typology=Typology.PROCEDURAL) == []
    assert len(await world.operator.written(start, later, tier=Tier.PERSISTENT)) == 1
    assert len(await world.operator.refusals(since=start, until=later)) == 1
    assert await world.operator.refusals(since=later) == []
    for wrong in ({"until": "today"}, {"since": start.replace(tzinfo=None)}, {"limit": 0}):
        with pytest.raises(errors.InputError):
            await world.operator.refusals(**wrong)
    with pytest.raises(errors.InputError, match="since is not a time zone aware"):
        await world.operator.written(None, later)  # type: ignore[arg-type]
    with pytest.raises(errors.InputError, match="typology must be one of"):
        await world.operator.written(start, later, typology="rumour")  # type: ignore[arg-type]


async def test_open_sessions_are_listed_with_their_threads(house: House) -> None:
    memory = house.world.memory
    other = await make_world(house.db, house.world.agent)
    assert await memory.sessions() == []
    async with other.memory.session(), memory.session() as session:
        async with session.interaction() as turn:
            (found,) = await house.world.operator.sessions()
            assert (found.id, found.interactions) == (session.id, (turn.id,))
            assert found.opened_by == "agent:explorer"
        (found,) = await memory.sessions()
        assert found.interactions == ()
    assert await memory.sessions() == []


async def test_the_backlog_is_that_of_the_scope_alone(house: House) -> None:
    other = await make_world(house.db, house.world.agent)
    queue = Queue(house.db.database)
    before = {task.task: task.waiting for task in (await house.world.operator.overview()).jobs}
    await queue.enqueue(other.operator.scope, "consolidate")
    await queue.enqueue(house.world.operator.scope, "consolidate")
    jobs = {task.task: task for task in (await house.world.operator.overview()).jobs}
    assert jobs["consolidate"].waiting == before.get("consolidate", 0) + 1
    assert jobs["consolidate"].oldest_seconds is not None
    assert sum(task.waiting for task in await queue.backlog() if task.task == "consolidate") >= 2
    open_scope = Scope("world_agent", {"org_id": other.org_id, "domain_id": None},
                       Principal.auditor("ben"))  # fmt: skip
    assert [task.waiting for task in await queue.backlog(open_scope)] == [1]


async def test_each_job_of_the_backlog_is_listed_in_its_scope_alone(
    house: House, database: TestDatabase
) -> None:
    other, operator = await make_world(house.db, house.world.agent), house.world.operator
    queue, ref = Queue(house.db.database), uuid4()
    await queue.enqueue(other.operator.scope, "canon", ref_id=ref)
    mine = await queue.enqueue(operator.scope, "canon", ref_id=ref, noun="Zora Quell said so.")
    await queue.enqueue(operator.scope, "embed")
    for task in (await operator.overview()).jobs:
        for state, count in zip(JobState, (task.waiting, task.running, task.failed), strict=True):
            assert len(await operator.jobs(task=task.task, state=state)) == count
    (job,), (theirs,) = await operator.jobs(task="canon"), await other.operator.jobs(task="canon")
    assert theirs.id != job.id
    assert (job.id, job.state, job.attempts, job.error) == (mine, JobState.WAITING, 0, None)
    assert job.since is not None
    assert job.anchor == {key: str(value) for key, value in operator.scope.anchor.items()}
    assert dict(job.about) == {"ref_id": ref}, "ids alone: a text in the queue is not shown"
    assert [one.task for one in await operator.jobs(after=mine)] == ["embed"]
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute("SET search_path = idetic_jobs")
        failing = "UPDATE idetic_jobs.procrastinate_jobs SET status = 'failed' WHERE id = %s"
        connection.execute(failing, (mine,))
        connection.execute("INSERT INTO idetic_jobs.failures VALUES (%s, 'Odd', 'A reason.')",
                           (mine,))  # fmt: skip
    (failed,) = await operator.jobs(state=JobState.FAILED)
    assert (failed.id, failed.error, failed.reason) == (mine, "Odd", "A reason.")
    assert failed.since is not None
    for wrong in ({"task": "No such"}, {"state": "lost"}, {"after": -1}, {"limit": 1001}):
        with pytest.raises(errors.InputError):
            await operator.jobs(**wrong)


async def test_quarantines_tell_their_source_and_their_release(house: House) -> None:
    world = house.world
    await seen(world, "The cutoff for wires is 16:00.", heard_from=Origin.TOOL)
    taken = await world.operator.quarantine(origin=Origin.TOOL, reason="a poisoned tool")
    (held,) = await world.operator.quarantines()
    assert (held.position, held.reason, held.by) == (
        *(taken.receipt.position, "a poisoned tool", "operator:ada"),
    )
    assert (dict(held.source), held.entries, held.standing) == (
        *({"origin": "tool"}, taken.entries, True),
    )
    back = await world.operator.release(held.position, reason="it was not")
    (released,) = await world.operator.quarantines()
    assert (released.standing, released.released_by) == (False, "operator:ada")
    assert (released.released_at, released.released_because) == (back.at, "it was not")
    assert (await world.operator.overview()).quarantines == 0
    await world.operator.undo(back, reason="it was after all")
    (again,) = await world.operator.quarantines()
    assert again.standing, "the release was taken back"
    await world.operator.quarantine(created_by="agent:nobody", reason="nothing comes of it")
    assert len(await world.operator.quarantines()) == 1


async def test_candidates_come_with_their_gates_in_pages(house: House) -> None:
    world = house.world
    await seen(world, "The cutoff for wires is 16:00.")
    async with world.memory.session() as session:
        await session.observe(
            "Audits are on Mondays.", claim=Claim("audits", "day", "monday"), refs=[world.rule]
        )
    first, second = await world.operator.candidates()
    assert {gate.gate for gate in first.gates} == set(PromotionGate)
    assert list(first.gates) == await world.operator.gates(first.entry.id)
    assert first.missing == sum(not gate.passed for gate in first.gates) > 0
    (page,) = await world.operator.candidates(limit=1)
    (after,) = await world.operator.candidates(limit=1, after=page.entry.id)
    assert (page.entry.id, after.entry.id) == (first.entry.id, second.entry.id)
    assert await world.operator.candidates(after=after.entry.id) == []


async def test_references_stand_beside_what_they_refer_to(house: House) -> None:
    world = house.world
    async with world.memory.session() as session:
        made = await session.observe("The second check came late.", refs=[world.rule])
        assert made.entry_id
        (found,) = await world.operator.references(made.entry_id)
        assert (found.ref.id, found.ref.noun, found.text) == (world.rule.id, "rule", RULE_TEXT)
        assert (found.ref.version, found.version_now, found.changed) == (1, 1, False)
        assert found.strength
        await world.worlds.put_rule(
            world.org_id,
            world.world_id,
            "Three operators check every wire.",
            rule_id=world.rule.id,
        )
        (found,) = await world.operator.references(made.entry_id)
        assert (found.ref.version, found.version_now, found.changed) == (1, 2, True)
        assert found.text == "Three operators check every wire."
    with pytest.raises(errors.EntryNotFound):
        await world.operator.references(uuid4())


async def test_actions_come_newest_first_in_pages(house: House) -> None:
    world = house.world
    auditor = world.bind(Principal.auditor("ben"))
    assert await auditor.actions() == []
    entries = [(await world.operator.prefer(text)).entry_id for text in ("One.", "Two.")]
    ids = [uuid4() for _ in range(3)]
    for number, action in enumerate(ids):
        house.clock.advance(minutes=1)
        await world.operator.link_action(
            action, "rule_promotion", [e for e in entries if e], reason=f"number {number}"
        )
    found = await auditor.actions()
    assert [each.action_id for each in found] == ids[::-1]
    first = found[0]
    assert (first.entries, first.reason, first.by) == (2, "number 2", "operator:ada")
    assert (first.kind, first.at) == ("rule_promotion", (await auditor.explain_action(ids[2])).at)
    page = await auditor.actions(limit=2)
    rest = await auditor.actions(limit=2, before=page[-1].action_id)
    assert [each.action_id for each in (*page, *rest)] == ids[::-1]


async def test_readers_are_those_who_were_shown_an_entry(house: House) -> None:
    world = house.world
    auditor = world.bind(Principal.auditor("ben"))
    made = await world.operator.prefer("Wire releases on Fridays wait for a second desk.")
    assert made.entry_id
    assert await auditor.readers(made.entry_id) == []
    async with world.memory.session() as session:
        await session.context("What do wire releases on Fridays wait for?")
    house.clock.advance(minutes=1)
    await world.operator.context("What do wire releases on Fridays wait for?")
    latest, first = await auditor.readers(made.entry_id)
    assert (latest.by, first.by) == ("operator:ada", "agent:explorer")
    assert (latest.session_id, first.session_id) == (None, session.id)
    assert len(await auditor.readers(made.entry_id, limit=1)) == 1
    with pytest.raises(errors.EntryNotFound):
        await auditor.readers(uuid4())


BAD_LIMITS = [0, -1, 1_000_000, True, "5", None, 1.5]


@pytest.mark.parametrize("limit", BAD_LIMITS, ids=repr)
async def test_bad_limits_are_refused(house: House, limit: Any) -> None:
    auditor, operator = house.world.bind(Principal.auditor("ben")), house.world.operator
    for ask in (
        *(lambda: operator.candidates(limit=limit), lambda: operator.quarantines(limit=limit)),
        *(lambda: operator.overview(days=limit), lambda: auditor.actions(limit=limit)),
        lambda: auditor.readers(uuid4(), limit=limit),
    ):
        with pytest.raises(errors.InputError):
            await ask()


async def test_who_may_not_read_is_told_nothing(house: House) -> None:
    customer = house.world.bind(Principal.customer("cleo"))
    for ask in (
        *(customer.overview, customer.candidates, customer.quarantines, customer.actions),
        *(lambda: customer.references(uuid4()), lambda: customer.readers(uuid4())),
    ):
        with pytest.raises(errors.CapabilityRefused):
            await ask()
    operator = house.world.operator
    for ask in (operator.actions, lambda: operator.readers(uuid4())):
        with pytest.raises(errors.CapabilityRefused):
            await ask()


# --- tenants ------------------------------------------------------------------------------------


async def _filled(world: World) -> Any:
    await seen(world, "The cutoff for wires is 16:00.", heard_from=Origin.TOOL)
    entry = (await world.operator.candidates())[0].entry
    await world.operator.contradict(entry.id, world.rule, reason="odd")
    await world.operator.link_action(uuid4(), "rule_promotion", [entry.id])
    await world.operator.context("What is the cutoff for wires?")
    return entry


async def test_another_tenant_is_not_counted_listed_or_found(house: House) -> None:
    other = await make_world(house.db, house.world.agent)
    entry = await _filled(other)
    await other.operator.quarantine(origin=Origin.TOOL, reason="odd")
    operator, auditor = house.world.operator, house.world.bind(Principal.auditor("ben"))
    found = await operator.overview()
    assert (found.entries, found.written, found.refused, found.jobs) == (0, (), (), ())
    assert (found.contradictions, found.quarantines, found.unembedded) == (0, 0, 0)
    assert await operator.candidates() == []
    assert await operator.quarantines() == []
    assert await auditor.actions() == []
    for ask in (lambda: operator.references(entry.id), lambda: auditor.readers(entry.id)):
        with pytest.raises(errors.EntryNotFound):
            await ask()


async def test_health_for_tenants_names_nobody_else(house: House) -> None:
    checks = await vital(house.db)
    assert {check.name for check in checks} == {
        *("database", "extensions", "protection", "embedding model"),
    }
    said = " ".join(f"{check.found} {check.remedy}" for check in checks)
    assert "world_agent" not in said
    assert "/" not in said.replace("row-level", "")
    by_name = {check.name: check.verdict for check in checks}
    assert by_name["protection"] is CheckVerdict.GOOD


async def test_an_observation_without_a_claim_is_no_candidate(house: House) -> None:
    async with house.world.memory.session() as session:
        await session.observe_many([Observation("Nothing to see.")])
    assert await house.world.operator.candidates() == []


async def test_lists_of_retention_states_have_pages_and_bounds(house: House) -> None:
    operator = house.world.operator
    for number in range(3):
        await operator.prefer(f"Preference number {number}.")
    first = await operator.kept(RetentionState.ACTIVE, limit=2)
    rest = await operator.kept(RetentionState.ACTIVE, limit=2, before=first[-1].id)
    assert [e.body_text for e in (*first, *rest)] == [
        f"Preference number {number}." for number in (2, 1, 0)
    ]
    gone = first[0].id
    await operator.tombstone(gone, reason="not needed")
    assert [e.id for e in await operator.kept(RetentionState.TOMBSTONED)] == [gone]
    bad: list[dict[str, Any]] = [{"limit": 0}, {"limit": 1_001}, {"limit": True}, {"before": "x"}]
    for wrong in bad:
        with pytest.raises(errors.InputError):
            await operator.kept(RetentionState.ACTIVE, **wrong)
    with pytest.raises(errors.InputError, match="state must be one of"):
        await operator.kept("GONE")  # type: ignore[arg-type]
    with pytest.raises(errors.InputError):
        await operator.refusals(limit=0)
    customer = house.world.bind(Principal.customer("cleo"))
    for refused in (customer.kept(RetentionState.ACTIVE), customer.refusals()):
        with pytest.raises(errors.CapabilityRefused):
            await refused

"""Explaining an action, as it stood; and what `verify` must not take for a fault."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from idetic import ChainHead, Claim, Idetic, Observation, Principal, SourceType, errors
from idetic.audit.explanation import ActionExplanation
from idetic.library.handles import Memory
from idetic.world.player import MONTH_BEGINS, perform
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.meanwhile import happens, without_snapshots
from tests.support.triggers import without_triggers
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True
KIND = "rule_promotion"


@dataclass(frozen=True)
class Acted:
    """A fact made of notes of two sessions, and an action that rested on it."""

    world: World
    clock: SettableClock
    database: TestDatabase
    action: UUID
    fact: UUID
    notes: tuple[UUID, ...]
    reader: UUID

    @property
    def auditor(self) -> Memory:
        return self.world.bind(Principal.auditor("ben"))

    async def explained(self) -> ActionExplanation:
        return await self.auditor.explain_action(self.action)


@pytest.fixture
async def acted(database: TestDatabase, db: Idetic) -> AsyncIterator[Acted]:
    clock = SettableClock()
    async with view_of(db, clock) as here:
        world = await make_world(here, await here.agent("world_agent"))
        notes = []
        for name in ("explorer", "scout"):
            memory = world.bind(Principal.agent(name))
            async with memory.session() as session, session.interaction() as turn:
                claim = Claim("friday wires", "second check", "late")
                seen = await turn.observe("It came late.", claim=claim, refs=[world.rule])
                notes.append(seen.entry_id)
            clock.advance(days=1)
        (fact,) = [e.id for e in await _candidates(world)]
        await vouch(world.memory, fact)
        await vouch(world.operator, fact, notes="yes")
        async with world.memory.session() as session:
            await session.context("When does the second check come on friday wires?")
            reader = session.id
        action = uuid4()
        await world.operator.link_action(action, KIND, [fact], reason="so we act")
        clock.advance(hours=1)
        made = tuple(note for note in notes if note)
        assert reader
        yield Acted(world, clock, database, action, fact, made, reader)


async def _candidates(world: World) -> list[Any]:
    return [e for e in await world.memory.list() if e.tier == "persistent"]


async def test_an_action_is_explained_down_to_the_words_of_its_notes(acted: Acted) -> None:
    told = await acted.explained()
    assert (told.kind, told.by, told.reason) == (KIND, "operator:ada", "so we act")
    (fact,) = told.entries
    assert fact.id == acted.fact
    assert fact.then is not None
    assert fact.then.body_text == "It came late."
    assert (fact.then.origin, fact.then.trust, fact.written_by) == ("agent", 60, "agent:explorer")
    # The notes stay as evidence; what was made of them is in between.
    behind = told.made_of
    assert set(acted.notes) <= set(behind)
    for note, name in zip(acted.notes, ("explorer", "scout"), strict=True):
        kept = behind[note]
        assert kept.then is not None
        assert kept.then.body_text == "It came late."
        assert (kept.state_then, kept.written_by) == ("archived", f"agent:{name}")
        assert [ref.id for ref in kept.references] == [acted.world.rule.id]
        assert kept.decisions[0].transition == "observed"
    assert fact.sources[0].trust == 60
    kinds = {one.source_type for one in fact.corroborations}
    assert kinds == {SourceType.OBSERVATION_EVENT, SourceType.OPERATOR_INPUT}
    assert len(fact.corroborations) == 4
    assert [(r.by, r.session_id) for r in fact.reads] == [("agent:explorer", acted.reader)]
    assert [(r.version, r.changed) for r in fact.references] == [(1, False)]
    assert fact.decisions[-1].transition == "action_linked"
    assert all(link.reason for link in fact.decisions)


def _then(told: ActionExplanation) -> Any:
    """What an explanation says of then: without what it says of now."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if not k.endswith("_now")}
        return [strip(each) for each in value] if isinstance(value, list) else value

    return strip(told.as_data())


async def test_what_comes_later_changes_nothing_about_then(acted: Acted) -> None:
    """Also what comes later within the same moment: positions decide, not times."""
    acted.clock.advance(hours=-1)
    before = await acted.explained()
    world, fact = acted.world, acted.fact
    later = await vouch(world.operator, fact)
    await world.operator.undo(later, reason="a mistake")
    first = before.entries[0].corroborations[-1]
    link = next(
        link
        for link in await world.memory.history(fact)
        if link.detail.get("corroboration") == str(first.id)
    )
    await world.operator.undo(link, reason="it was withdrawn")
    await world.operator.exempt(fact, reason="spared")
    archived = await world.operator.archive(fact, reason="no longer")
    acted.clock.advance(days=2)
    async with world.memory.session() as session:
        claim = Claim("friday wires", "second check", "late")
        await session.observe("It came late.", claim=claim)
        await session.context("When does the second check come on friday wires?")
    await world.worlds.put_rule(
        world.org_id, world.world_id, "Three checks now.", rule_id=world.rule.id
    )
    after = await acted.explained()
    assert _then(after) == _then(before)
    assert after.entries[0].state_now == "archived"
    assert [(r.version, r.version_now) for r in after.entries[0].references] == [(1, 2)]
    assert after.entries[0].references[0].changed
    assert "it is at version 2 now" in after.explain()
    await world.operator.undo(archived, reason="still true")
    assert _then(await acted.explained()) == _then(before)


async def test_a_superseded_preference_is_shown_as_it_stood(acted: Acted) -> None:
    operator, action = acted.world.operator, uuid4()
    brief = await operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    assert brief.entry_id
    await operator.link_action(action, KIND, [brief.entry_id, acted.fact])
    await operator.prefer("Say it all.", claim=Claim("output", "style", "full"))
    told = await acted.auditor.explain_action(action)
    one = next(each for each in told.entries if each.id == brief.entry_id)
    assert one.then is not None
    assert (one.then.superseded_at, one.then.superseded_by) == (None, None)
    assert (one.state_then, one.state_now) == ("current", "superseded")
    assert len(told.entries) == 2


async def test_the_text_and_the_data_say_the_same(acted: Acted) -> None:
    told = await acted.explained()
    text, data = told.explain(), told.as_data()
    assert json.loads(json.dumps(data)) == data
    assert data["action_id"] == str(acted.action)
    for said in ("It rested on 1 entry.", '"It came late."', "kept (UPDATE) by agent:scout"):
        assert said in text
    for note in acted.notes:
        assert str(note) in text


async def test_only_who_may_audit_one_whole_anchor_is_answered(acted: Acted) -> None:
    world = acted.world
    for memory in (world.memory, world.operator):
        for ask in (memory.head, memory.verify):
            with pytest.raises(errors.CapabilityRefused):
                await ask()
        with pytest.raises(errors.CapabilityRefused):
            await memory.explain_action(acted.action)
    across = world.agent.bind(org_id=world.org_id, principal=Principal.auditor("ben"))
    with pytest.raises(errors.AnchorRefused, match="one anchor"):
        await across.verify()
    with pytest.raises(errors.NotFound, match="no such action"):
        await acted.auditor.explain_action(uuid4())


async def test_a_head_survives_json_and_belongs_to_its_chain(
    acted: Acted, other_world: World
) -> None:
    head = await acted.auditor.head()
    data = json.loads(json.dumps(head.as_data()))
    assert list(data) == ["agent", "anchor", "position", "hash", "at"]
    again = ChainHead.from_data(data)
    assert again.as_data() == data
    assert (await acted.auditor.verify(again)).intact
    other = other_world.bind(Principal.auditor("ben"))
    with pytest.raises(errors.InputError, match="another chain"):
        await other.verify(again)
    for key, value in {"position": -1, "hash": "00", "at": "noon", "anchor": 1, "x": 1}.items():
        with pytest.raises(errors.InputError, match="not a chain's head"):
            ChainHead.from_data(data | {key: value})


async def test_a_chain_that_has_not_begun_verifies(other_world: World) -> None:
    auditor = other_world.bind(Principal.auditor("ben"))
    verified = await auditor.verify(await auditor.head())
    assert (verified.intact, verified.links, verified.head.position) == (True, 0, 0)
    assert verified.head.at is None


ODD = [1e16, -0.0, 1e22, 1e-7, 10**18, 0.1, True, "a\u001fb\u007f“\U0001f4a5"]


@pytest.mark.parametrize("value", ODD, ids=repr)
async def test_numbers_that_jsonb_spells_otherwise_are_no_fault(world: World, value: Any) -> None:
    await world.operator.prefer("Odd.", envelope={"tags": [value, "x"]})
    assert (await world.bind(Principal.auditor("ben")).verify()).problems == ()


async def test_emptied_and_undone_entries_are_no_fault(acted: Acted) -> None:
    operator = acted.world.operator
    kept = await operator.prefer("Kept.", claim=Claim("a", "b", "c"))
    gone = await operator.prefer("Gone.", claim=Claim("d", "e", "f"))
    assert kept.entry_id
    assert gone.entry_id
    await operator.undo(await operator.archive(kept.entry_id, reason="no"), reason="yes")
    await operator.tombstone(gone.entry_id, reason="asked to")
    assert (await acted.auditor.verify()).problems == ()
    acted.clock.advance(days=4_000)
    keeper = acted.world.bind(Principal.maintenance("nightly"))
    assert (await keeper.dispose_tombstones()).disposed
    assert (await acted.auditor.verify()).problems == ()


async def test_a_second_close_is_no_fault(acted: Acted) -> None:
    """Its link says that there was nothing to do, and of which scope."""
    memory = acted.world.memory
    async with memory.session() as session, session.interaction() as turn:
        await turn.close()
        again = await turn.close()
    second = await session.close()
    assert [one.receipt.detail["scope"] for one in (again, second)] == [
        str(turn.id),
        str(session.id),
    ]
    assert (await acted.auditor.verify()).problems == ()


@pytest.mark.parametrize("column", ["opened_by", "closed_at"])
async def test_control_a_scope_that_was_changed_is_named(acted: Acted, column: str) -> None:
    """As superuser; a second close of it hides nothing."""
    async with acted.world.memory.session() as session:
        await session.observe("Wires are late.")
        await session.close()
    other = "'agent:eve'" if column == "opened_by" else "NULL"
    with psycopg.connect(acted.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(
            SQL("UPDATE worlds.world_agent_memory_scopes SET {} = {} WHERE scope_id = %s").format(
                Identifier(column), SQL(other)
            ),
            [session.id],
        )
    (problem,) = (await acted.auditor.verify()).problems
    assert (problem.kind, problem.what) == ("altered", "scope")
    assert str(session.id) in problem.why


async def test_control_a_close_of_what_was_never_opened_is_named(acted: Acted) -> None:
    """The attacker takes the scope and rewrites the link that opened it, hashes and all."""
    async with acted.world.memory.session() as session:
        await session.close()
    with psycopg.connect(acted.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(
            "DELETE FROM worlds.world_agent_memory_scopes WHERE scope_id = %s", [session.id]
        )
        connection.execute(
            "UPDATE worlds.world_agent_memory_ledger SET transition = 'noted'"
            " WHERE transition = 'session_opened' AND detail ->> 'scope' = %s",
            [str(session.id)],
        )
    found = [one.why for one in (await acted.auditor.verify()).problems if one.what == "scope"]
    assert [str(session.id) in why for why in found] == [True]


# --- while others write -------------------------------------------------------------------------

STATEMENTS = 40


async def _live(acted: Acted, number: int) -> None:
    """A session with all that leaves rows beside entries; some of it goes again."""
    world, key = acted.world, f"{acted.action}/{number}"
    async with world.memory.session() as session, session.interaction() as turn:
        claim = Claim("friday wires", f"check {number}", "late")
        seen = Observation(
            f"Wire {number} came late.", claim=claim, refs=(world.rule,), idempotency_key=key
        )
        await turn.observe_many([seen])
        await session.context("When do wires come?")
        await turn.close()
    stated = await world.operator.prefer(f"Call desk {number} first.")
    assert stated.entry_id
    await world.operator.link_action(uuid4(), KIND, [stated.entry_id], reason="so we act")
    await world.operator.erase(f"desk {number}", reason="asked to")


async def test_what_is_written_meanwhile_is_no_fault(
    acted: Acted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session is lived before each statement of a verification, which reads one moment."""
    done = happens(monkeypatch, partial(_live, acted), STATEMENTS)
    found = await acted.auditor.verify()
    assert found.problems == ()
    assert done[0] > 20, "it came in between"
    monkeypatch.undo()
    later = await acted.auditor.verify()
    assert later.problems == ()
    assert later.links > found.links + done[0]


async def test_control_without_a_snapshot_some_of_it_is(
    acted: Acted, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_snapshots(monkeypatch)
    happens(monkeypatch, partial(_live, acted), STATEMENTS)
    assert (await acted.auditor.verify()).problems
    monkeypatch.undo()
    assert (await acted.auditor.verify()).problems == ()


async def test_a_broken_chain_can_be_raised(acted: Acted) -> None:
    verified = await acted.auditor.verify()
    verified.raise_if_broken()
    with psycopg.connect(acted.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute("UPDATE worlds.world_agent_memory_ledger SET actor = 'eve'"
                           " WHERE position = 2")  # fmt: skip
    broken = await acted.auditor.verify()
    with pytest.raises(errors.ChainBroken, match=r"problem\(s\) found.*at position 2: altered"):
        broken.raise_if_broken()


@pytest.mark.alone
async def test_a_month_of_memory_verifies_in_every_anchor(database: TestDatabase) -> None:
    """Promotions, merges, undone decisions, disposals: none of it looks like tampering."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        await perform(db, "month", lambda _: None, begins=MONTH_BEGINS)
        agent = await db.agent("world_agent")
        with psycopg.connect(database.admin_dsn) as connection:
            found = connection.execute(
                "SELECT org_id, domain_id FROM worlds.world_agent_memory_anchors"
            ).fetchall()
        assert found
        for org_id, domain_id in found:
            auditor = agent.bind(
                org_id=org_id, domain_id=domain_id, principal=Principal.auditor("ben")
            )
            assert (await auditor.verify()).problems == ()

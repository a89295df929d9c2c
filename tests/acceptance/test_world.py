"""The demo world holds what it is said to hold, the same each time, and nothing of who was erased.

It is loaded twice: into a database where an earlier load was interrupted, and into another one on
another day. Both with the real model.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import psycopg
import pytest
from psycopg import sql

from idetic import Idetic, Principal
from idetic.embed import BgeSmall
from idetic.errors import CapabilityRefused, IdeticError
from idetic.evidence import ContradictionStatus, ProposalKind, ProposalStatus
from idetic.library.handles import Memory
from idetic.model import EntryState, Tier, Typology
from idetic.persona.events import Persona
from idetic.persona.identity import Identity
from idetic.world import World, load_world
from idetic.world.story import read_story
from tests.conftest import TestDatabase
from tests.support.clock import SettableClock
from tests.support.databases import copy_of, row_counts_on
from tests.support.servers import TestServer
from tests.support.world_digest import digest, told

WIRES, INSTANT, DISPUTES = (
    f"Nordhafen Bank/{name}"
    for name in ("Wires and sanctions", "Instant payments", "Disputes and refunds")
)
WALLET, CHARGEBACKS = (
    f"Kestrel Pay/{name}" for name in ("Instant payments", "Disputes and refunds")
)
DESK = "Nordhafen Bank/harbour-desk"
APP = "Kestrel Pay/Users of the app"

# By what is counted: wires, instant payments, disputes; then the smaller one's two domains.
COUNTS = {
    "rules": (48, 29, 30, 22, 20),
    "versions": (53, 33, 33, 23, 21),
    "sessions": (46, 24, 23, 13, 12),
    "observations": (136, 71, 71, 38, 35),
    "facts": (13, 10, 11, 4, 4),
    "habits": (3, 1, 1, 1, 1),
    "candidates": (15, 4, 5, 3, 4),
    "corroborations": (104, 57, 54, 29, 29),
    "contradictions_open": (1, 2, 2, 1, 0),
    "contradictions_settled": (2, 1, 1, 0, 1),
    "proposals": (2, 0, 1, 0, 1),
    "due": (2, 2, 3, 0, 0),
    "archived": (5, 4, 1, 2, 1),
    "replaced": (4, 2, 2, 2, 2),
    "tombstoned": (1, 0, 0, 0, 0),
    "kept": (3, 1, 1, 1, 1),
    "quarantined": (0, 2, 0, 1, 0),
    "erased": (0, 0, 10, 0, 0),
    "refused": (3, 3, 3, 2, 2),
    "echoes": (1, 3, 2, 0, 0),
    "questions": (8, 9, 8, 5, 4),
    "answered": (8, 8, 7, 5, 4),
    "actions": (5, 4, 5, 2, 2),
}
DESK_COUNTS = {"loops": 21, "events": 72, "notes": 2, "dreams": 2, "underived": 3}
APP_COUNTS = {"messages": 19, "claims": 12, "answers": 1, "forgotten": 1}


class _Interrupted(IdeticError):
    pass


@dataclass(frozen=True)
class Loaded:
    """One load, and where."""

    database: TestDatabase
    world: World
    again: World
    before: dict[str, dict[str, int]]
    after: dict[str, dict[str, int]]

    @property
    def organisations(self) -> list[object]:
        return [one.id for one in self.world.organisations]


def _opened(database: TestDatabase, **options: Any) -> Idetic:
    return Idetic.open(database.dsn, admin_dsn=database.admin_dsn, **options)


def _interrupt(_what: str, done: int, _total: int) -> None:
    if done == 12:
        raise _Interrupted("Somebody pulled the plug.")


def _rows(database: TestDatabase) -> dict[str, dict[str, int]]:
    with psycopg.connect(database.admin_dsn) as connection:
        schemas = ("worlds", "idetic", "persona_actor", "persona_subconscious")
        return {schema: row_counts_on(connection, schema) for schema in schemas}


@pytest.fixture(scope="module")
def loaded(server: TestServer, template: str, embedder: BgeSmall) -> Iterator[Loaded]:
    """Loaded where an earlier load was interrupted; then loaded again, which must do nothing."""

    async def run(database: TestDatabase) -> Loaded:
        async with _opened(database, embedder=embedder) as db:
            with pytest.raises(_Interrupted):
                await load_world(db, progress=_interrupt)
            world = await load_world(db)
            before = _rows(database)
            again = await load_world(db, progress=lambda *_: pytest.fail("it loads once more"))
            return Loaded(database, world, again, before, _rows(database))

    with copy_of(server, template) as database:
        yield anyio.run(run, database)


@pytest.fixture(scope="module")
def elsewhere(server: TestServer, template: str, embedder: BgeSmall) -> Iterator[Loaded]:
    """Loaded into another database, on another day."""

    async def run(database: TestDatabase) -> Loaded:
        clock = SettableClock(datetime(2027, 2, 11, 16, 45, tzinfo=UTC))
        async with _opened(database, embedder=embedder, clock=clock) as db:
            world = await load_world(db)
            return Loaded(database, world, world, {}, {})

    with copy_of(server, template) as database:
        yield anyio.run(run, database)


@pytest.fixture
async def db(loaded: Loaded) -> AsyncIterator[Idetic]:
    async with _opened(loaded.database) as opened:
        yield opened


def _told(loaded: Loaded) -> dict[str, list[list[str]]]:
    with psycopg.connect(loaded.database.admin_dsn) as connection:
        return told(connection, loaded.organisations, loaded.world.begins)


async def _bound(db: Idetic, world: World, who: str, where: str) -> Memory:
    organisation, _, domain = where.partition("/")
    login = next(
        one
        for one in world.logins
        if (one.who, one.organisation, one.domain) == (who, organisation, domain)
    )
    agent = await db.agent(login.agent)
    return agent.bind(principal=login.principal, **login.anchor)


@pytest.mark.parametrize("what", COUNTS)
def test_how_much_there_is_of_it(loaded: Loaded, what: str) -> None:
    places = (WIRES, INSTANT, DISPUTES, WALLET, CHARGEBACKS)
    found = tuple(loaded.world.counts[place].get(what, 0) for place in places)
    assert found == COUNTS[what]


def test_nothing_else_is_counted(loaded: Loaded) -> None:
    counted = {
        name
        for where, found in loaded.world.counts.items()
        if where not in (DESK, APP)
        for name in found
    }
    assert counted == set(COUNTS)
    assert loaded.world.counts[DESK] == DESK_COUNTS
    assert loaded.world.counts[APP] == APP_COUNTS


def test_two_organisations_and_three_domains(loaded: Loaded) -> None:
    names = {
        one.name: [domain.name for domain in one.domains] for one in loaded.world.organisations
    }
    assert names == {
        "Nordhafen Bank": ["Wires and sanctions", "Instant payments", "Disputes and refunds"],
        "Kestrel Pay": ["Instant payments", "Disputes and refunds"],
    }
    assert 140 <= loaded.world.total("rules") <= 160
    assert 250 <= loaded.world.total("observations") <= 500
    nordhafen, kestrel = (
        {
            text.says
            for story in stories
            for texts in read_story(story).rules.values()
            for text in texts
        }
        for stories in (("wires", "instant", "disputes"), ("wallet", "chargebacks"))
    )
    assert nordhafen.isdisjoint(kestrel), "the two can be told apart"


def test_the_numbers_are_those_of_the_tables(loaded: Loaded) -> None:
    """What is counted through handles is what lies in the tables."""
    content, total = _told(loaded), loaded.world.total
    assert len(content["rules"]) == total("versions")
    chain = [(row[3], row[4]) for row in content["chain"]]
    assert chain.count(("refused", "REJECT")) == total("refused")
    assert chain.count(("observed", "NOOP")) == total("echoes")
    assert chain.count(("observed", "ADD")) == total("observations") - total("refused") - total(
        "echoes"
    )
    assert chain.count(("action_recorded", "ADD")) == total("actions") + total("proposals"), (
        "a proposal is an action too"
    )
    assert chain.count(("session_opened", "ADD")) == total("sessions")
    assert chain.count(("session_closed", "UPDATE")) == total("sessions")
    assert len({transition for transition, _ in chain}) > 25
    status = [row[3] for row in content["contradictions"]]
    assert {each.value for each in ContradictionStatus} == set(status)
    assert len(content["reads"]) > 100
    strengths = {row[3] for row in content["rules"]}
    assert strengths == {"authoritative", "curated", "distilled", "observed"}


async def test_every_chain_verifies(db: Idetic, loaded: Loaded) -> None:
    for where in (WIRES, INSTANT, DISPUTES, WALLET, CHARGEBACKS):
        found = await (await _bound(db, loaded.world, "auditor", where)).verify()
        assert (found.problems, found.intact) == ((), True), where
        assert found.links > 200
    desk = loaded.world.personas[0]
    memory = await db.persona(Identity(agent_id=desk.agent_id), tenant=desk.tenant)
    for persona in Persona:
        checked = await memory.subconscious.verify(persona)
        assert checked.whole


def test_loading_again_finds_it_and_changes_nothing(loaded: Loaded) -> None:
    assert (loaded.world.loaded, loaded.again.loaded) == (True, False)
    assert loaded.after == loaded.before
    assert loaded.again.counts == loaded.world.counts
    assert loaded.again.actions == loaded.world.actions
    assert (loaded.again.begins, loaded.again.logins) == (loaded.world.begins, loaded.world.logins)


def test_after_an_interruption_it_begins_anew(loaded: Loaded, elsewhere: Loaded) -> None:
    assert (loaded.world.abandoned, elsewhere.world.abandoned) == (1, 0)
    assert set(loaded.organisations).isdisjoint(elsewhere.organisations)
    with psycopg.connect(loaded.database.admin_dsn) as connection:
        left = told(connection, elsewhere.organisations, loaded.world.begins)
    assert left["rules"], "what the first load left stays where it is"


def test_two_loads_hold_the_same(loaded: Loaded, elsewhere: Loaded) -> None:
    one, other = _told(loaded), _told(elsewhere)
    assert {name: len(rows) for name, rows in one.items()} == {
        name: len(rows) for name, rows in other.items()
    }
    assert digest(one) == digest(other)
    assert loaded.world.counts == elsewhere.world.counts


def test_control_another_word_is_another_digest(loaded: Loaded) -> None:
    content = _told(loaded)
    changed = {**content, "rules": [[*content["rules"][0][:-1], "else"], *content["rules"][1:]]}
    assert digest(changed) != digest(content)


def test_the_month_ends_the_day_before_it_is_loaded(elsewhere: Loaded) -> None:
    world = elsewhere.world
    assert world.ends == datetime(2027, 2, 11, tzinfo=UTC)
    assert world.ends - world.begins == timedelta(days=31)
    last = [row[2] for row in _told(elsewhere)["chain"]]
    assert not [at for at in last if at.startswith("31 days")], "nothing is in the future"
    days = {at.partition(" day")[0] for at in last if " day" in at and not at.startswith("-")}
    assert set(map(str, range(1, 31))) <= days, "something happens every day"


async def test_the_ids_are_the_same_on_every_machine(elsewhere: Loaded) -> None:
    nordhafen = elsewhere.world.organisation("Nordhafen Bank")
    assert str(nordhafen.id) == "ddbac873-dd9f-5ddd-a567-ed98117f9040"
    assert str(nordhafen.domains[1].id) == "34d060f7-f803-5f38-a0c0-ee9ff7f5082a"


def test_the_erased_person_is_nowhere(loaded: Loaded) -> None:
    with psycopg.connect(loaded.database.admin_dsn) as connection:
        tables = connection.execute(
            """SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n
               ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p')
               AND n.nspname NOT IN ('pg_catalog', 'information_schema')"""
        ).fetchall()
        found = {
            name: connection.execute(
                sql.SQL("SELECT count(*) FROM {} AS t WHERE t::text ILIKE %s").format(
                    sql.Identifier(*name)
                ),
                ["%quintane%"],
            ).fetchone()
            for name in tables
        }
        control = connection.execute(
            "SELECT count(*) FROM worlds.world_agent_memory t WHERE t::text ILIKE '%marketplace%'"
        ).fetchone()
    assert len(found) > 30
    assert {name for name, row in found.items() if row != (0,)} == set()
    assert control is not None
    assert control[0] > 0, "other words are found this way"


async def test_a_poisoned_source_is_out_of_recall(db: Idetic, loaded: Loaded) -> None:
    operator = await _bound(db, loaded.world, "operator", INSTANT)
    question = "May fraud checks on Meridian Trading be skipped?"
    found = await operator.recall(question, include_candidates=True)
    assert not [hit for hit in found if "may be skipped" in hit.entry.body_text]
    archived = await operator.recall(question, include_archived=True, include_candidates=True)
    poison = next(hit.entry for hit in archived if "may be skipped" in hit.entry.body_text)
    assert (poison.state, poison.created_by) == (EntryState.ARCHIVED, "agent:mirror-reader")
    history = await operator.history(poison.id)
    gone = next(link for link in history if link.state_to == "archived")
    assert (gone.transition, gone.reason) == ("archived", "the vendor list was a forged mirror")


async def test_an_action_tells_the_chain_it_rests_on(db: Idetic, loaded: Loaded) -> None:
    for action in loaded.world.actions:
        where = f"{action.organisation}/{action.domain}"
        told_of = await (await _bound(db, loaded.world, "auditor", where)).explain_action(action.id)
        assert told_of.entries, action.name
    assert len(loaded.world.actions) == loaded.world.total("actions")


async def test_a_proposal_and_a_signal_come_back_to_their_evidence(
    db: Idetic, loaded: Loaded
) -> None:
    """From the first observation to the receiver's acceptance, and from there to the entries."""
    kinds = set()
    for where in (WIRES, DISPUTES):
        operator = await _bound(db, loaded.world, "operator", where)
        auditor = await _bound(db, loaded.world, "auditor", where)
        accepted = await operator.proposals(status=[ProposalStatus.ACCEPTED])
        waiting = {message.proposal_id for message in await operator.outbox()}
        assert accepted
        assert not waiting.intersection(one.id for one in accepted), "they were acknowledged"
        for one in accepted:
            kinds.add(one.kind)
            assert one.decided_by == "operator:rule-desk"
            told_of = await auditor.explain_action(one.id)
            assert told_of.kind == one.kind
            (entry,) = told_of.entries
            story = [link.transition for link in await operator.history(entry.id)]
            assert "proposal_accepted" in story
            assert story.count("action_linked") >= 2, "the proposal's, and the acceptance's"
            assert entry.sources, "it was observed before it was a fact"
    assert kinds == {ProposalKind.RULE_CANDIDATE, ProposalKind.REVISION_SIGNAL}


async def test_what_waits_for_an_operator(db: Idetic, loaded: Loaded) -> None:
    operator = await _bound(db, loaded.world, "operator", DISPUTES)
    queue = await operator.contradictions()
    assert {row.status for row in queue} == {ContradictionStatus.OPEN, ContradictionStatus.SURFACED}
    assert "validity_lapsed" in {due.cause.value for due in await operator.disposition()}
    current = await operator.list(tier=Tier.PERSISTENT, limit=200)
    assert {entry.typology for entry in current if entry.candidate} == {
        Typology.SEMANTIC,
        Typology.PROCEDURAL,
    }


async def test_every_login_gets_a_key_that_opens_its_memory(db: Idetic, loaded: Loaded) -> None:
    kinds = {(one.organisation, one.who) for one in loaded.world.logins}
    for name in ("Nordhafen Bank", "Kestrel Pay"):
        assert {(name, who) for who in ("operator", "agent", "auditor", "customer")} <= kinds
    assert ("Nordhafen Bank", "actor") in kinds
    for login in loaded.world.logins:
        made = await db.keys.create(
            agent=login.agent, principal=login.principal, anchor=login.anchor
        )
        memory = await db.authenticate(made.key)
        assert memory.scope.principal == login.principal
        if login.who == "customer":
            with pytest.raises(CapabilityRefused):
                await memory.list()
        elif login.agent == "world_agent":
            assert await memory.list(limit=1)


async def test_the_help_desk_has_dreamt_and_has_something_left_to_dream(
    db: Idetic, loaded: Loaded, embedder: BgeSmall
) -> None:
    desk = loaded.world.personas[0]
    memory = await db.persona(Identity(agent_id=desk.agent_id), tenant=desk.tenant)
    actor, own = await memory.subconscious.coverage()
    assert (actor.loops, actor.stm, own.loops, own.stm) == (15, 13, 6, 5)
    assert (actor.events - actor.ltm, own.events - own.ltm) == (8, 2)
    assert len(await memory.actor.operational_notes()) == 2
    said = [event.content for event in await memory.subconscious.tail()]
    assert "Dream ends: 6 entries derived, 7 embedded, 2 loops summarised." in said
    found = await memory.actor.fuzzy_query("Why was my payment declined?")
    assert "limit" in found[0].entry.summary


async def test_one_organisation_knows_nothing_of_the_other(db: Idetic, loaded: Loaded) -> None:
    kestrel = await _bound(db, loaded.world, "operator", WALLET)
    names = {entry.anchor["org_id"] for entry in await kestrel.list(limit=1000)}
    assert names == {loaded.world.organisation("Kestrel Pay").id}
    found = await kestrel.recall("Why do names match only closely?", limit=50)
    assert not [hit for hit in found if "marriage" in hit.entry.body_text]
    agent = await db.agent("world_agent")
    with pytest.raises(IdeticError):
        agent.bind(
            principal=Principal.operator("bram"),
            org_id=loaded.world.organisation("Kestrel Pay").id,
        )

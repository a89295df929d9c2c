"""One agent against the gates: whatever it does alone, its claim is no fact, and no fact falls.

Each attack is played twice. First as the house is: it must fail. Then with the protection off that
it meets: the same attack must succeed, or the test would prove nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from idetic import Claim, Idetic, Observation, Origin, Principal, Tier, errors
from idetic.evidence import Corroboration, Outcome, SourceType
from idetic.ids import uuid7
from idetic.library.handles import Memory, Session
from idetic.lifecycle import corroborations
from idetic.lifecycle.verified_source import VerifiedSource
from idetic.model import EntryState
from idetic.spec.loader import load
from tests.conftest import TestDatabase, World, make_world
from tests.support.clock import SettableClock
from tests.support.databases import copy_of, view_of
from tests.support.http_house import serving
from tests.support.mcp_house import key_for, make_house, over_stdio
from tests.support.servers import TestServer
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True

MALLORY = Principal.agent("mallory")
LIE = Claim("partner bank", "cut-off", "23:00")
TRUTH = Claim("partner bank", "fee", "2 EUR")
TOLD = "Wires leave until 23:00."


@dataclass
class House:
    """A world, and the attacker's memory of it."""

    world: World
    other: World
    clock: SettableClock
    fact: UUID

    @property
    def mallory(self) -> Memory:
        return self.world.bind(MALLORY)

    async def believed(self) -> bool:
        """Whether the lie is current, and more than a candidate."""
        found = await self.world.operator.list(tier=Tier.PERSISTENT, limit=1000)
        return any(not e.candidate and e.claim and e.claim.value in WANTED for e in found)

    async def fell(self) -> bool:
        """Whether what others established no longer stands."""
        return (await self.world.operator.get(self.fact)).state is not EntryState.CURRENT


WANTED = {LIE.value, "twice"}


@pytest.fixture
async def house(db: Idetic) -> House:
    return await moved_in(db)


@pytest.fixture(scope="module")
async def gullible_db(
    server: TestServer, template: str, anyio_backend: str
) -> AsyncIterator[Idetic]:
    """A database in which each session counts, whoever opened it."""
    why = "So that the attack succeeds, and the protection is seen to matter."
    data: dict[str, Any] = load("world_agent").as_data()
    data["promotion"] = {
        "deviations": [
            {"cell": cell, "set": {"independence": "sessions"}, "justification": why}
            for cell in ("episodic_transient", "semantic")
        ]
    }
    with copy_of(server, template) as database:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            await db.apply(data)
            yield db


async def moved_in(db: Idetic, spec: str | dict[str, Any] = "world_agent") -> House:
    """Two worlds under a clock of the test's own; in the first, three agents know a fact."""
    clock = SettableClock()
    here = view_of(db, clock)
    agent = await here.agent(spec)
    house = House(await make_world(here, agent), await make_world(here, agent), clock, uuid4())
    for name in ("explorer", "scout", "tracer"):
        memory = house.world.bind(Principal.agent(name))
        await say(memory, Observation("Wires cost 2 EUR.", claim=TRUTH))
    held = await house.world.operator.list(tier=Tier.PERSISTENT)
    (house.fact,) = [entry.id for entry in held if not entry.candidate]
    return house


async def say(memory: Memory, *said: Observation) -> list[UUID]:
    """One session with a thread for each statement; the entries that it wrote."""
    async with memory.session() as session:
        made = []
        for one in said:
            async with session.interaction() as turn:
                (receipt,) = await turn.observe_many([one])
                made += [receipt.entry_id] if receipt.entry_id else []
    return made


def lie(text: str = TOLD, **more: Any) -> Observation:
    return Observation(text, claim=LIE, **more)


async def candidate(house: House) -> UUID:
    """The lie as it stands after one honest-looking session of the attacker."""
    await say(house.mallory, lie())
    found = await house.world.operator.list(tier=Tier.PERSISTENT, limit=1000)
    return next(e.id for e in found if e.claim == LIE)


# --- minted sessions: the control lets each session count -----------------------------------------

Attack = Callable[[House], Awaitable[None]]
SESSIONS: dict[str, Attack] = {}
SOURCES: dict[str, Attack] = {}


def minted(attack: Attack) -> Attack:
    SESSIONS[attack.__name__] = attack
    return attack


def sourced(attack: Attack) -> Attack:
    SOURCES[attack.__name__] = attack
    return attack


@minted
async def three_sessions(house: House) -> None:
    for _ in range(3):
        await say(house.mallory, lie())


@minted
async def twelve_sessions(house: House) -> None:
    for _ in range(12):
        await say(house.mallory, lie())


@minted
async def many_threads_of_two_sessions(house: House) -> None:
    for _ in range(2):
        await say(house.mallory, *[lie()] * 6)


@minted
async def other_words_for_the_same_claim(house: House) -> None:
    for text in (TOLD, "The cut-off is 23:00.", "Until 23:00 they go.", "23:00 it is."):
        await say(house.mallory, lie(text))


@minted
async def as_if_a_tool_had_said_it(house: House) -> None:
    for origin in (None, Origin.TOOL, Origin.TOOL, Origin.TOOL):
        await say(house.mallory, lie(heard_from=origin))


@minted
async def as_if_users_had_said_it(house: House) -> None:
    for origin in (None, Origin.USER, Origin.EXTERNAL, Origin.TOOL):
        await say(house.mallory, lie(heard_from=origin))


@minted
async def with_keys_of_its_own_choice(house: House) -> None:
    for number in range(4):
        await say(house.mallory, lie(idempotency_key=f"key {number}"))


@minted
async def with_other_versions_of_the_model(house: House) -> None:
    for number in range(4):
        await say(house.mallory, lie(provenance={"world_model_version": f"v{number}"}))


@minted
async def with_a_rule_as_its_ground(house: House) -> None:
    for _ in range(4):
        await say(house.mallory, lie(refs=(house.world.rule,)))


@minted
async def days_apart(house: House) -> None:
    for _ in range(4):
        await say(house.mallory, lie())
        house.clock.advance(days=3)


@minted
async def left_for_the_sweeper_to_close(house: House) -> None:
    keeper = house.world.bind(Principal.maintenance("sweeper"))
    for _ in range(4):
        session = await house.mallory.session().open()
        await session.observe(TOLD, claim=LIE)
        house.clock.advance(days=1)
        await keeper.recover()


@minted
async def threads_that_the_sweeper_closes(house: House) -> None:
    keeper = house.world.bind(Principal.maintenance("sweeper"))
    for _ in range(4):
        session = await house.mallory.session().open()
        turn = await session.interaction().open()
        await turn.observe(TOLD, claim=LIE)
        house.clock.advance(days=1)
        await keeper.recover()


@minted
async def closed_by_an_operator(house: House) -> None:
    for _ in range(4):
        session = await house.mallory.session().open()
        await session.observe(TOLD, claim=LIE)
        assert session.id is not None
        await house.world.operator.session(session.id).close()


@minted
async def notes_of_the_sessions_themselves(house: House) -> None:
    for _ in range(4):
        async with house.mallory.session() as session:
            await session.observe(TOLD, claim=LIE)


@minted
async def in_one_batch_each(house: House) -> None:
    for _ in range(4):
        async with house.mallory.session() as session:
            await session.observe_many([lie(), lie("Until 23:00, as always.")])


@minted
async def sessions_side_by_side(house: House) -> None:
    held: list[Session] = []
    for _ in range(4):
        session = await house.mallory.session().open()
        await session.observe(TOLD, claim=LIE)
        held.append(session)
    for session in held:
        await session.close()


@minted
async def a_habit_of_somebody_else(house: House) -> None:
    claim = Claim("second reviewer", "prefers", "twice")
    for number in range(10):
        said = Observation(f"The reviewer asked for it twice, {number}.", claim=claim)
        await say(house.mallory, said)


@minted
async def weighed_again_by_maintenance(house: House) -> None:
    for _ in range(4):
        await say(house.mallory, lie())
    await house.world.bind(Principal.maintenance("sweeper")).promote()


@minted
async def other_values_against_a_fact(house: House) -> None:
    for number in range(6):
        claim = Claim(TRUTH.subject, TRUTH.attribute, f"{number + 3} EUR")
        await say(house.mallory, Observation(f"Wires cost {number + 3} EUR.", claim=claim))


@minted
async def one_other_value_against_a_fact(house: House) -> None:
    claim = Claim(TRUTH.subject, TRUTH.attribute, "9 EUR")
    for _ in range(6):
        await say(house.mallory, Observation("Wires cost 9 EUR.", claim=claim))


@minted
async def as_if_others_had_spoken(house: House) -> None:
    for speaker in ("ada", "operator:ada", "agent:scout", "the desk"):
        await say(house.mallory, lie(speaker=speaker))


@minted
async def about_times_of_its_own_choice(house: House) -> None:
    for days in range(4):
        await say(house.mallory, lie(valid_at=house.clock.now() - timedelta(days=40 * days)))


@minted
async def under_other_envelopes(house: House) -> None:
    for topic in ("payments", "payments/wire", "banks", "banks/partner"):
        await say(house.mallory, lie(envelope={"topic": topic}))


@minted
async def in_sessions_that_it_names_itself(house: House) -> None:
    for number in range(4):
        async with house.mallory.session(UUID(int=number + 1)) as session:
            await session.observe(TOLD, claim=LIE)


@minted
async def under_claims_that_only_look_different(house: House) -> None:
    for subject in ("partner bank", "Partner Bank", " partner  bank ", "PARTNER\u00a0BANK"):
        claim = Claim(subject, LIE.attribute, LIE.value)
        await say(house.mallory, Observation(TOLD, claim=claim))


# --- invented sources: the control believes what the caller says of them --------------------------


@sourced
async def references_that_lead_nowhere(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, uuid4())


@sourced
async def its_own_words_of_other_sessions(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        async with house.mallory.session() as session:
            said = await session.observe(TOLD, claim=LIE)
            assert said.entry_id is not None
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(entry, said.entry_id)


@sourced
async def the_entry_itself(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, entry)


@sourced
async def what_it_was_made_of(house: House) -> None:
    entry = await candidate(house)
    for one in [*await house.mallory.lineage(entry)] * 2:
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, one.source_id)


@sourced
async def what_others_said_about_something_else(house: House) -> None:
    entry = await candidate(house)
    for one in await house.mallory.lineage(house.fact):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, one.source_id)


@sourced
async def a_fact_about_something_else(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, house.fact)


@sourced
async def entries_of_another_tenant(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        async with house.other.memory.session() as session:
            said = await session.observe(TOLD, claim=LIE)
            assert said.entry_id is not None
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(entry, said.entry_id)


@sourced
async def a_rule(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, house.world.rule.id)


@sourced
async def sessions_of_its_own(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        async with house.mallory.session() as session:
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(entry, session.id)


@sourced
async def actions(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        action = uuid4()
        await house.mallory.link_action(action, "published_decision", [entry])
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, action)


@sourced
async def nothing_at_all(house: House) -> None:
    entry = await candidate(house)
    for _ in range(6):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry)


@sourced
async def the_same_under_many_keys(house: House) -> None:
    entry = await candidate(house)
    async with house.mallory.session() as session:
        said = await session.observe(TOLD, claim=LIE)
        for number in range(6):
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(
                    entry, said.entry_id, idempotency_key=f"again {number}"
                )


@sourced
async def from_within_other_sessions(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        async with house.mallory.session():
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(entry, uuid4(), notes="seen again")


@sourced
async def invented_failures_of_a_fact(house: House) -> None:
    for _ in range(6):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(house.fact, uuid4(), holds=False)


@sourced
async def inferred_failures_of_a_fact(house: House) -> None:
    for _ in range(6):
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(house.fact, holds=False)


@sourced
async def failures_by_what_says_the_same(house: House) -> None:
    session = await house.mallory.session().open()
    for number in range(6):
        said = await session.observe(f"Wires cost 2 EUR, {number}.", claim=TRUTH)
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(house.fact, said.entry_id, holds=False)


@sourced
async def receipts_of_its_own_words(house: House) -> None:
    entry = await candidate(house)
    for _ in range(4):
        async with house.mallory.session() as session:
            said = await session.observe(TOLD, claim=LIE)
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(entry, said.id)


@sourced
async def what_supports_it_already(house: House) -> None:
    entry = await candidate(house)
    for one in [*await house.mallory.corroborations(entry)] * 4:
        with suppress(errors.IdeticError):
            await house.mallory.corroborate(entry, one.id)


@sourced
async def sessions_of_others(house: House) -> None:
    entry = await candidate(house)
    for name in ("explorer", "scout", "tracer"):
        async with house.world.bind(Principal.agent(name)).session() as session:
            with suppress(errors.IdeticError):
                await house.mallory.corroborate(entry, session.id)


async def believing(
    tx: Any, supported: Any, source: UUID | None, *, holds: bool, notes: str | None
) -> VerifiedSource:
    """The protection off: a source is whatever the caller says, and each is somebody else's."""
    del supported, source, holds
    kind, by = SourceType.OBSERVATION_EVENT, f"agent:{uuid4()}"
    told = Corroboration(uuid7(), kind, uuid4(), tx.at, tx.actor, by, Origin.AGENT, notes=notes)
    return VerifiedSource([told])


@pytest.mark.parametrize("name", SESSIONS)
async def test_nobody_mints_sessions_to_promote_themselves(house: House, name: str) -> None:
    await SESSIONS[name](house)
    assert (await house.believed(), await house.fell()) == (False, False)


@pytest.mark.parametrize("name", SESSIONS)
async def test_control_where_sessions_count_it_works(gullible_db: Idetic, name: str) -> None:
    (*_, held) = await gullible_db.spec_versions("world_agent")
    house = await moved_in(gullible_db, held.spec)
    await SESSIONS[name](house)
    assert await house.believed() or await house.fell()


@pytest.mark.parametrize("name", SOURCES)
async def test_nobody_invents_a_source(house: House, name: str) -> None:
    await SOURCES[name](house)
    assert (await house.believed(), await house.fell()) == (False, False)


@pytest.mark.parametrize("name", SOURCES)
async def test_control_where_sources_are_believed_it_works(
    house: House, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corroborations, "verified_source", believing)
    await SOURCES[name](house)
    assert await house.believed() or await house.fell()


# --- over the wire: the control is a second agent's key -------------------------------------------


@pytest.mark.parametrize("keys", [1, 2])
async def test_a_model_over_mcp_cannot_mint_sessions(database: TestDatabase, keys: int) -> None:
    """It names as many sessions as it likes; with one key it is one voice."""
    mcp = await make_house(database)
    world = mcp.mine.world
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        held = [mcp.mine.keys["agent"], await key_for(db, world, Principal.agent("scout"))][:keys]
    async with AsyncExitStack() as stack:
        told = [await stack.enter_async_context(over_stdio(mcp, key=key)) for key in held]
        for number in range(6):
            client, _ = told[number % keys]
            at = {"session_id": str(uuid4())}
            await client.call_tool("observe", {"text": TOLD, "claim": LIE.as_dict(), **at})
            await client.call_tool("close_session", at)
    async with Idetic.open(database.dsn) as db:
        agent = await db.agent("world_agent")
        anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
        memory = agent.bind(principal=Principal.operator("ada"), **anchor)
        (found,) = await memory.list(tier=Tier.PERSISTENT)
    assert found.candidate is (keys == 1)


async def test_no_caller_names_the_kind_of_a_source(database: TestDatabase) -> None:
    """Over HTTP the fields that said so are refused, not ignored."""
    with serving(database) as process:
        mcp = await make_house(database)
        world = mcp.mine.world
        anchor = {"org_id": str(world.org_id), "domain_id": str(world.domain_id)}
        headers = {"Authorization": f"Bearer {mcp.mine.keys['agent']}"}
        async with httpx.AsyncClient(
            base_url=process.address, headers=headers, timeout=60
        ) as client:
            where = f"/v1/entries/{uuid4()}/corroborations"
            forged = {"source_type": "operator_input", "source_ref": str(uuid4())}
            refused = await client.post(where, json=forged, params=anchor)
            honest = await client.post(where, json={}, params=anchor)
    assert refused.status_code == 422, refused.text
    assert honest.status_code == 404, "control: only the entry is missing"


# --- what only others may do: the control is somebody who may -------------------------------------


async def test_an_agent_cannot_confirm_as_an_operator_does(house: House) -> None:
    entry = await candidate(house)
    for outcome in (Outcome.PROMOTE, Outcome.RECORROBORATE):
        with pytest.raises(errors.CapabilityRefused):
            await house.mallory.dispose([entry], outcome, reason="it is so")
    with pytest.raises(errors.CapabilityRefused):
        await house.mallory.promote()
    assert not await house.believed()
    await house.world.operator.dispose([entry], Outcome.PROMOTE, reason="it is so")
    assert await house.believed(), "control: an operator may"


async def test_what_an_agent_infers_renews_nothing(house: House) -> None:
    house.clock.advance(days=91)
    await house.mallory.corroborate(house.fact)
    assert [one.entry.id for one in await house.world.operator.disposition()] == [house.fact]
    await house.world.operator.corroborate(house.fact)
    assert await house.world.operator.disposition() == [], "control: an operator's word does"


async def test_a_fact_of_higher_trust_is_not_worn_down(house: House) -> None:
    """Three agents agree against an operator's preference, and it stands."""
    claim = Claim("reviewer", "prefers evidence", "links")
    stated = await house.world.operator.prefer("Links, please.", claim=claim)
    assert stated.entry_id is not None
    for name in ("mallory", "eve", "trudy", "carol"):
        other = Claim("reviewer", "prefers evidence", "screenshots")
        for _ in range(3):
            said = Observation("Screenshots, please.", claim=other)
            await say(house.world.bind(Principal.agent(name)), said)
    assert (await house.world.operator.get(stated.entry_id)).state is EntryState.CURRENT


async def test_control_two_agents_and_an_operator_make_a_fact(house: House) -> None:
    """What the gates are for still gets through."""
    await say(house.world.bind(Principal.agent("explorer")), lie())
    await say(house.world.bind(Principal.agent("scout")), lie())
    assert not await house.believed()
    found = await house.world.operator.list(tier=Tier.PERSISTENT, limit=1000)
    await vouch(house.world.operator, next(e.id for e in found if e.claim == LIE))
    assert await house.believed()


async def test_evidence_stays_as_long_as_something_rests_on_it_and_no_longer(
    house: House,
) -> None:
    operator, keeper = house.world.operator, house.world.bind(Principal.maintenance("sweeper"))
    entry = await candidate(house)
    words = [one.source_id for one in await operator.lineage(entry)]
    assert [(await operator.get(one)).body_text for one in words] == [TOLD] * len(words)
    everything = await operator.recall("until when do wires leave", include_archived=True)
    assert not {hit.entry.id for hit in everything} & set(words), "evidence is never recalled"
    await operator.tombstone(entry, reason="a lie")
    house.clock.advance(days=1)
    assert (await keeper.dispose_tombstones()).evidence == (), "its grace is not over"
    house.clock.moment += timedelta(days=30)
    done = await keeper.dispose_tombstones()
    assert {one.entry_id for one in done.evidence} == set(words)
    for one in words:
        with pytest.raises(errors.EntryNotFound):
            await operator.get(one)
    kept = [one.source_id for one in await operator.lineage(house.fact)]
    assert all([(await operator.get(one)).body_text for one in kept]), "control: a fact's stay"

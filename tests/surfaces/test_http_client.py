"""The Python client: the library's verbs and nouns, over a real server, async and sync."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import anyio
import pytest

from idetic import (
    Claim,
    ContradictionStatus,
    Decision,
    Observation,
    Origin,
    Outcome,
    Principal,
    Tier,
    errors,
    explain,
)
from idetic.client import connect, connect_sync
from idetic.client.client_errors import (
    AnswerUnreadable,
    ConnectionClosed,
    ServerUnavailable,
    error_of,
)
from idetic.library.handles import Memory
from idetic.spec.retention import RetentionState
from idetic.store.queue import JobState
from idetic.verbs.declaration import VERBS
from tests.conftest import RULE_TEXT
from tests.support.cutting_proxy import Cutting, cutting
from tests.support.http_house import House

pytestmark = pytest.mark.anyio


@pytest.fixture
async def operator(house: House) -> AsyncIterator[Memory]:
    async with connect(house.address, await house.key()) as memory:
        yield memory


@pytest.fixture
async def auditor(house: House) -> AsyncIterator[Memory]:
    async with connect(house.address, await house.key(Principal.auditor("ben"))) as memory:
        yield memory


@pytest.fixture
async def keeper(house: House) -> AsyncIterator[Memory]:
    async with connect(house.address, await house.key(Principal.maintenance("m"))) as memory:
        yield memory


# --- the same names -----------------------------------------------------------------------------


async def test_it_is_the_library_s_own_handle(operator: Memory) -> None:
    assert type(operator) is Memory
    for name, verb in VERBS.items():
        assert verb.http is not None or name in (
            "open_scope",
            "export_to",
            "import_from",
            "disclose_to",
        ), name


async def test_what_is_done_beside_the_database_says_so(operator: Memory) -> None:
    with pytest.raises(errors.InputError, match="works only in the process"):
        await operator.export_to("here.jsonl")
    with pytest.raises(errors.InputError, match="key_scope"):
        _ = operator.scope


# --- the same answers ---------------------------------------------------------------------------


def alike(remote: Any, local: Any) -> None:
    """Equal but for anchors, whose values JSON holds as texts."""
    assert [_plain(each) for each in remote] == [_plain(each) for each in local]


def _plain(entry: Any) -> Any:
    held = {name: getattr(entry, name) for name in entry.__slots__}
    return {**held, "anchor": {k: str(v) for k, v in entry.anchor.items()}}


async def test_writing_and_reading(house: House, operator: Memory) -> None:
    local = house.world.operator
    claim = Claim("findings", "detail", "full")
    first = await operator.prefer("List every sample.", claim=claim)
    second = await operator.prefer("Give a count.", claim=Claim("findings", "detail", "brief"))
    assert (second.decision, second.superseded) == (Decision.UPDATE, first.entry_id)
    assert first.entry_id
    assert await operator.history(first.entry_id) == await local.history(first.entry_id)
    alike([await operator.get(first.entry_id)], [await local.get(first.entry_id)])
    alike(await operator.list(limit=5), await local.list(limit=5))
    alike(await operator.as_of(first.at), await local.as_of(first.at))
    assert len(await operator.overdue(limit=3)) <= 3
    last = (await operator.list(limit=1))[0].id
    alike(await operator.list(limit=1, before=last), await local.list(limit=1, before=last))


async def test_sessions_and_interactions(house: House) -> None:
    async with connect(house.address, await house.key(Principal.agent("explorer"))) as memory:
        async with memory.session() as session, session.interaction() as turn:
            seen = await turn.observe(
                "The second check came late.",
                envelope={"topic": "payments/wire"},
                refs=[house.world.rule],
                heard_from=Origin.TOOL,
                valid_at=datetime.now(UTC) - timedelta(hours=1),
            )
            many = await session.observe_many([Observation("One."), Observation("Two.")])
            assert [each.decision for each in many] == [Decision.ADD, Decision.ADD]
            assert [entry.id for entry in await turn.list()] == [seen.entry_id]
            assert {entry.tier for entry in await session.list(tier=Tier.SESSION)} == {Tier.SESSION}
            await session.renew()
            resumed = memory.session(session.id).resume().interaction(turn.id).resume()
            again = await resumed.observe("And from elsewhere.")
            assert again.decision is Decision.ADD
            found = await turn.recall("What came late?", include_candidates=True)
            assert found.hits[0].entry.id == seen.entry_id
            assert "The second check came late." in explain(found)
            context = await turn.context("What came late?", budget=500)
            assert "came late" in context.text
            closed = await turn.close("done")
            assert closed.receipt.decision is Decision.UPDATE or closed.decided
        with pytest.raises(errors.ScopeClosed):
            await turn.observe("Too late.")
        with pytest.raises(errors.ScopeClosed):
            await memory.session(session.id).resume().observe("Too late, says the server.")


async def test_looking_up(house: House, operator: Memory) -> None:
    local = house.world.operator
    drafts = [
        Observation(
            f"Ask {who} about refunds.",
            claim=Claim(who, "answers", "refunds"),
            envelope={"topic": "payments/refunds"},
        )
        for who in ("Vera", "Otto")
    ]
    stated = await operator.prefer_many(drafts)
    assert [each.decision for each in stated] == [Decision.ADD, Decision.ADD]
    alike(await operator.about(["vera"]), await local.about(["vera"]))
    assert [entry.id for entry in await operator.about(["VERA"])] == [stated[0].entry_id]
    where = {"topic": "payments/refunds"}
    assert {e.id for e in await operator.list(where=where)} == {s.entry_id for s in stated}
    assert {h.entry.id for h in (await operator.recall("refunds", where=where)).hits} <= {
        s.entry_id for s in stated
    }
    assert await operator.tally("topic", where=where) == {"payments/refunds": 2}
    first = stated[0].entry_id
    assert first
    assert await operator.last_read([first]) == {}
    await operator.note_read([first])
    assert await operator.last_read([first]) == await local.last_read([first])
    async with house.http(await house.key()) as http:
        answer = await http.get("/v1/entries", params={"where": "[]"})
    assert (answer.status_code, "JSON object" in answer.text) == (422, True)


async def test_moving(house: House, operator: Memory) -> None:
    local = house.world.operator
    here = b"".join([chunk async for chunk in operator.export()])
    assert here == b"".join([chunk async for chunk in local.export()])
    exported = [{"id": "m1", "memory": "Refunds over 500 EUR are checked by Vera."}]
    tried = await operator.adopt("mem0", exported, dry_run=True)
    assert (tried.taken, tried.dry_run) == (1, True)
    assert (await operator.adopt("mem0", exported)).taken == 1
    async with connect(house.address, await house.key(Principal.agent("a"))) as agent:
        with pytest.raises(errors.CapabilityRefused):
            [chunk async for chunk in agent.export()]
    async with house.http(await house.key()) as http:
        path = {"source": "mem0", "data": "/etc/hostname"}
        refused = await http.post("/v1/adopt", json=path)
    assert refused.status_code == 422, "a file of the server's must never be read"


async def test_maturing(house: House, operator: Memory, keeper: Memory) -> None:
    local = house.world.operator
    made = await operator.prefer("Check twice on Fridays.")
    assert made.entry_id
    await operator.corroborate(made.entry_id, notes="Seen.")
    assert await operator.corroborations(made.entry_id) == await local.corroborations(made.entry_id)
    assert await operator.lineage(made.entry_id) == await local.lineage(made.entry_id)
    assert await operator.gates(made.entry_id) == await local.gates(made.entry_id)
    await operator.contradict(made.entry_id, house.world.rule, reason="the rule says once")
    (open_one,) = await operator.contradictions()
    assert [open_one] == await local.contradictions()
    await operator.resolve(open_one.id, ContradictionStatus.DISMISSED, notes="a misreading")
    assert await operator.contradictions() == []
    dismissed = await operator.contradictions(status=[ContradictionStatus.DISMISSED])
    assert [each.id for each in dismissed] == [open_one.id]
    archived = await operator.archive(made.entry_id, reason="old")
    undone = await operator.undo(archived, reason="not that old")
    assert undone.decision is Decision.UPDATE
    await operator.exempt(made.entry_id, reason="for good")
    buried = await operator.prefer("A mistake.")
    assert buried.entry_id
    await operator.tombstone(buried.entry_id, reason="a mistake")
    with pytest.raises(errors.IdeticError):
        await operator.dispose([uuid4()], Outcome.ARCHIVE, reason="unknown")
    assert await operator.disposition() == await local.disposition()
    assert await keeper.mark_due() == 0
    assert (await keeper.dispose_tombstones()).disposed == ()
    assert (await keeper.reconcile()).orphaned == ()
    assert await keeper.recover() == []
    assert (await keeper.rescan()).shadows == ()
    assert (await keeper.consolidate()).failures == ()
    assert await keeper.promote() == []


async def test_asking_from_outside(house: House, operator: Memory) -> None:
    await operator.prefer("Wire releases on Fridays wait for a second desk.")
    async with connect(house.address, await house.key(Principal.customer("cleo"))) as customer:
        known = await customer.ask("What do wire releases on Fridays wait for?")
        assert known.known
        assert "second desk" in known.text
        assert not (await customer.ask("Who painted the ceiling?")).known
        with pytest.raises(errors.CapabilityRefused):
            await customer.list()


async def test_governing(house: House, operator: Memory) -> None:
    seen = await operator.prefer("Reports begin with a count.")
    assert seen.entry_id
    left = await operator.propose([seen.entry_id], reason="a proposal")
    assert [each.statement for each in left.proposals] == ["Reports begin with a count."]
    named = await operator.prefer("Ask Zora Quell before a release.")
    done = await operator.erase(["Zora Quell"], reason="request 17")
    assert done.found
    assert named.entry_id in done.entries
    nothing = await operator.erase("Zora Quell", reason="again")
    assert not nothing.found
    taken = await operator.quarantine(created_by=Principal.operator("nobody"), reason="odd")
    assert taken.entries == ()
    liked = await operator.prefer("Trust the tool.")
    taken = await operator.quarantine(created_by=Principal.operator("ada"), reason="a leaked key")
    assert liked.entry_id in taken.entries
    await operator.release(taken, reason="it was not leaked")
    assert liked.entry_id in {entry.id for entry in await operator.list()}


async def test_auditing(house: House, operator: Memory, auditor: Memory) -> None:
    made = await operator.prefer("Keep the samples.")
    assert made.entry_id
    action = uuid4()
    await operator.link_action(action, "rule_promotion", [made.entry_id], reason="it rested on it")
    local = house.world.bind(Principal.auditor("ben"))
    shown = await auditor.explain_action(action)
    assert shown.as_data() == (await local.explain_action(action)).as_data()
    assert "Keep the samples." in shown.explain()
    head = await auditor.head()
    assert head.hash == (await local.head()).hash
    await operator.prefer("One more link.")
    told: list[tuple[int, int]] = []
    checked = await auditor.verify(head, lambda done, total: told.append((done, total)))
    assert checked.intact
    assert checked.as_data()["compared"] == head.as_data()
    assert told
    assert told[-1][0] == told[-1][1] == checked.links
    plain = await auditor.verify()
    assert (plain.links, plain.intact) == (checked.links, True)
    assert (await auditor.spec())["agent"] == "world_agent"
    scope = await auditor.key_scope()
    assert scope.principal == Principal.auditor("ben")
    assert sorted(scope.capabilities) == ["audit", "read", "read_across"]


async def test_overseeing(house: House, operator: Memory, auditor: Memory) -> None:
    local, world = house.world.operator, house.world
    explorer = world.memory
    async with explorer.session() as session:
        await session.observe(
            "The cutoff for wires is 16:00.",
            claim=Claim("wires", "cutoff", "16:00"),
            refs=[world.rule],
            heard_from=Origin.TOOL,
        )
    found, here = await operator.overview(days=7), await local.overview(days=7)
    assert (found.cells, found.written, found.states) == (here.cells, here.written, here.states)
    assert (found.candidates, found.refused) == (here.candidates, here.refused)
    for state in RetentionState:
        alike(await operator.kept(state), await local.kept(state))
    assert await operator.retention() == await local.retention()
    first, *rest = await local.kept(RetentionState.ACTIVE)
    told, *_ = await operator.retention(entry_id=first.id)
    assert told.states == {RetentionState.ACTIVE: 1}
    alike(await operator.kept(RetentionState.ACTIVE, limit=1, before=first.id), rest[:1])
    assert await operator.refusals() == await local.refusals()
    since, until = here.since, here.at + timedelta(days=1)
    assert await operator.refusals(since=until) == []
    alike(await operator.written(since, until), await local.written(since, until))
    assert await operator.written(since, until, tier=Tier.INTERACTION, before=first.id) == []
    alike(await operator.unembedded(limit=5), await local.unembedded(limit=5))
    assert await operator.jobs() == await local.jobs()
    assert [job.task for job in await operator.jobs(task="embed", state=JobState.WAITING)]
    async with explorer.session() as session, session.interaction() as turn:
        opened = await operator.sessions()
        assert opened == await local.sessions()
        assert (session.id, (turn.id,)) in [(one.id, one.interactions) for one in opened]
        there = operator.session(session.id)
        block = await there.context("When is the cutoff?", preview=True)
        inside = await session.context("When is the cutoff?", preview=True)
        assert block.included == inside.included, "the server has a model, and this process none"
    waiting, same = (await operator.candidates())[-1], (await local.candidates())[-1]
    assert (waiting.gates, waiting.entry.body_text) == (same.gates, same.entry.body_text)
    assert await operator.candidates(limit=1, after=waiting.entry.id) == []
    entry_id = waiting.entry.id
    assert await operator.references(entry_id) == await local.references(entry_id)
    taken = await operator.quarantine(origin=Origin.TOOL, reason="odd")
    assert await operator.quarantines() == await local.quarantines()
    assert (await operator.quarantines(limit=1))[0].position == taken.receipt.position
    await operator.release(taken, reason="it was not")
    action = uuid4()
    await operator.link_action(action, "rule_promotion", [entry_id], reason="it rested on it")
    away = world.bind(Principal.auditor("ben"))
    assert await auditor.actions() == await away.actions()
    assert action not in {one.action_id for one in await auditor.actions(before=action)}
    await operator.context("What is the cutoff for wires?")
    assert await auditor.readers(entry_id) == await away.readers(entry_id)


# --- the same errors ----------------------------------------------------------------------------


async def test_errors_come_back_as_what_they_are(house: House, operator: Memory) -> None:
    local = house.world.operator
    attempts: tuple[Callable[[Any], Awaitable[Any]], ...] = (
        lambda memory: memory.get(uuid4()),
        lambda memory: memory.prefer("a\x00b"),
        lambda memory: memory.prefer("Fine.", envelope={"undeclared": 1}),
        lambda memory: memory.observe("Straight into semantic memory.", typology="semantic"),
        lambda memory: memory.verify(),
        lambda memory: memory.link_action(uuid4(), "no_such_kind", [uuid4()]),
    )
    for wrong in attempts:
        with pytest.raises(errors.IdeticError) as here:
            await wrong(local)
        with pytest.raises(errors.IdeticError) as there:
            await wrong(operator)
        assert type(there.value) is type(here.value)
        assert str(there.value) == str(here.value)


async def test_a_refusal_by_the_guard_brings_its_receipt(house: House) -> None:
    key = await house.key(Principal.agent("explorer"))
    async with connect(house.address, key) as memory, memory.session() as session:
        with pytest.raises(errors.ShadowRefused) as caught:
            await session.observe(RULE_TEXT)
    assert caught.value.detail["receipt"].decision is Decision.REJECT


@pytest.mark.parametrize("wrong", ["not-a-uuid", "../scope", None, 5])
async def test_only_ids_can_be_part_of_an_address(operator: Memory, wrong: Any) -> None:
    with pytest.raises(errors.InputError):
        await operator.get(wrong)


async def test_arguments_that_json_cannot_hold(operator: Memory) -> None:
    for wrong in (object(), float("nan"), {1, object()}):
        with pytest.raises(errors.InputError):
            await operator.prefer("Fine.", envelope={"topic": wrong})


def test_a_code_that_this_release_does_not_know() -> None:
    made = error_of(
        {"code": "from_the_future", "detail": "It rains.", "remedy": "Wait.", "id": "x"}
    )
    assert type(made) is errors.IdeticError
    assert (str(made), made.detail["code"]) == ("It rains. Wait.", "from_the_future")


async def test_wrong_addresses_and_keys(house: House) -> None:
    with pytest.raises(errors.InputError):
        connect("http://x", "idk_\n")
    with pytest.raises(errors.InputError):
        connect("http://x", "idk_", retries=-1)
    async with connect(house.address, "idk_wrong") as memory:
        with pytest.raises(errors.KeyRefused):
            await memory.list()
    with pytest.raises(ConnectionClosed):
        await memory.list()
    async with connect("http://127.0.0.1:9", "idk_x", retries=0) as memory:
        with pytest.raises(ServerUnavailable):
            await memory.list()


async def test_a_server_that_is_not_ours() -> None:
    async def answer(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - not Django's
        async with connect(f"http://127.0.0.1:{port}", "idk_x", retries=0) as memory:
            with pytest.raises(AnswerUnreadable):
                await memory.list()
        group.cancel_scope.cancel()


# --- answers that get lost ----------------------------------------------------------------------


@pytest.fixture
async def proxy(house: House) -> AsyncIterator[Cutting]:
    async with cutting(house.address) as made:
        yield made


async def test_a_write_whose_answer_is_lost_is_sent_again_and_done_once(
    house: House, proxy: Cutting
) -> None:
    async with connect(proxy.address, await house.key()) as memory:
        proxy.lose = 2
        receipt = await memory.prefer("Say it once.")
        assert (proxy.seen, receipt.replayed) == (3, True)
        same = [e for e in await memory.list(limit=1000) if e.body_text == "Say it once."]
        assert [entry.id for entry in same] == [receipt.entry_id]


async def test_what_cannot_be_repeated_is_sent_once(house: House, proxy: Cutting) -> None:
    async with connect(proxy.address, await house.key()) as memory:
        made = await memory.prefer("Dispose of me.")
        assert made.entry_id
        proxy.lose, proxy.seen = 1, 0
        with pytest.raises(ServerUnavailable):
            await memory.dispose([made.entry_id], Outcome.EXEMPT, reason="once")
        assert proxy.seen == 1


async def test_without_retries_a_write_is_sent_once_and_without_a_key(
    house: House, proxy: Cutting
) -> None:
    async with connect(proxy.address, await house.key(), retries=0) as memory:
        proxy.lose = 1
        with pytest.raises(ServerUnavailable):
            await memory.prefer("Perhaps.")
        assert proxy.seen == 1


async def test_reading_and_opening_are_repeated(house: House, proxy: Cutting) -> None:
    async with connect(proxy.address, await house.key()) as memory:
        proxy.lose = 1
        assert await memory.list(limit=1) is not None
        proxy.lose = 1
        session = await memory.session().open()
        assert (await session.observe("Opened once.")).decision is Decision.ADD


# --- without an event loop ----------------------------------------------------------------------


async def test_the_same_without_await(house: House) -> None:
    key = await house.key()

    def use() -> str:
        with connect_sync(house.address, key) as memory:
            made = memory.prefer("Without await.")
            with memory.session() as session, session.interaction() as turn:
                turn.observe("Nor here.")
                assert len(turn.list()) == 1
            with pytest.raises(errors.EntryNotFound):
                memory.get(uuid4())
            assert made.entry_id is not None
            text = memory.get(made.entry_id).body_text
        with pytest.raises(ConnectionClosed):
            memory.list()
        return text

    assert await anyio.to_thread.run_sync(use) == "Without await."

"""The perfect log: literal, gapless, gated at its entrance, and safe whatever happens behind it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest

from idetic import Idetic, open_sync
from idetic.errors import (
    AnchorRefused,
    IdempotencyConflict,
    IdeticError,
    InputError,
    ScopeClosed,
)
from idetic.persona.events import (
    CONTENT_MAX,
    REDACTED,
    RESERVED,
    EventDraft,
    EventKind,
    Persona,
    Visibility,
)
from idetic.persona.identity import Identity
from idetic.persona.ltm_derivation import Derivation
from idetic.persona.persona_errors import EventRefused, KindUnknown, MetadataReserved
from idetic.persona.persona_memory import PersonaMemory
from tests.conftest import TestDatabase
from tests.support.clock import START, SettableClock
from tests.support.databases import view_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.meanwhile import happens, without_snapshots
from tests.support.persona import TENANT, pool_of, remembering, task, thought

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"
SHARED = True


@pytest.fixture
def db(db: Idetic) -> Idetic:
    return view_of(db, embedder=FakeEmbedder())


@pytest.fixture
async def memory(db: Idetic) -> PersonaMemory:
    return await remembering(db, tenant=uuid4().hex)


@pytest.fixture
def admin(database: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.admin_dsn) as connection:
        yield connection


# --- what goes in comes out ----------------------------------------------------------------------


async def test_an_event_comes_back_as_it_was_written(memory: PersonaMemory) -> None:
    said = {"tool": "search", "nested": {"list": [1, 2.5, None, True], "text": "äöü 日本"}}
    at = datetime(2026, 3, 1, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    text = " Line one.\r\nLine 'two' \\ {}\t "
    async with memory.loop("a task") as loop:
        written = await loop.append(
            EventKind.TOOL_RESULT, text, visibility=Visibility.INTERNAL, metadata=said, ts=at
        )
    read = await memory.actor.get_by_id(written.id)
    assert read == written
    assert (read.agent_id, read.persona, read.loop_id) == ("help-desk", Persona.ACTOR, loop.id)
    assert (read.kind, read.visibility) == (EventKind.TOOL_RESULT, Visibility.INTERNAL)
    assert (read.content, dict(read.metadata), read.ts) == (text, said, at), "to the last space"
    assert (read.position, len(read.digest)) == (1, 32)


async def test_all_nine_kinds_and_an_empty_content_are_kept(memory: PersonaMemory) -> None:
    async with memory.loop("all", Persona.SUBCONSCIOUS) as loop:
        await loop.append_many([EventDraft(kind, "") for kind in EventKind])
    assert [event.kind for event in await memory.subconscious.tail()] == list(EventKind)
    assert (await memory.dream()).coverage[1].events == len(EventKind) + 2


async def test_a_range_is_paged_by_time(memory: PersonaMemory) -> None:
    moments = [START + timedelta(minutes=m) for m in (5, 1, 3, 3, 2, 4)]
    async with memory.loop() as loop:
        await loop.append_many([EventDraft(EventKind.SYSTEM_EVENT, str(m), ts=m) for m in moments])
    wanted = [START + timedelta(minutes=m) for m in (1, 2, 3, 3, 4)]
    end = START + timedelta(minutes=5)
    page = await memory.actor.get_range(START, end)
    assert [event.ts for event in page.events] == wanted, "the end does not belong to it"
    assert page.next is None
    found, after = [], None
    while True:
        page = await memory.actor.get_range(START, end, limit=2, after=after)
        found += [event.position for event in page.events]
        after = page.next
        if after is None:
            break
    assert found == [2, 5, 3, 4, 6]
    east = timezone(timedelta(hours=-7))
    same = await memory.actor.get_range(START.astimezone(east), end.astimezone(east))
    assert [event.position for event in same.events] == found, "a moment is one in any time zone"


@pytest.mark.parametrize("naive", [datetime(2026, 3, 1), "2026-03-01", None, 5])  # noqa: DTZ001
async def test_a_moment_without_a_time_zone_is_refused(memory: PersonaMemory, naive: Any) -> None:
    for span in ((naive, START), (START, naive)):
        with pytest.raises(InputError):
            await memory.actor.get_range(*span)
    if naive is not None:
        async with memory.loop() as loop:
            with pytest.raises(InputError):
                await loop.append(EventKind.USER_INPUT, "when?", ts=naive)


async def test_a_reader_that_tails_sees_every_commit_once_and_in_order(
    memory: PersonaMemory,
) -> None:
    """Eight writers, some in batches; a reader that never waits for them."""
    seen: list[int] = []
    total, done = 8 * 40, anyio.Event()

    async def write(number: int) -> None:
        async with memory.loop() as loop:
            for turn in range(20):
                drafts = [
                    EventDraft(EventKind.SYSTEM_EVENT, f"{number} {turn} {n}") for n in (0, 1)
                ]
                if turn % 2:
                    await loop.append_many(drafts)
                else:
                    for draft in drafts:
                        await loop.append(draft.kind, draft.content)

    async def read() -> None:
        while len(seen) < total:
            seen.extend(e.position for e in await memory.actor.tail(seen[-1] if seen else 0))
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        for number in range(8):
            group.start_soon(write, number)
    assert done.is_set()
    assert seen == list(range(1, total + 1))
    assert (await memory.actor.verify()).whole


@pytest.mark.parametrize("still", [True, False], ids=["one moment", "control"])
async def test_what_is_said_while_a_log_is_verified_is_no_fault(
    memory: PersonaMemory, monkeypatch: pytest.MonkeyPatch, *, still: bool
) -> None:
    await task(memory, "When?", "At eight.")
    if not still:
        without_snapshots(monkeypatch)
    done = happens(monkeypatch, lambda n: task(memory, f"When {n}?", f"At {n}."), times=2)
    found = await memory.actor.verify()
    assert done == [2]
    assert (found.whole, found.events == 4) == (still, still)
    monkeypatch.undo()
    assert (await memory.actor.verify()).whole


async def test_many_events_go_in_as_one(memory: PersonaMemory) -> None:
    async with memory.loop() as loop:
        events = await loop.append_many(
            EventDraft(EventKind.SYSTEM_EVENT, f"number {n}") for n in range(1_200)
        )
    assert [event.position for event in events] == list(range(1, 1_201))
    assert [e.id for e in await memory.actor.tail(limit=1_200)] == [e.id for e in events]
    assert (await memory.actor.verify()).events == 1_200
    async with memory.loop() as loop:
        with pytest.raises(InputError):
            await loop.append_many([EventDraft(EventKind.SYSTEM_EVENT, "x")] * 10_001)
        with pytest.raises(EventRefused):
            await loop.append_many([EventDraft(EventKind.SYSTEM_EVENT, "x"), "no draft"])  # type: ignore[list-item]
    assert (await memory.actor.head()).position == 1_200, "all are checked before one is written"


async def test_a_repeated_id_is_one_event(memory: PersonaMemory) -> None:
    async with memory.loop() as loop:
        one = uuid4()
        first = await loop.append(EventKind.USER_INPUT, "once", id=one, metadata={"n": 1.0})
        await loop.append(EventKind.USER_INPUT, "twice")
        again = await loop.append(EventKind.USER_INPUT, "once", id=one, metadata={"n": 1.0})
        assert again == first
        with pytest.raises(IdempotencyConflict):
            await loop.append(EventKind.USER_INPUT, "something else", id=one)
    assert [event.content for event in await memory.actor.tail()] == ["once", "twice"]


# --- the entrance --------------------------------------------------------------------------------


async def test_secrets_and_personal_data_do_not_enter(memory: PersonaMemory) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    async with memory.loop() as loop:
        event = await loop.append(
            EventKind.USER_INPUT, f"My key is {key}, mail ada@example.com",
            metadata={"claim": {"mail": "ada@example.com"}, "fine": "as it is"},
        )  # fmt: skip
        only = await loop.append(EventKind.TOOL_RESULT, "ada@example.com")
    read = await memory.actor.get_by_id(event.id)
    assert read == event
    whole = f"{event.content} {dict(event.metadata)} {only.content}"
    assert key not in whole
    assert "ada@" not in whole
    assert event.metadata["fine"] == "as it is"
    assert event.metadata[REDACTED]["email"] == 2
    assert "removed" in only.content, "a log keeps that something was said"
    hits = await memory.actor.rag_query("key mail ada example")
    assert all(key not in hit.entry.summary for hit in hits)


@pytest.mark.parametrize("key", sorted({*RESERVED, REDACTED}))
async def test_reserved_metadata_keys_cannot_be_set(memory: PersonaMemory, key: str) -> None:
    async with memory.loop() as loop:
        with pytest.raises(MetadataReserved):
            await loop.append(EventKind.USER_INPUT, "x", metadata={key: "subconscious"})
    assert await memory.actor.tail() == []


BAD: list[tuple[dict[str, Any], type[IdeticError]]] = [
    ({"kind": "dream"}, KindUnknown),
    ({"kind": EventKind.SUBCONSCIOUS_OUTPUT}, EventRefused),
    ({"kind": EventKind.SUBCONSCIOUS_PROMPT}, EventRefused),
    ({"content": "a\x00b"}, EventRefused),
    ({"content": "\ud800"}, EventRefused),
    ({"content": b"bytes"}, EventRefused),
    ({"content": None}, EventRefused),
    ({"content": "x" * (CONTENT_MAX + 1)}, EventRefused),
    ({"visibility": "secret"}, EventRefused),
    ({"metadata": {"a": float("nan")}}, EventRefused),
    ({"metadata": {"a": "\x00"}}, EventRefused),
    ({"metadata": ["a"]}, EventRefused),
    ({"metadata": {"a": "x" * 100_000}}, EventRefused),
    ({"id": "no uuid"}, InputError),
]


@pytest.mark.parametrize(("bad", "error"), BAD)
async def test_bad_events_are_refused_and_leave_nothing(
    memory: PersonaMemory, bad: dict[str, Any], error: type[IdeticError]
) -> None:
    async with memory.loop() as loop:
        good: dict[str, Any] = {"kind": EventKind.USER_INPUT, "content": "x"}
        with pytest.raises(error) as raised:
            await loop.append(**{**good, **bad})
    assert raised.value.remedy
    assert "SELECT" not in str(raised.value)
    assert await memory.actor.tail() == []


@pytest.mark.parametrize("tenant", ["", "*", "a\x1fb", "x" * 201, None, 5])
async def test_a_tenant_is_a_text_without_tricks(db: Idetic, tenant: Any) -> None:
    with pytest.raises(AnchorRefused):
        await db.persona(Identity(agent_id="a"), tenant=tenant)


async def test_the_identity_is_one(db: Idetic) -> None:
    with pytest.raises(InputError):
        await db.persona({"agent_id": "a"}, tenant=TENANT)  # type: ignore[arg-type]


# --- loops ---------------------------------------------------------------------------------------


async def test_a_loop_closes_with_an_error_event_when_its_body_raises(
    memory: PersonaMemory,
) -> None:
    loop = memory.loop("divide")

    async def divide() -> None:
        async with loop:
            await loop.append(EventKind.USER_INPUT, "one by zero")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await divide()
    events = await memory.actor.loop(loop.id)
    assert [event.kind for event in events] == [EventKind.USER_INPUT, EventKind.ERROR]
    assert events[1].content == "ZeroDivisionError: division by zero"
    (entry,) = await memory.actor.window()
    assert entry.loop_id == loop.id
    assert entry.kinds == (EventKind.USER_INPUT, EventKind.ERROR)
    with pytest.raises(ScopeClosed):
        await loop.append(EventKind.USER_INPUT, "after the end")


async def test_a_cancelled_loop_closes_too(memory: PersonaMemory) -> None:
    with anyio.CancelScope() as scope:
        async with memory.loop("wait") as loop:
            await loop.append(EventKind.USER_INPUT, "for ever")
            scope.cancel()
            await anyio.sleep(60)
    kinds = [event.kind for event in await memory.actor.loop(loop.id)]
    assert kinds == [EventKind.USER_INPUT, EventKind.ERROR]
    assert [entry.loop_id for entry in await memory.actor.window()] == [loop.id]


@pytest.mark.alone
async def test_the_bodys_own_error_is_what_comes_out(db: Idetic, memory: PersonaMemory) -> None:
    async def divide() -> None:
        async with memory.loop() as loop:
            await loop.append(EventKind.USER_INPUT, "x")
            await pool_of(memory, Persona.ACTOR).close()
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        await divide()
    assert "could not be written" in raised.value.__notes__[0]


async def test_a_loop_refers_to_its_entries_in_order(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    events = await task(memory, "Which platform?", "Platform nine.")
    (entry,) = await memory.actor.window()
    ids = [found.id for e in events if (found := await memory.actor.entry_of(e.id))]
    assert list(entry.ltm_ids) == ids
    named = admin.execute(
        "SELECT array_agg(l.source_id) FROM persona_actor.persona_agent_actor_memory m "
        "JOIN persona_actor.persona_agent_actor_memory_lineage l USING (memory_id) "
        "WHERE m.loop_id = %s",
        (events[0].loop_id,),
    ).fetchone()
    assert named is not None
    assert sorted(named[0]) == sorted(ids), "its lineage names the same"
    assert entry.ts == max(event.ts for event in events)
    assert "Platform nine." in entry.summary
    other = await thought(memory, "They like numbers.")
    assert other[0].loop_id != events[0].loop_id


# --- nothing behind the log is in its way --------------------------------------------------------


@pytest.mark.alone
async def test_an_event_is_kept_although_deriving_fails_in_the_database(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    admin.execute(
        """CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN RAISE EXCEPTION ''no''; END'"""
    )
    admin.execute(
        """CREATE TRIGGER broken BEFORE INSERT ON persona_actor.persona_agent_actor_memory
           FOR EACH ROW WHEN (NEW.event_id IS NOT NULL) EXECUTE FUNCTION broken()"""
    )
    admin.commit()
    events = await task(memory, "Is it kept?", "It is.")
    assert await memory.actor.tail() == events
    coverage = await memory.actor.coverage()
    assert (coverage.events, coverage.ltm, coverage.stm) == (4, 0, 1)
    assert set(coverage.without_ltm) == {event.id for event in events}
    admin.execute("DROP TRIGGER broken ON persona_actor.persona_agent_actor_memory")
    admin.commit()
    dreamt = await memory.dream()
    assert dreamt.coverage[0].without_ltm == ()
    assert dreamt.coverage[0].without_stm == (), "its summary names the entries now"


async def test_an_event_is_kept_although_the_compactor_fails(db: Idetic) -> None:
    def broken(_: Any) -> str:
        raise RuntimeError("no")

    ways = [broken, lambda _: "", lambda _: "\x00", lambda _: 5, lambda _: "x" * 5_000]
    for number, way in enumerate(ways):
        derivation = Derivation("broken", compact=way)  # type: ignore[arg-type]
        memory = await remembering(db, f"agent-{number}", derivation=derivation)
        events = await task(memory, "Is it kept?", "It is.")
        assert await memory.actor.tail() == events
        assert (await memory.dream()).coverage[0].ltm == 0
        healed = await remembering(db, f"agent-{number}")
        assert (await healed.dream()).coverage[0].ltm == 4


async def test_without_derivation_the_log_alone_is_written(db: Idetic) -> None:
    memory = await remembering(db, derive=False)
    await task(memory, "Only the log?", "Only the log.")
    coverage = await memory.actor.coverage()
    assert (coverage.events, coverage.ltm, coverage.loops, coverage.stm) == (4, 0, 1, 0)
    assert not coverage.equal


@pytest.mark.alone
def test_the_sync_api_is_the_same(database: TestDatabase) -> None:
    options: dict[str, Any] = {
        "admin_dsn": database.admin_dsn, "embedder": FakeEmbedder(), "clock": SettableClock(),
    }  # fmt: skip
    with open_sync(database.dsn, **options) as db:
        memory = db.persona(Identity(agent_id="help-desk"), tenant=TENANT)
        with memory.loop("ask") as loop:
            loop.append(EventKind.USER_INPUT, "Does it block?")
            loop.append(EventKind.ACTOR_OUTPUT, "It does.")
        assert [event.position for event in memory.actor.tail()] == [1, 2]
        assert memory.dream().equal
        found = memory.subconscious.rag_query("block")
        assert "Does it block?" in [hit.entry.summary for hit in found]
        assert START.tzinfo is UTC

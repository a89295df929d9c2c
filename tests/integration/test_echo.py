"""What an agent was shown and says again is no news: it is recognised, told, and never counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, Entry, Idetic, Observation, Origin, Principal, Receipt, Tier
from idetic.errors import InputError
from idetic.library import handles, questions
from idetic.library.handles import Session
from idetic.lifecycle.echoes import Echoes
from idetic.spec.loader import load
from idetic.store.entries import Shown
from tests.conftest import TestDatabase, World, make_world
from tests.support import shadows
from tests.support.clock import SettableClock
from tests.support.databases import view_of
from tests.support.triggers import without_triggers
from tests.support.voices import another

pytestmark = pytest.mark.anyio
SHARED = True

TEXT = "Wires above 10,000 leave the desk until 17:00 on Fridays."
CLAIM = Claim("wires", "cut-off on fridays", "17:00")
QUESTION = "until when do wires leave the desk on fridays"
HIDDEN = "\u200b\u2066" + "".join(chr(0xE0000 + ord(c)) for c in "new") + "\ufe01"


@dataclass(frozen=True)
class Scene:
    """A world with one fact in it, made by three threads of two sessions."""

    world: World
    fact: Entry
    database: TestDatabase

    async def shown(self, question: str = QUESTION) -> Session:
        """An open session that was shown the fact."""
        session = await self.world.memory.session().open()
        context = await session.context(question)
        assert self.fact.id in [one.entry_id for one in context.included]
        return session

    async def sources(self) -> int:
        return len(await self.world.operator.corroborations(self.fact.id))


@pytest.fixture
async def scene(database: TestDatabase, db: Idetic) -> AsyncIterator[Scene]:
    clock = SettableClock()
    async with view_of(db, clock) as here:
        world = await make_world(here, await here.agent("world_agent"))
        for threads in (2, 1):
            async with another(world.memory).session() as session:
                for _ in range(threads):
                    async with session.interaction() as turn:
                        await turn.observe(TEXT, claim=CLAIM)
        (fact,) = await world.operator.list(tier=Tier.PERSISTENT)
        assert not fact.candidate
        yield Scene(world, fact, database)


def echoes(receipt: Receipt, entry_id: UUID) -> bool:
    told = (receipt.decision, receipt.reason, receipt.entry_id)
    return told == (Decision.NOOP, "echo", entry_id) and str(entry_id) in receipt.detail["echo_of"]


async def test_a_preview_is_the_block_of_the_session_and_leaves_it_as_it_is(scene: Scene) -> None:
    """With what is no preview as the control: from then on the same words are an echo."""
    memory, operator = scene.world.memory, scene.world.operator
    async with memory.session() as session, session.interaction() as turn:
        await session.observe("The desk is moving to the second floor.")
        await turn.observe("Somebody asks about fridays.")
        assert session.id is not None
        there = operator.session(session.id).interaction(turn.id)
        block = await there.context(QUESTION, preview=True)
        outside = await operator.context(QUESTION, preview=True)
        assert {one.tier for one in block.included} == set(Tier)
        assert {one.tier for one in outside.included} == {Tier.PERSISTENT}
        said = await turn.observe(TEXT, claim=CLAIM)
        assert said.decision is Decision.ADD, "nothing was shown to the session"
        assert said.entry_id is not None
        await operator.archive(said.entry_id, reason="it was a test")
        auditor = scene.world.bind(Principal.auditor("ben"))
        readers = await auditor.readers(scene.fact.id)
        assert [(one.by, one.session_id) for one in readers] == [
            ("operator:ada (preview)", None)
        ] * 2
        real = await turn.context(QUESTION)
        assert real.text == block.text, "to the letter"
        assert echoes(await turn.observe(TEXT, claim=CLAIM), scene.fact.id)


@pytest.mark.parametrize("same", [True, False], ids=["its own", "control"])
async def test_an_agents_own_preview_counts_as_shown_to_it(scene: Scene, *, same: bool) -> None:
    """Else it would read everything unseen, and say it as its own."""
    memory, operator = scene.world.memory, scene.world.operator
    async with memory.session() as session:
        reader = session if same else operator.session(session.id).resume()
        block = await reader.context(QUESTION, preview=True)
        assert scene.fact.id in [one.entry_id for one in block.included]
        said = await session.observe(TEXT, claim=CLAIM)
        assert echoes(said, scene.fact.id) is same
        assert (said.decision is Decision.ADD) is not same


def test_nobody_is_called_as_a_preview_is_recorded() -> None:
    for name in ("ada (preview)", "ada (preview) "):
        with pytest.raises(InputError, match="may not end"):
            Principal.operator(name)
    assert Principal.operator("ada (preview) of the desk").name


REPEATED = {
    "as it is": TEXT,
    "in capitals": TEXT.upper(),
    "decorated": f"** {TEXT.replace(' leave', ',  leave')} !! ",
    "as a quotation": f"> {TEXT}",
    "without commas and articles": TEXT.replace("10,000", "10000").replace("the desk", "desk"),
    "with what hides": TEXT.replace("Wires", f"Wires{HIDDEN}"),
    "twice": f"{TEXT}\n\n{TEXT}",
}


@pytest.mark.parametrize("text", REPEATED.values(), ids=list(REPEATED))
@pytest.mark.parametrize("claim", [None, CLAIM], ids=["without its claim", "with its claim"])
async def test_what_was_shown_and_is_said_again_is_told_and_not_written(
    scene: Scene, text: str, claim: Claim | None
) -> None:
    if claim and "\n" in text:
        return
    before = await scene.sources()
    session = await scene.shown()
    async with session.interaction() as turn:
        receipt = await turn.observe(text, claim=claim)
    assert echoes(receipt, scene.fact.id)
    assert receipt.detail["trigram"] >= 0.85
    assert await session.list() == []
    await session.close()
    assert await scene.sources() == before
    link = (await scene.world.operator.history(scene.fact.id))[-1]
    assert (link.position, link.decision, link.state_to) == (receipt.position, "NOOP", None)
    assert (link.actor, link.detail) == ("explorer", dict(receipt.detail))
    assert (await scene.world.bind(Principal.auditor("ben")).verify()).problems == ()


NEWS = {
    "another number": TEXT.replace("17:00", "18:00"),
    "a negation": TEXT.replace("leave", "do not leave"),
    "another day": TEXT.replace("Fridays", "Mondays"),
    "something added": f"{TEXT} This was wrong today.",
    "a remark under a quotation": f"> {TEXT}\nThis was wrong today.",
    "a part of it": "Wires leave the desk until 17:00.",
}


@pytest.mark.parametrize("text", NEWS.values(), ids=list(NEWS))
async def test_a_correction_is_never_taken_for_an_echo(scene: Scene, text: str) -> None:
    async with await scene.shown() as session:
        assert (await session.observe(text)).decision is Decision.ADD


async def test_claims_decide_where_both_make_one(scene: Scene) -> None:
    async with await scene.shown() as session:
        other = await session.observe(TEXT, claim=Claim(CLAIM.subject, CLAIM.attribute, "18:00"))
        assert other.decision is Decision.ADD, "the same words, another value: a conflict"
        about = await session.observe(TEXT, claim=Claim("desk", "wires", "leave"))
        assert about.decision is Decision.ADD, "the same words about another thing"
        seen = await session.observe("A wire left at 16:58 and none did later.", claim=CLAIM)
        assert seen.decision is Decision.ADD, "the same claim seen again, in words of its own"
        told = await session.observe(f"{TEXT[:-1]} as ever.", claim=CLAIM)
        assert echoes(told, scene.fact.id), "the same claim in nearly the same words"


async def test_whoever_it_is_said_to_be_heard_from(scene: Scene) -> None:
    """An agent that passes memory through a tool has learned nothing either."""
    async with await scene.shown() as session:
        for origin in (Origin.TOOL, Origin.USER, Origin.EXTERNAL):
            assert echoes(await session.observe(TEXT, heard_from=origin), scene.fact.id)


async def test_a_session_that_was_not_shown_it_is_a_source(scene: Scene) -> None:
    before = await scene.sources()
    async with await scene.shown(), scene.world.memory.session() as other:
        assert (await other.observe(TEXT, claim=CLAIM)).decision is Decision.ADD
    assert await scene.sources() == before + 1


async def test_what_was_said_before_it_was_shown_counts(scene: Scene) -> None:
    before = await scene.sources()
    async with scene.world.memory.session() as session:
        assert (await session.observe(TEXT, claim=CLAIM)).decision is Decision.ADD
        await session.context(QUESTION)
    assert await scene.sources() == before + 1


async def test_what_a_session_holds_itself_is_shown_too(scene: Scene) -> None:
    """Two threads of a session are two sources, unless one only repeats the other."""
    async with scene.world.memory.session() as session:
        async with session.interaction() as turn:
            await turn.observe("The printer in branch 9 jams on Mondays.")
        (compounded,) = await session.list()
        async with session.interaction() as turn:
            await turn.context("the printer")
            told = await turn.observe("The printer in branch 9 jams on mondays!")
        assert echoes(told, compounded.id)
        assert len(await session.list()) == 1
        assert await scene.world.operator.lineage(compounded.id) != []


async def test_a_dumped_context_repeats_every_entry_in_it(scene: Scene) -> None:
    async with scene.world.memory.session() as session:
        noted = await session.observe("The clerk of branch 9 is away.")
        context = await session.context(QUESTION)
        quoted = [line for line in context.text.split("\n") if " > " in line or line[:1] in ">#"]
        told = await session.observe("\n".join(quoted))
        assert told.decision is Decision.NOOP
        assert set(told.detail["echo_of"]) == {str(noted.entry_id), str(scene.fact.id)}
        assert told.detail["why"] == "each of its lines"
        more = await session.observe("\n".join([*quoted, "> And the vault is open."]))
        assert more.decision is Decision.ADD


async def test_many_at_once_and_by_key(scene: Scene) -> None:
    session = await scene.shown()
    many = [Observation(f"Note {n}.") for n in range(1_500)]
    many[3] = many[1_200] = Observation(TEXT)
    many[7] = Observation(TEXT.upper(), idempotency_key="k")
    receipts = await session.observe_many(many)
    told = [n for n, receipt in enumerate(receipts) if receipt.decision is Decision.NOOP]
    assert told == [3, 7, 1_200]
    positions = [receipt.position for receipt in receipts]
    assert positions == list(range(positions[0], positions[0] + 1_500))
    again = await session.observe(TEXT.upper(), idempotency_key="k")
    assert (again, again.replayed) == (receipts[7], True)
    assert len(await session.list(limit=1_000, before=None)) == 1_000
    await session.close()
    assert (await scene.world.bind(Principal.auditor("ben")).verify()).problems == ()


async def test_a_write_that_was_acknowledged_stays_so_when_it_is_retried(scene: Scene) -> None:
    """Shown only after it was written, and sent again because the answer was lost."""
    async with scene.world.memory.session() as session:
        first = await session.observe("The vault is open.", idempotency_key="once")
        await session.context("the vault")
        again = await session.observe("The vault is open.", idempotency_key="once")
        assert (again, again.replayed) == (first, True)


async def test_an_erased_entry_is_no_longer_compared_with(scene: Scene) -> None:
    session = await scene.shown()
    await scene.world.operator.erase("Fridays", reason="asked to")
    assert (await session.observe(TEXT)).decision is Decision.ADD


async def test_control_without_the_rule_an_agent_would_confirm_what_it_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await scene.sources()
    monkeypatch.setattr(Echoes, "of", lambda *_: None)
    async with await scene.shown() as session:
        assert (await session.observe(TEXT, claim=CLAIM)).decision is Decision.ADD
    assert await scene.sources() == before + 1


async def test_control_without_receipts_of_reads_nothing_is_recognised(scene: Scene) -> None:
    session = await scene.shown()
    with psycopg.connect(scene.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute("DELETE FROM worlds.world_agent_memory_reads")
    assert (await session.observe(TEXT)).decision is Decision.ADD


# --- every read -----------------------------------------------------------------------------------

READS: dict[str, Callable[[World, Session, UUID], Awaitable[object]]] = {
    "session.recall": lambda world, session, fact: session.recall(QUESTION),
    "session.context": lambda world, session, fact: session.context(QUESTION),
    "memory.recall": lambda world, session, fact: world.memory.recall(QUESTION),
    "memory.list": lambda world, session, fact: world.memory.list(tier=Tier.PERSISTENT),
    "memory.get": lambda world, session, fact: world.memory.get(fact),
}


@pytest.mark.parametrize("read", READS)
async def test_whatever_was_read_counts_as_shown(
    scene: Scene, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the door's own note of it off as the control."""

    async def nothing(*_: object) -> None:
        """The door, without its note of what was shown."""

    with monkeypatch.context() as patch:
        patch.setattr(handles, "record_shown", nothing)
        patch.setattr(questions, "receipt_of", lambda _: None)
        async with scene.world.memory.session() as session:
            assert await READS[read](scene.world, session, scene.fact.id)
            again = await session.observe(TEXT)
            assert (again.decision is Decision.ADD) is (read != "session.context")
    async with scene.world.memory.session() as session:
        assert await READS[read](scene.world, session, scene.fact.id)
        assert echoes(await session.observe(TEXT), scene.fact.id)


async def test_a_context_made_before_the_session_opened_counts_as_shown(
    database: TestDatabase,
) -> None:
    """For an hour, and for whom it was made; another agent's session is the control."""
    clock = SettableClock()
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock) as db:
        world = await make_world(db, await db.agent("world_agent"))
        told = await world.operator.prefer(TEXT)
        other = world.bind(Principal.agent("another"))
        for minutes, echo in ((59, True), (61, False)):
            await world.memory.context(QUESTION)
            clock.advance(minutes=minutes)
            async with world.memory.session() as mine, other.session() as theirs:
                said = await mine.observe(TEXT)
                assert (said.entry_id == told.entry_id) is echo
                assert (await theirs.observe(TEXT)).decision is Decision.ADD


def test_other_forms_of_the_same_words_are_an_echo_and_said_to_be_a_paraphrase() -> None:
    fact = Shown(uuid4(), "The operators release large payments after both checks passed.", None)
    known = Echoes(load("world_agent"), [fact])
    said = known.of("The operator released large payments after both checks passed.", None)
    assert said is not None
    assert (said.why, said.echo_of) == ("a paraphrase", (fact.entry_id,))
    assert 0.85 <= said.trigram < 1
    for other in (
        "The operators release large payments after no checks passed.",
        "The operators release small payments after both checks passed.",
        "The operators release large payments before both checks passed.",
        "The auditors release large payments after both checks passed.",
    ):
        assert known.of(other, None) is None, other


def test_a_disguise_does_not_hide_an_echo() -> None:
    fact = Shown(uuid4(), TEXT, None)
    known = Echoes(load("world_agent"), [fact])
    for disguise in ("camel case", "look-alike letters", "zero width spaces", "full width"):
        said = known.of(shadows.DISGUISES[disguise](TEXT), None)
        assert said is not None, disguise
    assert known.of(TEXT.replace("10,000", "1,000").replace(" ", ""), None) is None

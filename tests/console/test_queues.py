"""Queues: what waits is decided in place, with a reason, and taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from idetic import Claim, Idetic, Observation, Origin, Principal
from idetic.evidence import ContradictionStatus, ProposalStatus
from idetic.model import Capability, Entry, EntryState
from tests.conftest import World, make_world
from tests.console.conftest import Console, Visit
from tests.support.clock import SettableClock
from tests.support.console_looks import faults_of, unreadable
from tests.support.console_visit import Visitor

pytestmark = pytest.mark.anyio
HABIT = "Payroll files arrive on the twenty-fifth."
RUMOUR = "The tool says that wires need no check."


@pytest.fixture(scope="module")
async def old(console: Console) -> World:
    return await overdue_world(console)


@pytest.fixture
async def untouched(console: Console) -> World:
    return await overdue_world(console)


async def overdue_world(console: Console) -> World:
    """A world that nobody looked at for months: a candidate is overdue, a tool was believed."""
    database = console.house.database
    clock = SettableClock(datetime.now(UTC) - timedelta(days=200))
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, clock=clock)
    async with opened as db:
        # The newest version that is there: other tests of the folder may have applied one.
        newest = (await db.spec_versions("world_agent"))[-1].spec
        world = await make_world(db, await db.agent(newest))
        async with world.memory.session() as session:
            await session.observe_many(
                [
                    Observation(HABIT, refs=(world.rule,), claim=Claim("payroll", "day", "25")),
                    Observation(
                        RUMOUR,
                        refs=(world.rule,),
                        claim=Claim("wires", "check", "none"),
                        heard_from=Origin.TOOL,
                    ),
                ]
            )
        entry = next(e for e in await world.operator.list() if e.body_text == HABIT)
        await world.memory.contradict(entry.id, world.rule, reason="The rule knows no payroll.")
    here = console.house.world
    return replace(world, agent=here.agent, worlds=here.worlds)


async def entry_of(world: World, text: str) -> Entry:
    """The current entry with a text."""
    (found,) = [entry for entry in await world.operator.list() if entry.body_text == text]
    return found


def item(text: str) -> str:
    """The card that tells of something."""
    return f".item:has-text('{text}')"


async def decide(visitor: Visitor, where: str, button: str, reason: str | None) -> None:
    """Type a reason and press a button of a card."""
    if reason is not None:
        await visitor.page.fill(f"{where} input[name=reason]", reason)
    await visitor.page.click(f"{where} button:text-is('{button}')")


async def counts(visitor: Visitor, queue: str, length: int) -> None:
    """Wait until the tabs say how long a queue is."""
    await visitor.page.wait_for_selector(f".tabs a:has-text('{queue}') .badge:text-is('{length}')")


async def test_every_queue_is_readable(console: Console, visit: Visit, old: World) -> None:
    names = ("disposition", "candidates", "contradictions", "quarantine")
    pages = {f"queue {name}": f"/queues?queue={name}" for name in names}
    assert await unreadable(await visit(await console.house.key(world=old)), pages) == {}


async def test_disposition_is_decided_in_place_and_taken_back(
    console: Console, visit: Visit, old: World
) -> None:
    habit = await entry_of(old, HABIT)
    visitor = await visit(await console.house.key(world=old))
    await visitor.go("/queues")
    await counts(visitor, "Disposition", 2)
    card = item(HABIT)
    assert "candidate without support" in await visitor.page.inner_text(card)
    await visitor.shot("queues disposition")
    await decide(visitor, card, "Archive", "nobody ever confirmed it")
    await visitor.page.wait_for_selector(f"{card} .done:has-text('Archived.')")
    await counts(visitor, "Disposition", 1)
    assert (await old.operator.get(habit.id)).state is EntryState.ARCHIVED
    last = (await old.operator.history(habit.id))[-1]
    assert (last.reason, last.actor) == ("nobody ever confirmed it", "ada")
    await decide(visitor, card, "Undo", None)
    await visitor.page.wait_for_selector(f"{card} input[name=reason]")
    await visitor.page.wait_for_selector(".notice.good:has-text('Undone.')")
    assert (await old.operator.get(habit.id)).state is EntryState.CURRENT
    await counts(visitor, "Disposition", 2)


async def test_without_a_reason_nothing_is_decided(
    console: Console, visit: Visit, old: World
) -> None:
    visitor = await visit(await console.house.key(world=old))
    await visitor.go("/queues")
    before = await old.operator.overview()
    card = item(HABIT)
    await decide(visitor, card, "Exempt", None)
    assert await visitor.page.locator(f"{card} input:invalid").count() == 1
    await decide(visitor, card, "Exempt", "   ")
    await visitor.page.wait_for_selector(".notice.bad")
    assert (await old.operator.overview()).due == before.due


async def test_candidates_show_their_gates_and_are_promoted(
    console: Console, visit: Visit, old: World
) -> None:
    visitor = await visit(await console.house.key(world=old))
    await visitor.go("/queues?queue=candidates")
    card = item(HABIT)
    said = await visitor.page.inner_text(card)
    for gate in ("deduplication", "corroboration", "sanitization", "cross context validity"):
        assert gate in said
    await visitor.shot("queues candidates")
    await decide(visitor, card, "Promote", "the calendar says so")
    await visitor.page.wait_for_selector(f"{card} .done:has-text('Promoted.')")
    habit = await entry_of(old, HABIT)
    assert not habit.candidate
    await decide(visitor, card, "Undo", None)
    await visitor.page.wait_for_selector(f"{card} input[name=reason]")
    assert (await old.operator.get(habit.id)).candidate


async def test_a_source_is_quarantined_released_and_that_is_taken_back(
    console: Console, visit: Visit, old: World
) -> None:
    visitor = await visit(await console.house.key(world=old))
    await visitor.go("/queues?queue=quarantine")
    assert "No source is quarantined." in await visitor.text()
    page = visitor.page
    await page.select_option("select[name=origin]", "tool")
    await page.fill("section:has(select[name=origin]) input[name=reason]", "a poisoned tool")
    await page.click("button:text-is('Quarantine')")
    card = item("a poisoned tool")
    await page.wait_for_selector(card)
    await page.wait_for_selector(".notice.good:has-text('1 entry is out of recall.')")
    await counts(visitor, "Quarantine", 1)
    assert await faults_of(visitor, "queues quarantined") == []
    (held,) = await old.operator.quarantines()
    assert dict(held.source) == {"origin": "tool"}
    await decide(visitor, card, "Release", "the tool was well")
    await page.wait_for_selector(f"{card} .done:has-text('Released.')")
    assert not (await old.operator.quarantines())[0].standing
    await decide(visitor, card, "Undo", None)
    await page.wait_for_selector(f"{card} input[name=reason]")
    assert (await old.operator.quarantines())[0].standing


async def test_a_quarantine_without_a_source_says_what_is_missing(
    console: Console, visit: Visit, old: World
) -> None:
    visitor = await visit(await console.house.key(world=old))
    await visitor.go("/queues?queue=quarantine")
    await visitor.page.fill("section:has(select[name=origin]) input[name=reason]", "odd")
    await visitor.page.click("button:text-is('Quarantine')")
    await visitor.page.wait_for_selector(".notice.bad:has-text('A quarantine needs a source.')")
    assert "origin=" in await visitor.text()


async def test_contradictions_are_settled_beside_what_they_contradict(
    console: Console, visit: Visit, old: World
) -> None:
    operator = old.operator
    visitor = await visit(await console.house.key(world=old))
    await visitor.go("/queues?queue=contradictions")
    (waiting,) = await operator.contradictions()
    card = ".item"
    said = await visitor.page.inner_text(card)
    assert HABIT in said
    assert "The rule knows no payroll." in said
    assert "A wire transfer above ten thousand" in said
    await visitor.shot("queues contradictions")
    await decide(visitor, card, "Hand to an operator", "for the next meeting")
    await visitor.page.wait_for_selector(f"{card} .done:has-text('Surfaced')")
    await decide(visitor, card, "Undo", None)
    await visitor.page.wait_for_selector(f"{card} input[name=reason]")
    assert await operator.contradictions() == [waiting]
    await decide(visitor, card, "Hand to an operator", "for the next meeting")
    await visitor.page.wait_for_selector(f"{card} .done:has-text('Surfaced')")
    await visitor.go("/queues?queue=contradictions")
    assert await visitor.page.locator(f"{card} button").all_inner_texts() == [
        *("Make it a revision signal", "Take the decision back", "Dismiss"),
    ]
    await decide(visitor, card, "Dismiss", "the rule is silent about it")
    await visitor.page.wait_for_selector(f"{card} .done:has-text('Dismissed.')")
    await counts(visitor, "Contradictions", 0)
    dismissed = await operator.contradictions(status=[ContradictionStatus.DISMISSED])
    assert [each.id for each in dismissed] == [waiting.id]
    await visitor.page.click("text=Show settled contradictions")
    await visitor.ready()
    assert "the rule is silent about it" in await visitor.text()
    assert await faults_of(visitor, "queues contradictions settled") == []
    await decide(visitor, card, "Take the decision back", "it is not silent")
    await visitor.page.wait_for_selector(f"{card} .done:has-text('Taken back.')")
    (again,) = await operator.contradictions()
    assert (again.status, again.resolution_notes) == (
        "surfaced_to_operator",
        "for the next meeting",
    )


async def test_two_people_deciding_the_same_are_told_who_was_first(
    console: Console, visit: Visit, old: World
) -> None:
    key = await console.house.key(world=old)
    first, second = await visit(key), await visit(key)
    for visitor in (first, second):
        await visitor.go("/queues?queue=candidates")
    card = item(HABIT)
    await decide(first, card, "Archive", "said the first")
    await first.page.wait_for_selector(f"{card} .done")
    await decide(second, card, "Archive", "said the second")
    await second.page.wait_for_selector(".notice.bad:has-text('is archived')")
    assert await second.page.locator(f"{card} input[name=reason]").count() == 1
    await decide(first, card, "Undo", None)
    await first.page.wait_for_selector(f"{card} input[name=reason]")


async def test_who_may_only_read_has_no_control(console: Console, visit: Visit, old: World) -> None:
    key = await console.house.key(only=[Capability.READ], world=old)
    visitor = await visit(key)
    for queue in ("disposition", "contradictions", "candidates", "quarantine"):
        await visitor.go(f"/queues?queue={queue}")
        assert await visitor.page.locator("main button").count() == 0
        assert await visitor.page.locator("main input").count() == 0
    auditor = await visit(await console.house.key(Principal.auditor("ben"), world=old))
    await auditor.go("/queues?queue=candidates")
    assert HABIT in await auditor.text()
    assert await auditor.page.locator("main button").count() == 0


async def test_several_are_decided_at_once_with_the_keyboard_and_undone(
    console: Console, visit: Visit, untouched: World
) -> None:
    visitor = await visit(await console.house.key(world=untouched))
    await visitor.go("/queues")
    await counts(visitor, "Disposition", 2)
    await decide(visitor, ".bulk", "Archive", "too early")
    await visitor.page.wait_for_selector(".notice:has-text('No entry is ticked.')")
    await visitor.page.click("h1")
    await visitor.page.evaluate("document.activeElement.blur()")
    await visitor.page.click("button:text-is('Tick all')")
    await visitor.page.wait_for_selector(".bulk :text('2 ticked.')")
    await visitor.page.keyboard.press("r")
    await visitor.page.keyboard.type("nobody misses them")
    assert "nobody misses" in await visitor.page.input_value(".bulk input[name=reason]")
    assert await faults_of(visitor, "queues several") == []
    await decide(visitor, ".bulk", "Archive", "nobody misses them")
    await counts(visitor, "Disposition", 0)
    assert await visitor.page.locator(".item:visible").count() == 0
    assert not {HABIT, RUMOUR} & {one.body_text for one in await untouched.operator.list()}
    await visitor.page.click("button:text-is('Undo all')")
    await counts(visitor, "Disposition", 2)
    assert await visitor.page.locator(".item:visible").count() == 2
    for text in (HABIT, RUMOUR):
        assert (await entry_of(untouched, text)).state is EntryState.CURRENT


async def test_every_queue_decides_several_at_once_with_the_keyboard(
    console: Console, visit: Visit, untouched: World
) -> None:
    operator = untouched.operator
    rumour = await entry_of(untouched, RUMOUR)
    await untouched.memory.contradict(rumour.id, untouched.rule, reason="It needs two.")
    habits = [await operator.prefer(f"Reports are made {when}.") for when in ("daily", "weekly")]
    for habit in habits:
        await operator.propose([habit.entry_id], reason="seen elsewhere")  # type: ignore[list-item]
    visitor = await visit(await console.house.key(world=untouched))
    for queue, title, label, undone in (
        ("contradictions", "Contradictions", "Hand to an operator", True),
        ("candidates", "Candidates", "Archive", True),
        ("proposals", "Proposals", "Decline", False),
    ):
        await visitor.go(f"/queues?queue={queue}")
        await counts(visitor, title, 2)
        await visitor.page.evaluate("document.activeElement.blur()")
        for key in "jxjx" if undone else "a":
            await visitor.page.keyboard.press(key)
        await visitor.page.wait_for_selector(".bulk :text('2 ticked.')")
        await decide(visitor, ".bulk", label, f"{queue} of the week")
        await visitor.page.wait_for_selector(f".bulk .done:has-text('{label}: 2 entries.')")
        await visitor.shot(f"queues several {queue}")
        if not undone:
            assert await visitor.page.locator("[data-undo]").count() == 0, "that is final"
            continue
        await visitor.page.evaluate("document.activeElement.blur()")
        await visitor.page.keyboard.press("u")
        await visitor.page.wait_for_selector(".bulk :text('Undone: 2 entries wait again.')")
        await counts(visitor, title, 2)
    assert await operator.proposals() == []
    declined = await operator.proposals(status=[ProposalStatus.DECLINED])
    assert [one.decision_reason for one in declined] == ["proposals of the week"] * 2


async def test_quarantines_are_released_together_and_stand_again(
    console: Console, visit: Visit, untouched: World
) -> None:
    operator = untouched.operator
    for text in (HABIT, RUMOUR):
        source = await entry_of(untouched, text)
        await operator.quarantine(reason=f"odd: {text}", origin=source.origin)
    visitor = await visit(await console.house.key(world=untouched))
    await visitor.go("/queues?queue=quarantine")
    await counts(visitor, "Quarantine", 2)
    for box in await visitor.page.locator(".item [type=checkbox]").all():
        await box.check()
    await decide(visitor, ".bulk", "Release", "all is well")
    await counts(visitor, "Quarantine", 0)
    await visitor.page.click(".bulk [data-undo]")
    await counts(visitor, "Quarantine", 2)


async def test_an_unknown_queue_is_told(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    for path in ("/queues?queue=nonsense", "/queues?queue=candidates&after=nonsense"):
        await visitor.go(path)
        assert await visitor.page.locator(".notice.bad").count() == 1


async def test_an_entry_is_forgotten_and_then_all_of_its_anchor(
    console: Console, visit: Visit
) -> None:
    database = console.house.database
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        newest = (await db.spec_versions("world_agent"))[-1].spec
        world = await make_world(db, await db.agent(newest))
        first = await world.operator.prefer("Peanuts are out.", claim=Claim("p", "are", "out"))
        await world.operator.prefer("Figs are in.", claim=Claim("f", "are", "in"))
        visitor = await visit(await console.house.key(world=world))
        await visitor.go(f"/entries/{first.entry_id}")
        await visitor.page.click(".item button:text-is('Edit')")
        form = ".item .decision:has(input[name=typed])"
        await visitor.page.fill(f"{form} input[name=typed]", "forget")
        await decide(visitor, form, "Forget", "request 17")
        await visitor.page.wait_for_selector(".item .done:has-text('forgotten for good')")
        assert await visitor.page.locator(".item button:text-is('Undo')").count() == 0
        assert [one.body_text for one in await world.operator.list()] == ["Figs are in."]
        await visitor.go("/person")
        await visitor.page.click("details summary")
        whose = await visitor.page.inner_text(".whose-name")
        await visitor.page.fill("details input[name=typed]", whose)
        await decide(visitor, "details", "Erase everything", "request 18")
        await visitor.page.wait_for_selector("details .done:has-text('is erased.')")
        assert await world.operator.list() == []
        agents = await visit(await console.house.key(Principal.agent("a"), world=world))
        await agents.go("/person")
        assert "Erase everything" not in await agents.page.content(), "who may not, sees no form"

"""What each page answers, by eye and by ear: light, dark and small, with the keyboard alone."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from anyio import Path

from idetic import Principal
from idetic.spec.loader import load
from idetic.spec.retention import RetentionState
from idetic.store.queue import JobState
from tests.conftest import RULE_TEXT
from tests.console.conftest import Console, Visit
from tests.support.console_looks import PHONE, faults_of, unreadable
from tests.support.console_seed import CANDIDATE, FACT, MARKUP, PREFERENCE
from tests.support.console_visit import Visitor

pytestmark = pytest.mark.anyio
DESKTOP = {"width": 1440, "height": 900}
PATHS = {
    "overview": "/overview",
    "explorer": "/explore",
    "search": "/explore?q=when+do+wires+leave&archived=1&candidates=1",
    "entry": "/entries/{fact}",
    "candidate": "/entries/{candidate}",
    "superseded": "/entries/{replaced}",
    "person of a world": "/person",
    "spec": "/spec",
    "missing": "/entries/{action}",
    "nowhere": "/nowhere",
    "bad address": "/explore?tier=roof",
}


def path_of(name: str, console: Console) -> str:
    seeded = console.seeded
    return PATHS[name].format(
        fact=seeded.fact,
        candidate=seeded.candidate,
        replaced=seeded.replaced,
        action=seeded.action,
    )


async def test_every_page_is_readable_by_everybody(console: Console, visit: Visit) -> None:
    """No serious violation, nothing wider than the screen; and a picture for the eye."""
    auditor = await visit(await console.house.key(Principal.auditor("ben")))
    assert await unreadable(auditor, {name: path_of(name, console) for name in PATHS}) == {}
    assert await unreadable(await visit(await console.house.key()), {"ask": "/ask"}) == {}


async def test_the_overview_counts_and_each_number_leads_to_its_list(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    seen = await console.house.world.operator.overview()
    said = await visitor.text()
    for answer in ("What does it remember lately?", "What needs me?", "Is it healthy?"):
        assert answer in said
    assert FACT in said, "what is remembered is a sentence"
    assert "1 against a rule" in said.replace("\n", " ")
    assert "copies canonical content: 1" in said
    assert "roles and row-level security stand" in said
    await visitor.page.click(".needs a:has-text('against a rule')")
    await visitor.page.wait_for_url("**/queues?queue=contradictions")
    await visitor.go("/overview")
    await visitor.page.click("text=All entries, newest first")
    await visitor.ready()
    assert await visitor.page.locator(".line").count() == seen.entries
    await visitor.go("/overview?days=7")
    await visitor.page.click("summary >> text=The latest 1")
    assert "explorer" in await visitor.page.locator("details tr").last.inner_text()
    states = visitor.page.locator("section", has_text="What is kept, and why").last
    kept = await states.locator(".bar", has_text="referenced").locator("a").inner_text()
    await states.locator(".bar", has_text="referenced").locator("a").click()
    await visitor.ready()
    # What two entries were made of is evidence, and as little to be dropped as they are.
    referenced = seen.states[RetentionState.REFERENCED]
    assert await visitor.page.locator(".line").count() == int(kept) == referenced > 2


async def test_a_chart_has_an_axis_and_each_part_leads_to_its_list(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/overview?days=7")
    assert await visitor.page.locator(".chart").first.locator("li").count() == 7
    written = visitor.page.locator("section", has_text="Written in the last").last
    ticks = await written.locator(".chart-tick").all_inner_texts()
    most = max(int(tick) for tick in ticks)
    assert (most, min(map(int, ticks))) == (int(ticks[0]), 0), "an axis with its numbers"
    assert "entries a day" in await written.inner_text()
    column = written.locator("a.chart-column").last
    day, _, said = (await column.inner_text()).partition(": ")
    await column.press("Enter")
    await visitor.page.wait_for_url("**/explore?since=*")
    await visitor.ready()
    assert f"Written on {day}, with entries that are no longer valid" in await visitor.text()
    of_day = sum(int(part.split()[0]) for part in said.split(", "))
    assert await visitor.page.locator(".line").count() == min(of_day, 20)
    await visitor.go("/overview?days=7")
    today = written.locator(".chart li").last
    await today.hover()
    told = await today.evaluate("li => getComputedStyle(li, '::after').content")
    assert "persistent procedural" in told, "a day that is pointed at says its counts"
    of_part = int(told.split(" persistent procedural")[0].split()[-1])
    await today.locator("a.chart-part").last.click()
    await visitor.ready()
    assert "typology=procedural" in visitor.page.url
    assert await visitor.page.locator(".line").count() == min(of_part, 20)
    await visitor.go("/overview?days=7")
    legend = written.locator(".legend a", has_text="persistent semantic")
    count = int((await legend.inner_text()).rpartition(" ")[2])
    await legend.click()
    await visitor.ready()
    assert await visitor.page.locator(".line").count() == count
    refused = visitor.page.locator("section", has_text="Refused by the guard").last
    for leads in (refused.locator("a.chart-part"), refused.locator(".legend a")):
        await visitor.go("/overview?days=7")
        await leads.click()
        await visitor.ready()
        assert await visitor.page.locator("tbody tr").count() == 1
    assert "Refused notes from" in await visitor.text()
    assert RULE_TEXT[:60] in await visitor.text(), "beside the rule that the note came near to"


async def test_background_work_leads_to_its_jobs(console: Console, visit: Visit) -> None:
    """Those of this memory alone; and what waits for a vector is a list too."""
    operator, agent = console.house.world.operator, console.house.world.memory
    visitor = await visit(await console.house.key())
    work = visitor.page.locator("section", has_text="Is it healthy?").last
    await work.locator("a", has_text="wait").first.click()
    await visitor.page.wait_for_url("**/jobs")
    await visitor.go("/jobs?task=consolidate&state=waiting")
    jobs = await operator.jobs(task="consolidate", state=JobState.WAITING)
    rows = visitor.page.locator("tbody tr")
    assert await rows.count() == len(jobs) == 1
    assert "waiting" in await rows.first.inner_text()
    assert str(console.house.other.org_id) not in await visitor.page.content()
    days = "since=2026-01-01&until=2999-01-01"
    lists = {"jobs": "/jobs", "refusals": f"/refusals?{days}", "written": f"/explore?{days}"}
    assert await unreadable(visitor, lists) == {}
    async with agent.session() as session:
        await session.observe("Seen just now, and without a vector yet.")
        waiting = await operator.unembedded()
        await visitor.go("/overview")
        await work.locator("a", has_text="entries").click()
        await visitor.page.wait_for_url("**/explore?vectorless=1")
        await visitor.ready()
        assert "Waiting for a vector" in await visitor.text()
        assert await visitor.page.locator(".line").count() == min(len(waiting), 20)


async def test_a_search_says_why_each_entry_was_found(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/explore?q=when+do+wires+leave")
    first = visitor.page.locator(".line").first
    assert FACT in await first.inner_text()
    assert not await first.locator(".bar").first.is_visible(), "the signals are folded away"
    await first.locator("summary").click()
    bars = await first.locator(".bar").all_inner_texts()
    assert [bar.split("\n")[0] for bar in bars] == ["decay", "words", "envelope", "meaning"]
    assert "rank 1" in next(bar for bar in bars if bar.startswith("words"))
    assert "did not find it" in next(bar for bar in bars if bar.startswith("envelope"))
    recalled = await console.house.world.operator.recall("when do wires leave", limit=20)
    assert f"Score {recalled.hits[0].score:.4f}" in await first.inner_text()
    await visitor.page.click("summary:has-text('This search could not use')")
    assert "the question came without an envelope" in await visitor.text()


async def test_filters_narrow_and_stay_in_the_address(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/explore?q=sign-off+of+repaired+wires")
    assert CANDIDATE not in await visitor.text()
    await visitor.page.click("summary:has-text('Filters and the past')")
    await visitor.page.check("[name=candidates]")
    await visitor.page.select_option("[name=typology]", "semantic")
    await visitor.page.click("main button[type=submit]")
    await visitor.ready()
    assert "candidates=1" in visitor.page.url
    said = await visitor.text()
    assert CANDIDATE in said
    assert PREFERENCE not in said
    await visitor.page.reload()
    await visitor.ready()
    assert CANDIDATE in await visitor.text(), "the address is the whole question"
    await visitor.page.click("text=Clear")
    await visitor.ready()
    assert PREFERENCE in await visitor.text()


async def test_the_timeline_shows_what_held_when_and_what_followed(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go(f"/entries/{console.seeded.fact}")
    lanes = await visitor.page.locator(".timeline li").all_inner_texts()
    assert [lane.split("\n")[0] for lane in lanes] == [
        "partner bank · cut-off: 16:00",
        "partner bank · cut-off: 17:00",
    ]
    assert "invalidated" in lanes[0]
    assert "until" in lanes[0]
    await visitor.go("/explore?q=how+to+report+findings&archived=1")
    await visitor.page.click("#timeline summary")
    superseded = visitor.page.locator(".timeline li", has_text="findings · detail: full")
    assert "superseded" in await superseded.inner_text()
    await superseded.get_by_text("what replaced it").click()
    await visitor.ready()
    assert visitor.page.url.endswith(f"/entries/{console.seeded.preference}")


async def test_an_entry_tells_its_whole_story(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key(Principal.auditor("ben")))
    await visitor.go(f"/entries/{console.seeded.fact}")
    said = await visitor.text()
    assert FACT in said
    assert "A wire transfer above ten thousand" in said, "the canonical words, beside the reference"
    assert "unchanged since then" in said
    assert "The bank's own timetable says so" in said
    assert await visitor.page.locator(".graph rect").count() == 6, (
        "three threads, two sessions' copies, itself"
    )
    chain = await visitor.page.inner_text(".chain")
    steps = ("Who said what", "What memory made", "In which prompts", "Which actions rest on it")
    assert sorted(map(chain.index, steps)) == [chain.index(step) for step in steps]
    assert chain.count(FACT) == 3, "the words of each thread, as they were said"
    assert "every gate passed" in chain
    assert "agent:explorer" in chain
    assert str(console.seeded.action)[-8:] in chain
    history = await visitor.page.locator("section", has_text="History").last.inner_text()
    for transition in ("proposed", "promoted", "contradicted", "action linked"):
        assert transition in history
    await visitor.page.locator(".graph a").first.click()
    await visitor.ready()
    assert FACT in await visitor.text(), "a source is kept as evidence, with its words"
    became = visitor.page.get_by_role("link", name="What it became")
    for _ in ("into the session", "into persistent memory"):
        if await became.count():
            await became.click()
            await visitor.ready()
    assert visitor.page.url.endswith(str(console.seeded.fact))


async def test_what_is_shown_is_saved_as_a_table_and_as_data(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/explore?q=when+do+wires+leave")
    saved = {}
    for kind in ("CSV", "JSON"):
        async with visitor.page.expect_download() as saving:
            await visitor.page.click(f"button:text-is('{kind}')")
        saved[kind] = await Path(await (await saving.value).path()).read_text()
    shown = await visitor.page.locator(".line-said").all_inner_texts()
    rows = json.loads(saved["JSON"])
    assert [row["text"] for row in rows] == shown
    assert rows[0]["text"] == FACT
    assert [row["text"] for row in csv.DictReader(io.StringIO(saved["CSV"]))] == shown


async def test_the_slider_goes_back_in_time(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/explore")
    await visitor.page.click("summary:has-text('Filters and the past')")
    slider = visitor.page.locator("#back")
    await slider.focus()
    await slider.press("ArrowRight")
    await visitor.page.wait_for_url("**as_of=2*")
    await visitor.ready()
    assert "No entry is in this list." in await visitor.text(), "yesterday nothing was known"
    assert await visitor.page.inner_text("output") == "1 day ago"


async def test_filters_are_folded_on_a_phone(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key(), viewport=PHONE)
    await visitor.go("/explore?q=wires")
    field = visitor.page.locator("[name=as_of]")
    assert not await field.is_visible()
    assert await visitor.page.locator(".line").first.is_visible()
    await visitor.page.click("summary:has-text('Filters and the past')")
    assert await field.is_visible()
    assert await faults_of(visitor, "explorer filters") == []


async def test_twenty_hits_fit_two_screens_however_long_they_are(
    console: Console, visit: Visit
) -> None:
    house = console.house
    org, domain = uuid4(), uuid4()
    await house.world.worlds.register(org, domain, "Many")
    anchor = {"org_id": org, "domain_id": domain}
    ada = Principal.operator("ada")
    memory = house.world.agent.bind(principal=ada, **anchor)
    for number in range(20):
        said = f"Report number {number} goes to desk {number} before noon."
        await memory.prefer(f"{said} {'Whoever is late calls the desk first. ' * 8}")
    made = await house.db.keys.create(agent="world_agent", principal=ada, anchor=anchor)
    visitor = await visit(made.key, viewport=DESKTOP)
    assert await visitor.page.inner_text(".whose-name") == "Many"
    await visitor.go("/explore?q=which+desk+gets+the+report")
    assert await visitor.page.locator(".line").count() == 20
    high = await visitor.page.evaluate("document.documentElement.scrollHeight")
    assert high <= 2 * DESKTOP["height"], high
    await visitor.shot("search twenty")
    sentence = visitor.page.locator(".line-said").first
    line = await sentence.evaluate("it => it.clientHeight")
    await visitor.page.click(".line >> nth=0 >> summary")
    unfolded = await sentence.evaluate("it => it.clientHeight")
    assert unfolded > line, "its reasons unfold the sentence"


async def test_who_read_an_entry_is_for_those_who_may_audit(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go(f"/entries/{console.seeded.fact}")
    assert "In which prompts it was shown" not in await visitor.page.content()


async def test_what_memory_holds_is_shown_letter_by_letter(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    for path in (f"/entries/{console.seeded.markup}", "/explore", "/explore?q=bold+constructor"):
        await visitor.go(path)
        assert MARKUP in await visitor.page.locator(".note, .line-said").all_inner_texts()
        assert await visitor.page.locator("main img, main .note script, main b").count() == 0
        assert await visitor.page.evaluate("window.pwned") is None
    await visitor.go("/ask")
    await visitor.page.fill("#question", MARKUP)
    await visitor.page.press("#question", "Enter")
    await visitor.page.wait_for_selector(".evidence li")
    assert await visitor.page.inner_text(".answer h2") == MARKUP
    assert await visitor.page.evaluate("window.pwned") is None
    await visitor.go("/explore?q=%3Cimg+src%3Dx+onerror%3Dwindow.pwned%3D1%3E")
    assert await visitor.page.evaluate("window.pwned") is None


async def test_the_spec_page_compares_two_versions(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/spec")
    said = await visitor.text()
    assert "This is the only version so far." in said
    assert "A remark of one thread that claims nothing" in said, "its one deviation, and why"
    assert "12 Injection semantics" in said
    data = load("world_agent").as_data()
    data["retrieval"]["signals"]["lexical"] = 3.0
    data["decay"]["deviations"] = [
        {
            "cell": "semantic",
            "set": {"validity_days": 30.0},
            "justification": "Rules here change every <b>month</b>, so facts age faster.",
        }
    ]
    await console.house.db.apply(data)
    await visitor.go("/spec")
    said = await visitor.text()
    assert "retrieval.signals.lexical" in said
    assert "Rules here change every <b>month</b>, so facts age faster." in said
    assert await faults_of(visitor, "spec compared") == []
    await visitor.page.select_option("[name=new]", "1")
    await visitor.page.click("main >> text=Compare")
    await visitor.ready()
    assert "These two versions declare the same." in await visitor.text()


async def test_the_keyboard_is_enough(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/spec")
    await visitor.page.keyboard.press("Tab")
    assert await focused(visitor) == "Skip to the page"
    await visitor.page.keyboard.press("Enter")
    assert await visitor.page.evaluate("document.activeElement.id") == "main"
    await visitor.page.keyboard.press("/")
    assert await visitor.page.evaluate("document.activeElement.id") == "search"
    await visitor.page.keyboard.type("wires/")
    await visitor.page.keyboard.press("Enter")
    await visitor.page.wait_for_url("**/console/explore?q=wires*")
    await visitor.ready()
    reached = set()
    for _ in range(12):
        await visitor.page.keyboard.press("Tab")
        reached.add(await focused(visitor))
        ring = "getComputedStyle(document.activeElement).outlineStyle"
        assert await visitor.page.evaluate(ring) != "none", "the focus can be seen"
    assert {"Overview", "Explorer", "Spec", "Ask", "Log out"} <= reached


async def focused(visitor: Visitor) -> str:
    said = await visitor.page.evaluate("document.activeElement.innerText")
    return str(said or "").split("\n")[-1]


async def test_the_theme_follows_the_system_until_told_otherwise(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key(), color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert await visitor.page.evaluate(theme) == "dark"
    await visitor.page.emulate_media(color_scheme="light")
    await visitor.page.wait_for_function(f"{theme} === 'light'")
    await visitor.page.click("[aria-label='Change between light and dark']")
    await visitor.go("/spec")
    assert await visitor.page.evaluate(theme) == "dark", "and it is kept"


async def test_an_empty_memory_says_what_to_do(console: Console, visit: Visit) -> None:
    house = console.house
    org, domain = uuid4(), uuid4()
    await house.world.worlds.register(org, domain, "New")
    made = await house.db.keys.create(
        agent="world_agent",
        principal=Principal.operator("new"),
        anchor={"org_id": org, "domain_id": domain},
    )
    visitor = await visit(made.key)
    assert "What the agent observes appears here." in await visitor.text()
    assert await faults_of(visitor, "overview empty") == []
    for path in ("/explore", "/explore?q=anything"):
        await visitor.go(path)
        assert await visitor.page.locator(".empty").count() == 1
    assert await visitor.violations() == []


@pytest.mark.parametrize(
    ("path", "said", "remedy"),
    [
        ("/entries/nonsense", "This is not the id of an entry.", "Find the entry in the Explorer."),
        ("/explore?tier=roof", "does not exist", "Open the Explorer"),
        ("/explore?trust=lots", "does not exist", "Open the Explorer"),
        ("/explore?q=" + "x" * 10_001, "the bound is 10,000", "Write what you concluded"),
        ("/explore?q=a%00b", "query holds a NUL", "Remove it and write again."),
        ("/explore?as_of=9999-99-99", "does not exist", "Open the Explorer"),
        ("/spec?old=7&new=x", "", ""),
        ("/overview?days=-1", "", ""),
        ("/explore?since=yesterday", "a day that does not exist", "Write a day as"),
        ("/jobs?state=lost", "no such state", "waiting, running, failed"),
        ("/jobs?task=No%20Such", "not the name of a task", ""),
    ],
    ids=[
        *("entry", "tier", "trust", "long", "nul", "moment", "version", "days"),
        *("written", "state", "task"),
    ],
)
async def test_a_bad_address_is_told_with_its_remedy(
    path: str, said: str, remedy: str, console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go(path)
    shown = await visitor.text()
    assert said in shown
    assert remedy in shown
    assert "Traceback" not in shown


async def test_what_was_long_ago_can_be_asked_for(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    now: datetime = console.house.db.clock.now()
    await visitor.go(f"/explore?as_of={now - timedelta(days=2):%Y-%m-%dT%H:%M}")
    assert "No entry is in this list." in await visitor.text()

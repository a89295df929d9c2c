"""Whose memory it is, everything that is known about somebody, and how that is corrected."""

from __future__ import annotations

import json

import pytest
from anyio import Path

from idetic import Claim, Principal
from idetic.errors import AnchorRefused
from idetic.surfaces.console.wording import minute
from tests.console.conftest import Console, Visit
from tests.support.console_looks import faults_of, unreadable
from tests.support.console_people import LISBON, PEANUTS, ROME, SAID, TEA, People, people
from tests.support.console_visit import Visitor

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shop(console: Console) -> People:
    return await people(console.house.db)


def line(text: str) -> str:
    """The line of the page that tells of something."""
    return f".known li:has-text('{text}')"


async def correct(visitor: Visitor, text: str) -> None:
    """Open the forms about one line."""
    await visitor.page.click(f"{line(text)} button:text-is('Edit')")
    await visitor.page.wait_for_selector(f"{line(text)} form")


async def test_an_operator_of_all_users_chooses_one_and_every_page_is_about_them(
    console: Console, visit: Visit, shop: People
) -> None:
    visitor = await visit(await shop.key(console.house.db))
    assert await visitor.page.inner_text(".whose-name") == "all users"
    await visitor.page.click(".whose >> text=Switch")
    await visitor.page.wait_for_selector("h1:text-is('Whose memory')")
    rows = await visitor.page.locator(".table tbody tr").all_inner_texts()
    assert len(rows) == 2
    olga = Principal.operator("olga")
    everybody = shop.ada.agent.bind(principal=olga, tenant_id=shop.tenant, user_id=None)
    summary = {one.keys["user_id"]: one for one in await everybody.anchors()}
    ada = next(row for row in rows if "Ada" in row)
    assert str(summary["Ada"].entries) in ada
    written = summary["Ada"].last_write
    assert written is not None
    assert minute(written) in ada
    assert await unreadable(visitor, {"anchors": "/anchors"}) == {}
    await visitor.page.click("button:text-is('Open Ada')")
    await visitor.page.wait_for_selector("h1:text-is('Everything known about Ada')")
    assert await visitor.page.inner_text(".whose-name") == "Ada"
    said = await visitor.text()
    assert LISBON in said
    assert "I keep bees" not in said
    await visitor.go("/explore")
    assert "I keep bees" not in await visitor.text()


async def test_the_page_says_what_is_known_and_what_it_rests_on(
    console: Console, visit: Visit, shop: People
) -> None:
    visitor = await visit(await shop.key(console.house.db, "Ada"))
    assert await visitor.page.locator(".whose a").count() == 0, "there is nobody else to switch to"
    await visitor.go("/person")
    shown = await visitor.page.inner_text(line(LISBON))
    assert SAID in shown, "the words that it rests on stand below it"
    assert "Ada" in shown
    assert ROME not in await visitor.text(), "what no longer holds is not known"
    assert TEA in await visitor.text()
    assert "Nobody has asked to forget anything." in await visitor.text()
    await visitor.page.click(f"{line(LISBON)} a >> nth=0")
    await visitor.page.wait_for_url(f"**/entries/{shop.lisbon}*")
    await visitor.go("/person")
    pages = {"person": "/person", "overview assistant": "/overview"}
    assert await unreadable(visitor, pages) == {}
    waits = "wait for a vector"
    assert waits not in await visitor.text(), "vectors of a log are its long-term memory's"


async def test_a_fact_is_edited_contradicted_and_taken_back(
    console: Console, visit: Visit, shop: People
) -> None:
    visitor = await visit(await shop.key(console.house.db, "Ada"))
    await visitor.go("/person")
    await correct(visitor, TEA)
    assert await faults_of(visitor, "person correcting") == []
    await visitor.page.click(f"{line(TEA)} button:text-is('Close')")
    await correct(visitor, TEA)
    await visitor.page.fill(f"{line(TEA)} input[name=text]", "Ada wants answers in two sentences.")
    await visitor.page.fill(f"{line(TEA)} input[name=value]", "two sentences")
    await visitor.page.click(f"{line(TEA)} button:text-is('Save the change')")
    await visitor.page.wait_for_selector(line("in two sentences"))
    assert await visitor.page.locator(line(TEA)).count() == 0
    await correct(visitor, LISBON)
    await visitor.page.fill(f"{line(LISBON)} input[name=reason] >> nth=0", "she says so")
    await visitor.page.click(f"{line(LISBON)} button:text-is('It is not true')")
    await visitor.page.wait_for_selector(f"{line(LISBON)} .done")
    assert (await shop.ada.get(shop.lisbon)).archived_at is not None
    await visitor.page.click(f"{line(LISBON)} button:text-is('Undo')")
    await visitor.page.wait_for_selector(".notice:has-text('Undone.')")
    assert (await shop.ada.get(shop.lisbon)).archived_at is None


async def test_forgetting_takes_a_typed_word_and_gives_a_receipt(
    console: Console, visit: Visit, shop: People
) -> None:
    visitor = await visit(await shop.key(console.house.db, "Ada"))
    await visitor.go("/person")
    await correct(visitor, PEANUTS)
    form = f"{line(PEANUTS)} .decision:has(input[name=typed])"
    await visitor.page.fill(f"{form} input[name=reason]", "request 17")
    await visitor.page.click(f"{form} button:text-is('Forget')")
    await visitor.page.wait_for_selector(".notice:has-text('the word that confirms')")
    assert (await shop.ada.get(shop.peanuts)).body_text == PEANUTS
    await visitor.page.fill(f"{form} input[name=typed]", "forget")
    await visitor.page.click(f"{form} button:text-is('Forget')")
    await visitor.page.wait_for_selector(f"{line('This entry was forgotten.')} .done")
    assert PEANUTS not in await visitor.text()
    assert await visitor.page.locator("input[name=text]").count() == 0, "nothing to state it anew"
    async with visitor.page.expect_download() as saving:
        await visitor.page.click("button:text-is('Save the receipt')")
    saved = await Path(await (await saving.value).path()).read_text()
    receipt = json.loads(saved)
    assert str(shop.peanuts) in receipt["entries"]
    assert await faults_of(visitor, "person forgotten") == []
    await visitor.go("/person")
    assert PEANUTS not in await visitor.text()
    assert "request 17" in await visitor.text(), "and the page says that something was forgotten"


async def test_everything_about_somebody_goes_with_their_name_typed(
    console: Console, visit: Visit, shop: People
) -> None:
    await shop.bo.prefer("Bo wants no honey.")
    visitor = await visit(await shop.key(console.house.db, "Bo"))
    await visitor.go("/person")
    await visitor.page.click("summary:has-text('Forget everything about Bo')")
    await visitor.page.fill("details input[name=reason]", "request 18")
    await visitor.page.fill("details input[name=typed]", "Bo")
    await visitor.page.click("button:text-is('Erase everything')")
    await visitor.page.wait_for_selector("details .done")
    assert await shop.bo.list() == []
    assert [one.body_text for one in await shop.ada.list() if LISBON in one.body_text] == [LISBON]


async def test_a_chosen_anchor_is_never_one_that_the_key_does_not_cover(
    console: Console, visit: Visit, shop: People
) -> None:
    """The tenant of a key cannot be chosen away, by the form or by the library."""
    db = console.house.db
    other = await people(db)
    everybody = shop.ada.agent.bind(
        principal=Principal.operator("olga"), tenant_id=shop.tenant, user_id=None
    )
    with pytest.raises(AnchorRefused):
        everybody.within({"tenant_id": other.tenant, "user_id": "Ada"})
    visitor = await visit(await shop.key(db))
    form: dict[str, str | float | bool] = {"tenant_id": other.tenant, "user_id": "Bo"}
    answer = await visitor.page.request.post(
        f"{visitor.address}/console/anchor", form=form, headers={"Origin": visitor.address}
    )
    assert answer.ok
    await visitor.go("/explore")
    assert LISBON not in await visitor.text()
    # The control: within its own tenant the same form shows Ada.
    await visitor.page.request.post(
        f"{visitor.address}/console/anchor",
        form={"user_id": "Ada"},
        headers={"Origin": visitor.address},
    )
    await visitor.go("/explore")
    assert LISBON in await visitor.text()


async def test_what_no_prompt_would_get_is_grey_and_folded_away(
    console: Console, visit: Visit, shop: People
) -> None:
    visitor = await visit(await shop.key(console.house.db, "Ada"))
    await visitor.go("/explore?q=Which+ferry+reaches+the+northern+lighthouse+in+winter%3F")
    assert await visitor.page.locator(".line:not(.unrelated .line)").count() == 0
    line = visitor.page.locator(".unrelated .line-said").first
    assert not await line.is_visible()
    await visitor.page.click(".unrelated summary >> nth=0")
    colour = "(it) => getComputedStyle(it).color"
    grey = await line.evaluate(colour)
    assert await faults_of(visitor, "unrelated") == []
    await visitor.go("/explore?q=Where+does+Ada+live%3F")
    assert await visitor.page.locator(".line-said").first.evaluate(colour) != grey


async def test_a_conversation_is_read_again_with_what_it_recalled_and_wrote(
    console: Console, visit: Visit, shop: People
) -> None:
    visitor = await visit(await shop.key(console.house.db, "Ada"))
    await visitor.go("/person")
    await (
        visitor.page.locator("section", has_text="The conversations behind it")
        .last.locator("a")
        .first.click()
    )
    await visitor.page.wait_for_url(f"**/conversations/{shop.conversation}")
    await visitor.ready()
    turn = await visitor.page.inner_text(".turn")
    assert SAID in turn
    written = turn.partition("Written because of this turn")[2]
    assert LISBON in written
    assert LISBON in turn.partition("Recalled after this turn")[2].partition("Written")[0]
    pages = {
        "conversation": f"/conversations/{shop.conversation}",
        "why": f"/entries/{shop.lisbon}",
    }
    assert await unreadable(visitor, pages) == {}
    assert SAID in await visitor.page.inner_text(".chain"), "an entry leads to the words behind it"
    bo = await visit(await shop.key(console.house.db, "Bo"))
    await bo.go(f"/conversations/{shop.conversation}")
    assert "no such conversation in this scope" in await bo.text()


async def test_a_fact_of_a_person_is_confirmed_and_has_one_more_source(
    console: Console, visit: Visit, shop: People
) -> None:
    chess = "Ada plays chess."
    await shop.ada.fact(chess, Claim("Ada", "game", "chess"))
    visitor = await visit(await shop.key(console.house.db, "Ada"))
    await visitor.go("/person")
    assert "more source" not in await visitor.page.inner_text(line(chess))
    await correct(visitor, chess)
    await visitor.page.click(f"{line(chess)} button:text-is('Confirm as it is')")
    await visitor.page.wait_for_selector(".notice:has-text('Confirmed.')")
    assert "1 more source" in await visitor.page.inner_text(line(chess))

"""The workshop: a spec is written anew in the browser, checked, planned and tried."""

from __future__ import annotations

import re
import time

import anyio
import psycopg
import pytest
from anyio import Path

from idetic import Principal
from idetic.model import Capability
from idetic.spec.loader import parse
from tests.console.conftest import Console, Visit
from tests.support.console_looks import faults_of, unreadable
from tests.support.console_visit import Visitor
from tests.support.databases import every_row_count

pytestmark = pytest.mark.anyio
SAID = "Wires to the partner bank leave early on Fridays."
_IN_SANDBOX = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()"""


async def written(visitor: Visitor, pattern: str, replacement: str) -> int:
    """Change the text of the spec as somebody would who types; the line of the change."""
    text = await visitor.page.input_value("textarea[name=spec]")
    changed, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    await visitor.page.fill("textarea[name=spec]", changed)
    return text[: re.search(pattern, text).start()].count("\n") + 1  # type: ignore[union-attr]


async def fill_in_trial(visitor: Visitor, sentences: str) -> None:
    await visitor.page.click("summary:has-text('Try it in a sandbox')")
    await visitor.page.fill("textarea[name=sentences]", sentences)
    await visitor.page.fill("input[name=question]", "When do wires leave on Fridays?")


async def test_problems_stand_beside_their_lines_as_somebody_types(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/spec")
    await visitor.page.click("text=Change it in the workshop")
    await visitor.page.wait_for_url("**/workshop")
    await visitor.ready()
    said = visitor.page.locator(".workshop + .page, section p[role=status]").first
    assert "is valid" in await said.inner_text()
    line = await written(visitor, r"(?m)^title:", "titel:")
    problem = visitor.page.locator(".beside-lines li", has_text="titel")
    await problem.wait_for()
    number = visitor.page.locator(".line-numbers")
    height = await number.evaluate("pre => parseFloat(getComputedStyle(pre).lineHeight)")
    top = await number.evaluate("pre => pre.getBoundingClientRect().top")
    beside = await problem.bounding_box()
    assert beside is not None
    assert round((beside["y"] - top) / height) in (line - 1, line), "beside its own line"
    await problem.locator("summary").click()
    assert "titel" in await problem.locator(".unfolded").inner_text()
    assert await faults_of(visitor, "workshop problems") == []
    await visitor.page.click("button:text-is('Show the plan')")
    await visitor.page.wait_for_selector(".notice.bad:has-text('problem')")
    assert await unreadable(visitor, {"workshop": "/workshop"}) == {}


async def test_the_plan_says_what_would_change_and_the_text_is_saved(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/workshop")
    before = every_row_count(console.house.database.admin_dsn)
    await written(visitor, r"(?m)^title:.*$", "title: Another title")
    await visitor.page.click("button:text-is('Show the plan')")
    differs = visitor.page.locator("section", has_text="What would differ from version").last
    assert "Another title" in await differs.inner_text()
    await visitor.page.wait_for_selector("h2:has-text('What applying it would change')")
    assert await faults_of(visitor, "workshop plan") == []
    async with visitor.page.expect_download() as saving:
        await visitor.page.click("button:text-is('Save as a file')")
    saved = parse(await Path(await (await saving.value).path()).read_text())
    assert saved.title == "Another title"
    assert every_row_count(console.house.database.admin_dsn) == before


async def test_a_trial_answers_and_leaves_nothing(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/workshop")
    before = every_row_count(console.house.database.admin_dsn)
    await fill_in_trial(visitor, f"{SAID}\n{'x' * 3_000}")
    await visitor.page.click("button:text-is('Try it')")
    await visitor.page.wait_for_selector("h2:has-text('What the sandbox answered')")
    told = await visitor.page.inner_text(".trial")
    assert "ADD" in told
    assert "refused" in told, "a sentence that is too long is refused, and the others are not"
    asked = told.partition("Asked before the close")[2]
    assert SAID in asked
    assert "What the close decided" in told
    assert await faults_of(visitor, "workshop trial") == []
    assert every_row_count(console.house.database.admin_dsn) == before


async def test_a_trial_reads_no_more_than_the_login(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/workshop")
    await written(visitor, r"(?m)^ +scope: world_id\n", "")
    await fill_in_trial(visitor, SAID)
    await visitor.page.click("button:text-is('Try it')")
    await visitor.page.wait_for_selector(".notice.bad:has-text('cannot change the canonical noun')")


async def test_a_trial_that_nobody_waits_for_leaves_nothing(console: Console, visit: Visit) -> None:
    database = console.house.database
    visitor = await visit(await console.house.key())
    await visitor.go("/workshop")
    await fill_in_trial(visitor, "\n".join(f"{SAID} Number {n}." for n in range(20)))
    before = every_row_count(database.admin_dsn)
    with psycopg.connect(database.admin_dsn, autocommit=True) as connection:

        async def until(running: bool) -> None:
            limit = time.monotonic() + 60
            while (connection.execute(_IN_SANDBOX).fetchone() != (0,)) is not running:
                assert time.monotonic() < limit
                await anyio.sleep(0.02)

        await visitor.page.click("button:text-is('Try it')")
        await until(running=True)
        await visitor.context.close()
        await until(running=False)
    assert every_row_count(database.admin_dsn) == before


async def test_only_those_who_answer_for_a_spec_have_the_workshop(
    console: Console, visit: Visit
) -> None:
    narrowed = await console.house.key(only=[Capability.READ])
    for key in (narrowed, await console.house.key(Principal.auditor("ben"))):
        visitor = await visit(key)
        await visitor.go("/spec")
        assert await visitor.page.locator("a:has-text('workshop')").count() == 0
        await visitor.go("/workshop")
        assert "There is no such page." in await visitor.text()

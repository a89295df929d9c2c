"""Context preview: the exact block, within its budget, and what gave way and why."""

from __future__ import annotations

import pytest

from idetic import Decision, Principal
from tests.console.conftest import Console, Visit
from tests.support.console_looks import faults_of, unreadable
from tests.support.console_seed import FACT, PREFERENCE
from tests.support.voices import as_principal

pytestmark = pytest.mark.anyio
QUESTION = "When do wires to the partner bank leave, and how are findings reported?"


async def test_the_block_is_what_the_agent_would_be_given(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    await visitor.go("/context")
    assert "No question was asked yet." in await visitor.text()
    await visitor.page.fill("#query", QUESTION)
    await visitor.page.click("button:text-is('Preview')")
    await visitor.ready()
    await visitor.shot("context preview")
    known = await console.house.world.operator.context(QUESTION)
    shown = await visitor.page.text_content("pre.block")
    assert shown == known.text
    assert FACT in known.text
    assert f"{known.tokens:,} of {known.ceiling:,}" in await visitor.text()
    rows = await visitor.page.locator("table:has(caption:text('in the block')) tbody tr").count()
    assert rows == len(known.included)


async def test_in_a_session_it_is_that_sessions_block_and_nothing_was_shown_to_it(
    console: Console, visit: Visit
) -> None:
    visitor = await visit(await console.house.key())
    # Somebody whom nothing was shown before: the seeded agent has read the fact in a context.
    agent = as_principal(console.house.world.memory, Principal.agent("newcomer"))
    async with agent.session() as session, session.interaction() as turn:
        await session.observe("The desk is moving to the second floor.")
        await turn.observe("Somebody asks about the partner bank.")
        await visitor.go("/context")
        await visitor.page.fill("#query", QUESTION)
        await visitor.page.select_option("select[name=session]", f"{session.id}/{turn.id}")
        await visitor.page.click("button:text-is('Preview')")
        await visitor.ready()
        shown = await visitor.page.text_content("pre.block")
        path = visitor.page.url.partition("/console")[2]
        assert await unreadable(visitor, {"context session": path}) == {}
        again = await turn.observe(FACT)
        assert again.decision is Decision.ADD, "to the session it was never shown"
        assert again.entry_id is not None
        await console.house.world.operator.archive(again.entry_id, reason="it was a test")
        assert (await turn.context(QUESTION)).text == shown
        assert "Somebody asks about the partner bank." in (shown or "")
        assert (await turn.observe(FACT)).reason == "echo"


async def test_the_preview_is_readable(console: Console, visit: Visit) -> None:
    pages = {"context": f"/context?q={QUESTION}&budget=250", "context empty": "/context"}
    assert await unreadable(await visit(await console.house.key()), pages) == {}


async def test_a_small_budget_says_what_gave_way_and_why(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    known = await console.house.world.operator.context(QUESTION, budget=250)
    assert known.evicted
    await visitor.go(f"/context?q={QUESTION}&budget=250")
    said = await visitor.text()
    assert "Left out" in said
    assert "the budget of the whole text is used up" in said
    assert f"{known.tokens:,} of 250" in said
    assert await faults_of(visitor, "context evicted") == []
    rows = await visitor.page.locator("table:has(caption:text('left out')) tbody tr").count()
    assert rows == len(known.evicted)


async def test_what_is_previewed_is_recorded_as_read(console: Console, visit: Visit) -> None:
    auditor = console.house.world.bind(Principal.auditor("ben"))
    before = len(await auditor.readers(console.seeded.preference))
    visitor = await visit(await console.house.key())
    await visitor.go(f"/context?q={QUESTION}")
    assert PREFERENCE in await visitor.page.inner_text("pre.block")
    (latest, *_) = readers = await auditor.readers(console.seeded.preference)
    assert (len(readers), latest.by) == (before + 1, "operator:ada (preview)")


async def test_bad_budgets_are_told(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    for wrong in ("budget=nonsense", "budget=-1", "budget=0", "limit=many", "session=x"):
        await visitor.go(f"/context?q=wires&{wrong}")
        assert await visitor.page.locator(".notice.bad").count() == 1, wrong
        assert await visitor.page.input_value("#query") == "wires", "the question is still there"
    await visitor.go("/context?q=wires&budget=5")
    assert "No entry is in this text." in await visitor.text()

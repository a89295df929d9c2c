"""Audit: the ledger is verified with progress, an action explained as of then and exported."""

from __future__ import annotations

import json
from uuid import uuid4

import psycopg
import pytest
from anyio import Path

from idetic import Capability, Principal
from tests.console.conftest import Console, Visit
from tests.support.console_looks import faults_of, unreadable
from tests.support.console_seed import FACT

pytestmark = pytest.mark.anyio


async def test_an_action_is_explained_as_of_then_and_exported(
    console: Console, visit: Visit
) -> None:
    world, seeded = console.house.world, console.seeded
    archived = await world.operator.archive(seeded.preference, reason="it changed since")
    visitor = await visit(await console.house.key(Principal.auditor("ben")))
    await visitor.go("/audit")
    await visitor.shot("audit")
    await visitor.page.click("text=published decision")
    await visitor.ready()
    said = await visitor.text()
    assert FACT in said
    assert "Report a finding as one sentence with a count." in said
    assert "then current" in said
    assert "now archived" in said
    assert "The bank's own timetable says so" not in said, "it is folded away"
    await visitor.page.click("summary:has-text('Supported by') >> nth=0")
    assert "The bank's own timetable says so" in await visitor.text()
    chain = await visitor.page.inner_text(".chain")
    steps = ("Who said what", "What memory made", "In which prompts", "What was done")
    assert sorted(map(chain.index, steps)) == [chain.index(step) for step in steps]
    assert chain.index(FACT) < chain.index("What memory made"), "the words behind the action"
    assert "agent:explorer" in chain.partition("In which prompts")[0]
    await visitor.page.wait_for_selector(".graph svg")
    await visitor.shot("audit action")
    async with visitor.page.expect_download() as waiting:
        await visitor.page.click("button:text-is('Export as JSON')")
    saved = await waiting.value
    assert saved.suggested_filename == f"action-{seeded.action}.json"
    exported = json.loads(await Path(await saved.path()).read_text("utf-8"))
    auditor = world.bind(Principal.auditor("ben"))
    known = (await auditor.explain_action(seeded.action)).as_data()
    assert exported == json.loads(json.dumps(known, default=str))
    await world.operator.undo(archived, reason="the end of the test")


async def test_the_audit_is_readable(console: Console, visit: Visit) -> None:
    key = await console.house.key(Principal.auditor("ben"))
    pages = {"audit": "/audit", "action": f"/audit/{console.seeded.action}"}
    assert await unreadable(await visit(key), pages) == {}


async def test_the_ledger_is_verified_with_progress_and_its_head_kept(
    console: Console, visit: Visit
) -> None:
    auditor = console.house.world.bind(Principal.auditor("ben"))
    visitor = await visit(await console.house.key(Principal.auditor("ben")))
    await visitor.go("/audit")
    await visitor.page.click("button:text-is('Verify')")
    await visitor.page.wait_for_selector(".notice.good:has-text('The ledger is whole.')")
    links = (await auditor.verify()).links
    assert f"{links} links" in await visitor.text()
    bar = visitor.page.locator("progress")
    assert (await bar.get_attribute("value"), await bar.get_attribute("max")) == (
        *(str(links), str(links)),
    )
    assert await faults_of(visitor, "audit verified") == []
    async with visitor.page.expect_download() as waiting:
        await visitor.page.click("button:text-is('Save this head')")
    head = await Path(await (await waiting.value).path()).read_text("utf-8")
    assert json.loads(head)["position"] == links
    await visitor.page.fill("textarea[name=head]", head)
    await visitor.page.click("button:text-is('Verify')")
    await visitor.page.wait_for_selector(".notice.good:has-text('agrees with the head')")
    for wrong in ("nonsense", "{}", json.dumps(json.loads(head) | {"agent": "another"})):
        await visitor.page.fill("textarea[name=head]", wrong)
        await visitor.page.click("button:text-is('Verify')")
        await visitor.page.wait_for_selector(".notices .notice.bad")
        await visitor.go("/audit")


async def test_a_changed_ledger_is_told_with_its_position(console: Console, visit: Visit) -> None:
    """Somebody with the superuser's rights rewrites a reason; the page says where."""
    other = console.house.other

    def rewrite(reason: str) -> str:
        with psycopg.connect(console.house.database.admin_dsn) as connection:
            found = connection.execute(
                "SELECT reason FROM worlds.world_agent_memory_ledger "
                "WHERE org_id = %s AND position = 2",
                (other.org_id,),
            ).fetchone()
            connection.execute("ALTER TABLE worlds.world_agent_memory_ledger DISABLE TRIGGER ALL")
            connection.execute(
                "UPDATE worlds.world_agent_memory_ledger SET reason = %s "
                "WHERE org_id = %s AND position = 2",
                (reason, other.org_id),
            )
            connection.execute("ALTER TABLE worlds.world_agent_memory_ledger ENABLE TRIGGER ALL")
            assert found
            return str(found[0])

    kept = rewrite("nothing to see here")
    try:
        key = await console.house.key(Principal.auditor("eve"), world=other)
        visitor = await visit(key)
        await visitor.go("/audit")
        await visitor.page.click("button:text-is('Verify')")
        await visitor.page.wait_for_selector(".notice.bad:has-text('1 problem was found.')")
        row = await visitor.page.inner_text("table:has(caption:text-is('Problems')) tbody tr")
        assert "altered" in row
        assert "2" in row
        assert await faults_of(visitor, "audit broken") == []
    finally:
        rewrite(kept)


async def test_who_may_not_audit_has_no_such_page(console: Console, visit: Visit) -> None:
    for key in (await console.house.key(), await console.house.key(only=[Capability.READ])):
        visitor = await visit(key)
        assert await visitor.page.locator("nav a:has-text('Audit')").count() == 0
        for path in ("/audit", f"/audit/{console.seeded.action}"):
            await visitor.go(path)
            said = await visitor.text()
            assert "There is no such page." in said
            assert "published" not in said


async def test_unknown_actions_are_told(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key(Principal.auditor("ben")))
    for path in (f"/audit/{uuid4()}", "/audit/nonsense", "/audit?before=nonsense",
                 f"/audit/{console.other.action}"):  # fmt: skip
        await visitor.go(path)
        assert await visitor.page.locator(".notice.bad").count() == 1, path

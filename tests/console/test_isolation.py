"""Two operators of different tenants in two browsers; and a customer, who only asks.

What the pages, their HTML and their sockets carry is searched for the other tenant's mark. The
control runs the same walk over a server whose protections are off, and must find it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from idetic import Principal
from idetic.model import Capability
from tests.console.conftest import OURS, THEIRS, Console, Visit, lived_in
from tests.support.catalog import tables_of
from tests.support.console_looks import faults_of
from tests.support.console_seed import Seeded
from tests.support.console_visit import Visitor
from tests.support.databases import copy_of
from tests.support.http_house import housed
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio
SEARCHES = (
    *("/explore", "/explore?q=feed+the+bird&archived=1&candidates=1"),
    *("/explore?since=2000-01-01", "/explore?vectorless=1"),
)


# Pages whose lists and blocks come from memory, for whoever may read.
WORK = (
    *(f"/queues?queue={name}" for name in ("contradictions", "candidates", "quarantine")),
    *("/jobs", "/refusals", "/person", "/queues?queue=proposals"),
    "/context?q=feed+the+bird",
)
# Pages that only some principals have, or that lead to what does not exist.
OTHERS = ("/workshop", "/anchors", f"/proposals/{UUID(int=1)}", f"/conversations/{UUID(int=1)}")


def entries_of(seeded: Seeded) -> list[str]:
    return [f"/entries/{each}" for each in (seeded.fact, seeded.preference)]


def paths_to(seeded: Seeded) -> list[str]:
    """Pages that bring something of memory: the lists, and those of a tenant's own entries."""
    return ["/overview", "/spec", *SEARCHES, *WORK, *entries_of(seeded)]


async def carried(visitor: Visitor, paths: list[str]) -> dict[str, str]:
    """Everything that pages brought to a browser: text, HTML and what the sockets carried."""
    found = {}
    for path in paths:
        visitor.frames.clear()
        await visitor.go(path)
        parts = (await visitor.text(), await visitor.page.content(), *visitor.frames)
        found[path] = "\n".join(parts)
    return found


def with_mark(found: dict[str, str], mark: str) -> list[str]:
    return [path for path, held in found.items() if mark in held]


async def test_two_operators_never_see_each_others_memory(console: Console, visit: Visit) -> None:
    house = console.house
    ours = await visit(await house.key())
    theirs = await visit(await house.key(Principal.operator("eve"), world=house.other))
    everything = [*paths_to(console.seeded), *entries_of(console.other)]
    seen_by_us, seen_by_them = await carried(ours, everything), await carried(theirs, everything)
    assert len(with_mark(seen_by_us, OURS)) >= 3, "one's own mark is there to be seen"
    assert len(with_mark(seen_by_them, THEIRS)) >= 3
    assert with_mark(seen_by_us, THEIRS) == []
    assert with_mark(seen_by_them, OURS) == []
    refused = seen_by_us[f"/entries/{console.other.fact}"]
    assert "no such entry in this scope" in refused


async def test_two_auditors_never_see_each_others_actions(console: Console, visit: Visit) -> None:
    house = console.house
    ours = await visit(await house.key(Principal.auditor("ben")))
    theirs = await visit(await house.key(Principal.auditor("eve"), world=house.other))
    paths = ["/audit", *(f"/audit/{each.action}" for each in (console.seeded, console.other))]
    seen_by_us, seen_by_them = await carried(ours, paths), await carried(theirs, paths)
    assert with_mark(seen_by_us, OURS) == [paths[1]], "one's own mark is there to be seen"
    assert with_mark(seen_by_them, THEIRS) == [paths[2]]
    assert with_mark(seen_by_us, THEIRS) == with_mark(seen_by_them, OURS) == []
    assert "no such action in this scope" in seen_by_us[paths[2]]
    assert with_mark(seen_by_us, str(console.other.fact)) == []


@pytest.fixture
async def open_console(
    server: TestServer, template: str, anyio_backend: str
) -> AsyncIterator[Console]:
    """A server without the predicate, over a database without row-level security."""
    with copy_of(server, template) as database:
        with psycopg.connect(database.admin_dsn) as connection:
            for table in tables_of(connection, "worlds"):
                off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
                connection.execute(off.format(sql.Identifier("worlds", table.name)))
        async with housed(database, module="tests.support.scope_sabotaged", console=True) as house:
            yield await lived_in(house)


async def test_control_with_the_protections_off_the_walk_finds_the_mark(
    open_console: Console, visit: Visit
) -> None:
    house = open_console.house
    visitor = await visit(await house.key(), house)
    seen = await carried(visitor, [*SEARCHES, *WORK, *entries_of(open_console.other)])
    found = with_mark(seen, THEIRS)
    assert {*SEARCHES, WORK[0], WORK[-1]} <= set(found)
    await visitor.context.close()


OPERATORS_OWN = ("archive", "exempt", "promote", "undo", "tombstone", "quarantine", "ledger")


async def test_a_customer_has_a_question_and_nothing_else(console: Console, visit: Visit) -> None:
    key = await console.house.key(Principal.customer("cleo"))
    visitor = await visit(key)
    assert visitor.page.url.endswith("/console/ask")
    assert await visitor.page.locator("nav a").all_inner_texts() == ["question_answer\nAsk"]
    assert await visitor.page.locator("#search").count() == 0
    page = (await visitor.page.inner_html("body")).lower()
    assert [word for word in OPERATORS_OWN if word in page] == []
    staffs = ("/queues", "/audit", "/context", "/persona", *OTHERS)
    for path in (*paths_to(console.seeded), *staffs):
        await visitor.go(path)
        assert "There is no such page." in await visitor.text()
        assert OURS not in await visitor.page.content()
    async with console.house.http(key) as http:
        for path in ("/v1/entries", f"/v1/entries/{console.seeded.fact}", "/v1/contradictions"):
            assert (await http.get(path)).status_code == 403


async def test_a_customer_is_answered_behind_the_gate(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key(Principal.customer("cleo")))
    await visitor.page.fill("#question", "When do wires to the partner bank leave?")
    await visitor.page.press("#question", "Enter")
    await visitor.page.wait_for_selector(".evidence li")
    said = await visitor.page.inner_text(".answer")
    assert "Wires to the partner bank leave until 17:00." in said
    assert await visitor.page.locator(".answer a").count() == 0, "no way into memory"
    assert not any(str(console.seeded.fact) in frame for frame in visitor.frames)
    assert await faults_of(visitor, "ask customer answered") == []
    await visitor.page.fill("#question", "zebra?")
    await visitor.page.press("#question", "Enter")
    await visitor.page.wait_for_selector(".empty")
    assert "I don't know." in await visitor.text()


async def test_control_a_console_that_shows_all_pages_is_noticed(
    server: TestServer, template: str, visit: Visit
) -> None:
    """The pages appear in the menu; the library refuses what they ask for all the same."""
    with copy_of(server, template) as database:
        async with housed(
            database, module="tests.support.console_sabotaged", console=True
        ) as house:
            visitor = await visit(await house.key(Principal.customer("cleo")), house)
            assert await visitor.page.locator("nav a").count() > 1
            await visitor.go("/explore")
            assert "A customer may not read entries" in await visitor.text()
            # Before its server goes, which the page would notice.
            await visitor.context.close()


async def test_a_narrowed_key_has_only_the_pages_it_may_use(console: Console, visit: Visit) -> None:
    blind = await console.house.key(only=[Capability.OBSERVE])
    visitor = await visit(blind)
    assert "This key has no page here." in await visitor.text()
    assert await visitor.page.locator("nav a").count() == 0

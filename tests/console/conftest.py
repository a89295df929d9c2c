"""One served, lived-in database and one browser for all tests of the console that a run has.

Whoever changes something does it in a world of their own, or takes it back. For this folder and
not for the session: while they live a loop runs, and other tests run loops of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Browser, async_playwright

from tests.support.console_seed import Seeded, seed
from tests.support.console_visit import CHROMIUM, Visitor
from tests.support.databases import copy_of
from tests.support.http_house import House, Process, housed
from tests.support.servers import TestServer

OURS, THEIRS = "robin-2b81", "canary-7f3a"
Visit = Callable[..., Awaitable[Visitor]]
# As root, as in a container, Chromium refuses to start with its sandbox; and it is not to look for
# its maker's hosts, or for a graphics card.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass(frozen=True)
class Console:
    """A house with two tenants, both lived in."""

    house: House
    seeded: Seeded
    other: Seeded


async def lived_in(house: House) -> Console:
    """Both tenants of a house with something in their memories, each with its own mark."""
    return Console(house, await seed(house.world, OURS), await seed(house.other, THEIRS))


@pytest.fixture(scope="package")
async def console(server: TestServer, template: str, anyio_backend: str) -> AsyncIterator[Console]:
    with copy_of(server, template) as database:
        async with housed(database, console=True) as house:
            yield await lived_in(house)


@pytest.fixture(scope="package")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        await launched.close()


@pytest.fixture
async def visit(console: Console, browser: Browser) -> AsyncIterator[Visit]:
    """Visitors, each in a browser of their own; afterwards, nothing may have gone wrong in any."""
    visitors: list[Visitor] = []

    async def visiting(
        key: str | None = None, house: House | Process | None = None, **options: Any
    ) -> Visitor:
        """A visitor, logged in with a key if one is given; options are the browser's."""
        at = house or console.house
        options = {"viewport": {"width": 1280, "height": 860}, **options}
        context = await browser.new_context(**options)
        context.set_default_timeout(30_000)
        visitor = Visitor(at.address, context, await context.new_page())
        visitors.append(visitor)
        visitor.watch()
        if key is not None:
            await visitor.log_in(key)
        return visitor

    yield visiting
    for visitor in visitors:
        await visitor.context.close()
    for visitor in visitors:
        visitor.was_well()

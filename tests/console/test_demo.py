"""The demo world in the console: what somebody sees who tries it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.console.conftest import Visit
from tests.support.console_looks import unreadable
from tests.support.console_visit import Visitor
from tests.support.databases import copy_of
from tests.support.http_house import Process, serving
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def demo(server: TestServer, demo_template: str) -> Iterator[Process]:
    options = ("--demo", "--no-worker", "--console")
    with copy_of(server, demo_template) as database, serving(database, *options) as process:
        yield process


def key_of(demo: Process, domain: str, kind: str) -> str:
    """A key of the demo's to a domain, as one kind of principal."""
    return next(
        one["key"]
        for one in demo.keys
        if domain in (one["domain"] or "").lower() and one["principal"].startswith(kind)
    )


async def follow(visitor: Visitor, link: str, leads_to: str) -> None:
    """Click a link and wait for the page that it leads to."""
    await visitor.page.click(link)
    await visitor.page.wait_for_url(leads_to)
    await visitor.ready()


async def test_a_stranger_finds_what_is_known_about_ada_and_why_and_goes_on_to_bo(
    demo: Process, visit: Visit
) -> None:
    visitor = await visit(key_of(demo, "users", "operator"), demo)
    assert await visitor.page.inner_text(".whose-name") == "all users"
    await follow(visitor, ".whose >> text=Switch", "**/anchors")
    await follow(visitor, "button:text-is('Open Ada')", "**/person")
    said = await visitor.text()
    assert "Ada lives in Lisbon" in said
    assert "Ada lives in Rome" not in said, "where she lived before is history"
    assert "the colour was for a gift" in said, "and what was forgotten says why"
    pages = {"ada": "/person", "overview ada": "/overview", "ask ada": "/ask"}
    assert await unreadable(visitor, pages) == {}
    await visitor.go("/person")
    await follow(visitor, ".known-said a:has-text('Lisbon')", "**/entries/*")
    assert "I moved to Lisbon last week." in await visitor.page.inner_text(".chain")
    await follow(visitor, ".chain >> text=the conversation >> nth=0", "**/conversations/*")
    assert "Where does the new card go?" in await visitor.page.inner_text(".turns")
    await follow(visitor, ".whose >> text=Switch", "**/anchors")
    await follow(visitor, "button:text-is('Open Bo')", "**/person")
    assert "Lisbon" not in await visitor.text()


@pytest.mark.parametrize(
    ("domain", "kind", "why"),
    [
        ("wire", "rule candidate", "it holds for every list"),
        ("dispute", "revision signal", "the next version of the rule names it"),
    ],
)
async def test_from_the_first_observation_to_the_acceptance_and_back(
    demo: Process, visit: Visit, domain: str, kind: str, why: str
) -> None:
    visitor = await visit(key_of(demo, domain, "operator"), demo)
    await visitor.go("/queues?queue=proposals")
    await follow(visitor, "text=Show decided proposals", "**settled=1")
    card = f".item:has(.badge:text-is('{kind}')):has(.badge:text-is('accepted'))"
    told = await visitor.page.inner_text(f"{card} >> nth=0")
    assert why in told
    assert re.search(r"\d+ (entry|entries) · \d+ source", told), "the evidence is counted"
    await follow(visitor, f"{card} >> nth=0 >> text=From the evidence", "**/proposals/*")
    proposal, chain = visitor.page.url, await visitor.page.inner_text(".chain")
    assert why in chain
    assert await unreadable(visitor, {f"proposal {domain}": proposal.partition("console")[2]}) == {}
    await follow(visitor, ".chain >> text=the observation >> nth=0", "**/entries/*")
    became = visitor.page.locator("text=What it became")
    for _ in ("into the session", "into persistent memory"):
        if await became.count():
            await became.first.click()
            await visitor.ready()
    await follow(visitor, ".chain a:has-text('Proposal')", proposal)
    assert "rule-desk" in await visitor.page.inner_text(".chain")
    queues = {f"proposals {domain}": "/queues?queue=proposals&settled=1"}
    assert await unreadable(visitor, queues) == {}

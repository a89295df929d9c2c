"""Answers that a model can read: never above the bound, and nothing lost between the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idetic import Idetic, Principal, Rule, errors
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.loader import load
from idetic.spec.render import render
from idetic.surfaces.mcp.formatting import LEAST_BOUND, cut, paged, start_of
from tests.support.aside import run
from tests.support.databases import copy_of
from tests.support.mcp_house import House, call, make_house, named, over_http, over_stdio
from tests.support.servers import TestServer
from tests.surfaces.test_mcp import read

count = ConservativeCounter().count
MORE = re.compile(r"^\d+ more: .*(?:cursor|from)=(\d+)", re.MULTILINE)


@pytest.fixture(scope="module")
def house(server: TestServer, template: str) -> Iterator[House]:
    """A tenant with 40 long entries, each contradicted, all resting under one action."""
    with copy_of(server, template) as database:
        yield run(_filled, database)


ACTION = "5f0c4a51-97a5-4f2c-9f6a-0a3d1f6b8a11"


async def _filled(database: Any) -> House:
    made = await make_house(database)
    world = made.mine.world
    async with Idetic.open(database.dsn) as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        ids = []
        for number in range(40):
            words = " ".join(f"wombat{number} filler{n}" for n in range(60))
            done = await memory.prefer(f"Number {number}: {words}")
            assert done.entry_id
            ids.append(done.entry_id)
            await memory.contradict(done.entry_id, Rule(world.rule.id), reason="it differs")
        await memory.prefer("龘" * 1_990)
        await memory.link_action(ACTION, "rule_promotion", ids)  # type: ignore[arg-type]
    return made


@pytest.mark.anyio
async def test_nothing_is_longer_than_the_bound_and_pages_lose_nothing(house: House) -> None:
    bound = LEAST_BOUND
    key = house.mine.keys["operator"]
    async with over_stdio(house, "--max-tokens", str(bound), key=key) as (client, _):
        hits = await walk(client, "recall", bound, query="filler1 filler2", limit=30)
        numbers = re.findall(r"^(\d+)\. entry", hits, re.MULTILINE)
        assert numbers == [str(n) for n in range(1, 31)]
        queue = await walk(client, "list_contradictions", bound)
        assert len(re.findall(r"^contradiction ", queue, re.MULTILINE)) == 40
        block = await call(client, "context", query="filler1", budget=100_000)
        assert count(block) <= bound
        long = named(await call(client, "prefer", text="龍" * 1_990), "entry")
        whole = await walk(client, "explain", bound, entry_id=str(long), query="filler1")
        assert whole.count("龍") == 1_990
        pages = await pages_of(client, "idetic://spec", bound)
        assert "\n".join(pages) == render(load("world_agent")).rstrip("\n")
        entry = await pages_of(client, f"idetic://entries/{long}", bound)
        assert "".join(entry).count("龍") == 1_990
    async with over_stdio(house, "--max-tokens", str(bound), key=house.mine.keys["auditor"]) as (
        client,
        _,
    ):
        told = await walk(client, "explain", bound, action_id=ACTION)
        assert len(re.findall(r"^\d+\. Entry ", told, re.MULTILINE)) == 40


@pytest.mark.anyio
async def test_by_default_too_and_a_page_of_hits_is_no_dump(house: House) -> None:
    with over_http(house) as served:
        async with served.client(house.mine.keys["operator"]) as client:
            text = await call(client, "recall", query="filler1", limit=200)
            assert count(text) <= 5_000
            assert MORE.search(text), "the rest is offered, not poured out"
            listed = await client.list_resources()
            assert len(listed.resources) == 21
            assert count(listed.model_dump_json(exclude_none=True)) <= 5_000


async def walk(client: Any, tool: str, bound: int, **arguments: Any) -> str:
    """All pages of a tool's answer, each within the bound."""
    pages: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        text = await call(client, tool, **arguments, **cursor)
        assert count(text) <= bound
        pages.append(text)
        following = MORE.search(text)
        if following is None:
            return "\n".join(pages)
        cursor = {"cursor": following[1]}


async def pages_of(client: Any, uri: str, bound: int) -> list[str]:
    """All pages of a resource, without the notes about more."""
    pages, asked = [], uri
    while True:
        text = await read(client, asked)
        assert count(text) <= bound
        following = MORE.search(text)
        pages.append(text if following is None else text[: following.start() - 1])
        if following is None:
            return pages
        asked = f"{uri}?from={following[1]}"


# --- the arithmetic, without a server -----------------------------------------------------------

PIECES = st.lists(st.text(max_size=400), max_size=30)


@settings(max_examples=60, deadline=None)
@given(PIECES, st.integers(LEAST_BOUND, 3_000), st.text(max_size=60), st.text(max_size=60))
def test_no_page_exceeds_its_bound_and_every_piece_has_its_place(
    pieces: list[str], bound: int, head: str, foot: str
) -> None:
    start, visited = 0, 0
    while True:
        text = paged(pieces, bound, start=start, head=head, foot=foot, on="go on at {cursor}.")
        assert count(text) <= bound
        following = re.search(r"(\d+) more: go on at (\d+)\.$", text)
        if following is None:
            break
        assert int(following[2]) > start, "it always goes on"
        visited += int(following[2]) - start
        start = int(following[2])
    assert start <= max(len(pieces), 0)


@given(st.text(min_size=1, max_size=3_000), st.integers(60, 400))
@settings(max_examples=60, deadline=None)
def test_what_is_cut_fits_and_says_so(text: str, room: int) -> None:
    short = cut(text, room)
    assert count(short) <= room
    assert short.endswith("longer than an answer may be)")


@pytest.mark.parametrize("cursor", ["", "-1", "x", "1.0", "٣", "9" * 8, "1 ", " 1"])
def test_a_cursor_that_is_none(cursor: str) -> None:
    with pytest.raises(errors.InputError):
        start_of(cursor)

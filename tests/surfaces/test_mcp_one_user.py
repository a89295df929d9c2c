"""`idetic mcp` without options, by the SDK's own client: a fresh machine, one user, six tools."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from idetic import Capability, Idetic, Principal
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.loader import load
from idetic.surfaces.mcp.callers import OneKey
from idetic.surfaces.mcp.calls import CONFIRMATION
from idetic.surfaces.mcp.server import make_server
from idetic.surfaces.mcp.tools import tools
from tests.support.mcp_house import NO_HOME, call, refusal
from tests.support.strangers import new_place

pytestmark = pytest.mark.anyio

TOOLS = ["context", "forget", "profile", "recall", "remember", "why"]
MOST_TOKENS = 1_200
WITHOUT = "Recalled without: semantic"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A machine on which Idetic never ran."""
    with new_place() as place:
        yield place / "home"


@asynccontextmanager
async def serving(
    home: Path, *arguments: str, model: Path | None = None, **more: str
) -> AsyncIterator[tuple[Client, IO[str]]]:
    """A client of the command as a configuration starts it, and what the server says beside."""
    source = os.pathsep.join(path for path in sys.path if path)
    named = {"IDETIC_HOME": str(home), "PYTHONPATH": source, "XDG_CONFIG_HOME": NO_HOME}
    named |= more
    if model is not None:
        named["IDETIC_MODEL_DIR"] = str(model)
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "idetic", "mcp", *arguments], env=named
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        async with Client(stdio_client(parameters, errlog=said)) as client:
            yield client, said


def servers(home: Path) -> list[psutil.Process]:
    """The server processes of this home that this test started."""
    mine = psutil.Process().children(recursive=True)
    return [one for one in mine if one.is_running() and _serves(one, home)]


def _serves(process: psutil.Process, home: Path) -> bool:
    try:
        words = process.cmdline()
        return "mcp" in words and process.environ().get("IDETIC_HOME") == str(home)
    except psutil.Error:
        return False


def entry_of(text: str, words: str) -> str:
    """The id of the hit that quotes some words."""
    lines = text.splitlines()
    (place,) = [n for n, line in enumerate(lines) if line == f"> {words}"]
    return lines[place - 1].split()[1].rstrip(":")


async def test_two_clients_start_at_once_where_nothing_ever_ran(
    home: Path, model_path: Path
) -> None:
    """Both answer, and what the one was told the other knows at once, by its meaning too."""
    async with (
        serving(home, model=model_path) as (one, said),
        serving(home, model=model_path) as (other, _),
    ):
        assert [tool.name for tool in (await one.list_tools()).tools] == TOOLS
        assert "remember" in (one.instructions or "").lower()
        async with anyio.create_task_group() as group:
            for client, text in ((one, "I am allergic to peanuts."), (other, "Call me Ada.")):
                group.start_soon(lambda c, t: call(c, "remember", text=t), client, text)
        for client in (one, other):
            found = await call(client, "recall", query="Which food makes this person ill?")
            assert "> I am allergic to peanuts." in found
            assert "> The user is allergic to peanuts." in found
            assert WITHOUT not in found
            assert "allergic" in await call(client, "context", query="food that makes ill")
            page = await call(client, "profile")
            assert "The user is allergic to peanuts." in page
            assert "The user wants to be called Ada." in page
        said.seek(0)
        assert said.read() == ""


async def test_what_a_client_wrote_is_there_after_it_was_killed(
    home: Path, model_path: Path
) -> None:
    async with serving(home, "--user", "kim", model=model_path) as (other, _):
        before = servers(home)
        async with serving(home, "--user", "kim", model=model_path) as (one, _):
            (process,) = [each for each in servers(home) if each not in before]
            await call(one, "remember", text="My sister lives in Lisbon.")
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=30)
            found = await call(other, "recall", query="Where does the sister live?")
            assert "> My sister lives in Lisbon." in found
            block = await call(other, "context", query="Where does the sister live?")
            assert ": My sister lives in Lisbon." in block
            assert "I don't know" not in block
    async with serving(home, "--user", "kim", model=model_path) as (third, _):
        assert "Lisbon" in await call(third, "context", query="Where does the sister live?")


async def test_users_of_a_machine_know_nothing_of_each_other(home: Path, model_path: Path) -> None:
    async with (
        serving(home, "--user", "rob", model=model_path) as (rob, _),
        serving(home, "--user", "eve", model=model_path) as (eve, _),
    ):
        await call(rob, "remember", text="My safe word is heliotrope.")
        assert "heliotrope" in await call(rob, "recall", query="safe word"), "the control"
        assert "heliotrope" not in await call(eve, "recall", query="safe word heliotrope")
        assert "heliotrope" not in await call(eve, "profile")


async def test_why_and_forget(home: Path, model_path: Path) -> None:
    async with serving(home, "--user", "ann", model=model_path) as (client, _):
        chat = [
            {"role": "user", "content": "I live in Hamburg.", "id": "m1"},
            {"role": "assistant", "content": "Good to know."},
        ]
        assert (await call(client, "remember", messages=chat)).startswith("Remembered 2 messages.")
        assert "1 were known already" in await call(client, "remember", messages=chat[:1])
        fact = entry_of(await call(client, "recall", query="home"), "The user lives in Hamburg.")
        told = await call(client, "why", about=fact)
        assert "user: “I live in Hamburg.”" in told
        assert "I live in Hamburg." in await call(client, "why", about="Where is home?")
        assert "recall shows" in await refusal(client, "forget")
        assert "(bad_input)" in await refusal(client, "forget", entry=fact, everything=True)
        assert "(entry_not_found)" in await refusal(client, "forget", entry=fact[:-4] + "0000")
        await call(client, "forget", entry=fact, sources=True)
        assert "Hamburg" not in await call(client, "recall", query="home in Hamburg")
        for wrong in ({}, {"confirm": "yes"}):
            said = await refusal(client, "forget", everything=True, **wrong)
            assert CONFIRMATION in said
        assert "Good to know." in await call(client, "recall", query="known"), "nothing went"
        await call(client, "forget", everything=True, confirm=CONFIRMATION)
        assert "I don't know" in await call(client, "recall", query="known")
        assert "Nothing is known" in await call(client, "profile")


async def test_words_that_are_no_call(home: Path, model_path: Path) -> None:
    async with serving(home, "--user", "mal", model=model_path) as (client, _):
        for name, given in (
            ("remember", {}),
            ("remember", {"text": "a", "messages": []}),
            ("remember", {"text": ""}),
            ("remember", {"messages": [{"role": "nobody", "content": "x"}]}),
            ("recall", {"query": " "}),
            ("recall", {"query": "x", "envelope": {"kind": "user_input"}}),
            ("why", {"about": ""}),
            ("profile", {"budget": 1}),
            ("observe", {"text": "no tool of this memory"}),
            ("forget", {"entry": "a1b2c3d4"}),
        ):
            await refusal(client, name, **given)
        assert "I don't know" in await call(client, "recall", query="x")


async def test_the_model_comes_while_memory_already_answers(model_path: Path) -> None:
    """On a machine without it; nothing but the protocol is on stdout, or the client would fail."""
    del model_path
    with new_place() as place:
        async with serving(place / "home") as (client, said):
            await call(client, "remember", text="The parcel arrived damaged.")
            assert "> The parcel arrived" in await call(client, "recall", query="damaged parcel")
            question = "shipment was broken on delivery"
            with anyio.fail_after(300):
                while WITHOUT in (found := await call(client, "recall", query=question)):  # noqa: ASYNC110
                    await anyio.sleep(0.5)
            assert "> The parcel arrived damaged." in found
            said.seek(0)
            assert "The embedding model is fetched" in said.read()


async def test_the_tools_cost_little_and_only_forget_destroys(home: Path, model_path: Path) -> None:
    async with serving(home, model=model_path) as (client, _):
        listed = (await client.list_tools()).tools
    told = [
        {"name": one.name, "description": one.description, "inputSchema": one.input_schema}
        for one in listed
    ]
    assert ConservativeCounter().count(json.dumps(told)) <= MOST_TOKENS
    assert [one.name for one in listed if one.annotations and one.annotations.destructive_hint] == [
        "forget"
    ]
    storage = {"envelope", "tiers", "session_id", "provenance", "refs", "kind", "visibility"}
    for one in listed:
        assert storage.isdisjoint(one.input_schema["properties"])
        assert one.input_schema["additionalProperties"] is False


def test_arguments_that_a_spec_cannot_use_are_not_offered() -> None:
    plain = {tool.name: set(tool.form.model_fields) for tool in tools(load("persona_agent"))}
    world = {tool.name: set(tool.form.model_fields) for tool in tools(load("world_agent"))}
    assert {"refs", "provenance"} <= world["observe"], "the control"
    assert "refs" not in plain["observe"]
    assert {"remember", "profile", "why"}.isdisjoint(world)


async def test_a_key_to_an_assistant_has_the_same_tools_as_far_as_it_may(db: Idetic) -> None:
    await db.agent("assistant_agent")
    whose = {"tenant_id": "acme", "user_id": "ada"}
    asked: dict[str, Any] = {"agent": "assistant_agent", "anchor": whose}
    asked["principal"] = Principal.agent("desk")
    whole = await db.keys.create(**asked)
    async with Client(make_server(OneKey(db, whole.key))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        await call(client, "remember", text="I am allergic to peanuts.")
    reading = await db.keys.create(**asked, capabilities=[Capability.READ])
    async with Client(make_server(OneKey(db, reading.key))) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["context", "profile", "recall", "why"]
        assert "The user is allergic to peanuts." in await call(client, "profile")
        for name, given in (
            ("remember", {"text": "no"}),
            ("forget", {"everything": True, "confirm": CONFIRMATION}),
        ):
            assert "(capability)" in await refusal(client, name, **given)


async def test_a_database_that_does_not_open_is_told_and_the_client_is_answered(home: Path) -> None:
    away = "postgresql://nobody@127.0.0.1:1/none"
    async with serving(home, IDETIC_DSN=away) as (client, said):
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        for _ in range(2):
            text = await refusal(client, "recall", query="anything")
            assert "(database_unavailable)" in text
        said.seek(0)
        assert "Traceback" not in said.read()

"""A verb is declared once: a toy verb of a test is on every surface, and no surface knows it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
import pytest
from mcp import Client

from idetic import Capability, Idetic, Principal, errors
from idetic.client.transport import HttpTransport
from idetic.engine import Binding
from idetic.library.handles import Memory
from idetic.surfaces.http.app import create_api, create_app
from idetic.surfaces.mcp.callers import Local
from idetic.surfaces.mcp.server import make_server
from idetic.verbs.arguments import Between
from idetic.verbs.declaration import VERBS, McpTool, post, verb
from tests.conftest import World

pytestmark = pytest.mark.anyio


@pytest.fixture
def toy() -> Iterator[None]:
    """Declares `echo_toy`, and takes it back."""

    @verb(
        capability=Capability.READ,
        http=post("/toys/{name}", "toys"),
        tool=McpTool("Echo a toy", "Says a toy's name some times."),
        describes={"times": "How often."},
    )
    async def echo_toy(
        binding: Binding, name: str, *, times: Annotated[int, Between(1, 3)] = 1
    ) -> dict[str, Any]:
        """Say a toy's name some times."""
        return {"said": [name] * times, "agent": binding.spec.agent}

    yield
    del VERBS["echo_toy"]


@asynccontextmanager
async def client_of(db: Idetic, world: World) -> AsyncIterator[Any]:
    """A memory over HTTP to an application in this process."""
    made = await db.keys.create(
        agent="world_agent",
        principal=Principal.operator("ada"),
        anchor={"org_id": world.org_id, "domain_id": world.domain_id},
    )
    transport = httpx.ASGITransport(create_app(db))
    line = HttpTransport("http://here", made.key, retries=0, timeout=10, transport=transport)
    async with Memory(line) as memory:
        yield memory


@pytest.mark.usefixtures("toy")
async def test_in_process_and_over_http(db: Idetic, world: World) -> None:
    here: Any = world.operator
    said = {"said": ["bear", "bear"], "agent": "world_agent"}
    assert await here.echo_toy("bear", times=2) == said
    async with client_of(db, world) as there:
        assert await there.echo_toy("bear", times=2) == said
        for memory in (here, there):
            with pytest.raises(errors.InputError, match="times must be a whole number from 1 to 3"):
                await memory.echo_toy("bear", times=4)


@pytest.mark.usefixtures("toy")
async def test_in_the_openapi(db: Idetic) -> None:
    api = create_api(db).openapi()
    operation = api["paths"]["/v1/toys/{name}"]["post"]
    assert (operation["operationId"], operation["tags"]) == ("echo_toy", ["toys"])
    assert operation["description"] == "Say a toy's name some times."
    times = api["components"]["schemas"]["EchoToyBody"]["properties"]["times"]
    assert (times["minimum"], times["maximum"], times["default"]) == (1, 3, 1)
    assert times["description"] == "How often."


@pytest.mark.usefixtures("toy")
async def test_over_mcp(db: Idetic, world: World) -> None:
    async with Client(make_server(Local(db, world.operator))) as client:
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "echo_toy"]
        assert tool.title == "Echo a toy"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        answer = await client.call_tool("echo_toy", {"name": "bear", "times": 2})
        assert not answer.is_error
        text = getattr(answer.content[0], "text", "")
        assert json.loads(text.removeprefix("> "))["said"] == ["bear", "bear"]
        refused = await client.call_tool("echo_toy", {"name": "bear", "times": 9})
        assert refused.is_error


async def test_control_without_its_declaration_there_is_none(db: Idetic, world: World) -> None:
    memory: Any = world.operator
    with pytest.raises(AttributeError):
        _ = memory.echo_toy
    assert "/v1/toys/{name}" not in create_api(db).openapi()["paths"]
    async with Client(make_server(Local(db, world.operator))) as client:
        assert "echo_toy" not in {one.name for one in (await client.list_tools()).tools}

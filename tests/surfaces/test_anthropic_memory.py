"""Anthropic's memory tool on Idetic: by itself, and in the SDK's own tool loop."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from anthropic.lib.tools import ToolError

from idetic import Principal, open_sync
from idetic.surfaces.anthropic import IdeticAsyncMemoryTool, IdeticMemoryTool
from tests.conftest import TestDatabase
from tests.surfaces.conftest import Frameworks

pytestmark = pytest.mark.anyio

NOTES = "/memories/notes.md"


@pytest.fixture
async def tool(frameworks: Frameworks) -> IdeticAsyncMemoryTool:
    return IdeticAsyncMemoryTool(frameworks.memory())


async def do(tool: IdeticAsyncMemoryTool, command: str, path: str = "", **more: Any) -> Any:
    at = {"path": path} if path else {}
    return await tool.call({"command": command, **at, **more})


async def test_a_file_is_created_viewed_and_edited(tool: IdeticAsyncMemoryTool) -> None:
    made = await do(tool, "create", NOTES, file_text="tea\ncoffee\nwater\n")
    assert made == f"File created successfully at: {NOTES}"
    assert await do(tool, "view", NOTES) == (
        f"Here's the content of {NOTES} with line numbers:\n"
        "     1\ttea\n     2\tcoffee\n     3\twater\n     4\t"
    )
    assert (await do(tool, "view", NOTES, view_range=[2, 3])).splitlines()[1:] == [
        "     2\tcoffee", "     3\twater"
    ]  # fmt: skip
    edited = await do(tool, "str_replace", NOTES, old_str="coffee", new_str="cocoa")
    assert edited.splitlines()[1:3] == ["     1\ttea", "     2\tcocoa"]
    await do(tool, "insert", NOTES, insert_line=0, insert_text="drinks:\n")
    seen = await do(tool, "view", NOTES)
    assert [line.split("\t")[1] for line in seen.splitlines()[1:5]] == [
        "drinks:", "tea", "cocoa", "water"
    ]  # fmt: skip


async def test_a_directory_lists_two_levels(tool: IdeticAsyncMemoryTool) -> None:
    assert (await do(tool, "view", "/memories")).splitlines()[1:] == ["0B\t/memories"]
    for path in ("a.md", "deep/b.md", "deep/er/c.md", ".hidden"):
        await do(tool, "create", f"/memories/{path}", file_text="x" * 1_536)
    assert (await do(tool, "view", "/memories")).splitlines()[1:] == [
        "4.5K\t/memories",
        "1.5K\t/memories/a.md",
        "3K\t/memories/deep/",
        "1.5K\t/memories/deep/b.md",
        "1.5K\t/memories/deep/er/",
    ]
    assert (await do(tool, "view", "/memories/deep/")).splitlines()[1:] == [
        "3K\t/memories/deep",
        "1.5K\t/memories/deep/b.md",
        "1.5K\t/memories/deep/er/",
        "1.5K\t/memories/deep/er/c.md",
    ]


async def test_files_and_directories_move_and_go(tool: IdeticAsyncMemoryTool) -> None:
    for path in ("a/one", "a/b/two", "ab/three"):
        await do(tool, "create", f"/memories/{path}", file_text=path)
    moved = await do(tool, "rename", old_path="/memories/a", new_path="/memories/z")
    assert moved == "Successfully renamed /memories/a to /memories/z"
    assert "a/b/two" in await do(tool, "view", "/memories/z/b/two")
    with pytest.raises(ToolError, match="does not exist"):
        await do(tool, "view", "/memories/a")
    await do(tool, "rename", old_path="/memories/z/one", new_path="/memories/one")
    assert await do(tool, "delete", "/memories/z") == "Successfully deleted /memories/z"
    left = (await do(tool, "view", "/memories")).splitlines()[2:]
    assert [line.split("\t")[1] for line in left] == [
        "/memories/ab/", "/memories/ab/three", "/memories/one"
    ]  # fmt: skip
    assert await tool.clear_all_memory() == "All memory cleared"
    assert len((await do(tool, "view", "/memories")).splitlines()) == 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"command": "view", "path": "/memories/none"}, "does not exist"),
    ({"command": "view", "path": "/etc/passwd"}, "must start with /memories"),
    ({"command": "view", "path": "/memoriesX"}, "must start with /memories"),
    ({"command": "view", "path": "/memories/../etc/passwd"}, "would escape"),
    ({"command": "create", "path": NOTES, "file_text": "x"}, "already exists"),
    ({"command": "create", "path": "/memories", "file_text": "x"}, "needs a name"),
    ({"command": "create", "path": "/memories//x", "file_text": "x"}, "would escape"),
    ({"command": "str_replace", "path": NOTES, "old_str": "x", "new_str": ""}, "did not appear"),
    ({"command": "str_replace", "path": NOTES, "old_str": "", "new_str": "y"}, "did not appear"),
    ({"command": "str_replace", "path": NOTES, "old_str": "e", "new_str": ""}, "lines: 1, 2, 2"),
    ({"command": "str_replace", "path": "/memories/n", "old_str": "e", "new_str": ""}, "not exist"),
    ({"command": "insert", "path": NOTES, "insert_line": 3, "insert_text": "x"}, r"\[0, 2\]"),
    ({"command": "insert", "path": NOTES, "insert_line": -1, "insert_text": "x"}, r"\[0, 2\]"),
    ({"command": "delete", "path": "/memories"}, "Cannot delete"),
    ({"command": "delete", "path": "/memories/none"}, "does not exist"),
    ({"command": "rename", "old_path": "/memories/n", "new_path": "/memories/m"}, "does not exist"),
    ({"command": "rename", "old_path": NOTES, "new_path": NOTES}, "into itself"),
    ({"command": "rename", "old_path": NOTES, "new_path": "/memories/other"}, "already exists"),
    ({"command": "create", "path": f"/memories/{'x' * 300}", "file_text": "x"}, "200"),
    ({"command": "view", "path": 7}, "must start with /memories"),
]


@pytest.mark.parametrize(("asked", "told"), REFUSED, ids=[str(a) for a, _ in REFUSED])
async def test_a_refusal_tells_the_model_why(
    tool: IdeticAsyncMemoryTool, asked: dict[str, Any], told: str
) -> None:
    await do(tool, "create", NOTES, file_text="tea\ncoffee")
    await do(tool, "create", "/memories/other", file_text="x")
    with pytest.raises(ToolError, match=told):
        await tool.call(asked)


async def test_tenants_do_not_meet(frameworks: Frameworks) -> None:
    mine, theirs = (IdeticAsyncMemoryTool(frameworks.memory(t)) for t in ("acme", "zeta"))
    await do(mine, "create", NOTES, file_text="canary")
    with pytest.raises(ToolError, match="does not exist"):
        await do(theirs, "view", NOTES)
    await theirs.clear_all_memory()
    assert "canary" in await do(mine, "view", NOTES)


async def test_the_sdks_own_loop_runs_it(frameworks: Frameworks) -> None:
    """The real client and tool runner; only the network is not there."""
    asked: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        uses = [
            {"command": "create", "path": NOTES, "file_text": "Ada drinks tea."},
            {"command": "view", "path": "/memories/none"},
        ]
        number = len(asked) - 1
        content: dict[str, Any] = {"type": "text", "text": "Noted."}
        if number < len(uses):
            content = {
                "type": "tool_use", "id": f"use_{number}", "name": "memory", "input": uses[number]
            }  # fmt: skip
        body = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "none",
            "content": [content], "stop_sequence": None,
            "stop_reason": "end_turn" if number == len(uses) else "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=body)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    async with AsyncAnthropic(api_key="none", http_client=http) as client:
        runner = client.beta.messages.tool_runner(
            model="none",
            max_tokens=100,
            messages=[{"role": "user", "content": "Remember that Ada drinks tea."}],
            tools=[IdeticAsyncMemoryTool(frameworks.memory())],
        )
        last = await runner.until_done()
    assert last.content[0].text == "Noted."  # type: ignore[union-attr]
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = [request["messages"][-1]["content"][0] for request in asked[1:]]
    assert results[0]["content"] == f"File created successfully at: {NOTES}"
    assert results[1]["is_error"]
    assert "does not exist" in str(results[1]["content"])


def test_the_blocking_tool_does_the_same(framework_database: TestDatabase) -> None:
    database = framework_database
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        memory = db.agent("framework_agent").bind(
            tenant_id="acme", space="x", principal=Principal.agent("app")
        )
        tool = IdeticMemoryTool(memory)
        for command in (
            {"command": "create", "path": NOTES, "file_text": "tea"},
            {"command": "str_replace", "path": NOTES, "old_str": "tea", "new_str": "cocoa"},
            {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "drinks:"},
            {"command": "rename", "old_path": NOTES, "new_path": "/memories/x"},
        ):
            tool.call(command)
        assert "cocoa" in str(tool.call({"command": "view", "path": "/memories/x"}))
        with pytest.raises(ToolError):
            tool.call({"command": "view", "path": NOTES})
        tool.call({"command": "delete", "path": "/memories/x"})
        assert tool.clear_all_memory() == "All memory cleared"

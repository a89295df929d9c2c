"""The page of the MCP server says what the server says."""

from __future__ import annotations

import json

import pytest

from idetic.errors import ScopeClosed
from idetic.spec.loader import load
from idetic.surfaces.mcp import formatting
from idetic.surfaces.mcp.formatting import DEFAULT_BOUND, LEAST_BOUND, MOST_BOUND
from idetic.surfaces.mcp.presenter import slim_schema
from idetic.surfaces.mcp.resources import PAGE, TEMPLATES
from idetic.surfaces.mcp.tools import OfferedTool, tools
from idetic.surfaces.mcp.transports import MAX_BODY
from tests.support.docs import DOCS, blocks, table_rows

REFERENCE = DOCS / "reference" / "mcp.md"
HOW_TO = DOCS / "how-to" / "mcp.md"
TEXT = REFERENCE.read_text("utf-8")
WORK = tools(load("world_agent"))
CONVERSATION = tools(load("assistant_agent"))


def row(tool: OfferedTool) -> str:
    hints = (tool.hints.read_only_hint, tool.hints.destructive_hint, tool.hints.idempotent_hint)
    told = " | ".join("yes" if hint else "no" for hint in hints)
    return f"| `{tool.name}` | `{', '.join(tool.needs)}` | {told} | {tool.title} |"


def test_the_table_has_every_tool_with_its_capability_and_hints() -> None:
    assert sorted(table_rows(REFERENCE, "tool")) == sorted(row(tool) for tool in WORK)


def test_the_table_of_a_conversation_has_its_tools_with_their_arguments() -> None:
    shown = {}
    for line in table_rows(REFERENCE, "tool of a conversation"):
        *told, arguments = line.rstrip(" |").split(" | ")
        shown[" | ".join(told) + " |"] = set(arguments.split("`")[1::2]) - {"role", "content"}
    assert shown == {row(tool): set(tool.form.model_fields) for tool in CONVERSATION}


def test_the_cost_that_is_told_is_counted() -> None:
    told = [_told(tool) for tool in CONVERSATION]
    assert f"cost a model {formatting.count(json.dumps(told)):,} tokens" in TEXT


def _told(tool: OfferedTool) -> dict[str, object]:
    schema = slim_schema(tool.form)
    return {"name": tool.name, "description": tool.description, "inputSchema": schema}


def commands() -> list[list[str]]:
    """What each client of the how-to starts, read off what its user is to write."""
    found = []
    for line in table_rows(HOW_TO, "client"):
        written = line.rstrip(" |").split("`")[-2]
        if written.startswith("{"):
            (servers,) = json.loads(written).values()
            found.append([servers["memory"]["command"], *servers["memory"]["args"]])
        else:
            found.append(written.split(" -- ")[1].split())
    return found


def test_every_client_starts_the_command_that_is_tried() -> None:
    """The page starts it with the SDK's client, and so does test_mcp_one_user.py."""
    assert len(commands()) >= 6
    assert {tuple(one) for one in commands()} == {("idetic", "mcp")}


@pytest.mark.parametrize("tool", WORK, ids=lambda tool: str(tool.name))
def test_every_argument_is_named_and_no_other(tool: OfferedTool) -> None:
    section = TEXT.split(f"### `{tool.name}`", 1)[1].split("\n#", 1)[0]
    arguments = section.split("Arguments: ", 1)[1].split(". ", 1)[0]
    missing = [name for name in tool.form.model_fields if f"`{name}`" not in arguments]
    assert missing == []
    parts = {"subject", "attribute", "value", "noun", "id", "version"}
    named = set(arguments.split("`")[1::2]) - parts
    assert named == set(tool.form.model_fields)


def test_the_resources_and_the_bounds() -> None:
    addresses = [line.split("`")[1] for line in table_rows(REFERENCE, "address")]
    assert addresses == [template.uri_template for template in TEMPLATES]
    assert f"{PAGE} at a time" in TEXT
    assert f"({DEFAULT_BOUND:,}; from {LEAST_BOUND:,} to {MOST_BOUND:,})" in TEXT
    assert f"above {MAX_BODY >> 20} MiB" in TEXT


def test_the_error_that_is_shown_is_told_so() -> None:
    (shown,) = [block.text for block in blocks(REFERENCE) if block.language == "text"]
    assert shown == formatting.error(ScopeClosed()) + "\n"

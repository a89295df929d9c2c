"""The page of the MCP server says what the server says."""

from __future__ import annotations

import pytest

from idetic.errors import ScopeClosed
from idetic.surfaces.mcp import formatting
from idetic.surfaces.mcp.formatting import DEFAULT_BOUND, LEAST_BOUND, MOST_BOUND
from idetic.surfaces.mcp.resources import PAGE, TEMPLATES
from idetic.surfaces.mcp.tools import OfferedTool, tools
from idetic.surfaces.mcp.transports import MAX_BODY
from tests.support.docs import DOCS, blocks, table_rows

REFERENCE = DOCS / "reference" / "mcp.md"
TEXT = REFERENCE.read_text("utf-8")


def row(tool: OfferedTool) -> str:
    hints = (tool.hints.read_only_hint, tool.hints.destructive_hint, tool.hints.idempotent_hint)
    told = " | ".join("yes" if hint else "no" for hint in hints)
    return f"| `{tool.name}` | `{', '.join(tool.needs)}` | {told} | {tool.title} |"


def test_the_table_has_every_tool_with_its_capability_and_hints() -> None:
    assert sorted(table_rows(REFERENCE, "tool")) == sorted(row(tool) for tool in tools())


@pytest.mark.parametrize("tool", tools(), ids=lambda tool: str(tool.name))
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

"""Files of events as JSON Lines, for tests of the import."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

BEGIN = datetime(2024, 3, 1, 9, tzinfo=UTC)


def uid(what: str, number: int) -> str:
    """The same UUID each time."""
    space = {"event": 1, "loop": 2}[what]
    return str(UUID(int=(space << 96) | number, version=4))


def line(number: int, **own: Any) -> dict[str, Any]:
    """One event; four events make a loop, and every third loop is the Subconscious's."""
    loop = number // 4
    persona = "subconscious" if loop % 3 == 2 else "actor"
    kinds = ["user_input", "tool_call", "tool_result", "actor_output"]
    return {
        "id": uid("event", number),
        "ts": (BEGIN + timedelta(seconds=number)).isoformat(),
        "agent_id": "desk" if loop % 2 else "till",
        "persona": persona,
        "loop_id": uid("loop", loop),
        "kind": "subconscious_output" if persona == "subconscious" else kinds[number % 4],
        "visibility": "external",
        "content": f"Said number {number} about the {persona} matter.",
        "metadata": {"number": number},
    } | own


def lines(count: int) -> list[dict[str, Any]]:
    """So many events of two agents, `till` and `desk`."""
    return [line(number) for number in range(count)]


def save(path: Path, events: list[Any]) -> Path:
    """Write a file; an event that is a text is written as it stands."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in events]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path

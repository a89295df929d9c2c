"""A CHAOS layout for tests: a SQLite file with the document's four tables."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

BEGIN = datetime(2024, 3, 1, 9, tzinfo=UTC)
TABLES = """
CREATE TABLE idetic_events (id TEXT PRIMARY KEY, ts TEXT, agent_id TEXT, persona TEXT,
    loop_id TEXT, kind TEXT, visibility TEXT, content TEXT, metadata TEXT);
CREATE TABLE ltm_entries (id TEXT, event_id TEXT, agent_id TEXT, persona TEXT, summary TEXT,
    importance REAL);
CREATE TABLE stm_entries (loop_id TEXT, agent_id TEXT, persona TEXT, summary TEXT);
CREATE TABLE stm_ltm_map (loop_id TEXT, ltm_id TEXT, position INTEGER);
"""


def uid(what: str, number: int) -> str:
    """The same UUID each time."""
    space = {"event": 1, "loop": 2, "ltm": 3}[what]
    return str(UUID(int=(space << 96) | number, version=4))


class Chaos:
    """A file that is being made; `save` writes it."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.ltm: list[tuple[Any, ...]] = []
        self.stm: list[tuple[Any, ...]] = []
        self.map: list[tuple[Any, ...]] = []

    def event(self, number: int, content: Any = None, *, mirror: bool = True, **own: Any) -> None:
        """One event with its long-term entry; four events make a loop."""
        loop = number // 4
        persona = "subconscious" if loop % 3 == 2 else "actor"
        kinds = ["user_input", "tool_call", "tool_result", "actor_output"]
        kind = "subconscious_output" if persona == "subconscious" else kinds[number % 4]
        row = {
            "id": uid("event", number),
            "ts": (BEGIN + timedelta(seconds=number)).isoformat(),
            "agent_id": "desk" if loop % 2 else "till",
            "persona": persona,
            "loop_id": uid("loop", loop),
            "kind": kind,
            "visibility": "external",
            "content": content or f"Said number {number} about the {persona} matter.",
            "metadata": json.dumps({"number": number}),
        } | own
        self.events.append(tuple(row.values()))
        if mirror:
            whose = (row["agent_id"], row["persona"])
            self.ltm.append((uid("ltm", number), row["id"], *whose, f"In short: {number}.", 0.25))
            self.map.append((row["loop_id"], uid("ltm", number), number % 4))

    def loop(self, number: int, summary: str = "", **own: Any) -> None:
        """The short-term entry of a loop."""
        persona = "subconscious" if number % 3 == 2 else "actor"
        row = {
            "loop_id": uid("loop", number),
            "agent_id": "desk" if number % 2 else "till",
            "persona": persona,
            "summary": summary or f"Loop {number} in short.",
        } | own
        self.stm.append(tuple(row.values()))

    def save(self, path: Path, tables: str = TABLES) -> Path:
        """Write the file."""
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(tables)
            for table, rows in (
                ("idetic_events", self.events), ("ltm_entries", self.ltm),
                ("stm_entries", self.stm), ("stm_ltm_map", self.map),
            ):  # fmt: skip
                if rows and table in tables:
                    marks = ", ".join("?" * len(rows[0]))
                    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
        return path


def plain(events: int) -> Chaos:
    """A layout in which all is well."""
    made = Chaos()
    for number in range(events):
        made.event(number)
    for loop in range((events + 3) // 4):
        made.loop(loop)
    return made

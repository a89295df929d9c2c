"""Reads a CHAOS layout: its events in order, in batches, and what is wrong between its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from anyio import to_thread

from idetic.library.persona_import.layout import (
    EVENTS,
    LTM,
    MAP,
    STM,
    Layout,
    look,
    open_file,
    query,
    quoted,
    told,
)

BATCH = 500
T = TypeVar("T")


class LtmRow(NamedTuple):
    """A long-term entry as the file has it; all None if it has none."""

    id: Any
    event_id: Any
    summary: Any
    importance: Any
    agent_id: Any
    persona: Any


class EventRow(NamedTuple):
    """An event as the file has it."""

    id: Any
    ts: Any
    agent_id: Any
    persona: Any
    loop_id: Any
    kind: Any
    visibility: Any
    content: Any
    metadata: Any
    ltm: LtmRow | None
    extra: tuple[Any, ...] = ()
    """Ids of further long-term entries of the same event."""


class StmRow(NamedTuple):
    """A short-term entry as the file has it, and what the map calls it."""

    ref: Any
    id: Any
    loop_id: Any
    summary: Any
    agent_id: Any
    persona: Any


class LayoutReader:
    """One open file. SQLite is asked in a thread, so that nothing waits for a disk."""

    def __init__(self, file: str | Path, agent: str | None):
        self._file = file
        self._agent = agent
        self._connection: sqlite3.Connection | None = None
        self.layout = Layout({}, frozenset())

    async def __aenter__(self) -> LayoutReader:
        def begin() -> tuple[sqlite3.Connection, Layout]:
            opened = open_file(self._file)
            try:
                return opened, look(opened, self._file, named=self._agent is not None)
            except BaseException:
                opened.close()
                raise

        self._connection, self.layout = await to_thread.run_sync(begin)
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._connection is not None:
            await to_thread.run_sync(self._connection.close)

    async def count(self) -> int:
        """How many events there are to read."""
        names = {"events": EVENTS, "agent": self._agent_column}
        ((found,),) = await self._all(query("count", **names), self._wanted)
        return int(found)

    async def events(self) -> AsyncIterator[list[EventRow]]:
        """Every event once, in order, in batches."""
        layout = self.layout
        linked = layout.has(LTM, "id", "event_id")
        on = f"{layout.column('l', LTM, 'event_id')} = {layout.column('e', EVENTS, 'id')}"
        text = query(
            "events", events=EVENTS, agent=self._agent_column,
            order=layout.order("e", EVENTS, "ts"), e_id=layout.column("e", EVENTS, "id"),
            e_columns=layout.columns("e", EVENTS),
            l_columns=layout.columns("l", LTM) if linked else ", ".join(["NULL"] * 6),
            l_join=f"LEFT JOIN {LTM} AS l ON {on}" if linked else "",
        )  # fmt: skip
        cursor = await self._in_thread(lambda c: c.execute(text, self._wanted))
        held: list[EventRow] = []
        last: tuple[Any, ...] | None = None
        while rows := await self._in_thread(lambda _c: cursor.fetchmany(BATCH)):
            for row in rows:
                key, event, ltm = row[0:10], row[1:10], LtmRow(*row[10:16])
                if key == last and held[-1].ltm is not None:
                    held[-1] = held[-1]._replace(extra=(*held[-1].extra, ltm.id))
                    continue
                held.append(EventRow._make((*event, ltm if ltm.id is not None else None, ())))
                last = key
            # The last one stays: its next entry may begin the next batch.
            if len(held) > 1:
                yield held[:-1]
                held = held[-1:]
        if held:
            yield held

    async def loops(self) -> AsyncIterator[list[StmRow]]:
        """Every short-term entry, in batches."""
        if not self.layout.has(STM, "loop_id", "summary"):
            return
        columns = self.layout.columns("s", STM)
        text = query("loops", stm=STM, s_ref=self._stm_ref, s_columns=columns)
        cursor = await self._in_thread(lambda c: c.execute(text))
        while rows := await self._in_thread(lambda _c: cursor.fetchmany(BATCH)):
            yield [StmRow(*row) for row in rows]

    async def found(self, name: str) -> list[Any]:
        """What one of the checks between tables finds; nothing where a table is missing."""
        names, possible = self._checks()[name]
        if not possible:
            return []
        return [row[0] for row in await self._all(query(name, **names))]

    def _checks(self) -> Mapping[str, tuple[dict[str, str], bool]]:
        layout, has = self.layout, self.layout.has
        ref = "loop_id" if has(MAP, "loop_id") else "stm_id"
        tables = {"events": EVENTS, "ltm": LTM, "stm": STM, "map": MAP}
        names = {
            **tables,
            "m_ref": self._name(MAP, ref), "ltm_id": self._name(MAP, "ltm_id"),
            "s_ref": self._stm_ref, "m_order": layout.order("m", MAP, "ltm_id"),
            "e_id": self._name(EVENTS, "id"), "e_loop": self._name(EVENTS, "loop_id"),
            "e_persona": self._name(EVENTS, "persona"), "l_id": self._name(LTM, "id"),
            "l_event": self._name(LTM, "event_id"), "order": layout.order("e", EVENTS, "ts"),
        }  # fmt: skip
        if has(MAP, "position"):
            names["m_order"] = layout.column("m", MAP, "position")
        whole = has(MAP, ref, "ltm_id") and has(LTM, "id", "event_id")
        ltm = {**names, "id": names["l_id"], "event_id": names["l_event"]}
        repeated = {
            **names, "id": names["e_id"], "agent": self._agent_column,
            "persona": layout.column("e", EVENTS, "persona"),
        }  # fmt: skip
        return {
            "repeated": (repeated, True),
            "ltm_repeated": (ltm, has(LTM, "id")),
            "ltm_without_event": (ltm, has(LTM, "id", "event_id")),
            "stm_without_event": (
                {**names, "loop_id": self._name(STM, "loop_id")}, has(STM, "loop_id"),
            ),
            "map_without_ltm": (names, has(MAP, "ltm_id") and has(LTM, "id")),
            "map_without_stm": (names, has(MAP, ref) and has(STM, "loop_id")),
            "map_of_others": (names, whole),
            "map_in_another_order": (names, whole),
        }  # fmt: skip

    def _name(self, table: str, column: str) -> str:
        return quoted(self.layout.tables.get(table, {}).get(column, column))

    @property
    def _agent_column(self) -> str:
        return self.layout.column("e", EVENTS, "agent_id")

    @property
    def _wanted(self) -> tuple[str | None]:
        """The agent to look for; none where the file does not tell its agents apart."""
        return (self._agent if self.layout.has(EVENTS, "agent_id") else None,)

    @property
    def _stm_ref(self) -> str:
        """What the map names a short-term entry by: its loop, or its id if it has one."""
        by_id = not self.layout.has(MAP, "loop_id") and self.layout.has(STM, "id")
        return self.layout.column("s", STM, "id" if by_id else "loop_id")

    async def _all(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return await self._in_thread(lambda c: c.execute(text, values).fetchall())

    async def _in_thread(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        def asked() -> T:
            with told(self._file):
                if self._connection is None:
                    raise sqlite3.ProgrammingError
                return ask(self._connection)

        return await to_thread.run_sync(asked)


def shown(ids: list[Any]) -> Iterator[str]:
    """Ids of the file as a report shows them."""
    for one in ids:
        yield one.hex() if isinstance(one, bytes) else str(one)[:100]

"""Import of events into logs from a file of JSON Lines: ids, moments and loops stay as they were.

Each line is one event; docs/how-to/import-events.md has the format. A batch looks first at what
the log has, so an interrupted import is simply run again. A log is not rewritten: an event that is
there with another content is reported, and one that was erased since stays empty. Each persona's
events go through that persona's own stores and role.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import fstat
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from anyio import to_thread
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from idetic.errors import InputError
from idetic.persona.events import (
    IMPORTED,
    ORIGINAL_KIND,
    REDACTED,
    RESERVED,
    Event,
    EventDraft,
    Persona,
    Progress,
    Visibility,
    imported_kind,
)
from idetic.persona.persona_errors import (
    EventRefused,
    EventsUnreadable,
    IdentityError,
    IdentityInvalid,
)
from idetic.persona.persona_stores import TRANSACTION_MAX, PersonaStores, is_emptied

# The longest content, as JSON with every character escaped, and room for the rest.
LINE_MAX = 16_000_000
PROBLEMS_KEPT = 20

OpenStores = Callable[[str], Awaitable[Mapping[Persona, PersonaStores]]]
"""The stores of an agent by its id."""


class EventLine(BaseModel):
    """One line of the file: an event. `agent_id` may be left out where the import names the agent.

    A `kind` that Idetic does not know is kept as `system_event`, with the original in the metadata.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: UUID
    ts: AwareDatetime
    loop_id: UUID
    kind: str = Field(max_length=200)
    content: str
    persona: Persona = Persona.ACTOR
    visibility: Visibility = Visibility.EXTERNAL
    metadata: dict[str, Any] = {}
    agent_id: str | None = None


@dataclass(slots=True)
class ImportReport:
    """What an import did; in a dry run, what it would do.

    `read` is the sum of `written`, `there` (the log had them), `erased` (since; they stay empty),
    `differing` (the log has the id with another content), `refused` (no event that the log can
    hold) and `skipped` (another agent's). `unknown_kinds` were kept as `system_event`, `redacted`
    lost something at the ingest gate, `loops` got their short-term entry. `personas` counts the
    events of each `agent/persona`; `problems` are the first lines that were refused or differ.
    """

    dry_run: bool = False
    read: int = 0
    written: int = 0
    there: int = 0
    erased: int = 0
    differing: int = 0
    refused: int = 0
    skipped: int = 0
    unknown_kinds: int = 0
    redacted: int = 0
    loops: int = 0
    personas: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the log has every event that was asked for."""
        return not self.refused and not self.differing

    def add_problem(self, number: int, why: str) -> None:
        """Keep a problem with the number of its line; after the first ones, it only counts."""
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(f"line {number}: {why}")


class LogImport:
    """One import; it can be interrupted and run again.

    All that it keeps in memory, beside one batch, is which loops there are.
    """

    def __init__(
        self,
        open_stores: OpenStores,
        *,
        agent: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ):
        self.report = ImportReport(dry_run)
        self._open_stores = open_stores
        self._agent = agent
        self._progress = progress or (lambda _what, _done, _total: None)
        self._agents: dict[str, Mapping[Persona, PersonaStores]] = {}
        self._loops: dict[tuple[str, Persona], set[UUID]] = {}

    async def run(self, path: str | Path) -> ImportReport:
        """Read the whole file, write what the log has not, and close the loops."""
        if self._agent is not None:
            self._agents[self._agent] = await self._open_stores(self._agent)
        with await to_thread.run_sync(_opened, Path(path)) as file:
            size, number = fstat(file.fileno()).st_size, 0
            while lines := await to_thread.run_sync(_next_lines, file, number):
                await self._batch(lines, number)
                number += len(lines)
                self._progress("bytes", file.tell(), size)
        if not self.report.dry_run:
            await self._close_loops()
        return self.report

    async def _batch(self, lines: Sequence[bytes], before: int) -> None:
        """Read a batch of lines, count what is refused, and write the rest log by log."""
        events: dict[tuple[str, Persona], list[tuple[int, Event]]] = {}
        for number, line in enumerate(lines, start=before + 1):
            if not line.strip():
                continue
            self.report.read += 1
            try:
                if (event := await self._event(line)) is not None:
                    events.setdefault((event.agent_id, event.persona), []).append((number, event))
            except EventRefused as error:
                self.report.refused += 1
                self.report.add_problem(number, error.message)
        for (agent_id, persona), numbered in events.items():
            whose = f"{agent_id}/{persona}"
            self.report.personas[whose] = self.report.personas.get(whose, 0) + len(numbered)
            await self._write(self._agents[agent_id][persona], numbered)

    async def _event(self, line: bytes) -> Event | None:
        """The event of a line, checked and past the ingest gate; None if it is not asked for."""
        try:
            read = EventLine.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise EventRefused(f"{where}: {first['msg']}" if where else first["msg"]) from None
        agent_id = read.agent_id or self._agent
        if agent_id is None:
            raise EventRefused("agent_id: The line names no agent, and neither does the import.")
        if self._agent is not None and agent_id != self._agent:
            self.report.skipped += 1
            return None
        stores = (await self._stores(agent_id)).get(read.persona)
        if stores is None:
            raise EventRefused(f"persona: The log of this agent has no {read.persona}.")
        kind, own = imported_kind(read.kind)
        reserved = {key: read.metadata[key] for key in sorted(read.metadata.keys() & _TAKEN)}
        if reserved:
            own[IMPORTED] = {"metadata": reserved}
        free = {key: value for key, value in read.metadata.items() if key not in reserved}
        draft = EventDraft(kind, read.content, read.visibility, free, read.ts, read.id)
        try:
            event = stores.validation.event(draft, read.loop_id, read.ts, own)
        except InputError as error:
            raise EventRefused(error.message) from None
        self.report.unknown_kinds += ORIGINAL_KIND in own
        self.report.redacted += REDACTED in event.metadata
        return event

    async def _stores(self, agent_id: str) -> Mapping[Persona, PersonaStores]:
        """An agent's stores, opened at its first event and kept for the others."""
        if agent_id not in self._agents:
            try:
                self._agents[agent_id] = await self._open_stores(agent_id)
            except (IdentityError, IdentityInvalid):
                raise EventRefused("agent_id: An agent cannot have this name.") from None
        return self._agents[agent_id]

    async def _write(self, stores: PersonaStores, numbered: Sequence[tuple[int, Event]]) -> None:
        """Write those events of a batch that the log has not, in one transaction."""
        ids = [event.id for _, event in numbered]
        known = {event.id: event for event in await stores.events("events", ids=ids)}
        new: list[Event] = []
        for number, event in numbered:
            there = known.get(event.id)
            if there is None:
                known[event.id] = event
                new.append(event)
            elif is_emptied(there):
                self.report.erased += 1
            elif _content_of(there) == _content_of(event):
                self.report.there += 1
            else:
                self.report.differing += 1
                what = f"The log has the event {event.id} with another content."
                self.report.add_problem(number, what)
                continue
            key = (event.agent_id, event.persona)
            self._loops.setdefault(key, set()).add(event.loop_id)
        if new and not self.report.dry_run:
            await stores.record(new)
        self.report.written += len(new)

    async def _close_loops(self) -> None:
        """Give each loop of the file its short-term entry; a dream gives the vectors."""
        for (agent_id, persona), loops in self._loops.items():
            stores = self._agents[agent_id][persona]
            strays = [one for one in await stores.store.ids("stray_loops") if one in loops]
            for done, loop_id in enumerate(strays, start=1):
                await stores.close_loop(loop_id)
                self.report.loops += 1
                self._progress(f"{agent_id}/{persona} loops", done, len(strays))


# Metadata keys that only Idetic writes; an import keeps a caller's under `imported`.
_TAKEN = RESERVED | {REDACTED}


def _content_of(event: Event) -> tuple[object, ...]:
    """What an event says, as the record function compares it."""
    known = (event.loop_id, event.kind, event.visibility, event.content)
    return (*known, dict(event.metadata))


def _opened(path: Path) -> IO[bytes]:
    """The file, open for reading, or `EventsUnreadable`."""
    try:
        return path.open("rb")
    except (OSError, ValueError):
        shown = str(path)[:200]
        raise EventsUnreadable(f"The file {shown!r} cannot be found or read.") from None


def _next_lines(file: IO[bytes], before: int) -> list[bytes]:
    """The lines of the next batch; none at the end of the file."""
    lines: list[bytes] = []
    while len(lines) < TRANSACTION_MAX:
        try:
            line = file.readline(LINE_MAX + 1)
        except OSError as error:
            raise EventsUnreadable(f"The file cannot be read: {error.strerror}.") from None
        if len(line) > LINE_MAX:
            number = before + len(lines) + 1
            raise EventsUnreadable(f"line {number}: The line has more than {LINE_MAX:,} bytes.")
        if not line:
            break
        lines.append(line)
    return lines

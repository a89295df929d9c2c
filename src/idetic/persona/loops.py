"""Loops: one task from its first event to its end, and the dream, a loop of the Subconscious.

A dream finds its work by state: events without an entry, entries without a vector, loops without
a summary. So it is idempotent, and one that was killed is simply dreamt again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID

import anyio

from idetic.embed.port import EmbedderHangs
from idetic.errors import IdeticError, ScopeClosed
from idetic.ids import uuid7
from idetic.persona.compactor import COMPACT_MAX
from idetic.persona.events import Event, EventDraft, EventKind, Progress, Visibility
from idetic.persona.persona_stores import Coverage, PersonaStores
from idetic.reason.port import Reasoner, ReasonerError, ShownEntry, SummaryAsked, Usage

# Closing goes on although the task was cancelled, for so many seconds at the most.
CLOSING = 60.0
_ERROR_MAX = 2_000
_BATCH = 200

Reasoners = Callable[[], AbstractAsyncContextManager[Reasoner]]


class Loop:
    """One loop of one persona; use it as `async with memory.loop(task) as loop`.

    If its body raises, the loop writes an `error` event. At its end it makes the vectors of its
    entries and its short-term entry. If that fails, `underived` says why, the task still succeeds,
    and a dream makes them later.
    """

    def __init__(self, stores: PersonaStores, task: str | None = None):
        self.id: UUID = uuid7()
        self.task = task
        self.persona = stores.persona
        self.underived: IdeticError | None = None
        self._stores = stores
        self._closed = False

    def __repr__(self) -> str:
        return f"Loop({self.id}, {self.persona})"

    async def append(
        self,
        kind: EventKind,
        content: str,
        *,
        visibility: Visibility = Visibility.EXTERNAL,
        metadata: Mapping[str, Any] | None = None,
        ts: datetime | None = None,
        id: UUID | None = None,  # noqa: A002 - the document's name for it
    ) -> Event:
        """Write one event; it is committed when this returns, even without its entry."""
        (event,) = await self.append_many([EventDraft(kind, content, visibility, metadata, ts, id)])
        return event

    async def append_many(self, drafts: Iterable[EventDraft]) -> list[Event]:
        """Write up to 10,000 events, in order; every 1,000 of them are one transaction."""
        if self._closed:
            raise ScopeClosed("This loop is closed.", remedy="Open a new loop and write there.")
        return await self._stores.append(self.id, drafts)

    async def close(self) -> None:
        """Make the loop's vectors and its short-term entry; a second call changes nothing."""
        if self._closed:
            return
        self._closed = True
        if not self._stores.common.derive:
            return
        try:
            await self._stores.embedding.loop(self._stores.store.scope, self.id)
        except IdeticError as error:
            self.underived = error
        try:
            await self._stores.close_loop(self.id)
        except IdeticError as error:
            self.underived = error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # Shielded: a cancelled task is a loop that ended, and must say so.
        with anyio.move_on_after(CLOSING, shield=True):
            if error is not None:
                await self._append_error(error)
            await self.close()

    async def _append_error(self, error: BaseException) -> None:
        """Write the body's error as an event; the caller still gets the error itself."""
        text = f"{type(error).__name__}: {error}"[:_ERROR_MAX]
        clean = text.replace("\x00", "").encode("utf-8", "replace").decode()
        try:
            await self.append(EventKind.ERROR, clean, visibility=Visibility.INTERNAL)
        except IdeticError as failed:
            error.add_note(f"The loop's error event could not be written: {failed}")


@dataclass(frozen=True, slots=True)
class Dreamed:
    """The result of a dream, and the coverage after it.

    If there is a Subconscious, the dream is a loop of its own; `loop_id` names it. `usage` is the
    usage of the reasoner.
    """

    loop_id: UUID | None
    derived: int
    embedded: int
    summarised: int
    coverage: tuple[Coverage, ...]
    reasoned: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def equal(self) -> bool:
        """Whether the derived entries of every persona cover its log."""
        return all(coverage.equal for coverage in self.coverage)


@dataclass(frozen=True, slots=True)
class Dream:
    """Backfills what is derived for every persona, each through its own role."""

    actors: PersonaStores
    own: PersonaStores | None
    progress: Progress | None = None
    reasoner: Reasoners | None = None

    async def run(self) -> Dreamed:
        """Dream. Its own loop is the Subconscious's, and is covered as any other."""
        if self.own is None:
            return await self._backfill((self.actors,), None)
        async with Loop(self.own, "dream") as loop:
            await loop.append(
                EventKind.SUBCONSCIOUS_PROMPT, "Dream begins.", visibility=Visibility.INTERNAL
            )
            dreamed = await self._backfill((self.actors, self.own), loop.id)
            await loop.append(
                EventKind.SUBCONSCIOUS_OUTPUT,
                f"Dream ends: {dreamed.derived} entries derived, {dreamed.embedded} embedded, "
                f"{dreamed.summarised} loops summarised.",
                visibility=Visibility.INTERNAL,
            )
        # Once more: the dream's own loop has its summary only now.
        return replace(dreamed, coverage=(await self.actors.coverage(), await self.own.coverage()))

    async def _backfill(self, personas: Sequence[PersonaStores], loop_id: UUID | None) -> Dreamed:
        """Make what is missing: entries, what is reasoned of them, vectors, summaries."""
        derived = sum([await self._derive(stores) for stores in personas])
        reasoned, usage = await self._reason(personas)
        embedded = sum([await self._embed(stores) for stores in personas])
        summarised = sum([await self._summarise(stores, loop_id) for stores in personas])
        covered = tuple([await stores.coverage() for stores in personas])
        return Dreamed(loop_id, derived, embedded, summarised, covered, reasoned, usage)

    async def _derive(self, stores: PersonaStores) -> int:
        """Derive entries of events that have none, or one of another derivation."""
        deriver, after, written = stores.common.deriver, 0, 0
        while events := await stores.underived(after, _BATCH):
            made = [step for event in events if (step := deriver.entry(event)) is not None]
            written += await stores.put_entries(made) if made else 0
            after = events[-1].position
            self._report(f"{stores.persona} entries", written, written)
        return written

    async def _reason(self, personas: Sequence[PersonaStores]) -> tuple[int, Usage]:
        """Have the reasoner compact what was too long to be kept whole, one event at a time: it
        never sees two personas together. Where it fails, the extracted entry stays for now."""
        written, usage = 0, Usage()
        if self.reasoner is None:
            return written, usage
        async with self.reasoner() as reasoner:
            for stores in personas:
                deriver, after = stores.common.deriver, 0
                query = {"derivation": deriver.name, "longer_than": COMPACT_MAX, "limit": _BATCH}
                while events := await stores.events("unreasoned", after=after, **query):
                    for event in events:
                        after = event.position
                        shown = ShownEntry(event.id, event.content)
                        try:
                            answer = await reasoner.summarise(SummaryAsked((shown,), COMPACT_MAX))
                        except ReasonerError:
                            continue
                        usage += answer.usage
                        if step := deriver.entry(event, answer.text):
                            written += await stores.put_entries([step])
                            self._report(f"{stores.persona} reasoned", written, written)
        return written, usage

    async def _embed(self, stores: PersonaStores) -> int:
        """Embed in the profile of the model at hand; an embedder that hangs ends it for now."""
        if await stores.engine.profile() is None:
            return 0
        embedded = 0

        def report(done: int, total: int) -> None:
            """Keep the count: it is the answer if the embedder hangs."""
            nonlocal embedded
            embedded = done
            self._report(f"{stores.persona} vectors", done, total)

        try:
            return (await stores.embedding.pending(stores.store.scope, report)).embedded
        except EmbedderHangs:
            return embedded

    async def _summarise(self, stores: PersonaStores, own_loop: UUID | None) -> int:
        """Summarise loops that have no entry, or one from before their entries were whole."""
        loops = await stores.store.ids("stray_loops")
        strays = [loop_id for loop_id in loops if loop_id != own_loop]
        for done, loop_id in enumerate(strays, start=1):
            await stores.close_loop(loop_id)
            self._report(f"{stores.persona} loops", done, len(strays))
        return len(strays)

    def _report(self, what: str, done: int, total: int) -> None:
        """Report progress, if somebody listens."""
        if self.progress is not None:
            self.progress(what, done, total)

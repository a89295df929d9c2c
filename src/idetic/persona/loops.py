"""A loop: one task from its first event to its end. It always closes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import anyio

from idetic.errors import IdeticError, ScopeClosed
from idetic.ids import uuid7
from idetic.persona.drafts import Draft
from idetic.persona.events import Event, EventKind, Visibility
from idetic.persona.layers import Layers

# Closing goes on although the task was cancelled, for so many seconds at the most.
CLOSING = 60.0
_ERROR_MAX = 2_000


class Loop:
    """One loop of one persona; use it as `async with memory.loop(task) as loop`.

    It writes nothing of itself but an `error` event when its body raises. When it ends, its entries
    get their vectors and it gets its short-term entry. If any of that fails, `underived` says why,
    and a dream makes up for it: what is derived never fails a task.
    """

    def __init__(self, layers: Layers, task: str | None = None):
        self.id: UUID = uuid7()
        self.task = task
        self.persona = layers.persona
        self.underived: IdeticError | None = None
        self._layers = layers
        self._closed = False

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
        """Write one event; it is committed when this returns, whatever becomes of its mirror."""
        (event,) = await self.append_many([Draft(kind, content, visibility, metadata, ts, id)])
        return event

    async def append_many(self, drafts: Iterable[Draft]) -> list[Event]:
        """Write up to 10,000 events, in order; every 1,000 of them are one transaction."""
        if self._closed:
            raise ScopeClosed("This loop is closed.", remedy="Open a new loop and write there.")
        return await self._layers.writer.append(self.id, drafts)

    async def close(self) -> None:
        """Derive what the loop leaves. Twice is once."""
        if self._closed:
            return
        self._closed = True
        if not self._layers.common.derive:
            return
        for step in (self._embed, self._summarise):
            try:
                await step()
            except IdeticError as error:
                self.underived = error

    async def _embed(self) -> None:
        store, embedding = self._layers.store, self._layers.embedding
        await embedding.loop(store.scope, self.id)

    async def _summarise(self) -> None:
        await self._layers.stm.close(self.id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Shielded: a cancelled task is a loop that ended, and must say so.
        with anyio.move_on_after(CLOSING, shield=True):
            if error is not None:
                await self._tell(error)
            await self.close()

    async def _tell(self, error: BaseException) -> None:
        """Write down that the body raised; the body's own error is what the caller sees."""
        said = f"{type(error).__name__}: {error}"[:_ERROR_MAX]
        clean = said.replace("\x00", "").encode("utf-8", "replace").decode()
        try:
            await self.append(EventKind.ERROR, clean, visibility=Visibility.INTERNAL)
        except IdeticError as failed:
            error.add_note(f"The loop's error event could not be written: {failed}")

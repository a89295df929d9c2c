"""A conversation: documents in the order in which they were added, under one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

from idetic.ids import uuid7_text
from idetic.surfaces.documents.document import Document, Put
from idetic.surfaces.documents.naming import Namespace
from idetic.surfaces.documents.shelf import Shelf
from idetic.verbs.arguments import MAX_PAGE


class Conversation:
    """What frameworks call a session or a chat history."""

    def __init__(self, shelf: Shelf, namespace: Namespace):
        self._shelf = shelf
        self._namespace = namespace

    async def append(self, values: Iterable[Mapping[str, Any]]) -> None:
        """Add values at the end: all of them or none."""
        await self._shelf.put_many([Put(self._namespace, uuid7_text(), each) for each in values])

    async def latest(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The last so many values, or all, oldest first."""
        return [each.value for each in reversed(await self._newest(limit))]

    async def pop(self) -> dict[str, Any] | None:
        """Take the last value away; it is archived, and no longer part of the conversation."""
        last = await self._newest(1)
        await self._remove(last, "taken back")
        return last[0].value if last else None

    async def clear(self) -> None:
        """Take every value away."""
        await self._remove(await self._newest(None), "cleared")

    async def _newest(self, limit: int | None) -> list[Document]:
        found: list[Document] = []
        if limit is not None and limit <= 0:
            return found
        pages = self._shelf.pages(self._namespace, at_once=limit or MAX_PAGE)
        async with aclosing(pages):
            async for page in pages:
                found += page
                if limit is not None and len(found) >= limit:
                    break
        return found[:limit]

    async def _remove(self, documents: Iterable[Document], reason: str) -> None:
        await self._shelf.delete_many([(d.namespace, d.key) for d in documents], reason)

"""Disclosure: everything about one user in one file that the user can read.

Turns, facts, preferences, candidates and summaries in every state; when, who said it, where it came
from, who read it, what was done because of it. `export` moves memory; this shows it.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from anyio import to_thread

from idetic.engine import Binding
from idetic.errors import InputError
from idetic.model import Capability, plain
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.disclosure_rows import (
    Item,
    disclosed_actions,
    disclosed_entries,
    disclosed_turns,
)
from idetic.store.export_rows import leaving
from idetic.transfer.exports import NEW, free_path
from idetic.verbs.declaration import get, stream_verb, verb

_TITLES = {
    "turns": "What was said",
    "entries": "What is remembered",
    "actions": "What was done because of it",
}
_CHUNK = 64


class DisclosureForm(StrEnum):
    """How a disclosure is written."""

    JSON = "json"
    MARKDOWN = "markdown"


Kind = Callable[[AnchorTransaction], AsyncIterator[Item]]
_KINDS: dict[str, Kind] = {
    "turns": disclosed_turns,
    "entries": disclosed_entries,
    "actions": disclosed_actions,
}


@stream_verb(
    capability=Capability.EXPORT,
    whole_anchor=True,
    http=get("/disclosure", "moving", media_type="text/plain"),
    command=None,
    describes={"form": "JSON for programs, Markdown for people."},
)
async def disclosure(
    binding: Binding, *, form: DisclosureForm = DisclosureForm.JSON
) -> AsyncIterator[bytes]:
    """Give everything about this anchor's user, as one document for that user."""
    async for text in _document(binding, form):
        yield text.encode()


@verb(capability=Capability.EXPORT, whole_anchor=True, command=None)
async def disclose_to(
    binding: Binding, path: str | Path, *, form: DisclosureForm = DisclosureForm.JSON
) -> int:
    """Write the disclosure to a new file that only its owner can read; returns its size."""
    place = free_path(path)
    size = 0
    try:
        opened = os.open(place, NEW, 0o600)
        with os.fdopen(opened, "wb") as file:
            async for text in _document(binding, form):
                size += await to_thread.run_sync(file.write, text.encode())
    except OSError as error:
        raise InputError(f"The file cannot be written: {error.strerror}.") from None
    return size


async def _document(binding: Binding, form: DisclosureForm) -> AsyncIterator[str]:
    """The document of one moment, piece by piece: its head, then each kind with its items."""
    write = _Markdown() if form is DisclosureForm.MARKDOWN else _Json()
    scope = binding.scope
    async with leaving(binding.engine.anchors, scope) as tx:
        yield write.head(scope.agent, plain(scope.anchor), tx.at.isoformat())
        for kind, items in _KINDS.items():
            yield write.begin(kind)
            pieces: list[str] = []
            async for item in items(tx):
                pieces.append(write.item(kind, item))
                if len(pieces) == _CHUNK:
                    yield "".join(pieces)
                    pieces.clear()
            yield "".join(pieces) + write.end()
        yield write.tail()


class _Json:
    """One JSON object: an item to a line, so that a long one can be looked through."""

    _first = True

    def head(self, agent: str, anchor: Any, at: str) -> str:
        """The object's beginning: of whose memory it is, and as of when."""
        told = {"agent": agent, "about": anchor, "as_of": at}
        return json.dumps(told, ensure_ascii=False)[:-1]

    def begin(self, kind: str) -> str:
        """A list of one kind."""
        self._first = True
        return f',\n"{kind}": ['

    def item(self, _kind: str, item: Item) -> str:
        """One item of the list."""
        comma, self._first = "" if self._first else ",", False
        return f"{comma}\n{json.dumps(item, ensure_ascii=False)}"

    def end(self) -> str:
        """The end of a list."""
        return "]"

    def tail(self) -> str:
        """The end of the object."""
        return "}\n"


class _Markdown:
    """A page for people: a heading for each kind, a paragraph for each item."""

    def head(self, agent: str, anchor: Any, at: str) -> str:
        """The title, and what the page is."""
        about = ", ".join(f"{name} {value}" for name, value in anchor.items())
        return f"# What {agent} knows about {about}\n\nAs of {at}.\n"

    def begin(self, kind: str) -> str:
        """The heading of one kind."""
        return f"\n## {_TITLES[kind]}\n"

    def item(self, _kind: str, item: Item) -> str:
        """The text as a quotation, then all that is known of it, line by line."""
        text = item.get("text") or item["kind"]
        quoted = "".join(f"\n> {line}" for line in str(text).splitlines() or [""])
        shown = ((name, value) for name, value in item.items() if name != "text" and _says(value))
        lines = "".join(f"\n- {name.replace('_', ' ')}: {_plain(value)}" for name, value in shown)
        return f"{quoted}\n{lines}\n"

    def end(self) -> str:
        """Nothing: the next heading ends it."""
        return ""

    def tail(self) -> str:
        """Nothing more."""
        return ""


def _says(value: Any) -> bool:
    """Whether a value is worth a line."""
    return value not in (None, "", [], {})


def _plain(value: Any) -> str:
    """A value as one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Threads of an agent framework that belong to a scope: what its checkpoints hold of it.

The framework's tables know no tenant, and a thread is a scope's by its name. An erasure looks into
them in its own transaction: either memory and working state are both empty after it, or neither.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from idetic.erasure import Kept
from idetic.model import Scope
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.scope import quoted

_FILE = "threads"
_TABLES = 3
# What the framework's own serializer writes; anything else was packed or encrypted by somebody.
_READABLE = frozenset({"json", "msgpack", "bytes", "bytearray", "null", "empty", "pickle"})
_NO_RIGHT = "this role may not delete there; an owner of the schema can, by its threads"
_UNREADABLE = "its serializer is none that can be read here; delete the thread if it is theirs"


def thread_prefix(scope: Scope) -> str:
    """How the name of every thread of a scope begins, and of none of another."""
    parts = [scope.agent, *map(str, scope.anchor.values())]
    return "".join(f"{quote(part, safe='')}/" for part in parts)


@dataclass(frozen=True, slots=True)
class ErasedThreads:
    """The threads that went, each by a digest of its name, and what stays of others."""

    removed: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()


async def erase_threads(
    tx: AnchorTransaction, names: Callable[[str], bool] | None = None
) -> ErasedThreads:
    """Delete the threads of this anchor that hold something, or all of them if nothing is asked.

    `names` says whether a text holds what has to go. A thread goes as a whole: it is the working
    state of one conversation, and half a state is none.
    """
    schema = tx.spec.backend.checkpointer
    ((there, reachable),) = await tx.ask(_FILE, "reachable", schema=schema)
    if there < _TABLES:
        return ErasedThreads()
    if reachable < _TABLES:
        return ErasedThreads(kept=(Kept("checkpoints", "thread_id", 0, _NO_RIGHT),))
    parts, prefix = {"checkpointer": quoted(schema)}, thread_prefix(tx.scope)
    going, unreadable = [], 0
    for (thread,) in await tx.ask(_FILE, "threads", parts, prefix=prefix):
        if names is None or names(unquote(thread[len(prefix) :])):
            going.append(thread)
            continue
        held = await tx.ask(_FILE, "state", parts, thread=thread)
        if any(names(_text(kind, blob)) for kind, blob in held):
            going.append(thread)
        else:
            unreadable += sum(kind not in _READABLE for kind, _ in held)
    await _forget(tx, parts, going)
    kept = (Kept("checkpoints", "blob", unreadable, _UNREADABLE),) if unreadable else ()
    # A digest: the name of a thread may be the name of a person, and this is kept for good.
    return ErasedThreads(tuple(hashlib.sha256(one.encode()).hexdigest() for one in going), kept)


async def _forget(tx: AnchorTransaction, parts: dict[str, str], threads: Sequence[str]) -> None:
    """Delete some threads from all three tables."""
    if threads:
        for query in ("forget_blobs", "forget_writes", "forget_checkpoints"):
            await tx.ask(_FILE, query, parts, threads=list(threads))


def _text(kind: str, blob: bytes) -> str:
    """What a packed value says: texts lie in it as they are, between bytes that are none."""
    text = bytes(blob).decode(errors="replace")
    if kind != "json" or "\\u" not in text:
        return text
    try:
        # Written in ASCII alone, letters of other scripts are escapes.
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text

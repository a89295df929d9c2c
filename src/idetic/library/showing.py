"""Read receipts of verbs: the entries in an answer were shown to the principal that asked.

One place for all of them, behind every surface and adapter: the door through which verbs are
performed. `context` says itself what of it had room, and a recall records what it finds; of every
other answer it is the entries in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.model import Capability, Entry
from idetic.recall.context import Context
from idetic.recall.hits import Recall
from idetic.store.recall_query import ReadReceipt
from idetic.verbs.authorization import allows
from idetic.verbs.declaration import Verb

# How deep an answer is looked through: a recall holds hits, and a hit its entry.
_DEPTH = 4


async def record_shown(binding: Binding, verb: Verb[..., Any], answer: object) -> None:
    """Say of what was read which sessions it was put before, where that can matter.

    A read at a session is that session's. One at the whole memory is put before every session that
    the same principal has open there. Whoever may not write can echo nothing.
    """
    entries = {} if verb.writes else dict.fromkeys(shown_in(answer))
    if not entries or not _may_echo(binding):
        return
    engine = binding.engine
    now = engine.clock.now()
    await engine.embeddings.read(binding.scope, binding.place, entries, now, always=False)


def receipt_of(binding: Binding) -> ReadReceipt | None:
    """What records as read what a recall finds, in the recall's own message.

    None for whoever can echo nothing. A message of its own took a seventh of a recall.
    """
    if not _may_echo(binding):
        return None
    embeddings, now = binding.engine.embeddings, binding.engine.clock.now()
    return lambda ids: embeddings.receipt(binding.scope, binding.place, ids, now, always=False)


def shown_in(answer: object, depth: int = _DEPTH) -> Iterator[UUID]:
    """The ids of the entries within an answer."""
    if isinstance(answer, Context) or not depth:
        return
    if isinstance(answer, Recall):
        # Looked through like any other, it took a millisecond.
        yield from (() if answer.receipted else (hit.entry.id for hit in answer.hits))
    elif isinstance(answer, Entry):
        yield answer.id
    elif isinstance(answer, Mapping):
        yield from shown_in(list(answer.values()), depth)
    elif isinstance(answer, list | tuple):
        for one in answer:
            yield from shown_in(one, depth - 1)
    elif dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        for field in dataclasses.fields(answer):
            yield from shown_in(getattr(answer, field.name), depth - 1)


def _may_echo(binding: Binding) -> bool:
    """Whether the principal writes observations, at one whole anchor."""
    whole = all(value is not None for value in binding.scope.anchor.values())
    return whole and allows(binding.spec, binding.scope, Capability.OBSERVE)

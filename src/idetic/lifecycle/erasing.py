"""Erasure: everything that names somebody is emptied, and a receipt says what went from where."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from idetic.erasure import Erased, Kept, Subject
from idetic.errors import InputError
from idetic.gateway import steps
from idetic.gateway.gateway import Gateway
from idetic.gateway.items import with_key
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.lifecycle.mentions import Mentions
from idetic.model import Capability, Decision, Receipt, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.erasing import Going, Searched, Searching
from idetic.verbs.arguments import SHORT, check_text
from idetic.verbs.authorization import require, require_whole_anchor

_CHAINED = "the chain is over it: changing it would break every link after it"
_ACTED = "it says who acted; it is no content, and the ledger vouches for it"
_PROVIDED = "it is declared provenance, a label and no content"
_ANCHOR = "it is the key of the anchor itself; every row carries it"
_ACTOR_ENDS = "_by"


class Erasure:
    """Erases subjects from the memory of one agent, an anchor at a time."""

    def __init__(self, spec: MemorySpec, gateway: Gateway, searching: Searching, clock: Clock):
        self._spec = spec
        self._gateway = gateway
        self._searching = searching
        self._clock = clock

    async def erase(
        self,
        scope: Scope,
        subject: Subject | str | Iterable[str],
        *,
        reason: str,
        key: str | None,
    ) -> Erased:
        """Empty what names a subject, and what was made of it; the chain verifies as before."""
        require(self._spec, scope, Capability.ERASE)
        require_whole_anchor(scope)
        whom = subject if isinstance(subject, Subject) else Subject(subject)
        mentions = Mentions(whom)
        reason = self._gateway.said(reason)
        if key is not None:
            check_text(key, SHORT, "idempotency_key")
        if mentions.within(reason, key):
            raise InputError(
                "The reason or the idempotency key names the subject; both are kept for good.",
                remedy="Give the number of the request instead. Nothing was erased.",
            )
        call = {"verb": "erase", "reason": reason, "subject": _digest(mentions, scope, key)}
        asked = with_key(call, key)
        async with self._searching.hold(scope, self._clock.now()) as held:
            if key is not None and (known := await held.replay(key, asked["digest"])) is not None:
                return _told(replace(known, replayed=True))
            receipt = await self._emptied(held, mentions, reason)
            if key is not None:
                await held.remember(key, asked["digest"], receipt.position)
        return _told(receipt)

    async def _emptied(self, held: Searched, mentions: Mentions, reason: str) -> Receipt:
        going = await self._going(held, mentions)
        kept = await _kept(held, mentions)
        receipt = uuid7()
        known = await held.known("named", ids=list(going.entries)) if going.entries else []
        made = [_turned(one.entry, held, reason, receipt) for one in known]
        await self._gateway.settle(held, made)
        removed: dict[str, list[str]] = {}
        if going.found:
            entries = {"memory": [str(one) for one in going.entries]} if going.entries else {}
            removed = entries | await held.erase(going)
        told = {
            "entries": [str(one) for one in going.entries],
            "removed": removed,
            "kept": [one.as_data() for one in kept],
        }
        decision = Decision.DELETE if removed else Decision.NOOP
        why = reason if removed else "nothing found"
        closing = steps.link("erasure", decision, why, receipt=receipt, detail=told)
        (last,) = await self._gateway.settle(held, [closing])
        return last

    async def _going(self, held: Searched, mentions: Mentions) -> Going:
        runs = mentions.runs
        direct = [
            memory_id for memory_id, *texts in await held.mentioned(runs) if mentions.within(*texts)
        ]
        events = [one for one, *texts in await held.logged(runs) if mentions.within(*texts)]
        pairs = await held.mirrored(events, direct)
        events = sorted({*events, *(event for event, _ in pairs)})
        direct = sorted({*direct, *(entry for _, entry in pairs)})
        entries = sorted({*direct, *(await held.derived(direct) if direct else ())})
        notes = [note for note in await held.notes(runs) if mentions.within(note.text)]
        digests = await held.digests(entries, [note.row_id for note in notes])
        keys = [position for position, key in await held.keyed(runs) if mentions.within(key)]
        # Those about entries that go, go with them.
        beside = [note for note in notes if note.entry_id not in set(entries)]
        told = [one for one, body in await held.operational(runs) if mentions.within(body)]
        return Going(entries, beside, digests, keys, events, told)


def _turned(entry: Any, held: Searched, reason: str, receipt: UUID) -> Step:
    """The link of one entry: that it was erased, by whom and why, and nothing of what it said."""
    if entry.deleted_at is not None:
        return steps.link(
            "erased", Decision.DELETE, reason, entry=entry, receipt=receipt, state_to="deleted"
        )
    return steps.turn(
        entry, {"deleted_at": held.at}, "erased", reason, to="deleted",
        decision=Decision.DELETE, receipt=receipt,
    )  # fmt: skip


async def _kept(held: Searched, mentions: Mentions) -> list[Kept]:
    """What names the subject and stays: links of the chain, who acted, labels, the anchor."""
    found: dict[tuple[str, str], int] = {}
    for table, column, value, count in await held.named(mentions.runs):
        if mentions.within(value):
            found[table, column] = found.get((table, column), 0) + count
    kept = [
        Kept(table, column, count, _ACTED if column.endswith(_ACTOR_ENDS) else _PROVIDED)
        for (table, column), count in found.items()
    ]
    links: dict[str, list[int]] = {}
    for position, *parts in await held.told(mentions.runs):
        for column, part in zip(("reason", "actor", "detail"), parts, strict=True):
            if mentions.within(part):
                links.setdefault(column, []).append(position)
    kept += [
        Kept("ledger", column, len(at), _CHAINED, tuple(sorted(at))) for column, at in links.items()
    ]
    kept += [
        Kept("anchors", name, 1, _ANCHOR)
        for name, value in held.scope.anchor.items()
        if mentions.within(value)
    ]
    return kept


def _digest(mentions: Mentions, scope: Scope, key: str | None) -> str | None:
    """What tells two requests under one key apart, and is too slow to be guessed from."""
    if key is None:
        return None
    salt = "\x1f".join([scope.agent, *map(str, scope.anchor.values()), key])
    names = "\x1f".join(sorted(mentions.names))
    return hashlib.scrypt(names.encode(), salt=salt.encode(), n=2**14, r=8, p=1).hex()


def _told(receipt: Receipt) -> Erased:
    detail = receipt.detail
    removed = {table: tuple(ids) for table, ids in detail["removed"].items()}
    kept = [Kept(**(one | {"positions": tuple(one["positions"])})) for one in detail["kept"]]
    entries: Sequence[str] = detail["entries"]
    return Erased(receipt, tuple(map(UUID, entries)), removed, tuple(kept))

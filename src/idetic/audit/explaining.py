"""`explain_action`: from an action to the entries it rested on, and to all that lies behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.audit import past
from idetic.audit.explanation import (
    ActionExplanation,
    ActionRecord,
    ExplainedEntry,
    ReadReceipt,
    Reference,
    Source,
)
from idetic.audit.verify import require_one_chain
from idetic.errors import EntryNotFound, InputError, NotFound
from idetic.evidence import Corroboration, Lineage
from idetic.model import Capability, Entry, LedgerRecord, Ref, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.audit import Audited, Auditing
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import require

# Far more than any action has behind it; a bound all the same.
MOST = 10_000
MAX_LISTED = 1_000


@dataclass(slots=True)
class _Ground:
    """What was read about entries: rows as they are now, to be seen as they were."""

    entries: dict[UUID, Entry] = field(default_factory=dict)
    histories: dict[UUID, list[LedgerRecord]] = field(default_factory=dict)
    went: dict[UUID, list[tuple[UUID, int]]] = field(default_factory=dict)
    lineage: dict[UUID, list[Lineage]] = field(default_factory=dict)
    corroborations: dict[UUID, list[Corroboration]] = field(default_factory=dict)
    reads: dict[UUID, list[ReadReceipt]] = field(default_factory=dict)
    versions: dict[tuple[str, UUID], int] = field(default_factory=dict)


class Explaining:
    """Explains actions of one agent. Shows who was shown what, so it needs `audit`."""

    def __init__(self, spec: MemorySpec, auditing: Auditing, clock: Clock):
        self._spec = spec
        self._auditing = auditing
        self._clock = clock

    async def action(self, scope: Scope, action_id: UUID) -> ActionExplanation:
        """What an action rested on, each entry as it stood when the action was linked to it."""
        require(self._spec, scope, Capability.AUDIT)
        require_one_chain(scope)
        wanted = check_uuid(action_id, "action_id")
        async with self._auditing.look(scope, self._clock.now()) as seen:
            rows = await seen.action(wanted)
            if not rows:
                raise NotFound("There is no such action in this scope.")
            cuts = {row[0]: row[4] for row in rows}
            moments = {row[4]: row[2] for row in rows}
            ground = _Ground()
            more = await _gather(seen, ground, cuts, max(moments.values()))
        _, kind, at, by, _, reason = rows[0]
        rested = [row[0] for row in rows]
        told = {one: _explained(one, cut, moments[cut], ground) for one, cut in cuts.items()}
        return ActionExplanation(
            wanted, kind, at, by, reason or "",
            tuple(told.pop(entry_id) for entry_id in rested), told, more,
        )  # fmt: skip

    async def actions(self, scope: Scope, limit: int, before: UUID | None) -> list[ActionRecord]:
        """The actions that rest on this memory, newest first."""
        require(self._spec, scope, Capability.AUDIT)
        require_one_chain(scope)
        last = None if before is None else check_uuid(before, "before")
        async with self._auditing.look(scope, self._clock.now()) as seen:
            return [ActionRecord(*row) for row in await seen.actions(last, _limit(limit))]

    async def readers(self, scope: Scope, entry_id: UUID, limit: int) -> list[ReadReceipt]:
        """Who was shown an entry, newest first."""
        require(self._spec, scope, Capability.AUDIT)
        require_one_chain(scope)
        wanted = check_uuid(entry_id, "entry_id")
        async with self._auditing.look(scope, self._clock.now()) as seen:
            found = await seen.readers(wanted, _limit(limit))
            if not found and not await seen.histories([wanted]):
                raise EntryNotFound
            return [ReadReceipt(*row) for row in found]


def _limit(limit: object) -> int:
    if type(limit) is not int or not 1 <= limit <= MAX_LISTED:
        raise InputError(f"limit is a whole number from 1 to {MAX_LISTED:,}.")
    return limit


async def _gather(seen: Audited, ground: _Ground, cuts: dict[UUID, int], last: datetime) -> bool:
    """Read level by level: the entries, what those were made of, and so on; into `cuts` too.

    A source is seen as of the latest of the entries that it went into.
    """
    level = list(cuts)
    while level:
        await _read(seen, ground, level, last)
        found: dict[UUID, int] = {}
        for entry_id in level:
            for source in _sources(entry_id, cuts[entry_id], ground):
                if source not in cuts:
                    found[source] = max(found.get(source, 0), cuts[entry_id])
        if len(cuts) + len(found) > MOST:
            return True
        cuts |= found
        level = list(found)
    return False


async def _read(seen: Audited, ground: _Ground, ids: Sequence[UUID], last: datetime) -> None:
    entries = await seen.entries(ids)
    ground.entries |= entries
    ground.histories |= await seen.histories(ids)
    ground.went |= await seen.went_into(ids)
    ground.lineage |= await seen.lineage(ids)
    ground.corroborations |= await seen.corroborations(ids)
    for entry_id, by, at, session_id, interaction_id in await seen.reads(ids, last, MOST):
        receipt = ReadReceipt(by, at, session_id, interaction_id)
        ground.reads.setdefault(entry_id, []).append(receipt)
    by_noun: dict[str, set[UUID]] = {}
    for ref in (ref for entry in entries.values() for ref in entry.refs):
        by_noun.setdefault(ref.noun, set()).add(ref.id)
    for noun, wanted in by_noun.items():
        now = await seen.versions(noun, wanted)
        ground.versions |= {(noun, ref_id): version for ref_id, version in now.items()}


def _explained(entry_id: UUID, cut: int, moment: datetime, ground: _Ground) -> ExplainedEntry:
    whole = ground.histories.get(entry_id, [])
    history = past.upto(whole, cut)
    entry = ground.entries.get(entry_id)
    first = history[0] if history else None
    rows = {one.source_id: one for one in ground.lineage.get(entry_id, ())}
    refs = entry.refs if entry else _told_refs(history)
    return ExplainedEntry(
        id=entry_id,
        then=None if entry is None else past.entry_at(entry, whole, cut),
        written_by=f"{first.actor_kind}:{first.actor}" if first else "somebody unknown",
        written_at=first.at if first else None,
        state_then=past.state_of(history),
        state_now=past.state_of(whole),
        sources=tuple(_source(one, rows) for one in _sources(entry_id, cut, ground)),
        references=tuple(
            Reference(r.noun, r.id, r.version, ground.versions.get((r.noun, r.id))) for r in refs
        ),
        corroborations=past.corroborations_at(ground.corroborations.get(entry_id, ()), history),
        reads=tuple(one for one in ground.reads.get(entry_id, ()) if one.at <= moment),
        decisions=history,
    )


def _sources(entry_id: UUID, cut: int, ground: _Ground) -> list[UUID]:
    history = past.upto(ground.histories.get(entry_id, ()), cut)
    return past.sources_at(history, ground.went.get(entry_id, ()), cut)


def _source(source_id: UUID, rows: Mapping[UUID, Lineage]) -> Source:
    one = rows.get(source_id)
    if one is None:
        return Source(source_id)
    return Source(source_id, one.relation, one.origin, one.trust, one.observed_at, one.session_id)


def _told_refs(history: Sequence[LedgerRecord]) -> tuple[Ref, ...]:
    """The references of an entry that is gone, as its first link names them."""
    named: list[dict[str, Any]] = [ref for link in history for ref in link.detail.get("refs", ())]
    return tuple(Ref(ref["noun"], UUID(ref["id"]), ref["version"]) for ref in named)

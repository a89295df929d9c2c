"""Explanations of actions: the entries that each rested on, and who was shown an entry.

An entry is told as it stood at a link of its chain: what came after is taken back. Positions
decide, not times: two decisions can share a moment. State columns say what is, and hold one time
each; the links say what each of them was before (ADR 0009).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.audit.explanation import (
    ActionExplanation,
    ActionRecord,
    EntrySource,
    ExplainedEntry,
    ReadReceipt,
    Reference,
)
from idetic.engine import Binding
from idetic.errors import EntryNotFound, NotFound
from idetic.evidence import Corroboration, Lineage
from idetic.model import Capability, Decision, Entry, LedgerRecord, Ref
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT, entries_by_id, histories, versions_now, went_into
from idetic.verbs.arguments import Cursor, Limit
from idetic.verbs.declaration import Paging, get, verb

# Far more than any action has behind it; a bound all the same.
MOST = 10_000
# What supersession on the write path changes; every other turn says itself what it changed.
_SUPERSEDED = {"superseded_at": None, "superseded_by": None}


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/actions", "auditing", page=Paging("actions", lambda one: one.action_id)),
)
async def actions(
    binding: Binding, *, limit: Limit = 100, before: Cursor = None
) -> list[ActionRecord]:
    """List the actions that rest on this memory, newest first; `before` is a page's last id."""
    async with binding.look() as tx:
        rows = await tx.ask(AUDIT, "actions", before=before, limit=limit)
        return [ActionRecord(*row) for row in rows]


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/entries/{entry_id}/readers", "auditing"),
)
async def readers(binding: Binding, entry_id: UUID, *, limit: Limit = 100) -> list[ReadReceipt]:
    """List who was shown an entry, newest first."""
    async with binding.look() as tx:
        found = await tx.ask(AUDIT, "readers", entry_id=entry_id, limit=limit)
        if not found and not await histories(tx, [entry_id]):
            raise EntryNotFound
        return [ReadReceipt(*row) for row in found]


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/actions/{action_id}/explanation", "auditing"),
    command="explain",
    examples=("idetic explain ACTION_ID {scope}",),
)
async def explain_action(binding: Binding, action_id: UUID) -> ActionExplanation:
    """Say what an action rested on, as it stood then, and everything behind that."""
    ground = _Ground()
    async with binding.look() as tx:
        rows = await tx.ask(AUDIT, "action", action_id=action_id)
        if not rows:
            raise NotFound("There is no such action in this scope.")
        cuts = {entry_id: position for entry_id, _, _, _, position, _ in rows}
        moments = {position: at for _, _, at, _, position, _ in rows}
        more = await ground.gather(tx, cuts, max(moments.values()))
    told = {one: ground.explained(one, cut, moments[cut]) for one, cut in cuts.items()}
    _, kind, at, by, _, reason = rows[0]
    entries = tuple(told.pop(row[0]) for row in rows)
    return ActionExplanation(action_id, kind, at, by, reason or "", entries, told, more)


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

    async def gather(self, tx: AnchorTransaction, cuts: dict[UUID, int], last: datetime) -> bool:
        """Read level by level: the entries, what those were made of, and so on; into `cuts` too.

        A source is seen as of the latest of the entries that it went into. Says whether there is
        more than the bound.
        """
        level = list(cuts)
        while level:
            await self._read(tx, level, last)
            found: dict[UUID, int] = {}
            for entry_id in level:
                for source in self._sources(entry_id, cuts[entry_id]):
                    if source not in cuts:
                        found[source] = max(found.get(source, 0), cuts[entry_id])
            if len(cuts) + len(found) > MOST:
                return True
            cuts |= found
            level = list(found)
        return False

    async def _read(self, tx: AnchorTransaction, ids: Sequence[UUID], last: datetime) -> None:
        """Read all that the explanation tells of these entries, a query for each kind of it."""
        entries = await entries_by_id(tx, ids)
        self.entries |= entries
        self.histories |= await histories(tx, ids)
        self.went |= await went_into(tx, ids)
        self.lineage |= await tx.lineage(ids)
        self.corroborations |= await tx.corroborations(ids)
        reads = await tx.ask(AUDIT, "reads", ids=list(ids), moment=last, limit=MOST)
        for entry_id, *receipt in reads:
            self.reads.setdefault(entry_id, []).append(ReadReceipt(*receipt))
        by_noun: dict[str, set[UUID]] = {}
        for ref in (ref for entry in entries.values() for ref in entry.refs):
            by_noun.setdefault(ref.noun, set()).add(ref.id)
        for noun, wanted in by_noun.items():
            now = await versions_now(tx, noun, wanted)
            self.versions |= {(noun, ref_id): version for ref_id, version in now.items()}

    def explained(self, entry_id: UUID, cut: int, moment: datetime) -> ExplainedEntry:
        """One entry as it stood at a position and a moment."""
        whole = self.histories.get(entry_id, [])
        history = self._upto(entry_id, cut)
        entry = self.entries.get(entry_id)
        first = history[0] if history else None
        rows = {one.source_id: one for one in self.lineage.get(entry_id, ())}
        refs = entry.refs if entry else _told_refs(history)
        reads = self.reads.get(entry_id, ())
        return ExplainedEntry(
            id=entry_id,
            then=None if entry is None else entry_at(entry, whole, cut),
            written_by=f"{first.actor_kind}:{first.actor}" if first else "somebody unknown",
            written_at=first.at if first else None,
            state_then=_state_of(history),
            state_now=_state_of(whole),
            sources=tuple(_source(one, rows.get(one)) for one in self._sources(entry_id, cut)),
            references=tuple(
                Reference(r.noun, r.id, r.version, self.versions.get((r.noun, r.id))) for r in refs
            ),
            corroborations=corroborations_at(self.corroborations.get(entry_id, ()), history),
            reads=tuple(one for one in reads if one.at <= moment),
            decisions=history,
        )

    def _upto(self, entry_id: UUID, cut: int) -> tuple[LedgerRecord, ...]:
        """The links of an entry's history up to a position."""
        return tuple(link for link in self.histories.get(entry_id, ()) if link.position <= cut)

    def _sources(self, entry_id: UUID, cut: int) -> list[UUID]:
        """What an entry was made of by a position, by the links that say so; each source once.

        What left with its scope for this entry is among them, once the chain says so.
        """
        history = self._upto(entry_id, cut)
        named = [UUID(one) for link in history for one in link.detail.get("sources", ())]
        went = (one for one, at in self.went.get(entry_id, ()) if at <= cut)
        return list(dict.fromkeys([*named, *went]))


def _source(source_id: UUID, row: Lineage | None) -> EntrySource:
    """A source of an entry, with what its lineage says if that is still there."""
    if row is None:
        return EntrySource(source_id)
    return EntrySource(
        source_id, row.relation, row.origin, row.trust, row.observed_at, row.session_id
    )


def _told_refs(history: Sequence[LedgerRecord]) -> tuple[Ref, ...]:
    """The references of an entry that is gone, as its first link names them."""
    named: list[dict[str, Any]] = [ref for link in history for ref in link.detail.get("refs", ())]
    return tuple(Ref(ref["noun"], UUID(ref["id"]), ref["version"]) for ref in named)


def _state_of(history: Sequence[LedgerRecord]) -> str | None:
    """The last state that a history says."""
    states = (link.state_to for link in reversed(history) if link.state_to is not None)
    return next(states, None)


def entry_at(entry: Entry, history: Sequence[LedgerRecord], position: int) -> Entry:
    """The entry as it stood after the link at a position."""
    for link in reversed(history):
        if link.position > position and link.decision not in (Decision.NOOP, Decision.REJECT):
            was = link.detail.get("was")
            if was is None:
                was = _SUPERSEDED if link.transition == "superseded" else {}
            entry = replace(entry, **{column: _value(column, old) for column, old in was.items()})
    return entry


def _value(column: str, value: Any) -> Any:
    """A column's earlier value as the entry holds it: a moment, an id, or as it is."""
    if value is None or isinstance(value, bool):
        return value
    return datetime.fromisoformat(value) if column.endswith("_at") else UUID(value)


def corroborations_at(
    found: Iterable[Corroboration], history: Sequence[LedgerRecord]
) -> tuple[Corroboration, ...]:
    """What supported an entry by then, each withdrawn only if it was by then."""
    given: set[str | None] = set()
    withdrawn: dict[str | None, datetime] = {}
    for link in history:
        named = link.detail.get("corroboration")
        if link.transition == "corroborated" and link.decision is not Decision.NOOP:
            given.add(named)
        elif link.transition == "undone":
            withdrawn[named] = link.at
    return tuple(
        replace(one, withdrawn_at=withdrawn.get(str(one.id)))
        for one in found
        if str(one.id) in given
    )

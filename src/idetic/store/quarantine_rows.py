"""Quarantine in the database: what comes from a source, and what that source has done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.model import LedgerRecord, Origin
from idetic.store import templates
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.entries import record

_FILE = "quarantine"
_PATH = "queries/quarantine.sql"
# What a column is compared with, by the part of a source that it tells.
_FITS = {
    "origin": "= %(origin)s::idetic.origin",
    "created_by": "= %(created_by)s::text",
    "session_id": "= %(session_id)s::uuid",
    "since": ">= %(since)s::timestamptz",
}


@dataclass(frozen=True, slots=True)
class QuarantineSource:
    """Where something came from: every part that is given must fit."""

    origin: Origin | None = None
    created_by: str | None = None
    session_id: UUID | None = None
    since: datetime | None = None

    def fits(self, **columns: str) -> str:
        """The conditions of this source on the columns that a table has for it."""
        given = self.values()
        parts = (f"{column} {_FITS[part]}" for part, column in columns.items() if part in given)
        return " AND ".join(["true", *parts])

    def values(self) -> dict[str, Any]:
        """The parts that are given."""
        parts = ((name, getattr(self, name)) for name in _FITS)
        return {name: value for name, value in parts if value is not None}


async def sourced(tx: AnchorTransaction, source: QuarantineSource) -> set[UUID]:
    """Entries in any state that come from a source, and all that was made of them."""
    behind = source.fits(origin="l.origin", session_id="l.session_id", since="l.observed_at")
    if source.created_by is not None:
        behind += f" AND {_text('author')}"
    stated = source.fits(
        origin="m.origin",
        created_by="m.created_by",
        session_id="m.session_id",
        since="m.created_at",
    )
    parts = {"behind": behind, "stated": stated}
    found = set(await tx.ids(_FILE, "sourced", parts, **source.values()))
    if found:
        found |= set(await tx.ids(_FILE, "derived", ids=sorted(found)))
    return found


async def vouched(
    tx: AnchorTransaction, source: QuarantineSource, but: Iterable[UUID]
) -> list[tuple[UUID, UUID]]:
    """Corroborations that a source made of other entries: (corroboration, entry)."""
    if not tx.spec.references.corroborations:
        return []
    spoken = source.fits(
        origin="c.origin",
        created_by="c.source_by",
        session_id="c.session_id",
        since="c.corroborated_at",
    )
    rows = await tx.ask(
        _FILE, "vouched", {"spoken": spoken}, ids=sorted(but), **source.values()
    )  # fmt: skip
    return [(row[0], row[1]) for row in rows]


async def opposed(
    tx: AnchorTransaction, source: QuarantineSource, but: Iterable[UUID]
) -> dict[UUID, set[tuple[str, str]]]:
    """The sources, by entry, that failed to confirm it and belong to this one."""
    said = source.fits(
        origin="(l.detail ->> 'origin')::idetic.origin",
        created_by="l.actor_kind || ':' || l.actor",
        session_id="(l.detail ->> 'session')::uuid",
        since="l.at",
    )
    rows = await tx.ask(_FILE, "opposed", {"said": said}, ids=sorted(but), **source.values())
    found: dict[UUID, set[tuple[str, str]]] = {}
    for memory_id, kind, ref in rows:
        found.setdefault(memory_id, set()).add((kind, ref))
    return found


async def replaced(tx: AnchorTransaction, ids: Iterable[UUID]) -> list[LedgerRecord]:
    """The links by which entries gave way to some others."""
    rows = await tx.ask(_FILE, "replaced", {"link": _text("link")}, ids=sorted(ids))
    return [record(row) for row in rows]


async def last_links(
    tx: AnchorTransaction, ids: Iterable[UUID], transition: str
) -> dict[UUID, LedgerRecord]:
    """The last link of one kind about each of some entries."""
    wanted = sorted(ids)
    if not wanted:
        return {}
    parts = {"link": _text("link")}
    rows = await tx.ask(_FILE, "turned", parts, ids=wanted, transition=transition)
    return {link.entry_id: link for row in rows if (link := record(row)).entry_id}


async def quarantine_links(
    tx: AnchorTransaction, limit: int
) -> list[tuple[LedgerRecord, datetime | None, str | None, str | None]]:
    """The first link of each quarantine, newest first; when, by whom, why it was released."""
    rows = await tx.ask(_FILE, "quarantines", {"link": _text("link")}, limit=limit)
    return [(record(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]


def _text(query: str) -> str:
    """The text of one query of this file, to be put into another one."""
    return templates.query(_PATH, query)

"""Erasure in the database: where a subject is named, and emptying what names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from idetic.store import templates
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.driver import Rows
from idetic.store.family import Family, note_columns, noun, row_id
from idetic.store.templates import BoundStatement

_FILE = "erasure"
_PATH = "queries/erasure.sql"
_NO_PARTS: Mapping[str, str] = {}
# Who acted, by table: not content, and part of what the chain vouches for.
_ACTORS = {
    "memory": "created_by",
    "actions": "linked_by",
    "reads": "read_by",
    "scopes": "opened_by",
}
# By query, the column that may name the subject, or the text of ours that joins several.
_NAMING = {
    "mentioned": "entry_text",
    "told": "told_text",
    "keyed": "m.idempotency_key",
    "logged": "event_text",
    "operational": "m.body",
}


@dataclass(frozen=True, slots=True)
class EntryNote:
    """A note about an entry, in the table that holds it."""

    table: str
    row_id: UUID
    entry_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class ErasureTargets:
    """What an erasure takes: entries, single notes, digests of requests, keys that name it."""

    entries: Sequence[UUID]
    notes: Sequence[EntryNote]
    digests: Sequence[int]
    keys: Sequence[int]
    events: Sequence[UUID] = ()
    operational: Sequence[UUID] = ()

    @property
    def found(self) -> bool:
        """Whether there is anything to take."""
        parts = (self.entries, self.notes, self.digests, self.keys, self.events, self.operational)
        return any(map(len, parts))


@dataclass(frozen=True, slots=True)
class Suspects:
    """Rows that may name a subject, by kind: what identifies each, and its texts.

    The kinds are entries (`mentioned`), links (`told`), idempotency keys (`keyed`), events
    (`logged`) and the other persona's notes (`operational`), where the family has them; besides,
    notes about whichever entry, and columns that stay: (table, column, value, count).
    """

    rows: Mapping[str, Rows]
    notes: Sequence[EntryNote]
    columns: Rows


async def suspects(tx: AnchorTransaction, runs: Sequence[str]) -> Suspects:
    """Whatever may name the subject, from all tables, in one round trip."""
    absent = {"logged": tx.family.log_table, "operational": tx.family.notes_table}
    kinds = [kind for kind in _NAMING if absent.get(kind, "") is not None]
    noted, named = _noted(tx, runs), _named(tx, runs)
    kind_calls = [_suspects(tx, kind, _named_text(kind), runs) for kind in kinds]
    calls = [*kind_calls, *(call for _, call in (*noted, *named))]
    found = iter(await tx.run.each(calls))
    rows = {kind: next(found) for kind in kinds}
    notes = [EntryNote(table, *row) for (table, _) in noted for row in next(found)]
    columns = [(*names, *row) for names, _ in named for row in next(found)]
    return Suspects(rows, notes, columns)


def _noted(tx: AnchorTransaction, runs: Sequence[str]) -> list[tuple[str, BoundStatement]]:
    """What asks for notes about entries, with the noun of each table."""
    calls = []
    for table, many in note_columns(tx.family).items():
        for column in many:
            parts = {**_table(tx, table), "column": column, "row_id": row_id(tx.family, table)}
            call = _suspects(tx, "noted", f"m.{column}", runs, parts)
            calls.append((noun(tx.family, table), call))
    return calls


def _named(
    tx: AnchorTransaction, runs: Sequence[str]
) -> list[tuple[tuple[str, ...], BoundStatement]]:
    """What asks for columns that stay, with the table of each and its name.

    Of contextual provenance each name is told as a column.
    """
    calls: list[tuple[tuple[str, ...], BoundStatement]] = []
    for table, column in _actors(tx.family):
        parts = {**_table(tx, table), "column": column}
        call = _suspects(tx, "named", f"m.{column}", runs, parts)
        calls.append(((noun(tx.family, table), column), call))
    for table in _provided(tx.family):
        call = _suspects(tx, "provided", "p.value", runs, _table(tx, table))
        calls.append(((noun(tx.family, table),), call))
    return calls


def _named_text(kind: str) -> str:
    """The text in which a kind may name the subject: a column, or several that are joined."""
    column = _NAMING[kind]
    return column if "." in column else _text(column)


async def derived(tx: AnchorTransaction, ids: Sequence[UUID]) -> list[UUID]:
    """What was made of some entries, however many steps away."""
    return await tx.ids(_FILE, "derived", ids=list(ids)) if ids else []


async def mirrored(tx: AnchorTransaction, events: Sequence[UUID], entries: Sequence[UUID]) -> Rows:
    """Pairs of (event, entry) in which either is among those given."""
    if tx.family.log_table is None or not (events or entries):
        return []
    return await tx.ask(_FILE, "mirrored", events=list(events), ids=list(entries))


async def digests(tx: AnchorTransaction, ids: Sequence[UUID], rows: Sequence[UUID]) -> list[int]:
    """The positions of the keyed requests that wrote some entries or notes."""
    return [row[0] for row in await tx.ask(_FILE, "digests", ids=list(ids), rows=list(rows))]


async def empty(tx: AnchorTransaction, going: ErasureTargets) -> dict[str, list[str]]:
    """Empty it for good; what went, as ids by table."""
    rows = await tx.ask(
        _FILE,
        "erase",
        ids=sorted(going.entries),
        moment=tx.at,
        noted=sorted({note.entry_id for note in going.notes}),
        rows=[note.row_id for note in going.notes],
        digests=list(going.digests),
        keys=list(going.keys),
    )
    if going.events or going.operational:
        logged, written = list(going.events), list(going.operational)
        rows += await tx.ask(_FILE, "erase_log", events=logged, notes=written)
    return {table: ids for table, ids in rows if ids}


async def remaining(tx: AnchorTransaction, limit: int) -> ErasureTargets:
    """Some of what an anchor still holds: entries, events, notes of the other persona."""
    entries = await tx.ids(_FILE, "remaining_entries", limit=limit)
    events = await tx.ids(_FILE, "remaining_events", limit=limit) if tx.family.log_table else []
    told = await tx.ids(_FILE, "remaining_notes", limit=limit) if tx.family.notes_table else []
    return ErasureTargets(entries, (), (), (), events, told)


async def empty_rest(tx: AnchorTransaction) -> dict[str, int]:
    """Empty what an anchor holds beside its entries; how much went, by table."""
    return {table: count for table, count in await tx.ask(_FILE, "erase_rest") if count}


async def unsay(tx: AnchorTransaction, ids: Sequence[UUID] | None) -> tuple[int, dict[str, Any]]:
    """Empty the reasons of links about some entries, or of all; how many, and what is left of them.

    The latter is for the link that tells of it: verification compares it with the links.
    """
    wanted = None if ids is None else list(ids)
    calls = [tx.call(_FILE, "unsay", ids=wanted), tx.call(_FILE, "unsaid")]
    ((now,),), ((links, upto, digest),) = await tx.run.each(calls)
    return now, {"unsaid": {"links": links, "upto": upto, "sha256": digest}} if links else {}


async def unsay_links(tx: AnchorTransaction, positions: Sequence[int]) -> frozenset[int]:
    """Empty the reasons of single links; which they were. `unsay` then says what is left."""
    if not positions:
        return frozenset()
    rows = await tx.ask(_FILE, "unsay_links", positions=list(positions))
    return frozenset(position for (position,) in rows)


async def parts(tx: AnchorTransaction) -> dict[str, int]:
    """How much the parts of an unfinished erasure of the anchor emptied, by table."""
    return dict(await tx.ask(_FILE, "parts"))


async def shells(tx: AnchorTransaction) -> int:
    """How many rows of entries an anchor has, empty ones included."""
    ((count,),) = await tx.ask(_FILE, "shells")
    return int(count)


async def filled(tx: AnchorTransaction, ids: Sequence[UUID]) -> list[UUID]:
    """Those of some entries that are not empty yet."""
    return await tx.ids(_FILE, "filled", ids=list(ids))


async def origins(tx: AnchorTransaction, ids: Sequence[UUID]) -> list[UUID]:
    """What some entries were made of, however many steps away, as far as it is there."""
    return await tx.ids(_FILE, "origins", ids=list(ids))


async def edges(tx: AnchorTransaction, ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Pairs of (entry, source) for all that was made of some entries, with every source it has."""
    return [(row[0], row[1]) for row in await tx.ask(_FILE, "edges", ids=list(ids))]


async def carrying(
    tx: AnchorTransaction, ids: Sequence[UUID], roots: Sequence[UUID]
) -> frozenset[UUID]:
    """Those of some entries that hold a word of the roots."""
    return frozenset(await tx.ids(_FILE, "carrying", ids=list(ids), roots=list(roots)))


def _table(tx: AnchorTransaction, table: str) -> dict[str, str]:
    """A table's qualified name, as the queries of this file ask for it."""
    return {"table": tx.family.qualified(table).as_string(None)}


def _suspects(
    tx: AnchorTransaction,
    query: str,
    text: str,
    runs: Sequence[str],
    parts: Mapping[str, str] = _NO_PARTS,
) -> BoundStatement:
    """Asks for rows that may name the subject: a first look, by runs of letters and digits."""
    given = {**parts, "suspect": _text("suspect"), "text": text}
    return tx.call(_FILE, query, given, runs=[f"%{run}%" for run in runs])


def _actors(family: Family) -> Iterator[tuple[str, str]]:
    """The columns that say who acted, with their tables."""
    for table, column in _ACTORS.items():
        yield family.table_name(table), column
    if family.spec.references.corroborations:
        table = family.table_name("corroborations")
        yield from ((table, column) for column in ("corroborated_by", "source_by"))
    if family.spec.proposes:
        table = family.table_name("proposals")
        yield from ((table, column) for column in ("proposed_by", "decided_by"))
    for canonical in family.spec.references.canonical:
        if canonical.contradictions:
            table = family.contradictions_table(canonical)
            yield from ((table, column) for column in ("observed_by", "resolved_by", "previous_by"))


def _provided(family: Family) -> Iterator[str]:
    """The tables that keep contextual provenance."""
    yield family.table_name("memory")
    yield family.table_name("lineage")
    if family.spec.references.corroborations:
        yield family.table_name("corroborations")
    for canonical in family.spec.references.canonical:
        yield family.refs_table(canonical)
        if canonical.contradictions:
            yield family.contradictions_table(canonical)


def _text(query: str) -> str:
    """The text of one query of this file, to be put into another one."""
    return templates.query(_PATH, query)

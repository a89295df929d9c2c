"""Rows beside entries against the chain: what an explanation tells beyond the entries themselves.

Links carry a digest of each such row, or what its columns say. Every check goes both ways: a row
that no link accounts for was put in, one that a link speaks of and that is not there was taken out.
A link from before there were digests says less, and what it does not say is not compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from idetic.audit.findings import KEPT, Findings, ProblemKind
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT, EMPTIED, noun_parts, root_parts
from idetic.store.entry_content import key_hash, notes_hash, row_digest

BATCH = 2_000
NO_ID = UUID(int=0)
_ALTERED, _MISSING, _INSERTED = ProblemKind.ALTERED, ProblemKind.MISSING, ProblemKind.INSERTED
_text = json.JSONEncoder(ensure_ascii=False).encode
_Standing = tuple[Any, Any, Any]


@dataclass(slots=True)
class Erasures:
    """What erasures took from beside entries, as their links say."""

    rows: dict[str, set[str]] = field(default_factory=dict)
    # The last one that took the whole anchor: what was keyed or read before it is gone.
    whole: int = 0

    @classmethod
    async def read(cls, tx: AnchorTransaction) -> Erasures:
        """All of them; few, however long the chain is."""
        made = cls()
        for position, removed, whole in await tx.ask(AUDIT, "erasures"):
            for table, ids in removed.items() if isinstance(removed, dict) else ():
                made.rows.setdefault(table, set()).update(map(str, ids))
            made.whole = position if whole else made.whole
        return made

    def took(self, table: str, row_id: object) -> bool:
        """Whether one of them names a row."""
        return str(row_id) in self.rows.get(table, ())


async def check_side_rows(tx: AnchorTransaction, findings: Findings) -> int:
    """Check all that stands beside the entries of an anchor; how many reads no link tells of."""
    erasures = await Erasures.read(tx)
    await _lineage(tx, findings)
    if tx.spec.references.corroborations:
        await _corroborations(tx, findings, erasures)
    for canonical in tx.spec.references.canonical:
        parts = noun_parts(tx.family, canonical)
        await _references(tx, findings, parts)
        if canonical.contradictions:
            await _contradictions(tx, findings, erasures, parts)
    await _actions(tx, findings)
    await _scopes(tx, findings)
    await _receipts(tx, findings, erasures)
    await _roots(tx, findings)
    return await _reads(tx, findings, erasures)


async def pages(
    tx: AnchorTransaction, query: str, keys: int, first: Sequence[Any], **values: Any
) -> AsyncIterator[tuple[Any, ...]]:
    """The rows of a query, a batch at a time; each batch begins after the last row's keys."""
    parts, after = values.pop("parts", {}), list(first)
    while True:
        cursor = dict(zip(("after", "then"), after, strict=False))
        rows = await tx.ask(AUDIT, query, parts, limit=BATCH, **cursor, **values)
        for row in rows:
            yield row
        if len(rows) < BATCH:
            return
        after = list(rows[-1][:keys])


# --- lineage, references, actions ---------------------------------------------------------------


async def _lineage(tx: AnchorTransaction, findings: Findings) -> None:
    """Whether entries were made of what their links say, and of nothing else."""
    async for row in pages(tx, "lineage", 2, (NO_ID, NO_ID)):
        entry_id, source_id, position, digest, *values = row
        if position is None:
            why = f"no link says that it was made of {source_id}"
            findings.add(_INSERTED, None, "lineage", why, entry_id)
        elif digest is not None and digest != _lineage_digest(entry_id, source_id, *values):
            why = f"its history says otherwise about its source {source_id}"
            findings.add(_ALTERED, position, "lineage", why, entry_id)
    for entry_id, source_id, position in await tx.ask(AUDIT, "lost_lineage", limit=KEPT):
        why = f"it was made of {source_id}, and no row says so any more"
        findings.add(_MISSING, position, "lineage", why, entry_id)


def _lineage_digest(
    entry_id: UUID, source_id: UUID, relation: str, session: UUID | None, interaction: UUID | None,
    provenance: Any, origin: str, trust: int, observed: str,
) -> str:  # fmt: skip
    """The digest of a row of lineage, from its columns."""
    return row_digest(
        "lineage",
        {
            "entry": entry_id,
            "source_id": source_id,
            "relation": relation,
            "session_id": session,
            "interaction_id": interaction,
            "provenance": provenance,
            "origin": origin,
            "trust": trust,
            "observed_at": _micros(observed),
        },
    )


def _micros(text: str) -> int | str:
    """A moment in microseconds; one that no calendar holds stays what it is."""
    return int(text) if text.lstrip("-").isdigit() else text


async def _references(tx: AnchorTransaction, findings: Findings, parts: Mapping[str, str]) -> None:
    """Whether entries refer to the canonical rows, at the versions, that their links name."""
    noun = parts["noun"]
    for entry_id, position, gone, made_up in await tx.ask(AUDIT, "references", parts, limit=KEPT):
        kind = _MISSING if gone else _INSERTED if made_up else _ALTERED
        why = f"its history says otherwise about the {noun} it refers to"
        findings.add(kind, position, "reference", why, entry_id)


async def _actions(tx: AnchorTransaction, findings: Findings) -> None:
    """Whether actions rest on what their links say, and are of their kind, time and actor."""
    for entry_id, action_id, position in await tx.ask(AUDIT, "unrecorded_actions", limit=KEPT):
        if position is None:
            why = f"no link says that action {action_id} rested on it"
            findings.add(_INSERTED, None, "action", why, entry_id)
        else:
            why = f"its history says otherwise about action {action_id}"
            findings.add(_ALTERED, position, "action", why, entry_id)
    for found, action_id, at in await tx.ask(AUDIT, "lost_actions", limit=KEPT):
        why = f"action {action_id} rested on it, and no row says so any more"
        entry_id = found if isinstance(found, UUID) else None
        findings.add(_MISSING, at, "action", why, entry_id)


# --- corroborations and contradictions ----------------------------------------------------------


async def _corroborations(tx: AnchorTransaction, findings: Findings, erasures: Erasures) -> None:
    """Whether entries are supported by whom their links say, and withdrawn when they say."""
    async for row in pages(tx, "corroborations", 1, (NO_ID,), emptied=list(EMPTIED)):
        for kind, why in _corroboration_faults(row, erasures):
            findings.add(kind, row[2], "corroboration", f"{why} ({row[0]})", row[1])
    for entry_id, row_id, position in await tx.ask(AUDIT, "lost_corroborations", limit=KEPT):
        why = f"it was corroborated, and no row says so any more ({row_id})"
        findings.add(_MISSING, position, "corroboration", why, entry_id)


def _corroboration_faults(
    row: tuple[Any, ...], erasures: Erasures
) -> Iterator[tuple[ProblemKind, str]]:
    """What is wrong with one corroboration, beside the links about it."""
    row_id, entry_id, position, digest, source_type, source_ref, source_by, session, *rest = row
    origin, provenance, note_hash, salt, notes, given_so, turned_so, emptied = rest
    if position is None:
        yield _INSERTED, "no link says that it was corroborated"
        return
    values = {
        "entry": entry_id,
        "id": row_id,
        "source_type": source_type,
        "source_ref": source_ref,
        "source_by": source_by,
        "session": session,
        "origin": origin,
        "provenance": provenance,
    }
    if digest not in (None, row_digest("corroboration", values)) or not given_so:
        yield _ALTERED, "its history says that another source corroborated it"
    if not turned_so:
        yield _ALTERED, "its history says otherwise about whether the source still counts"
    excused = emptied or erasures.took("corroborations", row_id)
    if digest is not None and not note_stands(note_hash, salt, notes, excused=excused):
        yield _ALTERED, "the notes of a corroboration are not those that were given"


def note_stands(
    note_hash: str | None, salt: bytes | None, notes: str | None, *, excused: bool
) -> bool:
    """Whether a note is the one that a link has a hash of, or was erased as another link says."""
    if note_hash is None or notes is None:
        return notes is None and salt is None and (note_hash is None or excused)
    return notes_hash(salt or b"", notes) == note_hash


async def _contradictions(
    tx: AnchorTransaction, findings: Findings, erasures: Erasures, parts: Mapping[str, str]
) -> None:
    """Whether contradictions stand as the links about them leave them."""
    table, values = f"{parts['noun']}_contradictions", {"emptied": list(EMPTIED), "parts": parts}
    async for row in pages(tx, "contradictions", 1, (NO_ID,), **values):
        row_id, entry_id, links = row[0], row[1], row[11] or ()
        if not links or links[0]["transition"] != "contradicted":
            why = f"no link says that it was contradicted ({row_id})"
            findings.add(_INSERTED, None, "contradiction", why, entry_id)
            continue
        excused = row[12] or erasures.took(table, row_id)
        if not _contradiction_stands(row, links, excused=excused):
            why = f"its history says otherwise about a contradiction ({row_id})"
            findings.add(_ALTERED, links[-1]["position"], "contradiction", why, entry_id)
    for entry_id, row_id, at in await tx.ask(AUDIT, "lost_contradictions", parts, limit=KEPT):
        why = f"it was contradicted, and no row says so any more ({row_id})"
        findings.add(_MISSING, at, "contradiction", why, entry_id)


def _contradiction_stands(
    row: tuple[Any, ...], links: Sequence[Mapping[str, Any]], *, excused: bool
) -> bool:
    """Whether a contradiction is what the links about it come to, one after the other."""
    row_id, entry_id, ref_id, provenance, now, before, observed, *noted = row[:11]
    first, *moves = links
    values = {"entry": entry_id, "id": row_id, "provenance": provenance}
    if first.get("row") not in (None, row_digest("contradiction", values)):
        return False
    if (first["id"], first["at"], first["actor"]) != (ref_id, *observed):
        return False
    if any("op" not in move for move in moves):
        return bool(moves[-1].get("to") == now[0])
    (stands, note), (stood, previous) = _moved(moves)
    return (
        (list(stands), list(stood)) == (now, before)
        and note_stands(note, noted[1], noted[0], excused=excused)
        and note_stands(previous, noted[3], noted[2], excused=excused)
    )


def _moved(
    moves: Sequence[Mapping[str, Any]],
) -> tuple[tuple[_Standing, str | None], tuple[_Standing, str | None]]:
    """How a contradiction stands after some moves, and how it stood before the last of them.

    As the database's trigger keeps it: a move that is taken back brings back what stood before.
    """
    now: tuple[_Standing, str | None] = (("open", None, None), None)
    before: tuple[_Standing, str | None] = ((None, None, None), None)
    for move in moves:
        if move["op"] == "resolve":
            now, before = ((move["to"], move["at"], move["actor"]), move.get("notes_hash")), now
        elif move["to"] == "open":
            now, before = (("open", None, None), None), now
        else:
            (_, at, by), note = before
            now, before = ((move["to"], at, by), note), now
    return now, before


# --- scopes, keys, roots ------------------------------------------------------------------------


async def _scopes(tx: AnchorTransaction, findings: Findings) -> None:
    """Whether sessions and interactions were opened and closed when and by whom links say."""
    for position, gone, made_up, scope_id in await tx.ask(AUDIT, "scopes", limit=KEPT):
        kind = _MISSING if gone else _INSERTED if made_up else _ALTERED
        why = f"the chain says otherwise about when and by whom {scope_id} was opened or closed"
        findings.add(kind, position, "scope", why)


async def _receipts(tx: AnchorTransaction, findings: Findings, erasures: Erasures) -> None:
    """Whether idempotency keys stand for the links that say so."""
    async for key, position, digest, salt, there, key_digest in pages(
        tx, "receipts", 2, ("", _before_all())
    ):
        erased = not digest and not salt
        if not there:
            why = "an idempotency key stands for a link that is not there"
            findings.add(_MISSING, position, "receipt", why)
        elif erased and key_digest is not None:
            if not erasures.took("receipts", position) and position > erasures.whole:
                why = "an idempotency key was emptied, and no erasure says so"
                findings.add(_ALTERED, position, "receipt", why)
        elif salt is not None and key_digest != key_hash(salt, key, digest.hex()):
            why = "the link that an idempotency key stands for says otherwise about it"
            findings.add(_ALTERED, position, "receipt", why)
        elif salt is None and key_digest is not None:
            why = "an idempotency key lost the salt of what its link says"
            findings.add(_ALTERED, position, "receipt", why)
    for (position,) in await tx.ask(AUDIT, "lost_keys", limit=KEPT):
        why = "an idempotency key stood for it, and no row says so any more"
        findings.add(_MISSING, position, "receipt", why)


def _before_all() -> int:
    """Smaller than any position, and still a bigint literal."""
    return -(2**63) + 1


async def _roots(tx: AnchorTransaction, findings: Findings) -> None:
    """Whether the anchor and its entries belong to the root that has the anchor's keys."""
    parts = root_parts(tx.family)
    if not parts:
        return
    for (entry_id,) in await tx.ask(AUDIT, "unrooted", parts, limit=KEPT):
        why = "it says that it belongs to another root than its anchor"
        findings.add(_ALTERED, None, "entry", why, entry_id)
    for (right,) in await tx.ask(AUDIT, "root", parts):
        if not right:
            why = "the anchor's row names another root than the one with its keys"
            findings.add(_ALTERED, None, "anchor", why)


# --- reads --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _ReadCount:
    """The reads that one link tells of, taken up one by one."""

    count: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, words: str) -> None:
        """One more read, as the text that enters the hash."""
        self.count += 1
        self.digest.update(words.encode())


async def _reads(tx: AnchorTransaction, findings: Findings, erasures: Erasures) -> int:
    """Whether the rows of reads are those that links count; how many reads no link counts yet."""
    counted: dict[int, _ReadCount] = {}
    unwitnessed = 0
    async for read_id, entry_id, session, interaction, at, by, witness in pages(
        tx, "reads", 2, (NO_ID, NO_ID)
    ):
        if witness is None:
            unwitnessed += 1
            continue
        ids = [
            None if one is None else str(one) for one in (read_id, entry_id, session, interaction)
        ]
        words = f"{_text([*ids, _micros(at), by])}\n"
        counted.setdefault(witness, _ReadCount()).take(words)
    witnessed = await _witnessed_reads(tx, erasures)
    for position in sorted({*witnessed, *counted}):
        count = counted.get(position, _ReadCount())
        expected = witnessed.get(position, (0, None))
        if (count.count, count.digest.hexdigest() if count.count else None) != expected:
            why = f"it tells of {expected[0]} reads otherwise than the rows do ({count.count})"
            findings.add(_ALTERED, position, "read", why)
    return unwitnessed


async def _witnessed_reads(
    tx: AnchorTransaction, erasures: Erasures
) -> dict[int, tuple[int, str | None]]:
    """How many reads each link tells of, and their hash; erasures say what they left of those."""
    witnessed: dict[int, tuple[int, str | None]] = {}
    for position, reads, left in await tx.ask(AUDIT, "witnessed_reads"):
        if isinstance(reads, dict):
            witnessed[position] = (reads.get("count", 0), reads.get("sha256"))
        for at, (count, digest) in left.items() if isinstance(left, dict) else ():
            witnessed[int(at)] = (count, digest)
    return {at: one for at, one in witnessed.items() if at > erasures.whole}

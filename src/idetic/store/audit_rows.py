"""The rows of an audit: a chain as it is stored, entries beside their history, an action's ground.

Functions over an anchor's transaction. What the rows amount to is judged in `idetic.audit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from idetic.model import Entry, LedgerRecord
from idetic.spec.primitives import Canonical
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.compiler import STATE
from idetic.store.driver import Rows
from idetic.store.entries import record
from idetic.store.family import Family, canonical_names, qualified
from idetic.store.scope import quoted

AUDIT = "audit"
# The links after which an entry has no content any more.
EMPTIED = ("disposed", "erased")
_BEFORE_ALL = UUID(int=0)


def chain_name(family: Family) -> str:
    """The family as a chain's genesis names it."""
    return f"{family.schema}.{family.name}"


async def chain_end(
    tx: AnchorTransaction,
) -> tuple[int | None, bytes | None, str | None, int | None]:
    """The end that the anchor's row claims (position, hash, time), and the last position."""
    ((position, digest, at, last),) = await tx.ask(AUDIT, "end")
    return position, digest, at, last


async def contents(tx: AnchorTransaction, after: UUID | None, limit: int) -> Rows:
    """A batch of entries, each beside what its history says of it."""
    turned = {"turned_columns": ", ".join(f"'{column}', m.{column}" for column in STATE)}
    wanted = {"after": after or _BEFORE_ALL, "emptied": list(EMPTIED), "limit": limit}
    return await tx.ask(AUDIT, "contents", turned, **wanted)


async def entries_by_id(tx: AnchorTransaction, ids: Iterable[UUID]) -> dict[UUID, Entry]:
    """Entries by id; those that went with their scope are not among them."""
    return {entry.id: entry for entry in await tx.plain_entries(AUDIT, "rows", ids=list(ids))}


async def histories(tx: AnchorTransaction, ids: Iterable[UUID]) -> dict[UUID, list[LedgerRecord]]:
    """The whole histories of some entries, oldest first."""
    found: dict[UUID, list[LedgerRecord]] = {}
    for row in await tx.ask(AUDIT, "histories", ids=list(ids)):
        found.setdefault(row[3], []).append(record(row))
    return found


async def went_into(
    tx: AnchorTransaction, ids: Iterable[UUID]
) -> dict[UUID, list[tuple[UUID, int]]]:
    """What went with its scope into these entries, and at which position."""
    found: dict[UUID, list[tuple[UUID, int]]] = {}
    for into, entry_id, position in await tx.ask(AUDIT, "went_into", ids=[str(i) for i in ids]):
        found.setdefault(UUID(into), []).append((entry_id, position))
    return found


async def links_telling_reads(tx: AnchorTransaction, ids: Iterable[UUID]) -> list[int]:
    """The positions of the links that tell of reads of some entries."""
    wanted = list(ids)
    return [row[0] for row in await tx.ask(AUDIT, "telling", ids=wanted)] if wanted else []


async def reads_left(
    tx: AnchorTransaction, positions: Sequence[int]
) -> dict[str, tuple[int, str | None]]:
    """By link, how many of the reads it told of are left, and a hash over those."""
    rows = await tx.ask(AUDIT, "reads_left", positions=list(positions))
    found = {str(position): (count, digest) for position, count, digest in rows}
    return {str(one): found.get(str(one), (0, None)) for one in positions}


def noun_parts(family: Family, canonical: Canonical) -> dict[str, str]:
    """What the queries about one noun's references and contradictions name."""
    names = canonical_names(family, canonical)
    version = f"r.{canonical.noun}_version::text" if "canonical_version" in names else "NULL::text"
    return names | {"pinned": version}


def root_parts(family: Family) -> dict[str, str]:
    """What the queries about an anchor's root name; nothing for an anchor without one."""
    anchor = family.spec.anchor
    if anchor.root is None:
        return {}
    keys = (quoted(key.name) for key in anchor.keys)
    match = " AND ".join(f"c.{key} = a.{key}" for key in keys)
    return {
        "root_id": quoted(anchor.root.key),
        "root": qualified(anchor.root.table),
        "keys_match": match,
    }


async def versions_now(tx: AnchorTransaction, noun: str, ids: Iterable[UUID]) -> dict[UUID, int]:
    """The versions at which canonical rows of a noun stand now; none for an unversioned one."""
    for canonical in tx.spec.references.canonical:
        if canonical.noun == noun and canonical.versions:
            names = canonical_names(tx.family, canonical)
            return dict(await tx.ask(AUDIT, "versions", names, ids=list(ids)))
    return {}

"""Looking entries up: the current view, one entry, the past; and the evidence behind an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import EntryNotFound, EnvelopeRefused, InputError
from idetic.evidence import Candidate, Corroboration, GateResult, Lineage, Referenced
from idetic.gateway.content import question_envelope
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import beside, supported_entries
from idetic.model import Capability, Claim, Entry, LedgerRecord, Overdue, Typology
from idetic.spec.primitives import Boundary, EnvelopeType
from idetic.store.anchor_transaction import LIFECYCLE, AnchorTransaction, StoredEntry
from idetic.store.entries import record
from idetic.store.entry_sql import within
from idetic.verbs.arguments import MAX_LISTED, SHORT, Between, Cursor, Limit, Wire, check_text
from idetic.verbs.declaration import Paging, get, post, verb

ENTRY_PAGE = Paging("entries", lambda entry: entry.id)
# Each is weighed against what stands beside it, with a query of its own.
MAX_CANDIDATES = 200


@verb(
    capability=Capability.READ,
    placed=True,
    http=get("/entries", "reading", page=ENTRY_PAGE),
    examples=("idetic list {scope}", "idetic list {scope} --as-of 2026-01-31T12:00:00Z"),
)
async def list_(
    binding: Binding,
    *,
    tier: str | None = None,
    typology: Typology | None = None,
    limit: Limit = 100,
    before: Cursor = None,
    where: Mapping[str, Any] | None = None,
) -> list[Entry]:
    """List the current entries of this place, newest first; `before` is the last id seen.

    `where` leaves only entries whose envelope matches every key of it, as recall matches.
    """
    return await binding.engine.entries.current(
        binding.scope,
        tier=None if tier is None else binding.spec.tier_of(tier).value,
        typology=None if typology is None else typology.value,
        limit=limit,
        where=question_envelope(binding.spec, where),
        before=before,
        session_id=binding.place.session_id,
        interaction_id=binding.place.interaction_id,
    )


@verb(capability=Capability.READ, http=get("/entries/{entry_id}", "reading"))
async def get_(binding: Binding, entry_id: UUID) -> Entry:
    """Read one entry in any state, current or not."""
    found = await binding.engine.entries.entries(binding.scope, "get", memory_id=entry_id)
    if not found:
        raise _missing(await _links(binding, entry_id))
    return found[0]


@verb(
    capability=Capability.READ,
    http=get("/entries/{entry_id}/history", "reading"),
    examples=("idetic history ENTRY_ID {scope}",),
)
async def history(binding: Binding, entry_id: UUID) -> list[LedgerRecord]:
    """List every transition of one entry, oldest first: who did what to it, when and why."""
    found = await _links(binding, entry_id)
    if not found:
        raise EntryNotFound
    return found


async def _links(binding: Binding, entry_id: UUID) -> list[LedgerRecord]:
    """The links about an entry, oldest first; none for one that was never here."""
    rows = await binding.engine.entries.rows(binding.scope, "history", memory_id=entry_id)
    return [record(row) for row in rows]


@verb(capability=Capability.READ, http=get("/as-of", "reading", page=ENTRY_PAGE))
async def as_of(
    binding: Binding, moment: datetime, *, limit: Limit = 100, before: Cursor = None
) -> list[Entry]:
    """List the entries that were current at a moment, as they were then, newest first."""
    return await binding.engine.entries.as_of(binding.scope, moment, limit=limit, before=before)


@verb(capability=Capability.READ, http=get("/overdue", "reading"))
async def overdue(binding: Binding, *, limit: Limit = 50) -> list[Overdue]:
    """List the persistent entries that are most overdue for a decision."""
    now = binding.engine.clock.now()
    return await binding.engine.entries.overdue(binding.scope, now, limit=limit)


@verb(capability=Capability.READ, http=post("/lookups/about", "lookups"))
async def about(binding: Binding, subjects: Iterable[str]) -> list[Entry]:
    """List the current entries whose claim is about one of the subjects, oldest first.

    A subject is compared as claims are: case, width and spacing make no difference.
    """
    wanted = [check_text(s, SHORT, "subjects") for s in _few(subjects, "subjects")]
    keys = [Claim(subject, "", "").key[0] for subject in wanted]
    if not keys:
        return []
    return await binding.engine.entries.entries(binding.scope, "about", subjects=keys)


@verb(capability=Capability.READ, http=post("/lookups/tally", "lookups"))
async def tally(
    binding: Binding, key: str, *, where: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """Count the current entries for each value of an envelope key."""
    declared = binding.spec.retrieval.envelope.get(key)
    if declared is None or declared.type is EnvelopeType.LIST:
        raise EnvelopeRefused(
            f"The envelope key {key!r} cannot be tallied.",
            remedy="Name a declared scalar or hierarchy; see `retrieval.envelope` in the spec.",
        )
    narrowed, asked = within(binding.spec, question_envelope(binding.spec, where))
    parts, entries = {"where": narrowed}, binding.engine.entries
    counts: Counter[str] = Counter()
    # Here the values of an envelope are keys of the answer; those that lost the same are one.
    for value, count in await entries.rows(binding.scope, "tally", parts, key=key, **asked):
        counts[(await binding.shown({key: value}))[key]] += count
    return dict(counts)


@verb(
    capability=Capability.READ,
    whole_anchor=True,
    repeatable=False,
    placed=True,
    http=post("/reads", "lookups"),
    command=None,
)
async def note_read(binding: Binding, entries: Iterable[UUID]) -> None:
    """Record that this scope's principal was shown entries, as `context` does."""
    ids = _few(entries, "entries")
    now = binding.engine.clock.now()
    await binding.engine.embeddings.read(binding.scope, binding.place, ids, now)


@verb(capability=Capability.READ, http=post("/reads/last", "lookups"))
async def last_read(binding: Binding, entries: Iterable[UUID]) -> dict[UUID, datetime]:
    """Show when each entry was last read; entries that nobody read are left out."""
    ids = _few(entries, "entries")
    rows = await binding.engine.entries.rows(binding.scope, "last_read", ids=ids) if ids else []
    return dict(rows)


def _missing(links: Sequence[LedgerRecord]) -> EntryNotFound:
    """Why there is no entry: unknown here, or gone with its scope, and then into what."""
    if not links or links[-1].transition != "dropped":
        return EntryNotFound()
    into = links[-1].detail.get("into")
    went = f"What it said is in entry {into}." if into else "Nothing was made of it."
    return EntryNotFound(
        f"The entry was dropped with its scope on {links[-1].at:%Y-%m-%d %H:%M} UTC.", remedy=went
    )


def _few(values: Iterable[Any], what: str) -> list[Any]:
    """The values as a list; refused if there are more than one call may name."""
    found = list(values)
    if len(found) > MAX_LISTED:
        raise InputError(f"At most {MAX_LISTED:,} {what} per call; split them.")
    return found


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/corroborations", "reading"))
async def corroborations(binding: Binding, entry_id: UUID) -> list[Corroboration]:
    """List the sources that support an entry, oldest first, withdrawn ones included."""
    async with binding.look() as tx:
        await tx.entry(entry_id)
        return (await tx.corroborations([entry_id])).get(entry_id, [])


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/lineage", "reading"))
async def lineage(binding: Binding, entry_id: UUID) -> list[Lineage]:
    """List the entries that an entry was made from, also those dropped with their session."""
    async with binding.look() as tx:
        await tx.entry(entry_id)
        return (await tx.lineage([entry_id])).get(entry_id, [])


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/references", "reading"))
async def references(binding: Binding, entry_id: UUID) -> list[Referenced]:
    """List the canonical rows that an entry refers to, as they read now."""
    async with binding.look() as tx:
        await tx.entry(entry_id)
        return await tx.references(entry_id)


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/gates", "reading"))
async def gates(binding: Binding, entry_id: UUID) -> list[GateResult]:
    """Show the result of each of the four promotion gates for an entry, with its numbers."""
    async with binding.look() as tx:
        (weighed,) = await _weighed(binding, tx, [await tx.entry(entry_id)])
    return list(weighed.gates)


@verb(
    capability=Capability.READ,
    http=get("/candidates", "maturing", page=Paging("candidates", lambda one: one.entry.id)),
)
async def candidates(
    binding: Binding,
    *,
    limit: Annotated[int, Between(1, MAX_CANDIDATES)] = 50,
    after: Annotated[UUID | None, Wire("cursor", UUID | None)] = None,
) -> list[Candidate]:
    """List candidates with their gates, oldest first; `after` is the last id seen."""
    async with binding.look() as tx:
        ids = await tx.ids(LIFECYCLE, "candidates", after=after, limit=limit)
        return await _weighed(binding, tx, await tx.stored(ids))


async def _weighed(
    binding: Binding, tx: AnchorTransaction, stored: Sequence[StoredEntry]
) -> list[Candidate]:
    """The entries as candidates, each with what its gates say now."""
    decision = PromotionPass(tx.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    return [
        Candidate(one.entry, tuple(decision.gates(one, await beside(tx, one))))
        for one in await supported_entries(tx, stored)
    ]

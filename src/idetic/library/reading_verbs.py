"""Verbs that look: entries, their history and evidence, exact look-ups, and how memory stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from idetic.errors import EntryNotFound, EnvelopeRefused, InputError
from idetic.evidence import Candidate, Corroboration, GateResult, Lineage, Referenced
from idetic.library.asking_verbs import question_envelope
from idetic.library.binding import Binding
from idetic.lifecycle.listings import MAX_JOB, OpenSession
from idetic.lifecycle.looking import MAX_CANDIDATES
from idetic.lifecycle.overview import MAX_DAYS, Overview
from idetic.model import Capability, Claim, Entry, LedgerRecord, Overdue, Tier, Typology
from idetic.spec.primitives import EnvelopeType
from idetic.spec.retention import RetentionState
from idetic.store.backlog import Job, JobState
from idetic.verbs.arguments import MAX_LISTED, SHORT, Between, Cursor, Limit, Wire, check_text
from idetic.verbs.declaration import Paging, get, post, verb

_ENTRIES = Paging("entries", lambda entry: entry.id)
After = Annotated[UUID | None, Wire("cursor", UUID | None)]


@verb(
    capability=Capability.READ,
    placed=True,
    http=get("/entries", "reading", page=_ENTRIES),
    examples=("idetic list {scope}", "idetic list {scope} --as-of 2026-01-31T12:00:00Z"),
)
async def list_(
    binding: Binding,
    *,
    tier: Tier | None = None,
    typology: Typology | None = None,
    limit: Limit = 100,
    before: Cursor = None,
    where: Mapping[str, Any] | None = None,
) -> list[Entry]:
    """List the current entries of this place, newest first; `before` is the last id of a page.

    `where` leaves only entries whose envelope matches every key of it, as recall matches.
    """
    return await binding.rooms.entries.current(
        binding.scope,
        tier=None if tier is None else tier.value,
        typology=None if typology is None else typology.value,
        limit=limit,
        where=question_envelope(binding.spec, where),
        before=before,
        session_id=binding.place.session_id,
        interaction_id=binding.place.interaction_id,
    )


@verb(capability=Capability.READ, http=get("/entries/{entry_id}", "reading"))
async def get_(binding: Binding, entry_id: UUID) -> Entry:
    """Read one entry, whatever became of it; raises EntryNotFound outside this scope."""
    found = await binding.rooms.entries.get(binding.scope, entry_id)
    if found is None:
        raise _missing(await binding.rooms.entries.history(binding.scope, entry_id))
    return found


@verb(
    capability=Capability.READ,
    http=get("/entries/{entry_id}/history", "reading"),
    examples=("idetic history ENTRY_ID {scope}",),
)
async def history(binding: Binding, entry_id: UUID) -> list[LedgerRecord]:
    """List every transition of one entry, oldest first: who did what to it, when and why."""
    found = await binding.rooms.entries.history(binding.scope, entry_id)
    if not found:
        raise EntryNotFound
    return found


@verb(capability=Capability.READ, http=get("/as-of", "reading", page=_ENTRIES))
async def as_of(
    binding: Binding, moment: datetime, *, limit: Limit = 100, before: Cursor = None
) -> list[Entry]:
    """List what was current at a moment, each entry as it stood then, newest first."""
    return await binding.rooms.entries.as_of(binding.scope, moment, limit=limit, before=before)


@verb(capability=Capability.READ, http=get("/overdue", "reading"))
async def overdue(binding: Binding, *, limit: Limit = 50) -> list[Overdue]:
    """List the persistent entries that time presses on most: what waits for a disposition."""
    now = binding.rooms.clock.now()
    return await binding.rooms.entries.overdue(binding.scope, now, limit=limit)


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/corroborations", "reading"))
async def corroborations(binding: Binding, entry_id: UUID) -> list[Corroboration]:
    """List what supports an entry, oldest first; withdrawn ones say so."""
    return await binding.rooms.evidence.corroborations(binding.scope, entry_id)


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/lineage", "reading"))
async def lineage(binding: Binding, entry_id: UUID) -> list[Lineage]:
    """List what an entry was made of; sources that went with their scope are still named."""
    return await binding.rooms.evidence.lineage(binding.scope, entry_id)


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/references", "reading"))
async def references(binding: Binding, entry_id: UUID) -> list[Referenced]:
    """List the canonical rows that an entry refers to, as they read now."""
    return await binding.rooms.evidence.references(binding.scope, entry_id)


@verb(capability=Capability.READ, http=get("/entries/{entry_id}/gates", "reading"))
async def gates(binding: Binding, entry_id: UUID) -> list[GateResult]:
    """Say what each of the four promotion gates says about an entry now, with its numbers."""
    return await binding.rooms.evidence.gates(binding.scope, entry_id)


@verb(
    capability=Capability.READ,
    http=get("/candidates", "maturing", page=Paging("candidates", lambda one: one.entry.id)),
)
async def candidates(
    binding: Binding,
    *,
    limit: Annotated[int, Between(1, MAX_CANDIDATES)] = 50,
    after: After = None,
) -> list[Candidate]:
    """List what waits for support, oldest first, with its gates; `after` is a page's last id."""
    return await binding.rooms.evidence.candidates(binding.scope, limit, after)


@verb(capability=Capability.READ, http=post("/lookups/about", "lookups"))
async def about(binding: Binding, subjects: Iterable[str]) -> list[Entry]:
    """List the current entries whose claim is about one of the subjects, oldest first.

    A subject is compared as claims are: case, width and spacing make no difference.
    """
    wanted = [check_text(s, SHORT, "subjects") for s in _few(subjects, "subjects")]
    keys = [Claim(subject, "", "").key[0] for subject in wanted]
    return await binding.rooms.entries.about(binding.scope, keys) if keys else []


@verb(capability=Capability.READ, http=post("/lookups/tally", "lookups"))
async def tally(
    binding: Binding, key: str, *, where: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """Count how often each value of an envelope key stands among current entries."""
    declared = binding.spec.retrieval.envelope.get(key)
    if declared is None or declared.type is EnvelopeType.LIST:
        raise EnvelopeRefused(
            f"The envelope key {key!r} cannot be tallied.",
            remedy="Name a declared scalar or hierarchy; see `retrieval.envelope` in the spec.",
        )
    return await binding.rooms.entries.tally(
        binding.scope, key, question_envelope(binding.spec, where)
    )


@verb(
    capability=Capability.READ,
    whole_anchor=True,
    repeatable=False,
    placed=True,
    http=post("/reads", "lookups"),
    command=None,
)
async def note_read(binding: Binding, entries: Iterable[UUID]) -> None:
    """Record that entries were put before this scope's principal, as `context` does."""
    ids = _few(entries, "entries")
    now = binding.rooms.clock.now()
    await binding.rooms.embeddings.read(binding.scope, binding.place, ids, now)


@verb(capability=Capability.READ, http=post("/reads/last", "lookups"))
async def last_read(binding: Binding, entries: Iterable[UUID]) -> dict[UUID, datetime]:
    """Say when each of the entries was last read; one that never was is not in the answer."""
    ids = _few(entries, "entries")
    return await binding.rooms.entries.last_read(binding.scope, ids) if ids else {}


@verb(capability=Capability.READ, http=get("/overview", "overseeing"))
async def overview(
    binding: Binding, *, days: Annotated[int, Between(1, MAX_DAYS)] = 30
) -> Overview:
    """Say how memory stands: what it holds, what waits, what was refused. Numbers, no content."""
    return await binding.rooms.overviews.overview(binding.scope, days)


@verb(capability=Capability.READ, http=get("/kept", "overseeing", page=_ENTRIES))
async def kept(
    binding: Binding, state: RetentionState, *, limit: Limit = 100, before: Cursor = None
) -> list[Entry]:
    """List the entries in one retention state, newest first; `before` is a page's last id."""
    return await binding.rooms.listings.kept(binding.scope, state, limit, before)


@verb(capability=Capability.READ, http=get("/written", "overseeing", page=_ENTRIES))
async def written(
    binding: Binding,
    since: datetime,
    until: datetime,
    *,
    tier: Tier | None = None,
    typology: Typology | None = None,
    limit: Limit = 100,
    before: Cursor = None,
) -> list[Entry]:
    """List the entries that were written from one moment up to another, whatever became of them."""
    return await binding.rooms.listings.written(
        binding.scope, since, until, tier, typology, limit, before
    )


@verb(capability=Capability.READ, http=get("/unembedded", "overseeing", page=_ENTRIES))
async def unembedded(binding: Binding, *, limit: Limit = 100, before: Cursor = None) -> list[Entry]:
    """List the entries that wait for a vector, newest first; `before` is a page's last id."""
    return await binding.rooms.listings.unembedded(binding.scope, limit, before)


@verb(capability=Capability.READ, http=get("/refusals", "overseeing"))
async def refusals(
    binding: Binding,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Limit = 100,
) -> list[LedgerRecord]:
    """List what the guard refused, newest first: who tried, when, over which canonical row."""
    return await binding.rooms.listings.refusals(binding.scope, since, until, limit)


@verb(capability=Capability.READ, http=get("/jobs", "overseeing"))
async def jobs(
    binding: Binding,
    *,
    task: str | None = None,
    state: JobState | None = None,
    limit: Limit = 100,
    after: Annotated[int, Between(0, MAX_JOB)] | None = None,
) -> list[Job]:
    """List the background work of this scope that waits, runs or failed; `after` is a job's id."""
    return await binding.rooms.listings.jobs(binding.scope, task, state, limit, after)


@verb(capability=Capability.READ, http=get("/sessions", "overseeing"))
async def sessions(binding: Binding, *, limit: Limit = 100) -> list[OpenSession]:
    """List the sessions that are open, with their open interactions, the newest first."""
    return await binding.rooms.listings.sessions(binding.scope, limit)


def _missing(links: Sequence[LedgerRecord]) -> EntryNotFound:
    """Why there is no entry: unknown here, or gone with its scope, and then into what."""
    if not links or links[-1].transition != "dropped":
        return EntryNotFound()
    into = links[-1].detail.get("into")
    went = f"What it said is in entry {into}." if into else "Nothing was made of it."
    return EntryNotFound(
        f"The entry went with its scope on {links[-1].at:%Y-%m-%d %H:%M} UTC.", remedy=went
    )


def _few(values: Iterable[Any], what: str) -> list[Any]:
    found = list(values)
    if len(found) > MAX_LISTED:
        raise InputError(f"At most {MAX_LISTED:,} {what} per call; split them.")
    return found

"""Verbs by which memory matures and ends: confirm, contradict, dispose, undo, erase, keep up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from idetic.erasure import Erased, Subject
from idetic.errors import InputError
from idetic.evidence import (
    Aggregated,
    Closed,
    Contradiction,
    ContradictionStatus,
    Decided,
    Disposition,
    Outcome,
    SourceType,
)
from idetic.library.binding import Binding
from idetic.lifecycle.canon import Rescanned
from idetic.lifecycle.consolidation import Consolidated
from idetic.lifecycle.quarantining import Quarantined, QuarantineRecord, source_of
from idetic.lifecycle.retention import Disposed, Reconciled
from idetic.model import Capability, LedgerRecord, Origin, Principal, Receipt, Ref
from idetic.recall.embedding import Embedded, Progress
from idetic.verbs.arguments import Between, Limit, Wire
from idetic.verbs.declaration import McpTool, get, post, verb

Position = Annotated[int, Between(1, 2**63 - 1)]


def position_of(what: object) -> int:
    """Where a decision stands in the ledger: of a receipt, a link, a quarantine, or as given."""
    known = what.receipt if isinstance(what, Quarantined) else what
    position = known.position if isinstance(known, Receipt | LedgerRecord) else known
    if type(position) is not int:
        raise InputError("what is a receipt, a link of the ledger, or its position.")
    return position


def identifiers_of(subject: Subject | str | Iterable[str]) -> list[str]:
    """Every text that names a subject."""
    named = subject if isinstance(subject, Subject) else Subject(subject)
    return list(named.identifiers)


def author_of(created_by: Principal | str | None) -> str | None:
    """A principal as the ledger names it."""
    if isinstance(created_by, Principal):
        return f"{created_by.kind}:{created_by.name}"
    return created_by


DecisionRef = Annotated[Receipt | LedgerRecord | int, Wire("position", Position, position_of)]
QuarantineRef = Annotated[
    Quarantined | Receipt | LedgerRecord | int, Wire("position", Position, position_of)
]
ErasedSubject = Annotated[
    Subject | str | Iterable[str], Wire("identifiers", list[str], identifiers_of)
]
Author = Annotated[Principal | str | None, Wire("created_by", str | None, author_of)]


@verb(
    capability=Capability.CORROBORATE,
    writes=True,
    http=post("/entries/{entry_id}/corroborations", "maturing"),
    examples=("idetic corroborate ENTRY_ID observation SOURCE_ID {scope}",),
)
async def corroborate(
    binding: Binding,
    entry_id: UUID,
    source_type: SourceType,
    source_ref: UUID,
    *,
    holds: bool = True,
    notes: str | None = None,
    provenance: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """Add a source that confirms an entry or, with `holds=False`, fails to; each counts once."""
    return await binding.rooms.testimony.corroborate(
        binding.scope,
        binding.place,
        entry_id,
        source_type,
        source_ref,
        holds=holds,
        notes=notes,
        provenance=provenance,
        key=idempotency_key,
    )


@verb(
    capability=Capability.CONTRADICT,
    writes=True,
    http=post("/entries/{entry_id}/contradictions", "maturing"),
    examples=('idetic contradict ENTRY_ID rule:RULE_ID --reason "it says otherwise" {scope}',),
)
async def contradict(
    binding: Binding,
    entry_id: UUID,
    ref: Ref,
    *,
    reason: str,
    provenance: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Receipt:
    """Say that an entry speaks against canonical content; it goes to the operators' queue."""
    return await binding.rooms.contradictions.contradict(
        binding.scope, entry_id, ref, reason=reason, provenance=provenance, key=idempotency_key
    )


@verb(
    capability=Capability.READ,
    http=get("/contradictions", "maturing"),
    tool=McpTool(
        "See what speaks against canonical content",
        "The queue of entries that speak against canonical content such as rules, oldest first.",
        name="list_contradictions",
        hidden=("limit",),
    ),
    examples=(
        "idetic contradictions {scope}",
        "idetic contradictions --status dismissed {scope} --json",
    ),
)
async def contradictions(
    binding: Binding,
    *,
    status: Sequence[ContradictionStatus] | None = None,
    limit: Limit = 100,
) -> list[Contradiction]:
    """List the operators' queue, oldest first: open and surfaced ones unless you say which."""
    return await binding.rooms.contradictions.queue(binding.scope, status, limit)


@verb(
    capability=Capability.RESOLVE,
    writes=True,
    http=post("/contradictions/{contradiction_id}/resolve", "maturing"),
    examples=(
        'idetic resolve CONTRADICTION_ID surfaced_to_operator --notes "asked the desk" {scope}',
    ),
)
async def resolve(
    binding: Binding,
    contradiction_id: UUID,
    status: ContradictionStatus,
    *,
    notes: str,
    idempotency_key: str | None = None,
) -> Receipt:
    """Move a contradiction on: surface it, dismiss it, or promote it to a revision signal."""
    return await binding.rooms.contradictions.resolve(
        binding.scope, contradiction_id, status, notes=notes, key=idempotency_key
    )


@verb(
    capability=Capability.READ,
    http=get("/dispositions", "maturing"),
    examples=("idetic disposition {scope}", "idetic disposition --limit 10 {scope} --json"),
)
async def disposition(binding: Binding, *, limit: Limit = 100) -> list[Disposition]:
    """List what is due for somebody's decision, the hardest pressed first."""
    return await binding.rooms.dispositions.queue(binding.scope, limit)


@verb(
    writes=True,
    http=post("/dispositions", "maturing"),
    examples=('idetic dispose archive ENTRY_ID --reason "no longer so" {scope}',),
)
async def dispose(
    binding: Binding, entries: Iterable[UUID], outcome: Outcome, *, reason: str
) -> list[Receipt]:
    """Decide about entries: promote, recorroborate, exempt or archive; all of them or none."""
    return await binding.rooms.dispositions.dispose(binding.scope, entries, outcome, reason=reason)


@verb(
    capability=Capability.UNDO,
    writes=True,
    http=post("/undo", "maturing"),
    examples=('idetic undo 42 --reason "a mistake" {scope}',),
)
async def undo(
    binding: Binding,
    what: DecisionRef,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Receipt:
    """Take a decision back: about an entry, its support, or a contradiction; see the docs."""
    return await binding.rooms.undoing.undo(binding.scope, what, reason=reason, key=idempotency_key)


@verb(
    capability=Capability.TOMBSTONE,
    writes=True,
    http=post("/entries/{entry_id}/tombstone", "maturing"),
    examples=('idetic tombstone ENTRY_ID --reason "asked for" {scope}',),
)
async def tombstone(
    binding: Binding, entry_id: UUID, *, reason: str, idempotency_key: str | None = None
) -> Receipt:
    """Mark a persistent entry as deleted. `undo` brings it back until it is disposed of."""
    return await binding.rooms.retention.tombstone(
        binding.scope, entry_id, reason=reason, key=idempotency_key
    )


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/tombstones/dispose", "upkeep"))
async def dispose_tombstones(binding: Binding) -> Disposed:
    """Tombstone what outlived its TTL, and empty the tombstones whose grace is over."""
    return await binding.rooms.retention.dispose_tombstones(binding.scope)


@verb(
    capability=(Capability.MAINTAIN, Capability.AUDIT),
    repeatable=False,
    http=post("/reconcile", "upkeep"),
)
async def reconcile(binding: Binding) -> Reconciled:
    """Count what is kept in which state, and name what should not be there; change nothing."""
    return await binding.rooms.retention.reconcile(binding.scope)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/recover", "upkeep"))
async def recover(binding: Binding) -> list[Closed]:
    """Close the scopes of this anchor whose process went away; what each close did."""
    return await binding.rooms.recovery.recover(binding.scope)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/rescan", "upkeep"))
async def rescan(
    binding: Binding, noun: str | None = None, ref_id: UUID | None = None
) -> Rescanned:
    """Bring memory in line with changed canonical content."""
    return await binding.rooms.canon.rescan(binding.scope, noun, ref_id)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/consolidate", "upkeep"))
async def consolidate(binding: Binding) -> Consolidated:
    """Merge facts that changed since the last run; with a reasoner, what overlaps too."""
    return await binding.rooms.consolidation.run(binding.scope)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/candidates/promote", "upkeep"))
async def promote(binding: Binding) -> list[Decided]:
    """Promote every candidate of this anchor whose gates pass by now."""
    return await binding.rooms.candidates.weigh(binding.scope)


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/dispositions/mark", "upkeep"))
async def mark_due(binding: Binding) -> int:
    """Say in the history of every entry that fell due that it waits for a disposition."""
    return await binding.rooms.dispositions.mark(binding.scope)


@verb(
    capability=(Capability.MAINTAIN, Capability.OBSERVE),
    repeatable=True,
    http=post("/embed", "upkeep"),
    examples=("idetic embed {scope}",),
)
async def embed(binding: Binding, progress: Progress | None = None) -> Embedded:
    """Give every pending entry of this anchor its vector, in batches that each commit."""
    return await binding.rooms.embedding.pending(binding.scope, progress)


@verb(capability=Capability.MAINTAIN, repeatable=True, http=post("/reembed", "upkeep"))
async def reembed(binding: Binding, progress: Progress | None = None) -> Embedded:
    """Embed the whole tenant with the loaded model, then switch recalls to it."""
    return await binding.rooms.embedding.tenant(binding.scope, progress)


@verb(
    capability=Capability.ERASE,
    writes=True,
    http=post("/erasures", "governing"),
    examples=(
        'idetic erase --reason "request 17" --yes {scope} < identifiers.txt',
        'idetic erase "Zora Quell" zora@quell.example --reason "request 17" --yes {scope}',
    ),
)
async def erase(
    binding: Binding,
    subject: ErasedSubject,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Erased:
    """Empty everything that names a subject, and what was made of it; this is for good."""
    return await binding.rooms.erasure.erase(
        binding.scope, subject, reason=reason, key=idempotency_key
    )


@verb(
    capability=Capability.PROMOTE,
    whole_anchor=True,
    repeatable=False,
    http=post("/patterns", "governing"),
)
async def patterns(binding: Binding, entries: Iterable[UUID], *, reason: str) -> Aggregated:
    """Say what entries have in common without whose they are, for a proposal that leaves."""
    return await binding.rooms.aggregation.patterns(binding.scope, entries, reason=reason)


@verb(
    capability=Capability.ARCHIVE,
    writes=True,
    http=post("/quarantines", "governing"),
    examples=('idetic quarantine --session-id SESSION_ID --reason "poisoned" {scope}',),
)
async def quarantine(
    binding: Binding,
    *,
    reason: str,
    origin: Origin | None = None,
    created_by: Author = None,
    session_id: UUID | None = None,
    since: datetime | None = None,
    idempotency_key: str | None = None,
) -> Quarantined:
    """Take a source and all that came of it out of recall, in one call that can be undone."""
    source = source_of(origin, created_by, session_id, since)
    return await binding.rooms.quarantine.quarantine(
        binding.scope, source, reason=reason, key=idempotency_key
    )


@verb(capability=Capability.READ, http=get("/quarantines", "governing"))
async def quarantines(binding: Binding, *, limit: Limit = 100) -> list[QuarantineRecord]:
    """List what was quarantined, newest first; what was released since says so."""
    return await binding.rooms.quarantine.records(binding.scope, limit)


@verb(
    capability=Capability.ARCHIVE,
    writes=True,
    http=post("/quarantines/{position}/release", "governing"),
    examples=('idetic release 42 --reason "it was sound" {scope}',),
)
async def release(
    binding: Binding,
    what: QuarantineRef,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Receipt:
    """Put back what a quarantine took out, as it was."""
    return await binding.rooms.quarantine.release(
        binding.scope, what, reason=reason, key=idempotency_key
    )

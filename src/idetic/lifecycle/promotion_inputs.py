"""What a promotion pass reads: statements, entries with evidence, and what the gates say."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from idetic.evidence import (
    Corroboration,
    Failures,
    GateResult,
    Lineage,
    PromotionGate,
    Relation,
    SourceType,
)
from idetic.gates.crossing import cross
from idetic.gates.gate import Pipeline
from idetic.ids import uuid7
from idetic.lifecycle.duplicates import ComparedStatement, Sameness, compare, group
from idetic.model import Claim, Entry, EntryState, Origin, Ref, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import ConsolidationMethod, Independence, PromotionPolicy
from idetic.store.anchor_scans import Near, alike, nearest, same_words
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry

# With so many entries that may say the same a statement is compared.
_COMPARED = 16

LineageOf = Mapping[UUID, Sequence[Lineage]]


def policy_of(spec: MemorySpec) -> PromotionPolicy:
    """The policy that episodes meet on their way to a fact.

    Where the persistent tier holds episodes they are promoted from there; where it does not, they
    come straight from the session.
    """
    persistent = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    return spec.promotion_of(Tier.PERSISTENT if persistent else Tier.SESSION, Typology.EPISODIC)


def as_source(entry: Entry, relation: Relation) -> Lineage:
    """An entry as a source of another."""
    return Lineage(
        entry.id,
        relation,
        entry.origin,
        entry.trust,
        entry.created_at,
        entry.session_id,
        entry.interaction_id,
        {k: v for k, v in entry.provenance.items() if v is not None},
        entry.created_by,
    )


def flattened(
    members: Sequence[StoredEntry], lineage: LineageOf, relation: Relation
) -> list[Lineage]:
    """Every source of some entries, and those entries: what goes with a scope stays named here."""
    found: dict[UUID, Lineage] = {}
    for member in members:
        found.setdefault(member.id, as_source(member.entry, relation))
        for one in lineage.get(member.id, ()):
            found.setdefault(one.source_id, replace(one, relation=relation))
    return list(found.values())


def observed(entry: Entry, lineage: LineageOf) -> Sequence[Lineage]:
    """The observations behind a session's entry: those it was made of, or itself; and echoes."""
    behind = lineage.get(entry.id, [])
    # Nobody speaks by a copy, nor by what is gone: who said that was counted when it was brought.
    heard = [one for one in behind if one.by]
    if any(one.relation is not Relation.RECURRED for one in behind):
        return heard
    return [as_source(entry, Relation.PROMOTED), *heard]


def source_ref(one: Lineage) -> UUID:
    """What counts as one source: a chat thread, however often it says something.

    Three mentions in one thread are one voice; the same from three threads are three.
    """
    return one.interaction_id or one.session_id or one.source_id


def voice(one: Lineage, at: datetime, by: str, notes: str | None = None) -> Corroboration:
    """An observation as a source that speaks for what was made of it."""
    kind, told = SourceType.OBSERVATION_EVENT, dict(one.provenance)
    who = (at, by, one.by, one.origin, one.session_id, notes)
    return Corroboration(uuid7(), kind, source_ref(one), *who, provenance=told)


def distinct(sources: Iterable[Corroboration]) -> list[Corroboration]:
    """Each source once, as it spoke first: the same thread twice is one source."""
    found: dict[object, Corroboration] = {}
    for one in sources:
        found.setdefault(one.source, one)
    return list(found.values())


@dataclass(frozen=True)
class Inherited:
    """What a derived entry takes from its members: the weakest trust, every reference.

    Its fields are those of `AddStep`, and fill them: `AddStep(…, **vars(inherited))`.
    """

    origin: Origin
    trust: int
    refs: tuple[Ref, ...]
    provenance: dict[str, Any]
    valid_at: datetime

    @classmethod
    def of(cls, members: Sequence[StoredEntry], lineage: Iterable[Lineage] = ()) -> Inherited:
        """The inheritance of a group; the first member speaks, the newest dates it."""
        own = (as_source(m.entry, Relation.MERGED) for m in members)
        weakest = min([*own, *lineage], key=lambda one: one.trust)
        refs = {(r.noun, r.id): r for m in members for r in m.entry.refs}
        newest = members[-1].entry
        known = {k: v for k, v in newest.provenance.items() if v is not None}
        began = min(m.entry.valid_at or m.entry.created_at for m in members)
        return cls(weakest.origin, weakest.trust, tuple(refs.values()), known, began)


@dataclass(slots=True)
class SessionStatement:
    """One statement that a session leaves: the entries that make it, and who said so."""

    members: Sequence[StoredEntry]
    lineage: Sequence[Lineage]
    sources: Sequence[Corroboration]
    # Whether its words were drawn out of those of its members, and are not the same.
    drawn: bool = False

    @property
    def leader(self) -> Entry:
        """The entry whose words stand for the group: the first that makes its claim."""
        return next((m.entry for m in self.members if m.entry.claim), self.members[0].entry)

    @property
    def claim(self) -> Claim | None:
        """What it asserts, as it is compared."""
        claim = self.leader.claim
        return None if claim is None else claim.normalised()


@dataclass(slots=True)
class SupportedEntry:
    """A persistent entry and the evidence about it, as a pass goes along."""

    entry: Entry
    sources: list[Corroboration] = field(default_factory=list)
    failures: Failures = field(default_factory=dict)
    vector: Any = None
    live: bool = True

    @property
    def id(self) -> UUID:
        """The entry's id."""
        return self.entry.id

    @property
    def value(self) -> str | None:
        """What it asserts about its claim key."""
        claim = self.entry.claim
        return None if claim is None else claim.normalised().value

    def independent(self, rule: Independence) -> list[Corroboration]:
        """The sources that count: each once, none withdrawn, nothing an agent only inferred."""
        left = (one for one in self.sources if one.withdrawn_at is None)
        found = distinct(one for one in left if one.source_type.independent)
        return found[: rule.counted([one.source_by for one in found])]

    def is_conflict(self, other: SupportedEntry) -> bool:
        """Whether this entry stands, and claims another value of what the other one claims."""
        return self._has_key_of(other) and self.value != other.value

    def is_twin(self, other: SupportedEntry) -> bool:
        """Whether this entry stands, and makes the very claim of the other one."""
        return self._has_key_of(other) and self.value == other.value

    def _has_key_of(self, other: SupportedEntry) -> bool:
        """Whether this entry, live and no candidate, has the claim key and typology of another."""
        mine, yours = self.entry.claim, other.entry.claim
        return (
            self.live
            and not self.entry.candidate
            and self.id != other.id
            and self.entry.typology is other.entry.typology
            and mine is not None
            and yours is not None
            and mine.key == yours.key
        )


def statement(stored: StoredEntry | SupportedEntry) -> ComparedStatement:
    """An entry as something to compare."""
    return ComparedStatement(stored.entry.body_text, stored.entry.claim, stored.vector)


def length(members: Iterable[StoredEntry]) -> int:
    """How many characters there are to read of some entries."""
    return sum(len(member.entry.body_text) for member in members)


def groups(
    spec: MemorySpec, members: Sequence[StoredEntry], tier: Tier, typology: Typology
) -> list[list[int]]:
    """Which of some entries say the same, by the cell's own way of consolidating."""
    if spec.consolidation_of(tier, typology).method is ConsolidationMethod.NONE:
        return [[number] for number in range(len(members))]
    return group([statement(m) for m in members], spec.promotion_of(tier, typology))


# --- the four gates: each says what it saw and what it needed -------------------------------------


def deduplication(why: str) -> GateResult:
    """It is the one entry that says this."""
    return GateResult(PromotionGate.DEDUPLICATION, True, 1.0, 1.0, why)


def duplicate() -> GateResult:
    """Another entry states this already, and one is enough."""
    return GateResult(PromotionGate.DEDUPLICATION, False, 2, 1, "another entry states this already")


def corroboration(sources: Sequence[Corroboration], need: int) -> GateResult:
    """Enough independent sources."""
    have = len(sources)
    why = f"{have} independent source{'' if have == 1 else 's'}, {need} needed"
    return GateResult(PromotionGate.CORROBORATION, have >= need, have, need, why)


def confidence(agree: int, against: int, need: float) -> GateResult:
    """A pattern repeated often enough: the rule of succession over what was seen."""
    have = (agree + 1) / (agree + against + 2)
    why = f"seen {agree} times for and {against} against: confidence {have:.2f}, {need:.2f} needed"
    return GateResult(PromotionGate.CORROBORATION, have >= need, round(have, 4), need, why)


def sanitization(pipeline: Pipeline, text: str) -> GateResult:
    """Nothing in it that its boundary would have changed."""
    passed = pipeline.apply(text)
    found = sum(change.count for change in passed.changes)
    if passed.refused is not None:
        return GateResult(PromotionGate.SANITIZATION, False, found, 0, passed.refused)
    why = "nothing to remove" if not found else f"{found} removed"
    return GateResult(PromotionGate.SANITIZATION, found == 0, found, 0, why)


def cross_context(sources: Sequence[Corroboration], need: int) -> GateResult:
    """More than one session says so."""
    # Whoever speaks outside any session is one context, however often.
    have = len({one.session_id or one.source_by for one in sources})
    agreeing = "1 session agrees" if have == 1 else f"{have} sessions agree"
    why = f"{agreeing}, {need} needed"
    return GateResult(PromotionGate.CROSS_CONTEXT, have >= need, have, need, why)


def outranked(trust: int, other: int) -> GateResult:
    """What would replace a stronger statement waits for somebody to decide."""
    why = f"its trust is {trust}, and it would replace a statement of {other}"
    return GateResult(PromotionGate.CROSS_CONTEXT, False, trust, other, why)


# --- reading ------------------------------------------------------------------------------------


async def session_statements(tx: AnchorTransaction, session_id: UUID) -> list[SessionStatement]:
    """The statements that a session leaves, each with everybody who made it."""
    members = await tx.stored_where("in_session", session_id=session_id)
    ids = [member.id for member in members]
    lineage, supported = await gather(tx.lineage(ids), tx.corroborations(ids))
    found = []
    for typology in tx.spec.typology.at(Tier.SESSION):
        mine = [member for member in members if member.entry.typology is typology]
        grouped = partial(groups, tx.spec, mine, Tier.SESSION, typology)
        for numbers in await cross(length(mine), grouped):
            same = [mine[n] for n in numbers]
            sources: list[Corroboration] = []
            for member in same:
                heard = observed(member.entry, lineage)
                sources += [voice(one, tx.at, tx.actor) for one in heard]
                # What an entry brings along to what is made of it.
                brought = supported.get(member.id, ())
                sources += [replace(c, id=uuid7()) for c in brought if c.withdrawn_at is None]
            told = flattened(same, lineage, Relation.PROMOTED)
            found.append(SessionStatement(same, told, distinct(sources)))
    return found


async def supported_entries(
    tx: AnchorTransaction, stored: Sequence[StoredEntry]
) -> list[SupportedEntry]:
    """Persistent entries with the evidence about them."""
    ids = [one.id for one in stored]
    failures, supported = await gather(tx.failures(ids), _corroborations(tx, ids))
    return [
        SupportedEntry(
            one.entry,
            supported.get(one.id, []),
            failures.get(one.id, {}),
            one.vector,
            live=one.entry.state is EntryState.CURRENT,
        )
        for one in stored
    ]


async def _corroborations(
    tx: AnchorTransaction, ids: Sequence[UUID]
) -> dict[UUID, list[Corroboration]]:
    """What supports each entry: its corroborations, or its lineage where none are kept."""
    if tx.spec.references.corroborations:
        return await tx.corroborations(ids)
    # A family without the junction: its lineage says who spoke.
    found: dict[UUID, list[Corroboration]] = {}
    for memory_id, rows in (await tx.lineage(ids)).items():
        # What threads compounded into is named beside them, and is no voice of its own.
        heard = {row.session_id for row in rows if row.interaction_id}
        voices = [r for r in rows if r.interaction_id or r.session_id not in heard]
        found[memory_id] = distinct(voice(one, tx.at, "") for one in voices)
    return found


async def beside(tx: AnchorTransaction, supported: SupportedEntry) -> list[SupportedEntry]:
    """A persistent entry among those that speak about the same claim key."""
    claim = supported.entry.claim
    if claim is None:
        return []
    others = [one for one in await tx.claimed([claim.key]) if one.id != supported.id]
    return [supported, *await supported_entries(tx, others)]


async def entries_by_claim(
    tx: AnchorTransaction,
    stated: set[tuple[str, str]],
    claimed: Sequence[StoredEntry],
    matches: Mapping[int, SupportedEntry],
) -> dict[tuple[str, str], list[SupportedEntry]]:
    """The persistent entries that speak about the same claim keys; one object for each.

    `claimed` are those about the keys that were stated; what matches by words adds its own keys.
    """
    matched = {one.id: one for one in matches.values()}
    keys = {one.entry.claim.key for one in matched.values() if one.entry.claim is not None}
    stored = [*claimed, *await tx.claimed(keys - stated)]
    found: dict[tuple[str, str], list[SupportedEntry]] = {}
    for one in await supported_entries(tx, stored):
        if one.entry.claim is not None:
            found.setdefault(one.entry.claim.key, []).append(matched.get(one.id, one))
    return found


async def matches_by_words(
    tx: AnchorTransaction,
    statements: Sequence[SessionStatement],
    profile_id: UUID | None,
    typology: Typology | None,
    policy: PromotionPolicy,
) -> dict[int, SupportedEntry]:
    """For statements without a claim: the persistent entry that says the same, by number."""
    if typology is None:
        return {}
    plain = [(n, one) for n, one in enumerate(statements) if one.claim is None]
    near = await _near(tx, plain, profile_id, typology)
    wanted = {memory_id for found in near.values() for memory_id, _ in found}
    stored = [
        one
        for one in await tx.stored(wanted)
        if one.entry.typology is typology and one.entry.state is EntryState.CURRENT
    ]
    known = {one.id: one for one in await supported_entries(tx, stored)}

    def matched() -> dict[int, SupportedEntry]:
        """Of each statement the first that says the same."""
        found = {
            n: _saying_same(one.members[0], near.get(n, ()), known, policy) for n, one in plain
        }
        return {number: other for number, other in found.items() if other is not None}

    amount = length(one.members[0] for _, one in plain)
    return await cross(amount + length(stored), matched)


def _saying_same(
    member: StoredEntry,
    near: Iterable[tuple[UUID, float]],
    known: Mapping[UUID, SupportedEntry],
    policy: PromotionPolicy,
) -> SupportedEntry | None:
    """The first of some near entries that says what another does.

    Of many a few are compared, and those first that have its text: nobody can crowd them out.
    """
    mine = statement(member)
    others = [(known[entry_id], alike) for entry_id, alike in near if entry_id in known]
    # The oldest of those that are equally near, so that the choice is always the same.
    others.sort(key=lambda one: (one[0].entry.body_text != mine.text, -one[1], one[0].id))
    same = (
        other
        for other, _ in others[:_COMPARED]
        if compare(mine, statement(other), policy).verdict is Sameness.SAME
    )
    return next(same, None)


async def _near(
    tx: AnchorTransaction,
    plain: Sequence[tuple[int, SessionStatement]],
    profile_id: UUID | None,
    typology: Typology,
) -> Near:
    """By the key of its words; and by vector, or by likeness where there is none."""
    vectors = [(n, v) for n, one in plain if (v := one.members[0].vector) is not None]
    if profile_id is None:
        vectors = []
    has_vector = {number for number, _ in vectors}
    texts = [(n, one.leader.body_text) for n, one in plain if n not in has_vector]
    said = [(n, one.leader.body_text) for n, one in plain]
    asked = [same_words(tx, said), alike(tx, texts)]
    if profile_id is not None:
        asked.append(nearest(tx, vectors, profile_id, typology))
    worded, *found = await gather(*asked)
    near = {number: pairs for one in found for number, pairs in one.items()}
    return {n: worded.get(n, []) + near.get(n, []) for n in worded.keys() | near.keys()}

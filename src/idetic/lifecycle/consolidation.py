"""Consolidation: facts that overlap become fewer and richer ones, in the background.

Deterministic by default: what says the same is merged. With a reasoner, what merely overlaps is
put before it; its answer is checked, cites only what it was shown, and every change it makes has
a receipt that `undo` takes back. No lock is held while it thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable
from uuid import UUID

from idetic.engine import Binding
from idetic.evidence import Decided, DispositionCause
from idetic.lifecycle.duplicates import Sameness, compare, group
from idetic.lifecycle.fact_merge import FactMerge
from idetic.lifecycle.promotion import decisions
from idetic.lifecycle.promotion_inputs import policy_of, statement, supported_entries
from idetic.lifecycle.repeated_preferences import supersede_repeated
from idetic.lifecycle.sameness import propose_sameness
from idetic.model import Capability, EntryState, Receipt, Tier, Typology
from idetic.reason.caps import Meter
from idetic.reason.port import (
    ConflictAsked,
    MergeAsked,
    Reasoner,
    ReasonerCapped,
    ReasonerError,
    ReasonerLied,
    ReasonerUnavailable,
    ShownEntry,
    SummaryAsked,
    Usage,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import ConsolidationMethod, PromotionPolicy
from idetic.store.anchor_scans import changed_facts, due_entries, judged_pairs, nearest
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.steps import AddStep
from idetic.verbs.declaration import post, verb

# Below this, two notes of the pinned model are about different things.
OVERLAP = 0.8
MAX_GROUP = 8
# How many facts are read, with their vectors, at a time.
BATCH = 200

Pair = list[UUID]
# Facts that belong before a reasoner together, or that are the same without one.
Overlap = tuple[StoredEntry, ...]
# Only ids are read of the facts that changed, so a run takes all of them; of episodes that are
# due, the hardest pressed.
MAX_FACTS = 1_000_000
MAX_DUE = 1_000
# What the mark of a run is called: one with a reasoner sees more than one without.
PLAIN, REASONED = "consolidate", "consolidate_reasoned"
Decide = Callable[[FactMerge, Sequence[StoredEntry]], object]


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What a look found, and whether there was more to see than it could say."""

    same: tuple[Overlap, ...] = ()
    near: tuple[Overlap, ...] = ()
    bare: bool = False
    """Some have no vector yet, and were compared with nothing."""
    crowded: bool = False
    """More belonged together than fit one question."""

    def __add__(self, other: Overlaps) -> Overlaps:
        return Overlaps(
            self.same + other.same,
            self.near + other.near,
            self.bare or other.bare,
            self.crowded or other.crowded,
        )


async def overlapping(
    tx: AnchorTransaction,
    ids: Sequence[UUID],
    profile_id: UUID,
    policy: PromotionPolicy,
    typology: Typology = Typology.SEMANTIC,
    among: frozenset[UUID] | None = None,
) -> Overlaps:
    """The overlaps that some persistent entries take part in: with any other, or only `among`."""
    edges: set[frozenset[UUID]] = set()
    bare = False
    for first in range(0, len(ids), BATCH):
        known = await tx.stored(ids[first : first + BATCH])
        mine = [one for one in known if one.vector is not None]
        bare = bare or len(mine) < len(known)
        edges |= await _edges(tx, mine, profile_id, typology)
    wanted = {one for edge in edges for one in edge if among is None or one in among}
    facts = {one.id: one for one in await tx.stored(wanted) if not one.entry.candidate}
    pairs = sorted(sorted(edge) for edge in edges if edge <= facts.keys())
    same = _same(pairs, facts, policy)
    # What overlaps with one of several equal facts is looked at once only one of them is left.
    taken = {one for members in same for one in members}
    near, crowded = _groups([pair for pair in pairs if not taken & set(pair)], MAX_GROUP)
    return Overlaps(_members(same, facts), _members(near, facts), bare, crowded)


async def _edges(
    tx: AnchorTransaction, mine: Sequence[StoredEntry], profile_id: UUID, typology: Typology
) -> set[frozenset[UUID]]:
    """The pairs of near entries that nobody has decided about yet."""
    if not mine:
        return set()
    near = await nearest(tx, list(enumerate(one.vector for one in mine)), profile_id, typology)
    edges = {
        frozenset((mine[number].id, other))
        for number, others in near.items()
        for other, similarity in others
        if similarity >= OVERLAP and other != mine[number].id
    }
    return edges - await judged_pairs(tx, [one.id for one in mine])


def _same(
    pairs: Iterable[Pair], facts: dict[UUID, StoredEntry], policy: PromotionPolicy
) -> list[list[UUID]]:
    """Facts that say the same, all of them at once; a text under two claims stays by itself."""
    said = {one: statement(fact) for one, fact in facts.items()}
    found = ((one, other, compare(said[one], said[other], policy)) for one, other in pairs)
    equal = [[one, other] for one, other, how in found if how.verdict is Sameness.SAME]
    connected, _ = _groups(equal, len(facts))
    same = []
    for ids in connected:
        numbers = group([said[one] for one in ids], policy)
        same += [[ids[n] for n in members] for members in numbers if len(members) > 1]
    return same


def _groups(pairs: Iterable[Pair], most: int) -> tuple[list[list[UUID]], bool]:
    """Connected facts, in groups of at most so many; and whether a pair was left out for that."""
    group_of: dict[UUID, list[UUID]] = {}
    left = False
    for one, other in pairs:
        mine, theirs = group_of.get(one, [one]), group_of.get(other, [other])
        if mine is theirs:
            continue
        if len(mine) + len(theirs) > most:
            left = True
            continue
        joined = [*mine, *theirs]
        group_of |= dict.fromkeys(joined, joined)
    distinct = {id(members): sorted(members) for members in group_of.values()}
    return sorted(distinct.values()), left


def _members(groups: Iterable[list[UUID]], facts: dict[UUID, StoredEntry]) -> tuple[Overlap, ...]:
    """The groups of ids as overlaps, which hold the entries themselves."""
    return tuple(tuple(facts[one] for one in ids) for ids in groups)


@runtime_checkable
class Metered(Protocol):
    """A reasoner that counts what it takes: also what a question took that came to nothing."""

    @property
    def meter(self) -> Meter:
        """What counts."""
        ...


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The result of a consolidation: decisions, usage and failures."""

    decided: tuple[Decided, ...] = ()
    usage: Usage = field(default_factory=Usage)
    asked: int = 0
    failures: tuple[str, ...] = ()
    position: int = 0
    """Where the chain ended when the run looked at it."""
    finished: bool = True
    """Whether the next run begins there; else it looks at the same facts once more."""
    proposed: tuple[UUID, ...] = ()
    """What reads alike and was proposed as the same, for a person to decide."""


@dataclass(slots=True)
class _Questions:
    """What came of the questions of a run so far."""

    decided: list[Decided] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    asked: int = 0
    finished: bool = True


@verb(capability=Capability.MAINTAIN, writes=True, http=post("/consolidate", "upkeep"))
async def consolidate(binding: Binding) -> Consolidated:
    """Merge duplicates among facts that changed since the last run; a reasoner finds more."""
    repeated = await supersede_repeated(binding)
    done = await _consolidated(binding)
    return replace(done, decided=(*repeated, *done.decided))


async def _consolidated(binding: Binding) -> Consolidated:
    """What the run does with facts and episodes, and what it proposes as the same."""
    spec, reasoner = binding.spec, binding.engine.reasoner
    profile_id = await binding.engine.embeddings.active(binding.scope)
    merges = _merges(spec, Typology.SEMANTIC) or _merges(spec, Typology.EPISODIC)
    if not merges:
        return Consolidated()
    if profile_id is None:
        return Consolidated(proposed=await propose_sameness(binding, None))
    position, seen = await _overlaps(binding, profile_id)
    decided: list[Decided] = []
    if seen.same:
        for one in seen.same:
            decided += await _settle(binding, one, lambda merge, stored: merge.same(stored))
        _, seen = await _overlaps(binding, profile_id)
    asked = await _ask_all(binding, seen.near)
    waits = bool(seen.same) or (seen.crowded and reasoner is not None)
    finished = asked.finished and not (seen.bare or waits)
    if finished:
        for kind in {PLAIN, REASONED if reasoner else PLAIN}:
            now = binding.engine.clock.now()
            await binding.engine.marks.mark(binding.scope, kind, position, now)
    return Consolidated(
        (*decided, *asked.decided),
        asked.usage,
        asked.asked,
        tuple(asked.failures),
        position,
        finished,
        await propose_sameness(binding, profile_id),
    )


def _merges(spec: MemorySpec, typology: Typology) -> bool:
    """Whether a persistent cell consolidates; a 1:1 mirror does not."""
    mix = spec.typology.at(Tier.PERSISTENT)
    method = spec.consolidation_of(Tier.PERSISTENT, typology).method
    return typology in mix and method is not ConsolidationMethod.NONE


async def _overlaps(binding: Binding, profile_id: UUID) -> tuple[int, Overlaps]:
    """Where the chain ends, and what overlaps there. Nothing is locked."""
    policy, seen = policy_of(binding.spec), Overlaps()
    kind = PLAIN if binding.engine.reasoner is None else REASONED
    async with binding.look() as tx:
        due = await _due_episodes(tx) if _merges(tx.spec, Typology.EPISODIC) else []
        position, facts = await changed_facts(tx, kind, MAX_FACTS)
        if _merges(tx.spec, Typology.SEMANTIC):
            seen += await overlapping(tx, facts, profile_id, policy)
        # An episode that time does not press on yet is left alone, however near it is.
        among = frozenset(due)
        seen += await overlapping(tx, due, profile_id, policy, Typology.EPISODIC, among)
    return position, seen


async def _due_episodes(tx: AnchorTransaction) -> list[UUID]:
    """Ids of the episodes that a forcing function made due; only those are summarised."""
    return [
        one.entry.id
        for one in await due_entries(tx, MAX_DUE)
        if one.cause is DispositionCause.FORCED and one.entry.typology is Typology.EPISODIC
    ]


async def _ask_all(binding: Binding, overlaps: Sequence[Overlap]) -> _Questions:
    """Put overlaps before the reasoner, one after the other, until it cannot go on."""
    questions = _Questions()
    if binding.engine.reasoner is None or not overlaps:
        return questions
    try:
        async with binding.engine.reasoner() as reasoner:
            for one in overlaps:
                await _ask(binding, reasoner, one, questions)
    except (ReasonerCapped, ReasonerUnavailable) as error:
        questions.failures.append(error.code)
        questions.finished = False
    return questions


async def _ask(binding: Binding, reasoner: Reasoner, one: Overlap, questions: _Questions) -> None:
    """Put one overlap before the reasoner; what it took is counted even if nothing came of it."""
    before = reasoner.meter.used if isinstance(reasoner, Metered) else None
    spent = Usage()
    questions.asked += 1
    try:
        made, spent = await _answered(binding, reasoner, one)
        questions.decided += made
        # Nothing made: an entry changed meanwhile, and the others are to be looked at again.
        questions.finished = questions.finished and bool(made)
    except (ReasonerCapped, ReasonerUnavailable):
        # These end the run; any other failure is of this one question.
        raise
    except ReasonerError as error:
        questions.failures.append(error.code)
    finally:
        if before is not None and isinstance(reasoner, Metered):
            spent = _since(before, reasoner.meter.used)
        questions.usage += spent


async def _answered(
    binding: Binding, reasoner: Reasoner, one: Overlap
) -> tuple[list[Decided], Usage]:
    """Two facts are judged, more are merged, episodes summarised; then they are written to."""
    shown = tuple(_evidence(stored) for stored in one)
    if one[0].entry.typology is Typology.EPISODIC:
        most = binding.spec.backend.body_text_max
        note = await reasoner.summarise(SummaryAsked(shown, most))
        _check_cites(note.cites, one)
        made = await _settle(binding, one, lambda merge, known: merge.summarised(known, note))
        return made, note.usage
    if len(shown) == 2:
        verdict = await reasoner.judge(ConflictAsked(shown[0], shown[1]))
        made = await _settle(binding, one, lambda merge, known: merge.judged(known, verdict))
        return made, verdict.usage
    answer = await reasoner.merge(MergeAsked(shown))
    _check_cites(answer.cites, one)
    made = await _settle(binding, one, lambda merge, known: merge.answered(known, answer))
    return made, answer.usage


async def _settle(binding: Binding, shown: Overlap, decide: Decide) -> list[Decided]:
    """Write a decision, unless one of its entries has changed since it was made."""
    async with binding.hold() as tx:
        live = [
            one
            for one in await tx.stored(known.id for known in shown)
            if one.entry.state is EntryState.CURRENT and not one.entry.candidate
        ]
        if len(live) != len(shown):
            return []
        supported = {one.id: one for one in await supported_entries(tx, live)}
        sanitize = binding.engine.gates.at(Boundary.PROMOTION)
        merge = FactMerge(tx.spec, sanitize, tx.at, supported)
        decide(merge, live)
        receipts: list[Receipt] = []
        # The new entry first: where the guard refuses it, nothing may be replaced by it.
        if isinstance(merge.steps[0], AddStep):
            receipts = await binding.settle(tx, merge.steps[:1])
            if not receipts:
                merge.refused(live)
        receipts += await binding.settle(tx, merge.steps[len(receipts) :])
    return decisions(merge.steps, receipts)


def _check_cites(cites: Sequence[UUID], shown: Overlap) -> None:
    """Whoever wrote the reasoner: an answer rests on what it was shown, and on something."""
    if not cites or not set(cites) <= {one.id for one in shown}:
        raise ReasonerLied("The reasoner cites entries that it was not given, or none.")


def _since(before: Usage, now: Usage) -> Usage:
    """What was used between two readings of a meter; without prices, no cost."""
    cost = None if now.cost is None or before.cost is None else now.cost - before.cost
    return Usage(
        now.prompt_tokens - before.prompt_tokens,
        now.completion_tokens - before.completion_tokens,
        cost,
        now.seconds - before.seconds,
        now.calls - before.calls,
        now.estimated - before.estimated,
    )


def _evidence(stored: StoredEntry) -> ShownEntry:
    """An entry as the reasoner is shown it: id, text, claim and since when it holds."""
    entry = stored.entry
    return ShownEntry(entry.id, entry.body_text, entry.claim, entry.valid_at)

"""Which facts overlap: near in meaning, yet not the same; and which say the same after all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from idetic.lifecycle.duplicates import Sameness, compare, group
from idetic.lifecycle.promotion_inputs import statement
from idetic.model import Typology
from idetic.spec.typology import PromotionPolicy
from idetic.store import anchor_scans
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry

# Below this, two notes of the pinned model are about different things.
OVERLAP = 0.8
MAX_GROUP = 8
# How many facts are read, with their vectors, at a time.
BATCH = 200

Pair = list[UUID]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Facts that belong before a reasoner together, or that are the same without one."""

    members: tuple[StoredEntry, ...]

    @property
    def ids(self) -> list[UUID]:
        """Their ids."""
        return [one.id for one in self.members]


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
    near = await anchor_scans.near(
        tx, list(enumerate(one.vector for one in mine)), profile_id, typology
    )
    edges = {
        frozenset((mine[number].id, other))
        for number, others in near.items()
        for other, similarity in others
        if similarity >= OVERLAP and other != mine[number].id
    }
    return edges - await anchor_scans.judged_pairs(tx, [one.id for one in mine])


def _same(
    pairs: Iterable[Pair], facts: dict[UUID, StoredEntry], policy: PromotionPolicy
) -> list[list[UUID]]:
    """Facts that say the same, all of them at once; a text under two claims stays by itself."""
    equal = [pair for pair in pairs if _equal(facts[pair[0]], facts[pair[1]], policy)]
    connected, _ = _groups(equal, len(facts))
    found = []
    for ids in connected:
        numbers = group([statement(facts[one]) for one in ids], policy)
        found += [[ids[n] for n in members] for members in numbers if len(members) > 1]
    return found


def _equal(one: StoredEntry, other: StoredEntry, policy: PromotionPolicy) -> bool:
    return compare(statement(one), statement(other), policy).verdict is Sameness.SAME


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
    return tuple(Overlap(tuple(facts[one] for one in ids)) for ids in groups)

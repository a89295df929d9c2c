"""Injection: what memory holds, as one block of a prompt under one ceiling.

The order of the text never depends on scores: blocks from the most to the least stable, entries
by id, which is by time. So a newer entry is appended to its block, and a provider's prompt cache
keeps what stands before it. What has to give way is decided by priority and value.

Above all tiers stands the core: what was paged in is in every prompt, within a budget of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from idetic.errors import InputError
from idetic.model import Entry, Tier
from idetic.pieces import excerpt
from idetic.recall.evidence import (
    closing_lines,
    compose,
    ending,
    heading,
    partly,
    preamble,
    render,
    since,
    strength_of,
    unanswered,
)
from idetic.recall.floors import above_floors
from idetic.recall.hits import NotUsed, Recall
from idetic.recall.tokens import TokenCounter
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Presence, SourceStrength

CORE = "core"
BLOCKS: tuple[str, ...] = (CORE, Tier.PERSISTENT, Tier.SESSION, Tier.INTERACTION)
Transient = Mapping[Tier, Sequence[Entry]]


class Eviction(StrEnum):
    """Why an entry is not in the text."""

    BLOCK_BUDGET = "block_budget"
    CEILING = "ceiling"
    NOT_RECALLED = "not_recalled"
    BELOW_FLOOR = "below_floor"


@dataclass(frozen=True, slots=True)
class Included:
    """An entry in the text, and what it costs."""

    entry_id: UUID
    tier: Tier
    tokens: int
    core: bool = False


@dataclass(frozen=True, slots=True)
class Evicted:
    """An entry that was left out, its cost in tokens, and the reason."""

    entry_id: UUID
    tier: Tier
    tokens: int
    reason: Eviction


@dataclass(frozen=True, slots=True)
class ContextCoverage:
    """How many of the relevant entries are in the text.

    Of the entries that were `considered`, `found` are relevant to the question, and `told` of those
    are in the text. Recall could not search `pending` of them by meaning: they have no vector yet.
    """

    considered: int
    found: int
    told: int
    pending: int


@dataclass(frozen=True, slots=True)
class Context:
    """A block for the prompt, and an account of what is in it and what is not.

    `unknown` says why memory has no answer; the text repeats it if there is room. The text also
    says if it has only some of the relevant entries. `coverage` is None if memory was not searched.
    """

    text: str
    tokens: int
    ceiling: int
    included: tuple[Included, ...]
    evicted: tuple[Evicted, ...]
    unknown: str | None = None
    not_used: tuple[NotUsed, ...] = ()
    coverage: ContextCoverage | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A rendered entry and its place within its block: 0 is the newest, or the best hit."""

    entry: Entry
    place: int
    text: str
    tokens: int
    strength: SourceStrength

    @property
    def block(self) -> str:
        """The block that it stands in."""
        return CORE if self.entry.core_at else self.entry.tier


def assemble(
    spec: MemorySpec,
    *,
    query: str,
    transient: Transient,
    recall: Recall | None,
    counter: TokenCounter,
    budget: int | None = None,
) -> Context:
    """The context of a query: always-present tiers and recalled entries, never above the ceiling.

    An entry gives way only to entries of a tier of higher priority, or of higher value in its
    own tier: newer where it is always present, better where it was recalled.
    """
    ceiling = _ceiling(spec, query, budget)
    year = _year(transient, recall)
    found, ranked = recall, _ranked(spec, transient, recall, counter, year)
    recall, unknown = above_floors(recall)
    recalled = {hit.entry.id for hit in recall or ()}
    dropped = {hit.entry.id for hit in found or ()} - recalled - _present(transient)
    low = [(c, Eviction.BELOW_FLOOR) for c in ranked if c.entry.id in dropped]
    ranked = [c for c in ranked if c.entry.id not in dropped]
    always = {CORE, *(t for t in Tier if spec.injection.at(t).presence is Presence.ALWAYS)}
    offered = [c for c in ranked if c.block in always or c.entry.id in recalled]
    # What is always present answers no question by that.
    if unknown is None and not offered:
        unknown = "memory was not searched" if query.strip() else "nothing was asked"
    not_used = recall.not_used if recall else ()
    closing = closing_lines(unknown, not_used, counter, ceiling)
    head = preamble(spec.visibility.hedges, {c.strength for c in offered}, year)
    room = ceiling - sum(map(counter.count, [head, *ending(closing)]))
    kept, evicted = _fill(spec, offered, counter, room)
    absent = (c for c in ranked if c.block not in always and c.entry.id not in recalled)
    evicted += [*low, *((c, Eviction.NOT_RECALLED) for c in absent)]
    while kept and counter.count(_text(spec, head, kept, closing)) > ceiling:
        # The parts fitted and the whole does not: to this counter it is more than their sum.
        evicted.append((kept.pop(), Eviction.CEILING))
    if not kept and unknown is None:
        unknown = f"nothing that memory holds fits into {ceiling} tokens"
    text, coverage = unanswered(unknown or "", closing, counter, ceiling), _coverage(recall, kept)
    if kept:
        text = _text(spec, head, kept, closing)
        part = partly(coverage.found, coverage.told) if coverage else ""
        whole = _text(spec, head, kept, [*closing, part])
        text = whole if part and counter.count(whole) <= ceiling else text
    return Context(
        text=text,
        tokens=counter.count(text) if text else 0,
        ceiling=ceiling,
        included=tuple(
            Included(c.entry.id, c.entry.tier, c.tokens, c.block == CORE) for c in _in_order(kept)
        ),
        evicted=tuple(Evicted(c.entry.id, c.entry.tier, c.tokens, why) for c, why in evicted),
        unknown=unknown,
        not_used=not_used,
        coverage=coverage,
    )


def _coverage(recall: Recall | None, kept: Iterable[_Candidate]) -> ContextCoverage | None:
    """How much of what was recalled is told; None where nothing was searched."""
    if recall is None:
        return None
    found = {hit.entry.id for hit in recall}
    told = sum(c.entry.id in found for c in kept)
    return ContextCoverage(recall.considered, len(found), told, recall.pending)


def _year(transient: Transient, recall: Recall | None) -> int | None:
    """The year of the newest entry, which most of them share."""
    present = (entry for entries in transient.values() for entry in entries)
    found = recall.entries if recall else ()
    return max((since(entry).year for entry in (*present, *found)), default=None)


def _present(transient: Transient) -> set[UUID]:
    """What the core, the session and the interaction hold, whatever a recall thinks of it."""
    return {entry.id for entries in transient.values() for entry in entries}


def _ceiling(spec: MemorySpec, query: str, budget: int | None) -> int:
    """The tokens that the text may have: the spec's ceiling, or a smaller budget."""
    if not isinstance(query, str):
        raise InputError(f"A query is a text, not a {type(query).__name__}.")
    if budget is None:
        return spec.injection.ceiling
    # Not isinstance, for which True is a number.
    if type(budget) is not int or budget <= 0:
        raise InputError(f"A budget is a whole number of tokens above 0, not {budget!r}.")
    return min(spec.injection.ceiling, budget)


def _ranked(
    spec: MemorySpec,
    transient: Transient,
    recall: Recall | None,
    counter: TokenCounter,
    year: int | None,
) -> list[_Candidate]:
    """Every distinct entry once, the last to give way first."""
    given = {entry.id: entry for entries in transient.values() for entry in entries}
    present = {key: given[key] for key in sorted(given, reverse=True)}
    found = {hit.entry.id: hit.entry for hit in recall or ()}
    strengths = {hit.entry.id: hit.strength for hit in recall or ()}
    met = {hit.entry.id: hit.piece for hit in recall or ()}
    newest, best = _places(present.values()), _places(found.values())
    candidates = []
    for key, entry in (present | found).items():
        # Of a long entry, the piece that the question met.
        quoted = replace(entry, body_text=excerpt(entry.body_text, met.get(key)))
        strength = strength_of(entry, strengths.get(key))
        text = render(quoted, strength, year)
        # An entry that is both present and recalled has the better of its two places.
        place = min(places[key] for places in (newest, best) if key in places)
        candidates.append(_Candidate(entry, place, text, counter.count(text), strength))

    def precedence(candidate: _Candidate) -> tuple[int, int, int]:
        """Higher priority first, then the shorter-lived block, then the place within it."""
        block = candidate.block
        return -spec.injection.at(block).priority, -BLOCKS.index(block), candidate.place

    return sorted(candidates, key=precedence)


def _places(entries: Iterable[Entry]) -> dict[UUID, int]:
    """How many entries of its own tier stand before each entry."""
    ahead = dict.fromkeys(Tier, 0)
    places = {}
    for entry in entries:
        places[entry.id] = ahead[entry.tier]
        ahead[entry.tier] += 1
    return places


def _fill(
    spec: MemorySpec, offered: list[_Candidate], counter: TokenCounter, room: int
) -> tuple[list[_Candidate], list[tuple[_Candidate, Eviction]]]:
    """First fit in order of precedence, so that one oversized entry does not empty the text."""
    rooms = {block: spec.injection.at(block).budget for block in BLOCKS}
    headings = {block: counter.count(heading(_named(spec, block))) for block in BLOCKS}
    kept: list[_Candidate] = []
    evicted: list[tuple[_Candidate, Eviction]] = []
    for candidate in offered:
        block = candidate.block
        cost = candidate.tokens + headings[block]
        if cost > rooms[block]:
            evicted.append((candidate, Eviction.BLOCK_BUDGET))
        elif cost > room:
            evicted.append((candidate, Eviction.CEILING))
        else:
            kept.append(candidate)
            room, rooms[block], headings[block] = room - cost, rooms[block] - cost, 0
    return kept, evicted


def _in_order(kept: list[_Candidate]) -> list[_Candidate]:
    """The kept entries as the text has them: block by block, the oldest first."""
    return sorted(kept, key=lambda c: (BLOCKS.index(c.block), c.entry.id))


def _text(spec: MemorySpec, head: str, kept: list[_Candidate], closing: list[str]) -> str:
    """The whole block of the prompt for some entries."""
    named = ((_named(spec, c.block), c.text) for c in _in_order(kept))
    return compose(head, named, closing)


def _named(spec: MemorySpec, block: str) -> str:
    """What a block is called: the core, or a tier by its name in the agent's spec."""
    return block if block == CORE else spec.tiers.name_of(Tier(block))

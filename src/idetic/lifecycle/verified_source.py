"""The source of a corroboration: looked up, never taken from what the caller says it is.

Its kind follows from who calls. An operator gives his word. An agent points to an observation that
stands in this anchor and says what the entry says; whoever made that observation is who counts, so
that pointing to one's own words twice, or to a copy of them that a sweeper made, adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from idetic.errors import SourceRefused
from idetic.evidence import Corroboration, Lineage, Relation, SourceType
from idetic.ids import uuid7
from idetic.lifecycle.duplicates import Sameness, compare
from idetic.lifecycle.promotion_inputs import (
    SupportedEntry,
    distinct,
    flattened,
    observed,
    policy_of,
    statement,
    voice,
)
from idetic.model import EntryState, PrincipalKind
from idetic.store.anchor_transaction import AnchorTransaction, StoredEntry
from idetic.store.family import canonical_names


@dataclass(frozen=True, slots=True)
class VerifiedSource:
    """A source that was looked up: who speaks, and the entries that say so."""

    voices: Sequence[Corroboration]
    lineage: Sequence[Lineage] = ()


async def verified_source(
    tx: AnchorTransaction,
    supported: SupportedEntry,
    source: UUID | None,
    *,
    holds: bool,
    notes: str | None,
) -> VerifiedSource:
    """What a call to `corroborate` may add, given who calls and what the source turns out to be."""
    if tx.scope.principal.kind is PrincipalKind.OPERATOR:
        return VerifiedSource([await _word(tx, source, notes)])
    if source is None:
        # An agent's conclusion: kept, and counted for nothing. Drawn again, it is the same one.
        ref = uuid5(supported.id, tx.actor)
        return VerifiedSource([_said(tx, SourceType.AGENT_INFERENCE, ref, notes)])
    return await _observations(tx, supported, source, holds=holds, notes=notes)


def operator_word(tx: AnchorTransaction, notes: str | None) -> Corroboration:
    """The word of the operator who acts; no row stands behind it, so its reference is new."""
    return _said(tx, SourceType.OPERATOR_INPUT, uuid7(), notes)


def _said(tx: AnchorTransaction, kind: SourceType, ref: UUID, notes: str | None) -> Corroboration:
    """What the caller says himself."""
    origin = tx.scope.principal.origin
    return Corroboration(uuid7(), kind, ref, tx.at, tx.actor, tx.actor, origin, notes=notes)


async def _word(tx: AnchorTransaction, source: UUID | None, notes: str | None) -> Corroboration:
    """An operator's word, perhaps with an entry or a canonical row as what he goes by."""
    if source is None:
        return operator_word(tx, notes)
    if not await tx.stored([source]) and not await _is_canonical(tx, source):
        raise SourceRefused(f"There is no entry and no canonical row {source} in this scope.")
    return _said(tx, SourceType.OPERATOR_INPUT, source, notes)


async def _is_canonical(tx: AnchorTransaction, ref_id: UUID) -> bool:
    """Whether an id is a canonical row's that this memory may refer to."""
    for canonical in tx.spec.references.canonical:
        names = canonical_names(tx.family, canonical)
        if await tx.rows("canonical_row", names, ref_id=ref_id):
            return True
    return False


async def _observations(
    tx: AnchorTransaction,
    supported: SupportedEntry,
    source: UUID,
    *,
    holds: bool,
    notes: str | None,
) -> VerifiedSource:
    """The observations behind an entry that says the same or, with `holds=False`, otherwise."""
    found = next(iter(await tx.stored([source])), None)
    if found is None or found.entry.state is not EntryState.CURRENT:
        raise SourceRefused(f"There is no current entry {source} in this scope.")
    behind = await tx.lineage([found.id])
    if supported.id in (found.id, *(one.source_id for one in behind.get(found.id, ()))):
        raise SourceRefused("An entry cannot support itself, nor can an entry made from it.")
    _check_words(tx, supported, found, holds=holds)
    heard = observed(found.entry, behind)
    voices = distinct(voice(one, tx.at, tx.actor, notes) for one in heard)
    return VerifiedSource(voices, flattened([found], behind, Relation.RECURRED))


def _check_words(
    tx: AnchorTransaction, supported: SupportedEntry, source: StoredEntry, *, holds: bool
) -> None:
    """Refuse a source that does not say what it is brought forward for."""
    said = compare(statement(source), statement(supported), policy_of(tx.spec)).verdict
    if holds and said is not Sameness.SAME:
        raise SourceRefused(f"Entry {source.id} does not say the same.")
    if not holds and said is not Sameness.CONFLICT:
        raise SourceRefused(f"Entry {source.id} does not state another value of the same claim.")

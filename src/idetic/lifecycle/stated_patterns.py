"""Patterns of how things are to be done, drawn from what people say and how they correct.

Nobody has to write a claim: "Never call before noon." and "Use lists instead of tables." are read
by the rules of the front door. What they draw is a source like any other: a pattern becomes a
preference once enough of them agree, by the confidence that the spec asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from idetic.extract.port import Turn
from idetic.extract.rule_extractor import claims_of
from idetic.lifecycle.promotion import is_pattern
from idetic.lifecycle.promotion_inputs import SessionStatement
from idetic.model import Claim, Entry, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import WritePolicy
from idetic.store.anchor_transaction import StoredEntry


def stated_patterns(
    spec: MemorySpec, statements: Iterable[SessionStatement]
) -> list[SessionStatement]:
    """The patterns in what people said in a session, each as a statement with its claim."""
    if Typology.PROCEDURAL not in spec.typology.at(Tier.PERSISTENT):
        return []
    policy = spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL)
    if not policy.auto_extract:
        return []
    return [found for one in statements for found in _patterns(one, policy)]


def _patterns(said: SessionStatement, policy: WritePolicy) -> Iterator[SessionStatement]:
    """The patterns in one statement: of people whose words are evidence, and made no claim."""
    entry = said.leader
    if entry.claim is not None or entry.origin not in policy.pattern_origins:
        return
    turn = Turn(
        entry.id, entry.origin, entry.speaker, entry.body_text, entry.valid_at or entry.created_at
    )
    for drawn in claims_of(turn):
        if drawn.typology is Typology.PROCEDURAL and is_pattern(
            drawn.claim, policy.pattern_attributes
        ):
            members = [_claiming(one, drawn.text, drawn.claim) for one in said.members]
            yield replace(said, members=members, drawn=True)


def _claiming(stored: StoredEntry, text: str, claim: Claim) -> StoredEntry:
    """An entry as if it had made the claim that was drawn from it."""
    entry: Entry = replace(stored.entry, body_text=text, envelope={"claim": claim.as_dict()})
    return replace(stored, entry=entry, vector=None)

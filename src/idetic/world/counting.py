"""How much there is of what, read back through the same handles that anybody has."""

from __future__ import annotations

from collections import Counter

from idetic.evidence import ContradictionStatus
from idetic.model import Entry, EntryState, Tier, Typology
from idetic.verbs.arguments import MAX_PAGE
from idetic.world.player import Player

WORDS = {
    "rules": "rules",
    "versions": "versions of them",
    "sessions": "sessions",
    "observations": "notes in them",
    "facts": "facts",
    "habits": "habits and preferences",
    "candidates": "candidates",
    "corroborations": "corroborations",
    "contradictions_open": "contradictions in the queue",
    "contradictions_settled": "contradictions settled",
    "due": "due for a disposition",
    "archived": "archived",
    "replaced": "replaced by another value",
    "tombstoned": "tombstoned",
    "kept": "notes that outlived their session",
    "quarantined": "quarantined",
    "erased": "emptied for a person",
    "refused": "refused by the guard",
    "echoes": "echoes",
    "questions": "questions",
    "answered": "questions with an answer",
    "actions": "actions that rest on memory",
    "loops": "loops of a persona agent",
    "events": "events in them",
    "notes": "notes to the Actor",
    "dreams": "dreams",
    "underived": "loops for the next dream",
}
"""What is counted, in the order and the words in which people are told."""

_SETTLED = (ContradictionStatus.DISMISSED, ContradictionStatus.PROMOTED)


async def count(player: Player) -> dict[str, int]:
    """What one domain's story came to."""
    book, rules, operator = player.book, player.others.rules, player.others.cast.operator
    counts: Counter[str] = Counter(dict.fromkeys(WORDS, 0))
    counts.update(book.counts)
    counts.update(rules=len(rules), versions=rules.versions, sessions=player.sessions)
    counts.update(actions=len(book.actions), erased=len(book.emptied))
    current = {entry.id for entry in await operator.list(limit=MAX_PAGE)}
    for entry_id in current.union(book.standing.values()) - book.emptied:
        counts[_kind(await operator.get(entry_id))] += 1
        counts["corroborations"] += len(await operator.corroborations(entry_id))
    for row in await operator.contradictions(status=list(ContradictionStatus)):
        settled = row.status in _SETTLED
        counts["contradictions_settled" if settled else "contradictions_open"] += 1
    counts["due"] = len(await operator.disposition())
    return {name: number for name, number in counts.items() if number}


def _kind(entry: Entry) -> str:
    if entry.state is EntryState.CURRENT:
        if entry.tier is not Tier.PERSISTENT:
            return "kept"
        if entry.candidate:
            return "candidates"
        return "habits" if entry.typology is Typology.PROCEDURAL else "facts"
    if entry.state is EntryState.DELETED:
        return "tombstoned"
    return "archived" if entry.state is EntryState.ARCHIVED else "replaced"

"""What held then: a question about a past time gets the fact of that time before today's.

A fact that another one has ended is no current entry, so no signal finds it. It is looked up by the
claim of the fact that ended it, and stands right before it, with the time until which it held.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from idetic.dates import DateWindow
from idetic.model import Entry, Tier, Typology
from idetic.recall.hits import Hit
from idetic.store.recall_query import RecallQuery

# How many of the first hits are looked at.
LOOKED_AT = 5
_BEFORE = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|used? to|in the past|earlier|back then|last time"
    r"|until|originally|at first)\b",
    re.IGNORECASE,
)


def asks_about_the_past(query: RecallQuery) -> bool:
    """Whether a question is about a time before it is asked, and may be given what held then."""
    filters = query.filters
    narrowed = filters.where or filters.sessions or filters.since or filters.until
    wanted = Tier.PERSISTENT in filters.tiers and (
        not filters.typologies or Typology.SEMANTIC in filters.typologies
    )
    if narrowed or not wanted or not query.current:
        return False
    return any(w.until <= query.at for w in query.windows) or bool(_BEFORE.search(query.text))


def claim_keys(hits: Sequence[Hit]) -> list[tuple[str, str]]:
    """The claims of the facts among the first hits, each once."""
    facts = (hit.entry for hit in hits[:LOOKED_AT] if hit.entry.typology is Typology.SEMANTIC)
    return list(dict.fromkeys(fact.claim.key for fact in facts if fact.claim is not None))


def with_past(query: RecallQuery, hits: Sequence[Hit], ended: Sequence[Entry]) -> list[Hit]:
    """The hits, and right before each fact that began later the one that held at the time."""
    found: list[Hit] = []
    for hit in hits:
        then = _held_then(query, hit.entry, ended)
        if then is not None and all(one.entry.id != then.id for one in found):
            found.append(replace(hit, entry=then, piece=None, reranked=None))
        found.append(hit)
    return found


def _held_then(query: RecallQuery, fact: Entry, ended: Sequence[Entry]) -> Entry | None:
    """The ended fact of the same claim that held at the time a question is about."""
    if fact.claim is None or fact.valid_at is None:
        return None
    past = [one for one in ended if one.claim is not None and one.claim.key == fact.claim.key]
    past = [one for one in past if one.trust >= query.filters.min_trust]
    past.sort(key=lambda one: one.invalid_at or query.at)
    windows = [w for w in query.windows if w.until <= query.at]
    if not windows:
        return past[-1] if past else None
    return next((one for one in past if _in_window(one, fact.valid_at, windows[0])), None)


def _in_window(one: Entry, since: datetime, window: DateWindow) -> bool:
    """Whether something had not ended by a time at which what came after it had not begun."""
    until = one.invalid_at
    return until is not None and since >= window.until and until > window.since

"""Formatting for a model: plain lines of a bounded size, with entries only as quoted evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from idetic.audit import explanation
from idetic.audit.explanation import ActionExplanation
from idetic.errors import IdeticError, InputError
from idetic.evidence import Closed, Contradiction
from idetic.model import Entry, LedgerRecord, Receipt
from idetic.recall.evidence import QUOTE, attribution, label, render, visible
from idetic.recall.hits import Hit, Recall
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.primitives import Signal

# What the note about more may cost; it may hold a UUID.
_NOTE = 120
LEAST_BOUND, DEFAULT_BOUND, MOST_BOUND = 1_000, 5_000, 20_000
_LAST = 1_000_000

_counter = ConservativeCounter()
count = _counter.count

# A body that costs more goes in chunks, so that an answer of the least bound can hold each.
_WHOLE, _CHUNK = 700, 150


def error(problem: IdeticError) -> str:
    """What went wrong and what to do; never more."""
    return f"Error ({problem.code}): {problem.message}\nWhat to do: {problem.remedy}"


def receipt(made: Receipt, session_id: UUID | None = None) -> str:
    """What was decided about a write."""
    again = ", as the first time" if made.replayed else ""
    lines = [f"{made.decision}{again}: {_line(made.reason)}", f"position: {made.position}"]
    if made.entry_id:
        lines.append(f"entry: {made.entry_id}")
    if made.superseded:
        lines.append(f"supersedes: {made.superseded}")
    if made.lifetime:
        lines.append(f"lifetime: {made.lifetime}")
    if session_id:
        lines.append(f"session: {session_id}")
    return "\n".join(lines)


def hit(recalled: Hit, number: int) -> str:
    """A recalled entry: its id and rank, then the quoted note."""
    ranked = ", ".join(
        f"{signal.value} {word.rank}"
        for signal, word in recalled.signals.items()
        if word.contribution and word.rank is not None
    )
    ranks = f" (ranks: {ranked})" if ranked else ""
    value = "" if recalled.relevance is None else f", relevance {recalled.relevance:.2f}"
    first = f"{number}. entry {recalled.entry.id}, score {recalled.score:.4f}{value}{ranks}"
    quoted = replace(recalled.entry, body_text=recalled.excerpt)
    return f"{first}\n{render(quoted, recalled.strength).rstrip()}"


def conversation_hit(recalled: Hit, number: int) -> str:
    """A hit of a conversation: its id, what it is and when; quoted, who said it and the words."""
    entry = recalled.entry
    until = f" until {_minute(entry.invalid_at)}" if entry.invalid_at else ""
    when = f"{_minute(entry.valid_at or entry.created_at)}{until}"
    first = (
        f"{number}. {entry.id}: {recalled.standing}, {entry.origin}, {when}, trust {entry.trust}"
    )
    by = f"{_line(entry.speaker)}:\n" if entry.speaker else ""
    return f"{first}\n{quoted(by + visible(recalled.excerpt))}"


def ranking(recall: Recall, entry_id: UUID) -> list[str]:
    """How each signal ranked one entry for a question, or that it was not among the hits."""
    query = f"For the question: {_line(recall.query)[:200]}"
    for number, found in enumerate(recall.hits, start=1):
        if found.entry.id == entry_id:
            signals = [
                f"- {signal.value}: rank {word.rank}, value {word.value:.3f}, "
                f"adds {word.contribution:.4f}"
                for signal, word in found.signals.items()
                if word.contribution and word.value is not None
            ]
            place = f"it is number {number} of {recall.considered} entries, {found.score:.4f}"
            return [query, f"{place}, by {recall.fusion}:", *signals]
    return [query, f"it is not among the first {len(recall.hits)} of {recall.considered} entries"]


def known(recall: Recall) -> str:
    """How probable it is that memory knows something about the question."""
    return "" if recall.known is None else f"Known: {recall.known:.2f}."


def not_used(recall: Recall) -> str:
    """What a recall did without, in one line; the reasons are for whoever runs the server.

    A question without an envelope is the asker's choice, and no loss to report.
    """
    missed = "; ".join(one.what for one in recall.not_used if one.what != Signal.ENVELOPE)
    return f"Recalled without: {_line(missed)[:160]}." if missed else ""


def entry(one: Entry) -> Iterator[str]:
    """A whole entry, in pieces: where it comes from, its body in chunks, what it carries."""
    core = ", in the core" if one.core_at else ""
    yield f"entry {one.id}, {one.state}{', a candidate' if one.candidate else ''}{core}"
    yield f"{label(one)}, trust {one.trust}, written {_minute(one.created_at)}"
    yield quoted(attribution(one))
    text = visible(one.body_text)
    step = len(text) or 1 if count(quoted(text)) <= _WHOLE else _CHUNK
    for start in range(0, len(text), step):
        yield quoted(text[start : start + step])
    if not text:
        yield "(its content was removed)"
    for key, value in one.envelope.items():
        if key != "claim":
            yield quoted(f"envelope {_line(str(key))}: {_line(str(value))}")
    for ref in one.refs:
        version = "" if ref.version is None else f" version {ref.version}"
        yield f"refers to {_line(ref.noun)} {ref.id}{version}"
    if one.superseded_by:
        yield f"superseded by {one.superseded_by}"
    if one.session_id:
        yield f"in session {one.session_id}"


def history(links: Sequence[LedgerRecord]) -> Iterator[str]:
    """An entry's transitions, oldest first."""
    yield "History:"
    for link in links:
        yield f"- {link.position}, {_minute(link.at)}: {link.transition} by {link.actor_kind}"
        yield quoted(f"{_line(link.actor)}: {_line(link.reason)}")


def action(explained: ActionExplanation) -> list[str]:
    """What an action rested on, line by line; what entries say stays behind the mark."""
    return [visible(line).replace("\n", f"\n{QUOTE}") for line in explanation.lines(explained)]


def quoted(text: str) -> str:
    """A text behind the mark that makes it evidence."""
    return QUOTE + text.replace("\n", f"\n{QUOTE}")


def contradiction(one: Contradiction) -> str:
    """A line of the operators' queue."""
    version = "" if one.ref.version is None else f" version {one.ref.version}"
    against = f"{_line(one.ref.noun)} {one.ref.id}{version}"
    since = f"since {_minute(one.observed_at)}, observed by {_line(one.observed_by)}"
    about = f"{one.status}: entry {one.entry_id} speaks against {against}, {since}"
    notes = f"\n{QUOTE}{_line(one.resolution_notes)}" if one.resolution_notes else ""
    return f"contradiction {one.id}, {about}{notes}"


def closed(outcome: Closed, session_id: UUID) -> tuple[str, list[str]]:
    """What the close of a session did: a summary, and each decision."""
    counts = Counter(one.transition for one in outcome.decided)
    decisions = ", ".join(f"{transition} {n}" for transition, n in sorted(counts.items()))
    head = (
        f"Session {session_id}: {_line(outcome.receipt.reason)}. Decided: {decisions or 'nothing'}."
    )
    return head, [
        f"- {one.transition} ({one.decision}) entry {one.entry_id}: {_line(one.receipt.reason)}"
        for one in outcome.decided
    ]


def _line(text: str) -> str:
    """A foreign text as part of one line: nothing in it ends the line."""
    return " ".join(visible(text).split())


def _minute(at: datetime) -> str:
    """A moment to the minute, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}Z"


def check_bound(bound: object) -> int:
    """How many tokens an answer may have."""
    if type(bound) is not int or not LEAST_BOUND <= bound <= MOST_BOUND:
        raise InputError(
            f"The bound of an answer must be a whole number from {LEAST_BOUND:,} to {MOST_BOUND:,}."
        )
    return bound


def start_of(cursor: str | None) -> int:
    """The piece that a cursor names."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 7 or int(cursor) > _LAST:
        raise InputError(
            "This cursor is not valid.", remedy="Use the cursor of the last answer, or none."
        )
    return int(cursor)


def paged(
    pieces: Sequence[str], bound: int, *, start: int = 0, head: str = "", foot: str = "", on: str
) -> str:
    """As many pieces as fit, from `start` on; `on` says how to ask for the rest, with {cursor}.

    A piece that would not fit alone is cut, and says so: nothing may exceed the bound.
    """
    room = bound - count(head) - count(foot) - _NOTE
    shown: list[str] = []
    for piece in pieces[start:]:
        cost = count(piece)
        if cost > room and shown:
            break
        shown.append(piece if cost <= room else cut(piece, room))
        room -= min(cost, room)
    following = start + len(shown)
    left = len(pieces) - following
    note = f"{left} more: {on.format(cursor=following)}" if left > 0 else ""
    around = [head] if head else [], [each for each in (foot, note) if each]
    return "\n".join([*around[0], *shown, *around[1]])


def cut(text: str, room: int) -> str:
    """The longest beginning that fits, marked. Counting never falls as a text grows."""
    mark = "\n(cut here: it is longer than an answer may be)"
    fits, beyond = 0, len(text)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if count(text[:middle] + mark) <= room:
            fits = middle
        else:
            beyond = middle
    return text[:fits] + mark

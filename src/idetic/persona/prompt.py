"""The Actor's prompt: who it is, what it remembers as quoted data, and the task.

Instructions and task are always whole. What is recalled shares the rest of the budget, notes
first, then loops and entries in turns, best first. In the text everything stands by time, so
that a provider's prompt cache keeps what has not changed.

Hygiene: each part says whose it is, as the row it was read from says it. A part that is not the
Actor's own raises an error instead of making a prompt. The check goes by that provenance and not
by the words, however the row was come by.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Any, TypeAlias
from uuid import UUID

from idetic.persona.events import (
    SUBCONSCIOUS_KINDS,
    EventKind,
    LtmEntry,
    Persona,
    StmEntry,
    Visibility,
)
from idetic.persona.identity import Identity
from idetic.persona.persona_errors import HygieneBroken, PromptTooSmall
from idetic.persona.retrieval import LtmHit, Scored
from idetic.recall.evidence import FOOTER, HEADER, QUOTE, short_id, visible
from idetic.recall.tokens import TokenCounter


class PromptSource(StrEnum):
    """Where a part of a prompt comes from, in the order of the text."""

    IDENTITY = "identity"
    NOTE = "note"
    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    TASK = "task"


_HEADINGS = {
    PromptSource.NOTE: "# Notes\n",
    PromptSource.SHORT_TERM: "# Earlier tasks\n",
    PromptSource.LONG_TERM: "# Earlier events\n",
}
"""Headings of the parts that come from memory: quoted, and each with ids of what was read."""

# What the chat format wraps around two messages.
_PER_PROMPT = 16


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of a prompt, and whose it is."""

    source: PromptSource
    text: str = field(repr=False)
    agent_id: str
    persona: Persona
    ids: tuple[UUID, ...] = ()
    kinds: tuple[EventKind, ...] = ()


_Dated: TypeAlias = tuple[datetime | None, PromptPart]
"""A part that may go in, and when it happened; a note is timeless."""


def check_hygiene(parts: Sequence[PromptPart], agent_id: str) -> None:
    """Raise `HygieneBroken` unless every part is the Actor's own, of this agent."""
    for part in parts:
        if wrong := _unclean(part, agent_id):
            # Ids and no words, and nothing of it in the message: that goes to the Actor's own log,
            # where it would tell that there is something to know.
            ids = [str(one) for one in getattr(part, "ids", ())]
            raise HygieneBroken(why=wrong, ids=ids)


def _unclean(part: object, agent_id: str) -> str | None:
    """Why a part may not be in the Actor's prompt; None if it may."""
    if type(part) is not PromptPart:
        return f"a part is a {type(part).__name__} without provenance"
    if part.persona is not Persona.ACTOR:
        return f"a {part.source} part belongs to the {part.persona}"
    if part.agent_id != agent_id:
        return f"a {part.source} part belongs to another agent"
    if SUBCONSCIOUS_KINDS & set(part.kinds):
        return f"a {part.source} part is of a kind that only the Subconscious has"
    if part.source in _HEADINGS and not part.ids:
        return f"a {part.source} part names nothing that it was read from"
    return None


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the Actor's view returned for a task; notes are from the one sanctioned channel."""

    loops: Sequence[Scored] = ()
    entries: Sequence[LtmHit] = ()
    notes: Sequence[PromptPart] = ()


@dataclass(frozen=True, slots=True)
class ActorPrompt:
    """A prompt for the Actor; its constructor checks that every part is from the Actor's view.

    `messages` is built from the parts alone, so it contains nothing else. `left_out` counts the
    recalled parts that did not fit.
    """

    agent_id: str
    parts: tuple[PromptPart, ...]
    tokens: int
    budget: int
    left_out: int = 0

    def __post_init__(self) -> None:
        check_hygiene(self.parts, self.agent_id)

    @property
    def recalled(self) -> tuple[PromptPart, ...]:
        """The parts that come from memory."""
        return tuple(part for part in self.parts if part.source in _HEADINGS)

    @property
    def memory(self) -> str:
        """What is recalled, as one block of quoted data; empty when nothing is."""
        return _memory_block(self.parts)

    def messages(self) -> list[dict[str, Any]]:
        """The first messages of a chat: who the Actor is and what it remembers, then the task."""
        system, task = _texts(self.parts)
        opening = [{"role": "system", "content": system}] if system else []
        return [*opening, {"role": "user", "content": task}]


def build(
    identity: Identity,
    task: str,
    recalled: Recalled,
    counter: TokenCounter,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    loop_id: UUID | None = None,
) -> ActorPrompt:
    """The prompt for a task within the identity's budget; what this loop wrote is no memory."""
    who = f"You are {identity.name}.\n" if identity.name else ""
    texts = (PromptSource.IDENTITY, who + identity.instructions), (PromptSource.TASK, task)
    fixed = [PromptPart(s, text, identity.agent_id, Persona.ACTOR) for s, text in texts if text]
    overhead = _PER_PROMPT + (counter.count(json.dumps(list(tools))) if tools else 0)
    if (least := _tokens(fixed, counter) + overhead) > identity.prompt_tokens:
        raise PromptTooSmall(
            f"Instructions, task and tools take {least:,} tokens; `prompt_tokens` is "
            f"{identity.prompt_tokens:,}."
        )
    ranked = list(_ranked(recalled, loop_id))
    # Also what will not fit: that it was handed in at all is the fault.
    check_hygiene([part for _, part in ranked], identity.agent_id)
    fits = _fitting(ranked, identity.prompt_tokens - least, counter)
    # Pieces need not add up to the whole with every counter: the whole is what the budget is for.
    while (tokens := _tokens(_ordered(fixed, fits), counter) + overhead) > identity.prompt_tokens:
        fits.pop()
    parts, left_out = _ordered(fixed, fits), len(ranked) - len(fits)
    return ActorPrompt(identity.agent_id, parts, tokens, identity.prompt_tokens, left_out)


def _fitting(ranked: Sequence[_Dated], room: int, counter: TokenCounter) -> list[_Dated]:
    """As many candidates as there is room for, in their order; a large one may be passed over."""
    room -= counter.count(HEADER + FOOTER)
    fitting: list[_Dated] = []
    for candidate in ranked:
        part = candidate[1]
        new = all(part.source is not other.source for _, other in fitting)
        cost = counter.count((_HEADINGS[part.source] if new else "") + part.text)
        if cost <= room:
            fitting.append(candidate)
            room -= cost
    return fitting


def _ranked(recalled: Recalled, loop_id: UUID | None) -> Iterator[_Dated]:
    """Candidates in the order in which they may claim room."""
    for note in recalled.notes:
        yield None, note
    loops = [one.entry for one in recalled.loops if one.entry.loop_id != loop_id]
    entries = [hit.entry for hit in recalled.entries if hit.entry.loop_id != loop_id]
    for loop, entry in zip_longest(loops, entries):
        if loop is not None:
            head = f"[loop {short_id(loop.loop_id)}; {_minute(loop.ts)}] An earlier task:"
            ids: tuple[UUID, ...] = (loop.loop_id,)
            yield loop.ts, _part(PromptSource.SHORT_TERM, head, loop, ids, loop.kinds)
        if entry is not None:
            inside = "; internal" if entry.visibility is Visibility.INTERNAL else ""
            what = f"{entry.kind}{inside}; {_minute(entry.ts)}"
            head = f"[event {short_id(entry.event_id)}; {what}] In short:"
            ids = (entry.id, entry.event_id, entry.loop_id)
            yield entry.ts, _part(PromptSource.LONG_TERM, head, entry, ids, (entry.kind,))


def _part(
    source: PromptSource,
    head: str,
    entry: LtmEntry | StmEntry,
    ids: tuple[UUID, ...],
    kinds: tuple[EventKind, ...],
) -> PromptPart:
    """An entry as a part: it belongs to whom its row belongs."""
    text = quoted(head, entry.summary)
    return PromptPart(source, text, entry.agent_id, entry.persona, ids, kinds)


def quoted(head: str, text: str) -> str:
    """A line of provenance, and the text behind a mark on every line: data, never instructions."""
    body = "\n".join(QUOTE + line for line in visible(text).split("\n"))
    return f"{visible(head)}\n{body}\n"


def note_part(
    note_id: UUID, ts: datetime, text: str, agent_id: str, persona: Persona
) -> PromptPart:
    """An operational note as a part; it belongs to the view that it was read through."""
    head = f"[note {short_id(note_id)}; {_minute(ts)}] From your own maintenance:"
    return PromptPart(PromptSource.NOTE, quoted(head, text), agent_id, persona, (note_id,))


def _ordered(fixed: Sequence[PromptPart], fits: Sequence[_Dated]) -> tuple[PromptPart, ...]:
    """Identity, notes, loops and entries by time, the task."""
    by_time = sorted(fits, key=lambda one: (one[0].timestamp() if one[0] else 0.0, one[1].ids))
    places = {source: place for place, source in enumerate(PromptSource)}
    parts = [*fixed, *(part for _, part in by_time)]
    return tuple(sorted(parts, key=lambda part: places[part.source]))


def _texts(parts: Sequence[PromptPart]) -> tuple[str, str]:
    """The system message, who the Actor is and what it remembers; and the task."""
    who, task = (
        "\n".join(part.text for part in parts if part.source is source)
        for source in (PromptSource.IDENTITY, PromptSource.TASK)
    )
    return "\n\n".join(text for text in (who.rstrip("\n"), _memory_block(parts)) if text), task


def _memory_block(parts: Sequence[PromptPart]) -> str:
    """The recalled parts between header and footer, with a heading for each source."""
    recalled = [part for part in parts if part.source in _HEADINGS]
    if not recalled:
        return ""
    lines, last = [HEADER], None
    for part in recalled:
        if part.source is not last:
            lines.append(_HEADINGS[part.source])
        lines.append(part.text)
        last = part.source
    return "".join([*lines, FOOTER])


def _tokens(parts: Sequence[PromptPart], counter: TokenCounter) -> int:
    """The tokens of the texts that the parts make together."""
    return sum(map(counter.count, _texts(parts)))


def _minute(moment: datetime) -> str:
    """A moment as the prompt shows it: in UTC, to the minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}Z"

"""The Actor's prompt: who it is, what it remembers as quoted data, and the task.

Instructions and task are always whole. What is recalled shares the rest of the budget, notes
first, then loops and entries in turns, best first. In the text everything stands by time, so
that a provider's prompt cache keeps what has not changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, TypeAlias
from uuid import UUID

from idetic.persona.errors import PromptTooSmall
from idetic.persona.events import LtmHit, Persona, Visibility
from idetic.persona.hygiene import RECALLED, Part, Source, check_hygiene
from idetic.persona.identity import Identity
from idetic.persona.ports import ActorView
from idetic.persona.scoring import Scored
from idetic.recall.evidence import FOOTER, HEADER, QUOTE, short_id, visible
from idetic.recall.tokens import TokenCounter

_HEADINGS = {
    Source.NOTE: "# Notes\n",
    Source.SHORT_TERM: "# Earlier tasks\n",
    Source.LONG_TERM: "# Earlier events\n",
}
# What the chat format wraps around two messages.
_PER_PROMPT = 16

_Dated: TypeAlias = tuple[datetime | None, Part]
"""A part that may go in, and when it happened; a note is timeless."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the Actor's view returned for a task, notes through the one sanctioned channel."""

    loops: Sequence[Scored] = ()
    entries: Sequence[LtmHit] = ()
    notes: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class ActorPrompt:
    """A prompt whose every part is known to be the Actor's: there is no unchecked one.

    The messages are made of the parts when they are asked for, so nothing else can be in them.
    """

    agent_id: str
    parts: tuple[Part, ...]
    tokens: int
    budget: int
    left_out: int = 0
    """How many recalled parts did not fit."""

    def __post_init__(self) -> None:
        check_hygiene(self.parts, self.agent_id)

    @property
    def recalled(self) -> tuple[Part, ...]:
        """The parts that come from memory."""
        return tuple(part for part in self.parts if part.source in RECALLED)

    @property
    def memory(self) -> str:
        """What is recalled, as one block of quoted data; empty when nothing is."""
        return _block(self.recalled)

    def messages(self) -> list[dict[str, Any]]:
        """The prompt as a chat begins: who the Actor is and what it remembers, then the task."""
        system = _system(self.parts)
        task = "\n".join(part.text for part in self.parts if part.source is Source.TASK)
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
    fixed = _fixed(identity, task)
    overhead = _PER_PROMPT + (counter.count(json.dumps(list(tools))) if tools else 0)
    if (least := _tokens(fixed, counter) + overhead) > identity.prompt_tokens:
        raise PromptTooSmall(
            f"Instructions, task and tools take {least:,} tokens; `prompt_tokens` is "
            f"{identity.prompt_tokens:,}."
        )
    ranked = list(_ranked(recalled, loop_id))
    # Also what will not fit: that it was handed in at all is the fault.
    check_hygiene([part for _, part in ranked], identity.agent_id)
    kept = _fitting(ranked, identity.prompt_tokens - least, counter)
    # Pieces need not add up to the whole with every counter: the whole is what the budget is for.
    while (tokens := _tokens(_ordered(fixed, kept), counter) + overhead) > identity.prompt_tokens:
        kept.pop()
    left = len(ranked) - len(kept)
    parts = _ordered(fixed, kept)
    return ActorPrompt(identity.agent_id, parts, tokens, identity.prompt_tokens, left)


def _fitting(ranked: Sequence[_Dated], room: int, counter: TokenCounter) -> list[_Dated]:
    """As many candidates as there is room for, in their order; a large one may be passed over."""
    room -= counter.count(HEADER + FOOTER)
    kept: list[_Dated] = []
    for candidate in ranked:
        part = candidate[1]
        new = all(part.source is not other.source for _, other in kept)
        cost = counter.count((_HEADINGS[part.source] if new else "") + part.text)
        if cost <= room:
            kept.append(candidate)
            room -= cost
    return kept


def _fixed(identity: Identity, task: str) -> tuple[Part, ...]:
    who = f"You are {identity.name}.\n" if identity.name else ""
    said = (Source.IDENTITY, who + identity.instructions), (Source.TASK, task)
    return tuple(
        Part(source, text, identity.agent_id, Persona.ACTOR) for source, text in said if text
    )


def _ranked(recalled: Recalled, loop_id: UUID | None) -> Iterator[_Dated]:
    """Candidates in the order in which they may claim room."""
    for note in recalled.notes:
        yield None, note
    loops = [one.entry for one in recalled.loops if one.entry.loop_id != loop_id]
    entries = [hit.entry for hit in recalled.entries if hit.entry.loop_id != loop_id]
    for loop, entry in zip_longest(loops, entries):
        if loop is not None:
            head = f"[loop {short_id(loop.loop_id)}; {_minute(loop.ts)}] An earlier task:"
            yield loop.ts, Part.of_loop(loop, quoted(head, loop.summary))
        if entry is not None:
            inside = "; internal" if entry.visibility is Visibility.INTERNAL else ""
            what = f"{entry.kind}{inside}; {_minute(entry.ts)}"
            head = f"[event {short_id(entry.event_id)}; {what}] In short:"
            yield entry.ts, Part.of_entry(entry, quoted(head, entry.summary))


def note_part(note_id: UUID, ts: datetime, text: str, view: ActorView) -> Part:
    """An operational note as a part: it is whose view it was read through."""
    head = f"[note {short_id(note_id)}; {_minute(ts)}] From your own maintenance:"
    return Part(Source.NOTE, quoted(head, text), view.agent_id, view.persona, (note_id,))


def quoted(head: str, text: str) -> str:
    """A line of provenance, and the text behind a mark on every line: data, never instructions."""
    body = "\n".join(QUOTE + line for line in visible(text).split("\n"))
    return f"{visible(head)}\n{body}\n"


def _ordered(fixed: Sequence[Part], kept: Sequence[_Dated]) -> tuple[Part, ...]:
    """Identity, notes, loops and entries by time, the task."""
    by_time = sorted(kept, key=lambda one: (one[0].timestamp() if one[0] else 0.0, one[1].ids))
    places = {source: place for place, source in enumerate(Source)}
    parts = [*fixed, *(part for _, part in by_time)]
    return tuple(sorted(parts, key=lambda part: places[part.source]))


def _system(parts: Sequence[Part]) -> str:
    who = "\n".join(part.text for part in parts if part.source is Source.IDENTITY)
    memory = _block([part for part in parts if part.source in RECALLED])
    return "\n\n".join(text for text in (who.rstrip("\n"), memory) if text)


def _block(recalled: Sequence[Part]) -> str:
    if not recalled:
        return ""
    lines, last = [HEADER], None
    for part in recalled:
        if part.source is not last:
            lines.append(_HEADINGS[part.source])
        lines.append(part.text)
        last = part.source
    return "".join([*lines, FOOTER])


def _tokens(parts: Sequence[Part], counter: TokenCounter) -> int:
    task = "\n".join(part.text for part in parts if part.source is Source.TASK)
    return counter.count(_system(parts)) + counter.count(task)


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}Z"

"""Compaction of events without a model: it chooses sentences and writes none.

The rules, in full:

- `compact`: white space is collapsed; JSON becomes `key: value; …`. What fits is kept as it is.
  A longer text keeps the sentences that weigh most, in their order, up to the bound. A sentence
  weighs what its words do in the whole text, the first and the last a little more; a repeated
  one counts once. A sentence too long to keep keeps its two ends.
- `summarise_loop`: the task (the first `user_input`), errors, feedback, the outcome (the last
  `actor_output`), the tools used; then what else happened, most important first.
- `importance`: where an event starts by its kind, a little more for each word that is specific,
  less when it is internal or says hardly anything.

The same event always gives the same text, so a dream can derive again what was lost.
`json_to_text` and `normalised` are the two readings of a text: as words, and for comparison.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from idetic.persona.events import Event, EventKind, Visibility

COMPACT_MAX = 600
"""The most characters of a long-term entry."""
SUMMARY_MAX = 1_500
"""The most characters of a short-term entry."""

# Beyond this a content is no message; it is compacted by its beginning and its end.
_READ_MAX = 200_000
_JSON_VALUES_MAX, _JSON_DEPTH_MAX = 200, 8
_TASK_MAX, _OUTCOME_MAX, _OTHER_MAX = 400, 400, 200
_GAP = " … "
_NOTHING = "(a loop without events)"
# Less than this is no sentence.
_WORTHWHILE = 40

_START = {
    EventKind.ERROR: 0.8,
    EventKind.FEEDBACK: 0.8,
    EventKind.USER_INPUT: 0.6,
    EventKind.ACTOR_OUTPUT: 0.5,
    EventKind.SUBCONSCIOUS_OUTPUT: 0.5,
    EventKind.TOOL_RESULT: 0.4,
    EventKind.SUBCONSCIOUS_PROMPT: 0.3,
    EventKind.TOOL_CALL: 0.3,
    EventKind.SYSTEM_EVENT: 0.2,
}
# A number, or a capitalised word that does not begin a sentence.
_SPECIFIC = re.compile(r"\d[\d.,:/%-]*|(?<=[\w,;] )[^\W\d_a-z][\w'-]+")
# Chinese and Japanese put no space after theirs.
_SENTENCE_END = re.compile("(?<=[.!?\u2026])[\"')\\]»”]*\\s+|(?<=[\u3002\uff01\uff1f])")


def compact(event: Event) -> str:
    """The event's content in at most `COMPACT_MAX` characters; never empty."""
    return extract(json_to_text(event.content), COMPACT_MAX) or f"({event.kind} without content)"


def importance(event: Event) -> float:
    """How much an event matters, from 0 to 1."""
    text = json_to_text(event.content)
    words = len(text.split())
    value = _START[event.kind]
    value += min(0.2, 0.04 * len(set(_SPECIFIC.findall(text))))
    value -= 0.1 if event.visibility is Visibility.INTERNAL else 0.0
    value -= 0.2 if words < 3 else 0.0
    return round(min(1.0, max(0.0, value)), 4)


def summarise_loop(events: Sequence[Event]) -> str:
    """One loop in at most `SUMMARY_MAX` characters; never empty."""
    chosen = _chosen(events)
    lines = [f"{label}: {extract(json_to_text(e.content), most)}" for label, e, most in chosen]
    if tools := _tools(events):
        lines.append(f"Tools: {tools}")
    chosen_ids = {event.id for _, event, _ in chosen}
    rest = [event for event in events if event.id not in chosen_ids and event.content.strip()]
    room = SUMMARY_MAX - sum(len(line) + 1 for line in lines)
    lines += [text for _, text in sorted(_others(rest, room))]
    text = "\n".join(lines)
    return (text if len(text) <= SUMMARY_MAX else extract(text, SUMMARY_MAX)) or _NOTHING


def _chosen(events: Sequence[Event]) -> list[tuple[str, Event, int]]:
    """What a summary never does without, with its label and its room."""
    tasks = [e for e in events if e.kind is EventKind.USER_INPUT][:1]
    errors = [e for e in events if e.kind is EventKind.ERROR][-2:]
    feedback = [e for e in events if e.kind is EventKind.FEEDBACK][-2:]
    outcomes = [e for e in events if e.kind is EventKind.ACTOR_OUTPUT][-1:]
    groups = (
        ("Task", tasks, _TASK_MAX),
        ("Error", errors, _OTHER_MAX),
        ("Feedback", feedback, _OTHER_MAX),
        ("Outcome", outcomes, _OUTCOME_MAX),
    )
    chosen = [(label, event, most) for label, group, most in groups for event in group]
    return [one for one in chosen if one[1].content.strip()]


def _tools(events: Sequence[Event]) -> str:
    """The tools that were called, in order of first use, and how often."""
    called = Counter(
        str(event.metadata["tool"])[:60]
        for event in events
        if event.kind is EventKind.TOOL_CALL and "tool" in event.metadata
    )
    return ", ".join(f"{name} x{times}" if times > 1 else name for name, times in called.items())


def _others(events: Sequence[Event], room: int) -> list[tuple[int, str]]:
    """As many further events as there is room for, most important first, with their places."""
    best = sorted(enumerate(events), key=lambda one: (-importance(one[1]), one[0]))
    texts = []
    for place, event in best:
        if room < _WORTHWHILE:
            break
        text = extract(json_to_text(event.content), min(_OTHER_MAX, room - 1))
        room -= len(text) + 1
        texts.append((place, text))
    return texts


def extract(text: str, most: int) -> str:
    """The sentences of a text that weigh most, in their order, in at most `most` characters."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    # A repeated sentence counts once: repetition would outweigh everything else.
    sentences = list(dict.fromkeys(part for part in _SENTENCE_END.split(text) if part.strip()))
    weights = _weights(sentences)
    kept: dict[int, str] = {}
    room = most
    for i in sorted(range(len(sentences)), key=lambda i: (-weights[i], i)):
        if room <= _WORTHWHILE and kept:
            break
        kept[i] = _ends(sentences[i], room)
        room -= len(kept[i]) + 1
    return " ".join(kept[i] for i in sorted(kept))


def _weights(sentences: Sequence[str]) -> list[float]:
    """What each sentence weighs: how common its words are in the text, and where it stands."""
    words = [[w for w in normalised(s).split() if len(w) > 3 or w.isdigit()] for s in sentences]
    counts = Counter(word for of_one in words for word in of_one)
    weights = [sum(counts[w] for w in set(of_one)) / (len(of_one) + 3) for of_one in words]
    ends = {0: 1.5, len(sentences) - 1: 1.2}
    return [weight * ends.get(i, 1.0) + 1e-6 for i, weight in enumerate(weights)]


def _ends(text: str, most: int) -> str:
    """A sentence, or if it is too long, its beginning and its end."""
    if len(text) <= most:
        return text
    room = most - len(_GAP)
    if room < 20:
        return text[: max(0, most)]
    first, last = text[: room * 2 // 3], text[-(room - room * 2 // 3) :]
    # Whole words, where there are any.
    first = first.rsplit(" ", 1)[0] if " " in first else first
    last = last.split(" ", 1)[1] if " " in last else last
    return f"{first}{_GAP}{last}"


def json_to_text(content: str) -> str:
    """Content as words: `key: value; …` for a JSON object or list, else as it stands."""
    text = content.strip()
    if len(text) > _READ_MAX:
        half = _READ_MAX // 2
        return f"{text[:half]} … {text[-half:]}"
    if text[:1] not in ("{", "["):
        return text
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "; ".join(islice(_json_values(data, "", 0), _JSON_VALUES_MAX)) or text


def _json_values(value: Any, name: str, depth: int) -> Iterator[str]:
    """Each value in JSON data, after its path; what lies too deep stays JSON."""
    if isinstance(value, dict | list) and depth < _JSON_DEPTH_MAX:
        items = value.items() if isinstance(value, dict) else (("", one) for one in value)
        for key, below in items:
            yield from _json_values(below, f"{name}.{key}".strip(".") if key else name, depth + 1)
    elif value not in (None, "", [], {}):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}: {text}" if name else text


def normalised(text: str) -> str:
    """Text for comparison: width, case, punctuation and spacing make no difference."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_WORDS).split())


class _Words(dict[int, int]):
    """Characters of words stay, all others become spaces; each is looked up once.

    `str.translate` reads it without a Python call per character: 10,000 summaries are compared
    in one query.
    """

    def __missing__(self, code: int) -> int:
        character = chr(code)
        # Marks too: in Hindi, Thai or Arabic they are half of the word.
        word = character.isalnum() or unicodedata.category(character)[0] == "M"
        self[code] = code if word else ord(" ")
        return self[code]


_WORDS = _Words()

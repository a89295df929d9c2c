"""What a reader is shown of a conversation: by Idetic, by plain BM25, or the whole of it.

Each is a text within a budget of tokens, as the package's cautious counter counts them, with the
places of the messages in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, ClassVar
from uuid import UUID

import yaml

from bench.baselines import WordIndex
from bench.sets import Conversation, Message, Question
from idetic import Idetic, Principal
from idetic.library.handles import Memory
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.loader import shipped_text
from idetic.spec.primitives import Injection
from idetic.verbs.arguments import MAX_HITS

ARMS = ("idetic", "full", "bm25")
_COUNTER = ConservativeCounter()
_FIGURES = re.compile(r"\b[0-9a-f]{6}\b|\b\d\d[A-Z][a-z]{2}(?=\d{4}\b|\b)|\d")


@dataclass(frozen=True, slots=True)
class Shown:
    """A context: its text, the places of the messages in it, whether a whole one had to be cut."""

    text: str
    places: tuple[int, ...]
    cut: bool = False

    @property
    def tokens(self) -> int:
        """Its tokens, counted cautiously."""
        return _COUNTER.count(self.text)

    @property
    def wording(self) -> str:
        """Its text without figures, ids and days: those of entries are new in every run."""
        return _FIGURES.sub("", self.text)

    def evidence(self, question: Question) -> float:
        """The share of the question's evidence that is in it."""
        return len(question.evidence.intersection(self.places)) / len(question.evidence)


class Transcript:
    """A conversation as it was said, each session under its date, from which turns are chosen."""

    def __init__(self, conversation: Conversation):
        self._messages = conversation.messages
        self._index = WordIndex([message.text for message in conversation.messages])
        # The sessions of LongMemEval do not come in the order of their dates.
        self._order = [place for _, said in _in_time(conversation) for place, _ in said]

    def full(self, window: int) -> Shown:
        """All of it; where that is more than the window, the oldest turns are cut off."""
        return self._within(reversed(self._order), window, stop=True)

    def bm25(self, question: str, budget: int) -> Shown:
        """The best turns by plain BM25 that fit, in the order they were said."""
        best = self._index.search(question, len(self._messages))
        return replace(self._within(best, budget, stop=False), cut=False)

    def _within(self, places: Iterable[int], room: int, *, stop: bool) -> Shown:
        """The turns at these places that fit with their dates; `stop` at the first too many."""
        kept: set[int] = set()
        dated: set[int] = set()
        for place in places:
            message = self._messages[place]
            cost = _COUNTER.count(f"{message.text}\n")
            if message.session not in dated:
                cost += _COUNTER.count(_date(message))
            if cost <= room:
                kept.add(place)
                dated.add(message.session)
                room -= cost
            elif stop:
                break
        return Shown(self._text(kept), tuple(sorted(kept)), cut=len(kept) < len(self._messages))

    def _text(self, kept: set[int]) -> str:
        """These turns in the order of time, each session under its date."""
        chosen = [self._messages[place] for place in self._order if place in kept]
        parts = []
        for _, said in groupby(chosen, lambda message: message.session):
            first, *rest = said
            parts += [_date(first), *(f"{message.text}\n" for message in (first, *rest))]
        return "".join(parts).removesuffix("\n")


def _date(message: Message) -> str:
    """The line above a session."""
    return f"{message.at:%A, %d %B %Y, %H:%M}:\n" if message.at else ""


class Remembered:
    """A conversation in Idetic's memory."""

    def __init__(self, memory: Memory, places: dict[UUID, int]):
        self._memory = memory
        self._places = places

    async def context(self, question: str, budget: int) -> Shown:
        """What `memory.context` puts into a prompt for this question."""
        made = await self._memory.context(question, budget=budget, limit=MAX_HITS)
        places = sorted(self._places[entry.entry_id] for entry in made.included)
        return Shown(made.text, tuple(places))


class Contexts:
    """The contexts of one conversation, each by its arm's name."""

    def __init__(self, conversation: Conversation, budget: int, window: int):
        self._conversation, self._budget, self._window = conversation, budget, window
        self._transcript = Transcript(conversation)
        self._remembered: Remembered | None = None

    async def remember(self, db: Idetic) -> None:
        """Write the conversation into memory, which the arm `idetic` needs."""
        self._remembered = await remember(db, self._conversation, self._budget)

    async def of(self, arm: str, question: str) -> Shown:
        """What an arm shows for a question."""
        if arm == "full":
            return self._transcript.full(self._window)
        if arm == "bm25":
            return self._transcript.bm25(question, self._budget)
        assert self._remembered is not None
        return await self._remembered.context(question, self._budget)


@dataclass(frozen=True, slots=True)
class _At:
    """A clock that stands still."""

    simulated: ClassVar[bool] = True
    moment: datetime

    def now(self) -> datetime:
        """The moment it stands at."""
        return self.moment


async def remember(db: Idetic, conversation: Conversation, budget: int) -> Remembered:
    """Hand a conversation to memory, each session at its own time, and embed it."""
    places: dict[UUID, int] = {}
    spec = answers_spec(budget)
    whose: dict[str, Any] = {
        "tenant_id": "bench",
        "user_id": conversation.name,
        "principal": Principal.agent("listener"),
    }
    for at, session in _in_time(conversation):
        agent = await db.under(_At(at)).agent(spec)
        memory = agent.bind(**whose)
        receipts = await memory.add([_as_sent(place, said) for place, said in session], at=at)
        for receipt, (place, _) in zip(receipts, session, strict=True):
            places |= dict.fromkeys(receipt.entry_ids, place)
        # Session by session: the engine waits 30 seconds for vectors, which a busy machine needs.
        await memory.embed()
    now = (conversation.asked_at or datetime.now(UTC)) + timedelta(hours=1)
    return Remembered((await db.under(_At(now)).agent(spec)).bind(**whose), places)


def _as_sent(place: int, message: Message) -> dict[str, str]:
    """A message as applications have it; by its id, what was said twice is two."""
    said = {"id": str(place), "role": message.role, "content": message.text}
    if message.speaker is None:
        return said
    text = message.text.removeprefix(f"{message.speaker}: ")
    return said | {"name": message.speaker, "content": text}


def _in_time(
    conversation: Conversation,
) -> list[tuple[datetime, Sequence[tuple[int, Message]]]]:
    """The sessions, oldest first, with the place of each message in the conversation."""
    sessions: dict[int, list[tuple[int, Message]]] = {}
    for place, message in enumerate(conversation.messages):
        sessions.setdefault(message.session, []).append((place, message))
    dated = [(said[0][1].at or datetime.now(UTC), said) for said in sessions.values()]
    return sorted(dated, key=lambda each: each[0])


def answers_spec(budget: int) -> dict[str, Any]:
    """The shipped agent for conversations, of whose prompt memory may have the whole budget."""
    spec: dict[str, Any] = yaml.safe_load(shipped_text("assistant_agent"))
    # Below the default ceiling, `context(budget=…)` is what bounds.
    ceiling = max(budget, Injection().ceiling)
    block = {"budget": ceiling, "priority": 50, "presence": "on_demand"}
    why = "The budget that the contexts beside it have, too."
    return spec | {"injection": {"ceiling": ceiling, "persistent": block, "justification": why}}

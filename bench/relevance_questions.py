"""Questions put to memories that know the answer and to memories that do not.

Each question is asked in its own conversation, in one other conversation of the same part, and in
a slice of 1 to 30 messages around its evidence; a foreign question is asked of the same slice. For
the fit, every question is asked once more without the names of the speakers: what a user says
about themselves has none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import anyio

from bench.rankings import AT_ONCE, ConversationClock, NoteMemory, Written, bound, hold
from bench.sets import Conversation, Question
from bench.specs import SpecData
from idetic import Idetic
from idetic.library.handles import Agent
from idetic.recall.hits import Recall
from idetic.spec.loader import load
from idetic.store.recall_grounds import QuestionGrounds
from idetic.store.recall_query import Hit

SEED = 18
# As many as a context asks for.
HITS = 20
SLICE = 30


@dataclass(frozen=True, slots=True)
class Put:
    """A question put to a memory: whether it is the memory's own, and where its evidence lies."""

    question: Question
    memory: Conversation
    own: bool
    small: bool
    named: bool = True


@dataclass(frozen=True, slots=True)
class Heard:
    """What a memory answered: each hit, and whether it is evidence for the question."""

    put: Put
    recall: Recall
    hits: tuple[tuple[Hit, bool], ...]

    @property
    def grounds(self) -> QuestionGrounds:
        """What the question was judged by."""
        assert self.recall.grounds is not None, "a recall says what it was judged by"
        return self.recall.grounds


@dataclass(slots=True)
class Puts:
    """Makes the questions of one part of a set; the same seed makes the same ones."""

    conversations: Sequence[Conversation]
    nameless: bool = False
    chance: random.Random = field(default_factory=lambda: random.Random(SEED))  # noqa: S311 - repeatable

    def made(self) -> list[Put]:
        """All of them, in an order that keeps a memory's questions together."""
        found = [put for at in range(len(self.conversations)) for put in self._of(at)]
        return sorted(found, key=lambda put: put.memory.name)

    def _of(self, at: int) -> Iterator[Put]:
        home = self.conversations[at]
        for number, question in enumerate(home.questions):
            other = self._other(at)
            small = self._slice(home, question, number)
            stranger = self.chance.choice(other.questions)
            yield from self._both(home, Put(question, home, own=True, small=False))
            yield from self._both(home, Put(question, other, own=False, small=False))
            # A memory of its own for every second question says enough.
            if number % 2 == 0:
                near = replace(question, evidence=small[1])
                yield from self._both(home, Put(near, small[0], own=True, small=True))
                yield from self._both(other, Put(stranger, small[0], own=False, small=True))

    def _both(self, home: Conversation, put: Put) -> Iterator[Put]:
        """The question, and the same without names."""
        yield put
        text = without_names(home, put.question.text)
        if self.nameless and text != put.question.text:
            yield replace(put, question=replace(put.question, text=text), named=False)

    def _other(self, at: int) -> Conversation:
        return self.chance.choice([c for n, c in enumerate(self.conversations) if n != at])

    def _slice(
        self, home: Conversation, question: Question, number: int
    ) -> tuple[Conversation, frozenset[int]]:
        """Some messages around one piece of evidence, as a memory of its own."""
        size = self.chance.randint(1, SLICE)
        first = self.chance.choice(sorted(question.evidence)) - self.chance.randrange(size)
        first = max(0, min(first, len(home.messages) - size))
        messages = home.messages[first : first + size]
        evidence = frozenset(n - first for n in question.evidence if 0 <= n - first < size)
        return Conversation(f"{home.name}/slice-{number}", messages, ()), evidence


def without_names(home: Conversation, text: str) -> str:
    """A question without the speakers' names."""
    names = "|".join(sorted({m.speaker for m in home.messages if m.speaker}))
    if not names:
        return text
    return re.sub(
        rf"\b(?:{names})('s|')?(?!\w)", lambda found: "their" if found[1] else "they", text
    )


async def heard(db: Idetic, spec: SpecData, puts: Sequence[Put]) -> list[Heard]:
    """The answers of one spec, in the order of the questions."""
    agent = await db.agent(load(spec), apply=True)
    found: dict[int, Heard] = {}
    by_memory: dict[str, list[int]] = {}
    for number, put in enumerate(puts):
        by_memory.setdefault(put.memory.name, []).append(number)
    waiting = iter(by_memory.values())

    async def work() -> None:
        """Take memories until none is left; each worker has a clock of its own."""
        clock = ConversationClock()
        view = db.under(clock)
        own = await view.agent(agent.spec)
        for numbers in waiting:
            answers = await _asked(db, view, own, clock, [puts[n] for n in numbers])
            found.update(zip(numbers, answers, strict=True))

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(work)
    return [found[number] for number in range(len(puts))]


async def _asked(
    db: Idetic, view: Idetic, agent: Agent, clock: ConversationClock, puts: Sequence[Put]
) -> list[Heard]:
    """One memory, written and asked all of its questions."""
    conversation = puts[0].memory
    memory = await bound(view, agent, conversation)
    written = await hold(db, agent, NoteMemory(memory), clock, conversation)
    if conversation.asked_at:
        clock.moment = conversation.asked_at
    return [
        _heard(put, written, await memory.recall(put.question.text, limit=HITS)) for put in puts
    ]


def _heard(put: Put, written: Written, recall: Recall) -> Heard:
    places = written.places
    evidence = put.question.evidence if put.own else frozenset()
    hits = tuple((hit, places.get(hit.entry.id) in evidence) for hit in recall)
    return Heard(put, recall, hits)

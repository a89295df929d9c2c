"""A run of answers under way: what was asked, what came back, what failed, why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

import anyio

from bench.answers_contexts import Shown
from bench.answers_kept import KeptLines, Line, key_of
from bench.answers_model import Model, ModelSettings, Said
from bench.answers_scores import Scored, abstains, category_of, token_f1, unanswerable, verdict
from bench.answers_settings import AnswersSettings
from bench.sets import Conversation, Question
from idetic.reason import ReasonerCapped, ReasonerError, ReasonerMalformed, Usage

# So many failures without a success between them are no chance.
HOPELESS = 5
_NEITHER = "The judge said neither CORRECT nor WRONG."
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Job:
    """One question with one context, to be answered."""

    conversation: Conversation
    question: Question
    arm: str
    shown: Shown

    def values(self) -> dict[str, str]:
        """What the reader's prompt is filled with."""
        at = self.conversation.asked_at
        today = f"{at:%A, %d %B %Y}" if at else "an unknown day"
        return {"context": self.shown.text, "question": self.question.text, "today": today}

    def key(self, reader: Model) -> str:
        """By what an answer is found again."""
        whose = (reader.settings.name, reader.prompt.digest)
        asked = (self.conversation.name, self.question.text, self.arm)
        return key_of("answer", *whose, *asked, self.shown.places, self.shown.wording)

    def line(self, reader: Model, said: Said) -> Line:
        """The answer as it is kept."""
        hopeless = unanswerable(self.conversation, self.question)
        # What LoCoMo gives as the answer of an adversarial question is the trap.
        expected = "" if hopeless else self.question.answer
        abstained = abstains(said.text)
        scored = 0.0 if abstained else token_f1(said.text, expected)
        return {
            "kind": "answer",
            "conversation": self.conversation.name,
            "category": category_of(self.conversation, self.question),
            "arm": self.arm,
            "reader": reader.settings.name,
            "question": self.question.text,
            "expected": expected,
            "unanswerable": hopeless,
            "answer": said.text,
            "abstained": abstained,
            "f1": round(scored, 4) if expected else None,
            "evidence": round(self.shown.evidence(self.question), 4),
            "context_tokens": self.shown.tokens,
            "places": self.shown.places,
            "cut": self.shown.cut,
            **_took(said),
        }


def _took(said: Said) -> Line:
    return {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": said.completion_tokens,
        "seconds": round(said.seconds, 3),
    }


class AnswersRun:
    """Asks reader and judge for what is not kept yet, several at once, within the run's cap."""

    def __init__(self, settings: AnswersSettings, kept: KeptLines, used: Usage):
        self.settings = settings
        self.stopped: str | None = None
        self.errors: Counter[tuple[str, str]] = Counter()
        self.messages: Counter[str] = Counter()
        self.used = used
        self.answers: list[Line] = []
        self.verdicts: dict[str, Line] = {}
        self._kept = kept
        self._failures = 0

    @property
    def scored(self) -> list[Scored]:
        """Every answer with its verdict, where there is one."""
        return [(line, self.verdicts.get(line["key"])) for line in self.answers]

    @asynccontextmanager
    async def _model(self, settings: ModelSettings) -> AsyncIterator[Model]:
        """A model that may cost what is left of the run's cap."""
        most, spent = self.settings.max_cost, self.used.cost
        left = None if most is None or spent is None else max(most - spent, Decimal(0))
        async with Model(settings, left) as model:
            try:
                yield model
            finally:
                self.used += model.used

    async def go_through(self, jobs: Iterable[Job]) -> None:
        """Have each job answered, and each answer judged."""
        before = len(self.answers)
        async with self._model(self.settings.reader) as reader:
            await self._each(jobs, lambda job: self._answer(reader, job))
        async with self._model(self.settings.judge) as judge:
            await self._each(self.answers[before:], lambda line: self._judge(judge, line))

    async def _each(self, items: Iterable[_T], work: Callable[[_T], Awaitable[None]]) -> None:
        """Do the work for each item, several at once, until the run is stopped."""
        waiting = iter(items)

        async def worker() -> None:
            for item in waiting:
                if self.stopped:
                    return
                await work(item)

        async with anyio.create_task_group() as group:
            for _ in range(self.settings.at_once):
                group.start_soon(worker)

    async def _answer(self, reader: Model, job: Job) -> None:
        """The answer to a question, asked for unless it is kept."""
        key = job.key(reader)
        line = self._kept.get(key)
        if line is None:
            of = (job.arm, category_of(job.conversation, job.question))
            said = await self._ask(reader, of, job.values())
            line = self._keep(key, job.line(reader, said)) if said else None
        if line is not None:
            self.answers.append(line)

    async def _judge(self, judge: Model, answer: Line) -> None:
        """The verdict on an answer, asked for unless it is kept or needs no judge."""
        if not answer["expected"] or answer["abstained"]:
            return
        key = key_of("verdict", judge.settings.name, judge.prompt.digest, answer["key"])
        line = self._kept.get(key)
        if line is None:
            of = (answer["arm"], answer["category"])
            values = {name: _one_line(answer[name]) for name in ("question", "expected")}
            said = await self._ask(judge, of, values | {"given": _one_line(answer["answer"])})
            correct = verdict(said.text) if said else None
            if said and correct is None:
                self._failed(of, ReasonerMalformed(_NEITHER, remedy="Use another judge."))
            elif said:
                about = {"kind": "verdict", "answer": answer["key"], "judge": judge.settings.name}
                line = self._keep(key, {**about, "correct": correct, **_took(said)})
        if line is not None:
            self.verdicts[answer["key"]] = line

    async def _ask(self, model: Model, of: tuple[str, str], values: dict[str, str]) -> Said | None:
        """What the model says; None if it failed, or if the run's cap is reached."""
        try:
            return await model.ask(**values)
        except ReasonerCapped as error:
            self.stopped = self.stopped or f"--max-cost is reached. {error.message}"
        except ReasonerError as error:
            self._failed(of, error)
        return None

    def _keep(self, key: str, line: Line) -> Line:
        """Keep a line: the next failure is the first again."""
        self._failures = 0
        return self._kept.add(key, line)

    def _failed(self, of: tuple[str, str], error: ReasonerError) -> None:
        """Count what failed; the run is stopped when it is hopeless."""
        self.errors[of] += 1
        self.messages[str(error)] += 1
        self._failures += 1
        if self._failures >= HOPELESS:
            self.stopped = self.stopped or f"{HOPELESS} requests in a row failed. {error}"


def _one_line(text: str) -> str:
    """A text on one line, so that it cannot pass for the lines around it."""
    return " ".join(text.split())

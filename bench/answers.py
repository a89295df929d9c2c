"""Questions of LoCoMo and LongMemEval, answered by a model from three contexts, and judged.

The contexts: `memory.context` of the shipped agent for conversations, the whole conversation, and
the best turns by plain BM25. Reader and judge are any OpenAI-compatible models; without one
the played reader of bench/played_reader.py answers. docs/how-to/measure-answers.md tells more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import Any

import anyio

from bench import common
from bench.answers_contexts import Contexts
from bench.answers_kept import KeptLines
from bench.answers_model import Model, ModelSettings, Prompt
from bench.answers_run import AnswersRun, Job
from bench.answers_scores import rows, unanswerable
from bench.answers_settings import (
    AnswersSettings,
    AskedQuestions,
    is_played,
    parsed,
    settings_of,
)
from bench.place import bench_server
from bench.played_reader import played_reader
from idetic import Idetic
from idetic.errors import IdeticError
from idetic.reason import Usage

LINES = "answers_questions.jsonl"
PLAYED = "the reader is played: these figures say nothing about any model"
NO_ANSWERS = (
    "this part of LongMemEval has no expected answers, and only the beginnings of its sessions: "
    "nothing is judged but abstention, where there is nothing to know"
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run as the options say; with the played reader if they name no model."""
    given = parsed(arguments)
    try:
        if not is_played(given):
            return anyio.run(main, settings_of(given))
        with played_reader() as server:
            print(f"No model was named; {PLAYED}.", flush=True)
            return anyio.run(main, settings_of(given, server.url))
    except IdeticError as error:
        sys.exit(str(error))


async def main(settings: AnswersSettings) -> int:
    """Ask, judge and report; not 0 if something is left to be asked by another run."""
    start = time.perf_counter()
    asked = settings.asked()
    judging = any(q.answer and not unanswerable(c, q) for c, qs in asked for q in qs)
    models = [settings.reader, settings.judge] if judging else [settings.reader]
    used = await _probe(models, settings.max_cost)
    with KeptLines(common.OUT / LINES) as kept:
        under_way = AnswersRun(settings, kept, used)
        await _go_through(under_way, asked)
    _tell(under_way, asked, time.perf_counter() - start)
    return int(bool(under_way.stopped or under_way.errors))


async def _probe(models: Iterable[ModelSettings], max_cost: Decimal | None) -> Usage:
    """What asking each for a word took; one clear error ends the program if one cannot be asked."""
    used = Usage()
    for each in models:
        try:
            async with Model(each, max_cost) as model:
                used += await model.probe()
        except IdeticError as error:
            sys.exit(f"The {each.role} cannot be asked. {error}")
    return used


async def _go_through(under_way: AnswersRun, asked: AskedQuestions) -> None:
    """Answer and judge conversation by conversation, until the end or until the run is stopped."""
    settings = under_way.settings
    async with AsyncExitStack() as stack:
        db: Idetic | None = None
        if "idetic" in settings.arms:
            server = stack.enter_context(bench_server())
            db = await stack.enter_async_context(Idetic.open(home=server.home))
        for conversation, questions in asked:
            contexts = Contexts(conversation, settings.budget, settings.window)
            if db is not None:
                await contexts.remember(db)
            await under_way.go_through([
                Job(conversation, question, arm, await contexts.of(arm, question.text))
                for question in questions
                for arm in settings.arms
            ])  # fmt: skip
            told = f"{len(under_way.answers)} answers, {len(under_way.verdicts)} verdicts"
            print(f"{conversation.name}: {told}", flush=True)
            if under_way.stopped:
                return


def _tell(under_way: AnswersRun, asked: AskedQuestions, seconds: float) -> None:
    """Print and write the table, and what it rests on."""
    settings, used = under_way.settings, under_way.used
    prices = settings.reader.prices, settings.judge.prices
    notes = _notes(under_way)
    told = _rests_on(settings, asked) | {
        "judge": _named(settings.judge) if under_way.verdicts else "none was asked",
        "this run": f"{used.calls:,} requests, {used.prompt_tokens:,} prompt and "
        f"{used.completion_tokens:,} completion tokens, {_money(used.cost)}, {seconds:.0f} s",
        "requests without a token count": used.estimated,
        "notes": notes,
    }
    table = rows(settings.arms, under_way.scored, under_way.errors, prices)
    common.report("answers", table, told)
    for note in notes:
        print(f"note: {note}")


def _rests_on(settings: AnswersSettings, asked: AskedQuestions) -> dict[str, Any]:
    """What was asked of whom, and with which context."""
    sample = f"a sample by seed {settings.seed}" if settings.questions else "all"
    return {
        "set": f"{settings.set_name}, conversations {settings.conversations}",
        "questions": f"{sum(len(each) for _, each in asked)}, {sample}",
        "unit": "percent, means over questions; `correct` is of as many as `of` says",
        "contexts": f"idetic and bm25 up to {settings.budget:,} tokens, full cut to its newest "
        f"{settings.window:,}, counted cautiously; `cut` says how often that was",
        "reader": _named(settings.reader),
        "asking": "temperature 0 and seed 7, where the endpoint takes them",
    }


def _notes(under_way: AnswersRun) -> list[str]:
    """What a reader of the figures must know beside them."""
    notes = [f"{times} x {message}" for message, times in under_way.messages.items()]
    if under_way.settings.played:
        notes.append(PLAYED)
    if under_way.settings.set_name == "longmemeval":
        notes.append(NO_ANSWERS)
    if under_way.stopped:
        notes.append(f"STOPPED: {under_way.stopped}")
    if under_way.stopped or under_way.errors:
        notes.append("what was answered is kept: the same command asks for what is missing")
    return notes


def _named(model: ModelSettings) -> str:
    return f"{model.name}, prompt {Prompt.read(model.role).digest}"


def _money(cost: object) -> str:
    return "cost unknown without prices" if cost is None else f"cost {cost}"


if __name__ == "__main__":
    sys.exit(run())

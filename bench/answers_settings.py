"""What a run of `bench.answers` is told: models, prices, which questions, which contexts.

Each option is also an environment variable, IDETIC_ANSWERS_ and its name. A key is never an
option: command lines are seen by others.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import Any

from bench.answers_contexts import ARMS
from bench.answers_model import ModelSettings
from bench.played_reader import JUDGE, READER
from bench.sets import SETS, Conversation, Question
from idetic.errors import InputError
from idetic.reason import Endpoint, Prices

JUDGE_KEY = "IDETIC_ANSWERS_JUDGE_KEY"
_FEW = {"locomo": "1", "longmemeval": "1-5"}
_FEW_QUESTIONS = 20
_NO_KEY = "none"
AskedQuestions = list[tuple[Conversation, list[Question]]]


@dataclass(frozen=True, slots=True)
class AnswersSettings:
    """The settings of one run."""

    set_name: str
    conversations: str
    questions: int
    seed: int
    arms: tuple[str, ...]
    budget: int
    window: int
    at_once: int
    max_cost: Decimal | None
    reader: ModelSettings
    judge: ModelSettings
    played: bool

    def asked(self) -> AskedQuestions:
        """The questions to ask, by conversation: all, or a sample that the seed decides."""
        stored = SETS[self.set_name]()
        chosen = [stored[number - 1] for number in _numbers(self.conversations, len(stored))]
        every = [(n, place) for n, c in enumerate(chosen) for place in range(len(c.questions))]
        if 0 < self.questions < len(every):
            # A sample has to be repeatable, not unguessable.
            every = sorted(random.Random(self.seed).sample(every, self.questions))  # noqa: S311
        return [
            (chosen[n], [chosen[n].questions[place] for _, place in places])
            for n, places in groupby(every, lambda each: each[0])
        ]


def is_played(given: argparse.Namespace) -> bool:
    """Whether no model was named, so that the played reader answers."""
    return not given.reader_model and not given.reader_url


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options as given, by the command line or the environment."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.answers",
        description="Question answering with any OpenAI-compatible model as reader and judge. "
        "Without a model the played reader answers. The key is IDETIC_REASONER_KEY.",
        epilog="Each option is also a variable, such as IDETIC_ANSWERS_READER_URL.",
    )

    def option(name: str, kind: Any, default: Any, told: str, **more: Any) -> None:
        variable = f"IDETIC_ANSWERS_{name.upper().replace('-', '_')}"
        default = os.environ.get(variable) or default
        parser.add_argument(f"--{name}", type=kind, default=default, help=told, **more)

    option("reader-url", str, None, "base address, mostly ending in /v1; without it OpenAI's own")
    option("reader-model", str, None, "the model that answers")
    option("judge-url", str, None, "the judge's base address; without it the reader's")
    option("judge-model", str, None, "the model that judges; without it the reader itself")
    option("set", str, "locomo", "the questions", choices=("locomo", "longmemeval"))
    option("conversations", str, "all", "which of the set: 1-3, or 2,5, or all")
    option("questions", _count, 0, "a sample of so many; 0 is all")
    option("seed", int, 7, "what the sample depends on")
    option("contexts", _arms, ",".join(ARMS), "what the reader is shown, separated by commas")
    option("budget", _count, 4_000, "tokens of the contexts `idetic` and `bm25`")
    option("window", _count, 48_000, "tokens that the context `full` is cut to")
    option("price-in", _money, None, "of a million prompt tokens of the reader")
    option("price-out", _money, None, "of a million completion tokens of the reader")
    option("judge-price-in", _money, None, "of the judge; without it the reader's")
    option("judge-price-out", _money, None, "of the judge; without it the reader's")
    option("max-cost", _money, None, "the most that this run may cost; needs the prices")
    option("answer-tokens", _count, 1_500, "the most that one answer may take")
    option("at-once", _count, 4, "requests under way at a time")
    return parser.parse_args(arguments)


def settings_of(given: argparse.Namespace, played_url: str | None = None) -> AnswersSettings:
    """The settings that these options mean; what does not fit together ends the program."""
    if given.max_cost is not None and None in (given.price_in, given.price_out):
        sys.exit("--max-cost needs --price-in and --price-out to measure by.")
    if given.budget < 1 or given.window < 1 or given.at_once < 1:
        sys.exit("--budget, --window and --at-once are numbers above 0.")
    reader, judge = _models(given, played_url)
    # Without a model, a sample is enough to see that everything works.
    few = played_url is not None and given.conversations == "all" and given.questions == 0
    return AnswersSettings(
        given.set,
        _FEW[given.set] if few else given.conversations,
        _FEW_QUESTIONS if few else given.questions,
        given.seed,
        given.contexts,
        given.budget,
        given.window,
        given.at_once,
        given.max_cost,
        reader,
        judge,
        played_url is not None,
    )


def _models(
    given: argparse.Namespace, played_url: str | None
) -> tuple[ModelSettings, ModelSettings]:
    """The reader and the judge."""
    prices = _prices(given.price_in, given.price_out)
    own = _prices(given.judge_price_in, given.judge_price_out) or prices
    most = given.answer_tokens
    if played_url is not None:
        both = [Endpoint(name, played_url, _NO_KEY, answer_tokens=most) for name in (READER, JUDGE)]
        return ModelSettings("reader", both[0], prices), ModelSettings("judge", both[1], own)
    if not given.reader_model:
        sys.exit("--reader-model is missing: name a model that the server at --reader-url has.")
    if given.judge_url and not given.judge_model:
        sys.exit("--judge-model is missing: name a model that the server at --judge-url has.")
    try:
        reader = Endpoint(given.reader_model, given.reader_url, answer_tokens=most)
        url = given.judge_url or given.reader_url
        # The reader's key goes to no other server.
        key = os.environ.get(JUDGE_KEY) or (None if url == given.reader_url else _NO_KEY)
        judge = Endpoint(given.judge_model or given.reader_model, url, key, answer_tokens=most)
    except InputError as error:
        sys.exit(f"--reader-url or --judge-url: {error}")
    return ModelSettings("reader", reader, prices), ModelSettings("judge", judge, own)


def _prices(prompt: Decimal | None, completion: Decimal | None) -> Prices | None:
    if prompt is None and completion is None:
        return None
    if prompt is None or completion is None:
        sys.exit("A price is missing: give both, of prompt and of completion tokens.")
    return Prices(prompt, completion)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def _money(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount, such as 0.15") from None
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount, such as 0.15")
    return amount


def _arms(text: str) -> tuple[str, ...]:
    arms = tuple(part.strip() for part in text.split(","))
    unknown = [arm for arm in arms if arm not in ARMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(ARMS)}")
    return tuple(dict.fromkeys(arms))


def _numbers(text: str, count: int) -> list[int]:
    """The conversations that "1-3", "2,5" or "all" means, from 1 on."""
    if text == "all":
        return list(range(1, count + 1))
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            sys.exit(f"--conversations is 1-3, or 2,5, or all, not {text!r}.")
        found += range(int(first), int(last or first) + 1)
    if not found or min(found) < 1 or max(found) > count:
        sys.exit(f"--conversations {text} is not within 1-{count}, which this set has.")
    return sorted(set(found))

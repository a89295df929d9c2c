"""What an answer is worth: token F1, abstention, the verdict, what it took; a row per category."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.sets import Conversation, Question
from idetic.reason import Prices

_WORD = re.compile(r"\w+")
_ARTICLES = frozenset(("a", "an", "the"))
_ABSTAINS = re.compile(r"\W*i (?:don['\u2019]?t|do not) know\b", re.IGNORECASE)
_VERDICT = re.compile(r"\W*(CORRECT|WRONG)\b", re.IGNORECASE)
ABSTENTION = "abstention"


def answer_words(text: str) -> list[str]:
    """The words of an answer: lower-cased, without articles and punctuation."""
    return [word for word in _WORD.findall(text.lower()) if word not in _ARTICLES]


def token_f1(given: str, expected: str) -> float:
    """The harmonic mean of precision and recall over words; no stemming, no judge."""
    said, wanted = Counter(answer_words(given)), Counter(answer_words(expected))
    shared = sum((said & wanted).values())
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0


def abstains(answer: str) -> bool:
    """Whether an answer is the one that the reader's prompt asks for where it knows none."""
    return bool(_ABSTAINS.match(answer))


def verdict(said: str) -> bool | None:
    """What a judge said; None if it is neither of the two words."""
    found = _VERDICT.match(said)
    return found[1].upper() == "CORRECT" if found else None


def unanswerable(conversation: Conversation, question: Question) -> bool:
    """Whether a reader should abstain: by LoCoMo's category, by the mark in LongMemEval's ids."""
    return question.category == "adversarial" or conversation.name.endswith("_abs")


def category_of(conversation: Conversation, question: Question) -> str:
    """The category that a question is reported in."""
    return ABSTENTION if conversation.name.endswith("_abs") else question.category


def is_correct(answer: Mapping[str, Any], judged: Mapping[str, Any] | None) -> bool | None:
    """Whether an answer is right; None where nothing here can tell.

    Where a reader should abstain, abstaining is right, and where it should not, it is wrong. No
    judge is asked then.
    """
    if answer["unanswerable"] or (answer["expected"] and answer["abstained"]):
        return bool(answer["unanswerable"] and answer["abstained"])
    return None if judged is None else bool(judged["correct"])


Scored = tuple[Mapping[str, Any], Mapping[str, Any] | None]


def rows(
    arms: Sequence[str],
    scored: Sequence[Scored],
    errors: Mapping[tuple[str, str], int],
    prices: tuple[Prices | None, Prices | None],
) -> list[dict[str, Any]]:
    """A row per arm, for all questions and for each category; percent, means over questions."""
    found = {a["category"] for a, _ in scored} | {category for _, category in errors}
    told = []
    for category in ("all", *sorted(found)):
        for arm in arms:
            members = [
                (a, j) for a, j in scored if a["arm"] == arm and category in ("all", a["category"])
            ]
            failed = sum(n for (a, c), n in errors.items() if a == arm and category in ("all", c))
            if members or failed:
                head = {"category": category, "arm": arm, "questions": len(members)}
                told.append({**head, **_row(members, prices), "errors": failed})
    return told


def _row(members: Sequence[Scored], prices: tuple[Prices | None, Prices | None]) -> dict[str, Any]:
    answers = [a for a, _ in members]
    verdicts = [j for _, j in members if j is not None]
    right = [c for a, j in members if (c := is_correct(a, j)) is not None]
    return {
        "correct": _percent(right),
        "of": len(right),
        "token F1": _percent(a["f1"] for a in answers if a["f1"] is not None),
        "abstained": _percent(a["abstained"] for a in answers),
        "evidence shown": _percent(a["evidence"] for a in answers),
        "cut": sum(a["cut"] for a in answers),
        "prompt tokens": _sum(answers, "prompt_tokens"),
        "completion tokens": _sum(answers, "completion_tokens"),
        "judge tokens": _sum(verdicts, "prompt_tokens") + _sum(verdicts, "completion_tokens"),
        "cost": _cost(answers, verdicts, prices),
        "s / answer": _mean([a["seconds"] for a in answers], 2),
    }


def _sum(lines: Iterable[Mapping[str, Any]], name: str) -> int:
    """The tokens that the endpoint counted; lines it did not count add nothing."""
    return sum(line[name] or 0 for line in lines)


def _cost(
    answers: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Mapping[str, Any]],
    prices: tuple[Prices | None, Prices | None],
) -> float | None:
    """What these lines cost; None as soon as a price is missing, never a guess."""
    total = 0.0
    for lines, price in zip((answers, verdicts), prices, strict=True):
        if price is None and lines:
            return None
        counted = _sum(lines, "prompt_tokens"), _sum(lines, "completion_tokens")
        total += float(price.of(*counted)) if price else 0.0
    return round(total, 4)


def _percent(values: Iterable[float]) -> float | None:
    return _mean([100 * value for value in values], 1)


def _mean(values: Sequence[float], digits: int) -> float | None:
    return round(sum(values) / len(values), digits) if values else None

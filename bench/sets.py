"""The three development sets in one form: conversations of messages, questions, evidence.

LoCoMo is whole; of BEAM 100K and of LongMemEval-S only a part is here, and is named as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from bench.common import data_file

LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said: by whom, in which session, when."""

    text: str
    session: int
    role: str = "user"
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the places, in its conversation, of the messages that answer it.

    Of a question about an update, `original` and `updated` hold the places of both states.
    """

    text: str
    category: str
    evidence: frozenset[int]
    answer: str = ""
    original: frozenset[int] = frozenset()
    updated: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything one memory is given, in order, and what it is asked."""

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]

    @property
    def sessions(self) -> list[list[Message]]:
        """The messages, session by session."""
        return [list(group) for _, group in groupby(self.messages, lambda m: m.session)]

    @property
    def asked_at(self) -> datetime | None:
        """When the questions are asked: after the last message."""
        return max((m.at for m in self.messages if m.at), default=None)


def locomo() -> list[Conversation]:
    """LoCoMo: ten conversations of two people; the unit is a turn.

    Four questions, whose evidence is no turn of the conversation, are left out.
    """
    stored = json.loads(data_file("locomo10.json").read_text(encoding="utf-8"))
    return [_locomo(number, found) for number, found in enumerate(stored, start=1)]


def _locomo(number: int, found: dict[str, Any]) -> Conversation:
    said = found["conversation"]
    numbers = sorted(int(m[1]) for name in said if (m := _SESSION.fullmatch(name)))
    messages: list[Message] = []
    places: dict[tuple[int, int], int] = {}
    for n in numbers:
        # "1:56 pm on 8 May, 2023"
        at = _moment(said[f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y")
        for turn in said[f"session_{n}"]:
            places[_ids(turn["dia_id"])[0]] = len(messages)
            shown = (turn["text"], turn.get("blip_caption"))
            text = f"{turn['speaker']}: {' '.join(filter(None, shown))}"
            messages.append(Message(text, n, "user", turn["speaker"], at))
    questions = []
    for asked in found["qa"]:
        ids = {i for text in asked["evidence"] for i in _ids(text)}
        if evidence := frozenset(places[i] for i in ids if i in places):
            answer = str(asked.get("answer") or asked.get("adversarial_answer") or "")
            category = LOCOMO_CATEGORIES[asked["category"]]
            questions.append(Question(asked["question"], category, evidence, answer))
    return Conversation(f"locomo-{number}", tuple(messages), tuple(questions))


def _ids(text: str) -> list[tuple[int, int]]:
    return [(int(session), int(turn)) for session, turn in _EVIDENCE.findall(text)]


def beam() -> list[Conversation]:
    """A part of BEAM 100K: eight conversations of a user with an assistant, by message."""
    stored = json.loads(data_file("beam100k_dev.json").read_text(encoding="utf-8"))
    return [_beam(found) for found in stored["conversations"]]


def _beam(found: dict[str, Any]) -> Conversation:
    messages = []
    at: datetime | None = None
    places = {message["id"]: place for place, message in enumerate(found["messages"])}
    for message in found["messages"]:
        # Only the first message of a session is dated.
        at = _moment(message["time"], "%B-%d-%Y") if message.get("time") else at
        messages.append(Message(message["text"], message["session"], message["role"], None, at))
    questions = []
    for asked in found["questions"]:
        evidence = frozenset(places[i] for i in asked["evidence"])
        source = asked.get("source") or {}
        sides = [
            frozenset(places[i] for i in source.get(side, ()))
            for side in ("original_info", "updated_info")
        ]
        if evidence:
            question = Question(asked["question"], asked["type"], evidence, "", *sides)
            questions.append(question)
    return Conversation(f"beam-{found['id']}", tuple(messages), tuple(questions))


def longmemeval() -> list[Conversation]:
    """A part of LongMemEval-S: each question with its own sessions, by the head of a session."""
    stored = json.loads(data_file("longmemeval_heads_dev.json").read_text(encoding="utf-8"))
    return [_longmemeval(found) for found in stored["questions"]]


def _longmemeval(found: dict[str, Any]) -> Conversation:
    # "2023/05/27 (Sat) 21:24"
    heads = [
        Message(s["head"], n, "user", None, _moment(s["ts"], "%Y/%m/%d (%a) %H:%M"))
        for n, s in enumerate(found["sessions"])
    ]
    gold = set(found["gold"])
    evidence = frozenset(n for n, s in enumerate(found["sessions"]) if s["id"] in gold)
    question = Question(found["question"], found["question_type"], evidence)
    return Conversation(f"longmemeval-{found['question_id']}", tuple(heads), (question,))


def _moment(text: str, form: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)


SETS: dict[str, Callable[[], list[Conversation]]] = {
    "locomo": locomo,
    "beam": beam,
    "longmemeval": longmemeval,
}

"""LoCoMo as turns and questions, and the memory spec of each arm that is measured on it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.common import data_file

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
# Weights and window were fitted with conversations 1 to 5 in mind; 6 to 10 are the check.
TUNED_ON = 5
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the places, in its conversation, of the turns that answer it."""

    number: int
    category: int
    text: str
    evidence: frozenset[int]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The sessions of one conversation, each a list of turns as texts, and its questions."""

    number: int
    sessions: list[list[str]]
    questions: list[Question]

    @property
    def turns(self) -> list[str]:
        """Every turn, in order."""
        return [turn for session in self.sessions for turn in session]


def conversations() -> list[Conversation]:
    """All ten, without the four questions whose evidence is no turn of the conversation."""
    stored = json.loads(data_file("locomo10.json").read_text(encoding="utf-8"))
    return [_conversation(number, found) for number, found in enumerate(stored, start=1)]


def _conversation(number: int, found: dict[str, Any]) -> Conversation:
    said = found["conversation"]
    numbers = sorted(int(m[1]) for name in said if (m := _SESSION.fullmatch(name)))
    sessions, places = [], {}
    for session in (said[f"session_{n}"] for n in numbers):
        for turn in session:
            places[_ids(turn["dia_id"])[0]] = len(places)
        sessions.append([_text(turn) for turn in session])
    questions = []
    for place, asked in enumerate(found["qa"]):
        ids = {i for text in asked["evidence"] for i in _ids(text)}
        if evidence := frozenset(places[i] for i in ids if i in places):
            questions.append(Question(place, asked["category"], asked["question"], evidence))
    return Conversation(number, sessions, questions)


def _text(turn: dict[str, Any]) -> str:
    return " ".join(filter(None, (f"{turn['speaker']}: {turn['text']}", turn.get("blip_caption"))))


def _ids(text: str) -> list[tuple[int, int]]:
    return [(int(session), int(turn)) for session, turn in _EVIDENCE.findall(text)]


def arms() -> dict[str, dict[str, Any]]:
    """The spec of each arm: the same agent and tables, other weights."""
    spec = yaml.safe_load((Path(__file__).parent / "locomo.yaml").read_text(encoding="utf-8"))
    rrf = {"method": "rrf", "k": 60}
    alone = {"before": 0, "after": 0}
    return {
        "fused, weighted score": spec,
        "lexical": _with(spec, {"lexical": 1.0}),
        "lexical, own words only": _with(spec, {"lexical": 1.0}, neighbours=alone),
        "semantic": _with(spec, {"semantic": 1.0}),
        "fused, RRF 60": _with(
            spec, {"lexical": 1.0, "semantic": 1.0, "substance": 0.5}, fusion=rrf
        ),
        "fused, RRF 60, no substance": _with(
            spec, {"lexical": 1.0, "semantic": 1.0}, fusion=rrf
        ),
    }


def _with(spec: dict[str, Any], weights: dict[str, float], **more: Any) -> dict[str, Any]:
    signals = dict.fromkeys(spec["retrieval"]["signals"], 0.0) | weights
    return spec | {"retrieval": spec["retrieval"] | {"signals": signals} | more}

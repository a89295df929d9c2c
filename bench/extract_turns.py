"""Turns of LoCoMo and LongMemEval, and the hand-made labels of the claims that the rules draw.

A label says whether a person who read the turn finds the claim right. It is kept by conversation,
turn and a digest of the claim, without a word of the data: a rule that changes a claim loses it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from bench.common import ROOT, data_file
from idetic.extract import ExtractedClaim, Turn
from idetic.model import Origin

LABELS = ROOT / "bench" / "extract_labels.json"
# The rules were made with these in view; the others were only labelled.
TUNED = frozenset("12345")
LOCOMO, CHAT = "locomo10.json", "longmemeval_heads_dev.json"


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn, and where it stands: the number of the conversation, its own name."""

    conversation: str
    name: str
    turn: Turn

    @property
    def chat(self) -> bool:
        """Whether somebody said it to an assistant: it is of LongMemEval."""
        return self.conversation == "L"

    @property
    def tuned(self) -> bool:
        """Whether the rules were made with its conversation in view."""
        return self.conversation in TUNED


def said_turns() -> list[SaidTurn]:
    """Every turn of LoCoMo: what was said, without the captions of pictures."""
    stored = json.loads(data_file(LOCOMO).read_text(encoding="utf-8"))
    return [
        said
        for number, found in enumerate(stored, start=1)
        for said in _of(str(number), found["conversation"])
    ]


def chat_turns(sessions: Collection[str]) -> list[SaidTurn]:
    """What users said to an assistant in some sessions of LongMemEval, one line for a turn.

    Without the last line of each, which the data cuts.
    """
    stored = json.loads(data_file(CHAT).read_text(encoding="utf-8"))
    found = {s["id"]: s for q in stored["questions"] for s in q["sessions"] if s["id"] in sessions}
    turns = []
    for name, session in sorted(found.items()):
        moment = datetime.strptime(f"{session['ts']} +0000", "%Y/%m/%d (%a) %H:%M %z")
        for number, text in enumerate(session["head"].split("\n")[:-1]):
            known = f"{name}/{number}"
            turn = Turn(uuid5(NAMESPACE_URL, f"lme-{known}"), Origin.USER, None, text, moment)
            turns.append(SaidTurn("L", known, turn))
    return turns


def _of(number: str, found: Mapping[str, Any]) -> list[SaidTurn]:
    sessions = sorted(int(k[8:]) for k in found if k[:8] == "session_" and k[8:].isdecimal())
    said = []
    for n in sessions:
        # "1:56 pm on 8 May, 2023"
        at = f"{found[f'session_{n}_date_time']} +0000"
        moment = datetime.strptime(at, "%I:%M %p on %d %B, %Y %z")
        for each in found[f"session_{n}"]:
            turn = Turn(
                _id(number, each["dia_id"]),
                Origin.USER,
                each["speaker"],
                each["text"],
                moment,
            )
            said.append(SaidTurn(number, each["dia_id"], turn))
    return said


def _id(number: str, name: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"locomo-{number}/{name}")


def digest(claim: ExtractedClaim) -> str:
    """A claim as labels know it: what it says, whatever the case."""
    said = json.dumps([*claim.claim.normalised().as_dict().values(), claim.negated])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


class Labels:
    """What a person found right or wrong."""

    def __init__(self) -> None:
        self._found: dict[str, bool] = json.loads(LABELS.read_text(encoding="utf-8"))

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions of LongMemEval that somebody has labelled."""
        return frozenset(key.split("/")[1] for key in self._found if key.startswith("L/"))

    def right(self, said: SaidTurn, claim: ExtractedClaim) -> bool | None:
        """The label of a claim; None if nobody has looked at it."""
        return self._found.get(f"{said.conversation}/{said.name}/{digest(claim)}")

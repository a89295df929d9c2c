"""LoCoMo as turns, and the hand-made labels of the claims that the rules draw from them.

A label says whether a person who read the turn finds the claim right. It is kept by conversation,
turn and a digest of the claim, without a word of the data: a rule that changes a claim loses it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from bench.common import ROOT, data_file
from idetic.extract import ExtractedClaim, Turn
from idetic.model import Origin

LABELS = ROOT / "bench" / "extract_labels.json"
# The rules were made with these in view; the others were only labelled.
TUNED = range(1, 6)


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn, and where in LoCoMo it stands: the number of the conversation, its own name."""

    conversation: int
    name: str
    turn: Turn

    @property
    def tuned(self) -> bool:
        """Whether the rules were made with its conversation in view."""
        return self.conversation in TUNED


def said_turns() -> list[SaidTurn]:
    """Every turn of LoCoMo: what was said, without the captions of pictures."""
    stored = json.loads(data_file("locomo10.json").read_text(encoding="utf-8"))
    return [
        said
        for number, found in enumerate(stored, start=1)
        for said in _of(number, found["conversation"])
    ]


def _of(number: int, found: Mapping[str, Any]) -> list[SaidTurn]:
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


def _id(number: int, name: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"locomo-{number}/{name}")


def digest(claim: ExtractedClaim) -> str:
    """A claim as labels know it: what it says, whatever the case."""
    said = json.dumps([*claim.claim.normalised().as_dict().values(), claim.negated])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


class Labels:
    """What a person found right or wrong."""

    def __init__(self) -> None:
        self._found: dict[str, bool] = json.loads(LABELS.read_text(encoding="utf-8"))

    def right(self, said: SaidTurn, claim: ExtractedClaim) -> bool | None:
        """The label of a claim; None if nobody has looked at it."""
        return self._found.get(f"{said.conversation}/{said.name}/{digest(claim)}")

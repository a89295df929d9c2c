"""A played model that draws claims: it answers with what the rules draw, and now and then it lies.

Each lie is one that models tell: a name or a figure that nobody said, a turn that was not shown,
words that do not stand in the turn. The checks must refuse all of them and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from bench.played_reader import saying
from idetic.extract import ExtractedClaim, Turn
from idetic.extract.attributes import KINDS, kind_of
from idetic.extract.rule_extractor import claims_of
from idetic.model import Origin

# One answer in so many is a lie.
EVERY = 4
_Form = dict[str, Any]
LIES: Mapping[str, Callable[[_Form], _Form]] = {
    "a made-up name": lambda form: form | {"detail": "Zebulon Quux", "value": "Zebulon Quux"},
    "a made-up figure": lambda form: form | {"value": "8731 times"},
    "a turn that was not shown": lambda form: form | {"cites": [str(uuid4())]},
    "a made-up quotation": lambda form: form | {"quote": "I never said anything of the kind."},
    "another subject": lambda form: form | {"subject": "Zebulon"},
    "another kind": lambda form: form | {"attribute": "owes_money_to"},
}


class PlayedExtractor:
    """Plays the model behind the server, and counts what it told."""

    def __init__(self) -> None:
        self.honest = self.lies = 0

    def __call__(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The completion for one request."""
        prompts = [str(message["content"]) for message in body["messages"]]
        entries = json.loads(prompts[1])["entries"]
        forms = [form for entry in entries for form in self._forms(entry)]
        return saying(json.dumps({"claims": forms}), prompts)

    def _forms(self, entry: Mapping[str, Any]) -> list[_Form]:
        speaker, _, text = entry["text"].partition(": ")
        turn = Turn(UUID(entry["id"]), Origin.USER, speaker, text, datetime.now(UTC))
        return [self._told(played(speaker, claim)) for claim in claims_of(turn)]

    def _told(self, form: _Form) -> _Form:
        """The claim as it is, or a lie in its place."""
        if (self.honest + self.lies) % EVERY < EVERY - 1:
            self.honest += 1
            return form
        lie = list(LIES.values())[self.lies % len(LIES)]
        self.lies += 1
        return lie(form)


def played(speaker: str, claim: ExtractedClaim) -> _Form:
    """A claim of the rules in the form that a model answers with."""
    kind = kind_of(claim.claim) or KINDS["likes"]
    detail = claim.claim.attribute.partition(":")[2]
    value = claim.claim.value
    return {
        "subject": speaker,
        "attribute": kind.name,
        "detail": detail,
        "value": "" if value in ("yes", "no") else value,
        "negated": claim.negated,
        "when": None,
        "quote": claim.quote,
        "cites": [str(turn) for turn in claim.turns],
    }

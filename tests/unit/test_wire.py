"""Nouns as JSON and back: by their declarations, without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import pytest

from idetic import wire
from idetic.erasure import Erased, Kept
from idetic.evidence import Contradiction, ContradictionStatus, Decided, GateResult, PromotionGate
from idetic.model import (
    Decision,
    Entry,
    LedgerRecord,
    Origin,
    PrincipalKind,
    Receipt,
    Ref,
    Tier,
    Typology,
)
from idetic.reason.port import Usage

AT = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
RECEIPT = Receipt(uuid4(), Decision.ADD, "because", 7, AT, uuid4(), None, {"removed": {"email": 1}})


@dataclass(frozen=True)
class Keyed:
    by_id: Mapping[UUID, int] = field(default_factory=dict)
    of_kinds: frozenset[Tier] = frozenset()


NOUNS = [
    RECEIPT,
    Entry(
        uuid4(), {"org_id": "x"}, Tier.SESSION, Typology.EPISODIC, "Grüße \U0001f44b", {"n": 1.5},
        Origin.TOOL, 40, AT, "agent:x", 1, refs=(Ref("rule", uuid4(), 2), Ref("rule", uuid4())),
    ),
    LedgerRecord(
        1, AT, "added", uuid4(), PrincipalKind.AGENT, "x", Decision.ADD, "why", None, "current", {},
        uuid4(), b"\x00\xff" * 16, b"\x01" * 32,
    ),
    Contradiction(uuid4(), uuid4(), Ref("rule", uuid4()), AT, "x", ContradictionStatus.OPEN),
    Decided("promoted", RECEIPT, (GateResult(PromotionGate.CORROBORATION, True, 2.0, 1, "so"),)),
    Erased(RECEIPT, (uuid4(),), MappingProxyType({"t": ("a",)}), (Kept("t", "c", 1, "w", (1,)),)),
    Usage(cost=Decimal("0.10")),
    Keyed({uuid4(): 1}, frozenset({Tier.SESSION, Tier.PERSISTENT})),
]  # fmt: skip


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: type(noun).__name__)
def test_a_noun_survives_the_wire(noun: Any) -> None:
    assert wire.read(type(noun), json.loads(wire.as_json(noun))) == noun


def test_lists_and_nothing_survive_too() -> None:
    assert wire.read(list[Receipt], json.loads(wire.as_json([RECEIPT]))) == [RECEIPT]
    assert wire.read(dict[str, Any], {"a": [1]}) == {"a": [1]}
    assert wire.read(type(None), None) is None


def test_plain_properties_come_along_and_are_not_read_back() -> None:
    entry = NOUNS[1]
    data = json.loads(wire.as_json(entry))
    assert data["state"] == "current"
    assert "claim" not in data, "it is in the envelope already"
    assert json.loads(wire.as_json(Decided("x", RECEIPT)))["decision"] == "ADD"
    assert wire.read(Entry, {**data, "state": "made up"}) == entry


def test_what_has_no_form_in_json_is_refused() -> None:
    for wrong in (object(), float("nan"), Receipt):
        with pytest.raises((TypeError, ValueError)):
            wire.as_json({"value": wrong})


def test_a_lone_surrogate_does_not_break_an_answer() -> None:
    assert json.loads(wire.as_json({"echo": "a\ud800"})) == {"echo": "a\ud800"}

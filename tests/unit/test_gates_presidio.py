"""Presidio is asked as its documentation says, and only by those who have it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import pytest

from idetic.errors import InputError
from idetic.gates.gate import Gates, Redaction
from idetic.gates.presidio import PresidioRecogniser
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary


@dataclass
class Result:
    entity_type: str
    start: int
    end: int


@dataclass
class Analyzer:
    """Finds what it was told to, the way `AnalyzerEngine.analyze` answers."""

    known: dict[str, str]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def analyze(self, *, text: str, language: str) -> list[Result]:
        self.asked.append((text, language))
        found = ((text.find(said), said, kind) for said, kind in self.known.items())
        return [Result(kind, at, at + len(said)) for at, said, kind in found if at >= 0]


def test_its_findings_are_removed_under_our_names_for_them() -> None:
    analyzer = Analyzer({"Jane Doe": "PERSON", "lj3": "US_DRIVER_LICENSE", "in May": "DATE_TIME"})
    gates = Gates(load("world_agent"), recognisers=[PresidioRecogniser(analyzer, language="de")])
    passed = gates.at(Boundary.INGEST).apply("Jane Doe showed lj3 in May and left")
    assert passed.text == "[person removed] showed [us driver license removed] in May and left"
    assert passed.changes == (Redaction("person", 1), Redaction("us_driver_license", 1))
    assert analyzer.asked[0] == ("Jane Doe showed lj3 in May and left", "de")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("EMAIL_ADDRESS", "email"), ("IBAN_CODE", "iban"), ("US_SSN", "national_id"), ("X9", "x")],
)
def test_kinds_that_both_know_have_one_name(theirs: str, ours: str) -> None:
    (span,) = PresidioRecogniser(Analyzer({"this": theirs}))("find this")
    assert span == (5, 9, ours, False)


def test_without_presidio_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(InputError, match="not installed") as raised:
        PresidioRecogniser()
    assert "pip install presidio-analyzer" in raised.value.remedy

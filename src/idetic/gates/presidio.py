"""Microsoft Presidio as a recogniser of personal data, for those who install it.

It finds names and places by a language model, which our detectors cannot; it also needs that
model on disk, and guesses where it is not sure. Hence nobody gets it unasked:

    Gates(spec, recognisers=[PresidioRecogniser()])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from idetic.errors import InputError
from idetic.gates.redaction import Detection


class Result(Protocol):
    """One finding of an analyzer."""

    entity_type: str
    start: int
    end: int


class Analyzer(Protocol):
    """The part of `presidio_analyzer.AnalyzerEngine` that is used."""

    def analyze(self, *, text: str, language: str) -> Iterable[Result]:
        """The personal data found in a text."""
        ...


# What some of its kinds are called here; the rest keep their own names.
_KINDS = {
    "CREDIT_CARD": "card",
    "EMAIL_ADDRESS": "email",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip",
    "PHONE_NUMBER": "phone",
    "US_SSN": "national_id",
    "UK_NHS": "national_id",
}
# Dates, nationalities and links are what notes are made of, and no personal data by themselves.
_ORDINARY = frozenset({"DATE_TIME", "NRP", "URL"})


class PresidioRecogniser:
    """Asks a Presidio analyzer, by default the engine that the installed package sets up."""

    def __init__(self, analyzer: Analyzer | None = None, *, language: str = "en") -> None:
        self._analyzer = analyzer or _engine()
        self._language = language

    def __call__(self, text: str, /) -> Iterator[Detection]:
        """The personal data that Presidio sees in this text."""
        for result in self._analyzer.analyze(text=text, language=self._language):
            if result.entity_type not in _ORDINARY and result.start < result.end:
                # As a kind is written here, whatever a custom recogniser calls what it finds.
                own = re.sub(r"[^a-z]+", "_", result.entity_type.lower()).strip("_") or "personal"
                kind = _KINDS.get(result.entity_type, own)
                yield Detection(result.start, result.end, kind)


def _engine() -> Analyzer:
    """Presidio's own analyzer, or an error that says how to install it."""
    try:
        package = import_module("presidio_analyzer")
    except ImportError:
        raise InputError(
            "Presidio is not installed.",
            remedy="Run `pip install presidio-analyzer` and install a spaCy model, hand in an "
            "analyzer of your own, or leave Presidio out: the other detectors need nothing.",
        ) from None
    return cast(Analyzer, package.AnalyzerEngine())

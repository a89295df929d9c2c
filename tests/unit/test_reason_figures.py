"""A figure is compared by what it means, and one that nobody gave is seen."""

from __future__ import annotations

import pytest

from idetic.reason.questions import stated, supported


def invented(text: str, evidence: str) -> frozenset[str]:
    return stated(text) - supported(evidence)


SAME = [
    ("10,000 a day", "10000 a day"),
    ("10'000", "10,000"),
    ("1.50", "1.5"),
    ("1,5", "1.5"),
    ("12,345.60", "12345.6"),
    ("05 May", "5 May"),
    ("v2", "version 2"),
    ("three retries", "3 retries"),
    ("3 retries", "Three retries"),
    ("3 million", "three millions"),
    ("1 May 2024", "on 2024-05-01"),
    ("1 operator", "one operator"),
    ("10 days", "ten days"),
    ("the one that failed", "it failed"),
    ("ten rachunek", "rachunek"),
    ("-5 degrees", "at (-5) degrees"),
    ("5-10", "10 or 5"),
    ("10k", "10K"),
    ("10 kB", "10 MB"),
    ("\uff11\uff12", "12"),  # full width
    ("\u0661\u0662", "12"),  # Arabic-Indic
    ("1.2.3", "1.2.3"),
    ("no figures at all", ""),
    ("1" * 5000, "1" * 5000),
]


@pytest.mark.parametrize(("text", "evidence"), SAME, ids=lambda text: text[:24])
def test_what_the_evidence_says_may_be_said(text: str, evidence: str) -> None:
    assert invented(text, evidence) == frozenset()


INVENTED = [
    ("10,001", "10,000"),
    ("15", "1.5"),
    ("1.5", "15"),
    ("100", "10"),
    ("10", "100"),
    ("10k", "10"),
    ("10 million", "10"),
    ("-5", "5"),
    ("5", "-5"),
    ("five outages", "outages"),
    ("dozens of outages", "outages"),
    ("2024-05-02", "2024-05-01"),
    ("2024-05-01", "2024, 5 and 1"),
    ("1.2.4", "1.2.3"),
    ("12", "1 and 2"),
    ("v2", "the version"),
    ("1" * 40 + "2", "1" * 41),
    ("\u0661\u0663", "12"),
]


@pytest.mark.parametrize(("text", "evidence"), INVENTED, ids=lambda text: text[:24])
def test_what_the_evidence_does_not_say_is_seen(text: str, evidence: str) -> None:
    assert invented(text, evidence) != frozenset()

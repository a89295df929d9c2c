"""Account and card numbers, each by its check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import iban, luhn

from idetic.gates.digits import Run
from idetic.gates.spans import Span

# A look ahead, so that what only begins like one does not swallow the one that follows.
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])(?=((?:[A-Za-z]{2}|[A-Z]{2}[ .\-])\d{2}"
    r"(?:[ .\-/_]{0,2}[A-Za-z0-9]){11,30}(?![A-Za-z0-9])))[A-Za-z]"
)
# Looked for from its digits, which are rarer than letters.
_IBAN_START = re.compile(
    r"[0-9][0-9](?:(?<=[A-Za-z]{2}..)(?<![A-Za-z0-9].{4})"
    r"|(?<=[A-Z]{2}[ .\-]..)(?<![A-Za-z0-9].{5}))"
)
_NOT_ALNUM = re.compile(r"[^A-Za-z0-9]")
_SHORTEST, _LONGEST = 15, 34

_GAP = r"[ .\-_/]{1,3}"
_WRITTEN = tuple(
    re.compile(rf"(?<!\d)(?<!\d[.,])(?=({form})(?!\d))\d")
    for form in (
        r"\d{13,19}",
        rf"(?:\d{{4}}{_GAP}){{3}}\d{{4}}",
        rf"(?:\d{{4}}{_GAP}){{4}}\d{{1,3}}",
        rf"(?:\d{{4}}{_GAP}){{3}}\d{{1,3}}",
        rf"\d{{4}}{_GAP}\d{{6}}{_GAP}\d{{4,5}}",
        rf"\d{{8}}{_GAP}\d{{8}}",
        rf"\d(?:{_GAP}\d){{12,18}}",
        rf"\d\d(?:{_GAP}\d\d){{6,8}}",
    )
)
# Who issues which numbers, and how long they are. One number in ten has the right check digit,
# so without the issuer every tenth long number would be a card.
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}"
    r"|6(?:011|4[4-9]\d|5\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12,15}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|62\d{14,17}|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"
)
_SAME = re.compile(r"(\d)\1+")


def ibans(text: str) -> Iterator[Span]:
    """International account numbers, however they are grouped."""
    if not _IBAN_START.search(text):
        return
    for found in _IBAN.finditer(text):
        if end := _iban_end(text, found):
            yield Span(found.start(), end, "iban")


def _iban_end(text: str, found: re.Match[str]) -> int | None:
    """Where the number ends: words may follow, and only one length has the right structure."""
    ends = [at + 1 for at in range(*found.span(1)) if text[at].isalnum()]
    compact = _NOT_ALNUM.sub("", found[1])
    for length in range(min(_LONGEST, len(compact)), _SHORTEST - 1, -1):
        if iban.is_valid(compact[:length], check_country=False):
            return ends[length - 1]
    return None


def cards(text: str, run: Run) -> Iterator[Span]:
    """Payment card numbers in one run of digits."""
    if run.digits < 13:
        return
    for form in _WRITTEN:
        for found in form.finditer(text, run.start, run.end):
            number = re.sub(r"\D", "", found[1])
            if _ISSUED.fullmatch(number) and luhn.is_valid(number) and not _SAME.fullmatch(number):
                yield Span(*found.span(1), "card")

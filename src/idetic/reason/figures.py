"""Which figures a text states, in a form that can be compared.

Digits are compared by value ("10,000" is 10000, "1.50" is 1.5, an ISO date is one figure), with
the letter that scales them ("10k"), and English number words by the number they mean. Units are
not compared, nor are number words of other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: str(n) for n, word in enumerate(_ONES.split())} | {
    word: str(n * 10) for n, word in enumerate(_TENS.split(), start=3)
}
_POWERS = "dozen|hundred|thousand|million|billion|trillion"

# "one" is mostly a pronoun, and "ten" a common word of Polish and Dutch: as evidence they count,
# as an assertion they do not.
_AMBIGUOUS = frozenset({"one", "ten"})

_FIGURE = re.compile(
    r"(?P<date>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    # A minus is a sign only where a number can begin; elsewhere it is a range or a hyphen.
    r"|(?P<sign>(?<![^\s(])[-\u2212])?(?P<number>\d+(?:[.,'\u2019]\d+)*)(?P<scale>(?:[kKMB]|bn)\b)?"
    rf"|\b(?i:(?P<word>{'|'.join(_WORDS)})|(?P<power>{_POWERS})s?)\b"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[,'\u2019]\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")


def stated(text: str) -> frozenset[str]:
    """The figures that a text asserts."""
    return frozenset(
        _value(found)
        for found in _found(text)
        if not (found["word"] and found["word"].lower() in _AMBIGUOUS)
    )


def supported(text: str) -> frozenset[str]:
    """The figures that a text is evidence for: every one of them, and the parts of a date."""
    found = list(_found(text))
    parts = (part for each in found if each["date"] for part in each["date"].split("-"))
    return frozenset(map(_value, found)) | frozenset(map(_number, parts))


def _found(text: str) -> Iterator[re.Match[str]]:
    # Compatibility forms and the digits of every script become the plain ones.
    folded = unicodedata.normalize("NFKC", text)
    return _FIGURE.finditer("".join(map(_plain_digit, folded)))


def _plain_digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


def _value(found: re.Match[str]) -> str:
    if found["number"]:
        sign, scale = "-" if found["sign"] else "", (found["scale"] or "").lower()
        return f"{sign}{_number(found['number'])}{scale}"
    if found["word"]:
        return _WORDS[found["word"].lower()]
    return str(found["date"] or found["power"].lower())


def _number(digits: str) -> str:
    """A number without what does not change it; as text, since no figure is too long for that."""
    if _THOUSANDS.fullmatch(digits):
        digits = re.sub(r"[,'\u2019]", "", digits)
    point = _DECIMAL.fullmatch(digits)
    if point:
        whole, fraction = point[1].lstrip("0") or "0", point[2].rstrip("0")
        return f"{whole}.{fraction}" if fraction else whole
    # Several separators make a version or an address, which is compared as it stands.
    return (digits.lstrip("0") or "0") if digits.isdecimal() else digits

"""Whether a text still says something after a gate."""

from __future__ import annotations

import re
from typing import NamedTuple

from idetic.gates.redaction import PLACEHOLDER

# Scripts that put no spaces between words; two of their characters make about one word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W_{_UNSPACED}]+")

_STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being both but by
    can could did do does done for from had has have he her here hers him his how i if in into is
    it its itself just may me might more most must my no nor not now of off on once only or other
    our out over own per same shall she should so some such than that the their them then there
    these they this those through to too under until up upon us very via was we were what when
    where which while who whom whose why will with within without would you your
    der die das den dem des ein eine und oder ist war sind mit von zu im am an auf bei nicht
    le la les un une et ou est sont avec de du des au aux dans sur pour pas
    el los las una y es son con del al en por para que no
    """.split()
)


# The words inside a name such as `getUserById`; a random string has hardly any.
_PART = re.compile(r"[A-Z]?[a-z]*[aeiouy][a-z]*")


class Words(NamedTuple):
    """How many words of which sort a text holds."""

    all: int
    meaningful: int
    placeholders: int


def words(text: str) -> Words:
    """Count the words of a text. A meaningful one has letters and is no stop word."""
    rest, placeholders = PLACEHOLDER.subn(" ", text)
    found = _WORD.findall(rest)
    meaningful = sum(1 for word in found if _means_something(word))
    return Words(len(found), meaningful, placeholders)


def wordiness(name: str) -> float:
    """The share of a name that reads as words: 0.1 for random base64, 0.8 for names in code."""
    return sum(len(part) for part in _PART.findall(name) if len(part) > 3) / max(1, len(name))


def _means_something(word: str) -> bool:
    if word.isdigit() or (len(word) < 2 and word.isascii()):
        return False
    return word.lower() not in _STOP_WORDS

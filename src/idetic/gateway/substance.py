"""How much an entry states: its content words, leaving out what it only asks.

A prior for conversations, where evidence is a statement and rarely a question or a nod. A spec
that does not weigh the signal pays nothing for it.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_STOP = frozenset(
    "a about after all also am an and any are as at be because been but by can could did do does "
    "for from get got had has have he her here him his how i i'm if in into is it it's its just "
    "me more my no not now of oh on or our out really she so some such than that that's the their "
    "them then there they this to too up us very was we well were what when where which who why "
    "will with would yes you your".split()
)
MAX = 32_767


def substance(text: str) -> int:
    """The number of content words in sentences that do not ask."""
    stated = (s for s in _SENTENCE.split(text) if not s.rstrip().endswith("?"))
    words = (word for sentence in stated for word in _WORD.findall(sentence.lower()))
    return min(MAX, sum(word not in _STOP for word in words))

"""One wording: a pattern, the kind of statement it makes, and where it may stand.

Beside it are the parts that most patterns share: the speaker, and what may follow it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .attributes import KINDS, AttributeKind

WHO, WE_ARE = r"(?i:i|we)", r"(?i:i'm|i am|im|we're|we are)"
AM = r"(?i:i'm|i am|im)"
HAVE = r"(?i:i have|i've got|i got|we have|we've got)"
# "I've", "we have", or nothing.
WHO_HAS = r"(?i:i've|i have|we've|we have|i|we)"
# What may stand between the speaker and the verb without changing what is said.
SOFTLY = (
    r"(?i:(?: (?:really|absolutely|just|also|still|totally|truly|always|simply|genuinely"
    r"|actually|particularly|especially|currently|recently|now|finally|only|mainly|mostly|usually"
    r"|both|sure|definitely|so|do(?= (?:really |still |also )?(?:love|like|enjoy|have|live|work"
    r"|play|speak|prefer|own)))\b)*+)"
)
_MONTH = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
)
DATE = (
    rf"(?P<value>(?i:(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b(?:,? (?:19|20)\d\d)?"
    r"|(?:19|20)\d\d-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.](?:19|20)?\d\d))"
)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say one kind of thing. `value` and `detail` stand in for a missing group."""

    kind: AttributeKind
    pattern: re.Pattern[str]
    negated: bool = False
    value: str = ""
    detail: str = ""
    change: bool = False
    """Whether it tells of a change, so that a date beside it is when it came about."""
    lower: bool = False
    """Whether it is only for texts without any capital."""
    anywhere: bool = False
    """Whether it may stand within a clause: "I took my dog Rex out" has a dog."""
    first: bool = False
    """Whether it must begin the sentence: elsewhere "always" is said of something."""
    listed: bool = False
    """Whether further things may follow: "peanuts, eggs and shellfish"."""
    shared: bool = False
    """Whether another wording may have its words too: "I'm a nurse at Bosch" says two things."""
    ends: bool = False
    """Whether it says that something is over: it changes only what was known before."""


def worded(kind: str, *parts: str, **more: bool | str) -> Wording:
    """A wording of whole words."""
    pattern = re.compile(rf"(?<![\w'-]){''.join(parts)}")
    return Wording(KINDS[kind], pattern, **more)  # type: ignore[arg-type]

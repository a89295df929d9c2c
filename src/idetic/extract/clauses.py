"""The sentences of a turn in which somebody speaks, and those from which nothing is drawn.

Everything here walks over the text once. Places in what it makes are places in the turn: signs
are replaced one for one, and what others said is covered, not cut out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .port import plain_signs

# What covers others' words: it is no letter, so that no wording is found below it.
COVER = "\u00b7"
# More than anybody says in one sentence. It bounds the work for texts that have none.
LONGEST = 600

_ENDS = re.compile(r"(?<=[.!?\u2026])[\"')\]]*(?=\s|$)|\n|[.!?]{2,}|\u2026")
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:St|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|Jr|vs|e\.g|i\.e|[A-Z])\.$")
_QUOTED = re.compile(
    r'"[^"\n]{1,400}"'
    # A single quote opens after a blank and closes before one: "I'm" has neither.
    r"|(?<![^\s(])'(?=\w)[^'\n]{0,40}(?:'\w[^'\n]{0,40}){0,8}'(?!\w)"
    r"|^[ ]*>[^\n]*"
    r"|```.{0,4000}?```|`[^`\n]{1,200}`",
    re.MULTILINE | re.DOTALL,
)

_ASKS = re.compile(
    r"(?:(?:so|and|but|hey|oh|well|wow|now|then|also)[, ]+)*"
    r"(?:do|does|did|are|is|am|was|were|can|could|would|should|will|shall|may|might|have|has|what"
    r"|what's|where|when|why|how|who|whose|which|isn't|aren't|don't|doesn't|didn't|can't|guess)\b",
    re.IGNORECASE,
)
# Where a statement ends and a question begins: "I'm vegan, what should I cook?"
_TURNS_TO_ASK = re.compile(
    r"(?:[,;:]|\s[-\u2013\u2014])\s*(?:(?:so|and|but)\s+)?"
    r"(?=(?:what|where|when|why|how|who|which|can|could|would|should|do|does|did|is|are|any|will"
    r"|please)\b)",
    re.IGNORECASE,
)
# A question so short only asks for consent: "I live in Rome, do I?"
_TAG = 3

# Before a statement, these say that it is none, or not the speaker's own, or no longer so.
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|wish|wished|would|wouldn't|could|couldn't|might|(?-i:may)|maybe|perhaps"
    r"|imagine|imagining|pretend|pretending|suppose|supposing|hopefully|hope|hoping|wonder|assume"
    r"|let's say|say that|as though|almost|nearly|thought|think|thinks|guess|seems?|dreamed|dreamt"
    r"|dream|joke|character|novel|says?|said|saying|tells?|told|telling|asked|asks|claims?|claimed"
    r"|heard|believes?|believed|wrote|writes|reads|quote|lyrics?|song goes|someday|one day"
    r"|used to|back then|back when|when|growing up|as a (?:kid|child|teen)|in my youth"
    r"|no longer|'d|until)\b",
    re.IGNORECASE,
)
_JOKES = re.compile(
    r"\b(?:kidding|jk|joking|april fools|sarcasm)\b|(?<!\S)/s\b",
    re.IGNORECASE,
)
# A sentence about what is gone, or that laughs, says nothing of what is.
_IDLE = re.compile(
    r"\b(?:lol|lmao|rofl|hehe\w*|haha\w*|passed away|died|dead|lost|sold|donated|gave away)\b",
    re.IGNORECASE,
)
# What may stand right before a statement: the beginning, a break, or a word that joins or greets.
_OPENS = re.compile(
    r"(?:^[\"'(\s]*|[,;:(]\s*|\s[-\u2013\u2014]+\s*|\b(?:and|but|so|because|cuz|cause|since|also"
    r"|plus|though|actually|yeah|yes|yep|no|well|oh|hi|hey|hello|honestly|personally|btw|fyi|wow"
    r"|anyway|currently|now|recently|as|true|same|however|today|please|haha|thanks)[,]?\s+"
    # "Ada, I …", and a date: "In May 2020 we …".
    r"|^[A-Z]\w+,?\s+|^(?:in|since|last|this)\s\w+(?:\s\d{4})?,?\s+)$",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"(?:(?:please|also|and|oh|yeah|yes|so|ok|okay|btw|hey|hi|thanks)[,!]? +|by the way,? +)*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of a turn in plain signs, others' words covered; `start` is its place."""

    text: str
    start: int

    def begins(self, place: int) -> bool:
        """Whether nothing but a greeting or an interjection stands before this place."""
        return _FIRST.fullmatch(self.text, 0, place) is not None

    def opens(self, place: int, *, within: bool = False) -> bool:
        """Whether a statement of the speaker's own may begin at this place, or stand there."""
        before = self.text[max(0, place - 40) : place]
        # The mark keeps the middle of a sentence from looking like its beginning.
        if not within and not _OPENS.search(before if place <= 40 else f"\u0001{before}"):
            return False
        return not _UNREAL.search(self.text, 0, place)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a turn that state something, each whole or up to where it asks."""
    plain = covered(plain_signs(text))
    if _JOKES.search(plain):
        return
    for start, end in _spans(plain):
        sentence = _stated(plain[start:end], start)
        if sentence is not None:
            yield sentence


def covered(plain: str) -> str:
    """A text whose quotations are covered, of the same length."""
    return _QUOTED.sub(lambda found: COVER * len(found[0]), plain)


def _spans(plain: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends."""
    start = 0
    for found in _ENDS.finditer(plain):
        end = found.end()
        if not _ABBREVIATED.search(plain, max(start, end - 8), end):
            yield start, end
            start = end
    yield start, len(plain)


def _stated(sentence: str, start: int) -> Sentence | None:
    """What a sentence states: all of it, the part before a question, or nothing."""
    lead = len(sentence) - len(sentence.lstrip())
    sentence, start = sentence.strip(), start + lead
    if not sentence or len(sentence) > LONGEST or _ASKS.match(sentence) or _IDLE.search(sentence):
        return None
    if not sentence.rstrip("\"')").endswith("?"):
        return Sentence(sentence, start)
    turns = list(_TURNS_TO_ASK.finditer(sentence))
    if not turns or len(sentence[turns[0].end() :].split()) <= _TAG:
        return None
    return Sentence(sentence[: turns[0].start()], start)

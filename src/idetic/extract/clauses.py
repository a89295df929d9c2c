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
    r"(?:do(?! not\b)|does|did|are|is|am|was|were|can|could|would|should|will|shall|may|might"
    # "When you write code, use tabs" asks for something, and is no question.
    r"|have|has|what|what's|where|when(?! you [^?]{3,60}, )|why|how|who|whose|which|isn't|aren't"
    r"|don't (?:you|i|we|they)|doesn't|didn't|can't|guess)\b",
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
    r"|for example|for instance|e\.g|used to|back then|back when|when|growing up"
    r"|as a (?:kid|child|teen)|in my youth"
    r"|no longer|'d|until)\b",
    re.IGNORECASE,
)
_JOKES = re.compile(
    r"\b(?:kidding|jk|joking|april fools|sarcasm|yeah,? right)\b|(?<!\S)/s\b"
    r"|[.!\u2026] ?not!",
    re.IGNORECASE,
)
# After a statement, these take it back, or say that it was none.
_UNDONE = re.compile(
    r"[,(] ?not really\b|\b(?:i mean|i meant|or rather|scratch that|or at least|no,? wait|wait,? no"
    r"|pretend\w*|imagin(?:e|ing)|let's say|hypothetically|supposedly"
    r"|in (?:my|an?|the|this|that) (?:dreams?|game|story|novel|movie|film|simulation|scenario"
    r"|past life))\b",
    re.IGNORECASE,
)
# What somebody gives an assistant to work on, or has it make up, is not said of themselves: all
# that follows "translate this:" or "write a story that begins".
_MATERIAL = re.compile(
    r"(?:^|[.!?\n] ?)(?:(?:please|now|then|hey|ok|okay|so|let's|can you|could you|would you"
    r"|help me)[, ]+)*(?:(?:translate|proofread|proof-read|rewrite|rephrase|paraphrase|summari[sz]e"
    r"|correct|edit|fix|improve|polish|check|shorten|analy[sz]e|classify|complete|continue|repeat|say)\b[^.!?\n:]{0,120}:"
    r"|(?:write|draft|compose|make up|imagine|act|role-?play|pretend|create|generate)\b"
    r"[^.!?\n]{0,120}?(?::|\b(?:story|poem|dialogue|dialog|song|lyrics|scene|novel|monologue|joke"
    r"|character|role-?play|persona|as if|as an?)\b)"
    # Whatever follows is part of the game, of the letter or of the draft.
    r"|(?:pretend|imagine|suppose|role-?play)\b|(?:dear [a-z][^.!?\n,:]{1,60}[,:]|subject:)"
    r"|(?:here(?:'s| is| are)|this is|below is|my)\b[^.!?\n:]{0,40}\b(?:draft|text|essay|story"
    r"|letter|e-?mail|bio|biography|cv|resume|paragraph|abstract|poem|song|speech|script|transcript"
    r"|chat|post|caption|prompt|excerpt|passage|sentences?|message|intro|introduction|statement)\b"
    r"[^.!?\n:]{0,40}:)",
    re.IGNORECASE,
)
# "N: My name is Nikki." is a line of a transcript.
_LABEL = re.compile(
    r"(?:[-*>] ?)?(?:[\[(]?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?[\])]? ?(?:- )?)?"
    r"(?!(?:note|remember|fyi|ps|update|also|please|reminder|important|actually|correction|allergies"
    r"|pronouns|name|my)\b)(?:[a-z]|[a-z][\w.]{1,15}(?: [a-z]\w{1,15})?):\s",
    re.IGNORECASE,
)
# Praise that means the opposite.
_MOCKS = re.compile(
    r"(?:oh|ah|wow|well),? (?:great|joy|wonderful|fantastic|perfect|lovely|brilliant|yeah|sure)\b"
    r"|(?:great|wonderful|fantastic|perfect|brilliant),? just what",
    re.IGNORECASE,
)
# A sentence that laughs says nothing of what is; one about what is gone, only that.
_IDLE = re.compile(r"\b(?:lol|lmao|rofl|hehe\w*|haha\w*)\b", re.IGNORECASE)
_GONE = re.compile(
    r"\b(?:passed away|died|dead|lost|sold|donated|gave away|got rid of|broke up|split up|dumped me"
    r"|divorced me|stolen)\b",
    re.IGNORECASE,
)
# What may stand right before a statement: the beginning, a break, or a word that joins or greets.
_OPENS = re.compile(
    r"(?:^[\"'(\s]*|[,;:(]\s*|\s[-\u2013\u2014]+\s*|\b(?:and|but|so|because|cuz|cause|since|also"
    r"|plus|though|actually|yeah|yes|yep|no|well|oh|hi|hey|hello|honestly|personally|btw|fyi|wow"
    r"|anyway|currently|now|recently|as|true|same|however|today|please|haha|thanks|i meant|i mean"
    r"|sorry|note that|remember that|remember|know that|keep in mind that|don't forget that)[,]?\s+"
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
    past: bool = False
    """Whether it tells of what is gone: it may end something, and says nothing of what is."""
    asks: bool = False
    """Whether a question follows it: "be honest" is then asked for once."""

    def begins(self, place: int) -> bool:
        """Whether nothing but a greeting or an interjection stands before this place."""
        return _FIRST.fullmatch(self.text, 0, place) is not None

    def opens(self, place: int, *, within: bool = False) -> bool:
        """Whether a statement of the speaker's own may begin at this place, or stand there."""
        before = self.text[max(0, place - 40) : place]
        # The mark keeps the middle of a sentence from looking like its beginning.
        if not within and not _OPENS.search(before if place <= 40 else f"\u0001{before}"):
            return False
        return not (_UNREAL.search(self.text, 0, place) or _UNDONE.search(self.text, place))


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a turn that state something, each whole or up to where it asks."""
    plain = covered(plain_signs(text))
    if _JOKES.search(plain):
        return
    if (given := _MATERIAL.search(plain)) is not None:
        plain = plain[: given.start()]
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
    if not sentence or len(sentence) > LONGEST or _ASKS.match(sentence):
        return None
    if _IDLE.search(sentence) or _MOCKS.match(sentence) or _LABEL.match(sentence):
        return None
    past = _GONE.search(sentence) is not None
    if not sentence.rstrip("\"')").endswith("?"):
        return Sentence(sentence, start, past)
    turns = list(_TURNS_TO_ASK.finditer(sentence))
    if not turns or len(sentence[turns[0].end() :].split()) <= _TAG:
        return None
    return Sentence(sentence[: turns[0].start()], start, past, asks=True)

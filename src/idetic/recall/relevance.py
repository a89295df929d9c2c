"""Relevance on two levels: does memory know anything about a question, and does a hit help?

Both are probabilities by a plain logistic regression over raw features, never over ranks or
weighted scores: they mean the same for every spec and fusion. Neither orders anything. The
coefficients come from `python -m bench.relevance --fit`, which asks LoCoMo's first five
conversations, and parts of them of 1 to 30 entries, their own questions and each other's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from uuid import UUID

from idetic.spec.primitives import Signal
from idetic.store.recall_grounds import QuestionGrounds
from idetic.store.recall_query import Hit

Features = dict[str, float]
Coefficients = Mapping[str, float]


class Sense(StrEnum):
    """What a relevance was judged by."""

    BOTH = "meaning and words"
    WORDS = "words"
    MEANING = "meaning"


@dataclass(frozen=True, slots=True)
class Company:
    """What the hits of one question tell about each other.

    `addressed`: the question names somebody whose words are among them. `dated`: it is about a
    time, and one of them fits. `places`: how far the best of each interaction or session lies
    behind. An answer stands beside what the question meets.
    """

    addressed: bool = False
    dated: bool = False
    places: Mapping[UUID, float] = field(default_factory=dict)
    _odds: dict[Sense, float] = field(default_factory=dict)

    @classmethod
    def of(cls, hits: Sequence[Hit]) -> Company:
        """The company of these hits."""
        places: dict[UUID, float] = {}
        for hit in hits:
            places[_place(hit)] = min(_behind(hit), places.get(_place(hit), 1.0))
        addressed, dated = (
            any(_value(hit, signal) for hit in hits) for signal in (Signal.SPEAKER, Signal.TIME)
        )
        return cls(addressed, dated, places)

    def odds(self, grounds: QuestionGrounds, sense: Sense) -> float:
        """The odds that memory knows something, the same for each hit of the question."""
        if sense not in self._odds:
            self._odds[sense] = min(max(_log_odds(grounds, sense), -_SURE), _SURE)
        return self._odds[sense]

    def behind(self, hit: Hit) -> float:
        """How far the best beside a hit lies behind, from 0 to 1; by itself if it stands alone."""
        return self.places.get(_place(hit), _behind(hit))


# A question of one or two words says little by not being met: its coverage is drawn to what is
# usual, as if this many unheard words more were met that far.
_DRAWN, _USUAL = 2, 0.4
# What a hit owes to the question as a whole ends here.
_SURE = 6.0
# An entry of so many words says as much as any longer one.
_FULL = 30
# A question of fewer words that count is a short one.
_BRIEF = 12
# The words by which a hit names a time, looked for among its first characters.
_TIMES = frozenset(
    "yesterday today tonight tomorrow last next ago morning night day days week weeks weekend "
    "month months year years".split()
)
_LETTERS = re.compile("[a-z]+")
_READ = 500

KNOWN: dict[Sense, Coefficients] = {
    Sense.BOTH: {
        "constant": -12.02,
        "nearest": 18.78,
        "coverage": 10.8,
        "name known": -0.3743,
        "name unheard": -3.319,
        "known x nearest": 5.316,
        "known x coverage": -1.767,
        "unheard x nearest": 7.415,
        "unheard x coverage": -3.777,
        "size": -0.7262,
    },
    Sense.WORDS: {
        "constant": -2.793,
        "coverage": 14.64,
        "name known": 2.987,
        "name unheard": -0.3416,
        "size": -0.584,
    },
    Sense.MEANING: {
        "constant": -18.45,
        "nearest": 34.68,
        "size": -0.5116,
    },
}
RELEVANT: dict[Sense, Coefficients] = {
    Sense.BOTH: {
        "constant": -5.662,
        "below": -2.754,
        "words behind": -4.382,
        "coverage behind": 0.3695,
        "known x coverage": -0.841,
        "far below": 0.8569,
        "far in words": 2.167,
        "far together": -1.234,
        "place behind": -0.1842,
        "known x place": -0.4112,
        "names a time": 0.3631,
        "asked of a time": -1.346,
        "time in both": 1.126,
        "says": 2.961,
        "known squared": -0.09102,
        "statement": 0.6151,
        "length": 0.1543,
        "other speaker": -0.5996,
        "time": 1.925,
        "known": 0.9834,
    },
    Sense.WORDS: {
        "constant": -7.119,
        "words behind": -4.861,
        "coverage behind": -0.1079,
        "known x words": -0.3842,
        "known x coverage": -0.4183,
        "statement": 1.113,
        "length": 1.043,
        "other speaker": -1.067,
        "time": 2.06,
        "known": 0.5751,
    },
    Sense.MEANING: {
        "constant": -8.435,
        "below": -5.639,
        "known x below": -0.1434,
        "statement": 0.9133,
        "length": 1.63,
        "other speaker": 0.01746,
        "time": 2.057,
        "known": 0.4811,
    },
}
# The floors that the same command chose on the same conversations, asked whole: nine tenths of
# foreign questions lie below the first, 3.8 % of the evidence below the second: conversations that
# nothing was fitted on lose a quarter more. A spec decides whether they count (`retrieval.floors`).
QUESTION_FLOOR = 0.282
HIT_FLOOR = 0.0112


def judged(hits: Sequence[Hit], grounds: QuestionGrounds) -> list[Hit]:
    """The hits, each with its relevance."""
    company = Company.of(hits)
    return [replace(hit, relevance=relevance(hit, grounds, company)) for hit in hits]


def known(grounds: QuestionGrounds) -> float | None:
    """How probable it is that memory knows something about the question.

    Among as many questions that it knows as questions that it does not. None where the spec
    weighs neither meaning nor words: then nothing is known of what a question has to do with it.
    """
    sense = sense_of(grounds)
    if not grounds.entries:
        return 0.0
    return None if sense is None else _probability(_log_odds(grounds, sense))


def relevance(hit: Hit, grounds: QuestionGrounds, company: Company | None = None) -> float | None:
    """The share of hits like this one that are relevant to their question."""
    sense = sense_of(grounds, hit)
    if sense is None:
        return None
    features = hit_features(hit, grounds, sense, company or Company())
    return _probability(_sum(RELEVANT[sense], features))


def sense_of(grounds: QuestionGrounds, hit: Hit | None = None) -> Sense | None:
    """What a question, or one hit of it, can be judged by: an entry may wait for its vector."""
    meant = grounds.nearest is not None and (hit is None or hit.similarity is not None)
    if grounds.rarity is None:
        return Sense.MEANING if meant else None
    return Sense.BOTH if meant else Sense.WORDS


def question_features(grounds: QuestionGrounds) -> Features:
    """What speaks for and against a question; each sense reads what it has."""
    heard = set(grounds.rarity or ())
    nearest, cover = grounds.nearest or 0.0, _coverage(grounds, grounds.covered)
    known = float(any(word in heard for word in grounds.named))
    unheard = float(any(word not in heard for word in grounds.named))
    return {
        "nearest": nearest,
        "coverage": cover,
        "name known": known,
        "name unheard": unheard,
        # Beside a name, being near and being covered say more or less than without one.
        "known x nearest": known * nearest,
        "known x coverage": known * cover,
        "unheard x nearest": unheard * nearest,
        "unheard x coverage": unheard * cover,
        # Among many entries one is near by chance.
        "size": math.log(max(grounds.entries, 1)),
    }


def hit_features(hit: Hit, grounds: QuestionGrounds, sense: Sense, company: Company) -> Features:
    """What speaks for and against a hit: how far it lies behind the best, and what it is."""
    known = company.odds(grounds, sense)
    below, place = 1.0 - _value(hit, Signal.SEMANTIC), company.behind(hit)
    # Where no entry has a word of the question, none lies behind.
    words = 1.0 - hit.grounds.lexical if grounds.covered else 0.0
    cover = _coverage(grounds, grounds.covered) - _coverage(grounds, hit.grounds.covered)
    named, dated = float(_names_a_time(hit)), float(company.dated)
    return {
        "below": below,
        "words behind": words,
        "coverage behind": cover,
        "far below": below**2,
        "far in words": words**2,
        "far together": below * words,
        "place behind": place,
        "statement": float(_stated(hit)),
        "says": _value(hit, Signal.STATEMENT),
        "length": math.log(1 + min(hit.grounds.words, _FULL)),
        "other speaker": float(company.addressed and not _value(hit, Signal.SPEAKER)),
        "time": _value(hit, Signal.TIME),
        "names a time": named,
        "asked of a time": dated,
        "time in both": dated * named,
        "known": known,
        # What a question adds to its hits grows slower the surer it is.
        "known squared": known**2,
        # The surer the question, the more it says to lie behind.
        "known x below": known * below,
        "known x words": known * words,
        "known x coverage": known * cover,
        "known x place": known * place,
    }


def _place(hit: Hit) -> UUID:
    """Where an entry stands; one without a scope stands alone."""
    return hit.entry.interaction_id or hit.entry.session_id or hit.entry.id


def _behind(hit: Hit) -> float:
    """How far a hit lies behind the best, by meaning and by words."""
    return 1.0 - (_value(hit, Signal.SEMANTIC) + hit.grounds.lexical) / 2


def _value(hit: Hit, signal: Signal) -> float:
    """A signal's value of a hit, whether the spec weighs it or not."""
    word = hit.signals.get(signal)
    return 0.0 if word is None or word.value is None else word.value


def _names_a_time(hit: Hit) -> bool:
    """Whether a hit tells when something was or will be: such turns are what is asked about."""
    return not _TIMES.isdisjoint(_LETTERS.findall(hit.excerpt[:_READ].lower()))


def _stated(hit: Hit) -> bool:
    """Whether a hit is more than a short question or a single word."""
    said = hit.entry.body_text.split()
    return hit.grounds.words >= _BRIEF or (len(said) > 1 and not said[-1].endswith("?"))


def _coverage(grounds: QuestionGrounds, covered: float) -> float:
    """The share of the question's rare words that stand together, by their rarity."""
    drawn = _DRAWN * grounds.unheard_rarity
    return (covered + _USUAL * drawn) / (grounds.total + drawn)


def _log_odds(grounds: QuestionGrounds, sense: Sense) -> float:
    """The odds that memory knows something, as a logarithm."""
    return _sum(KNOWN[sense], question_features(grounds))


def _sum(coefficients: Coefficients, features: Features) -> float:
    """The features by their coefficients; one that a sense does not have counts nothing."""
    constant = coefficients["constant"]
    return constant + sum(weight * features.get(name, 0.0) for name, weight in coefficients.items())


def _probability(log_odds: float) -> float:
    """Odds as a share of 1."""
    return 1 / (1 + math.exp(-min(max(log_odds, -30.0), 30.0)))

"""When two statements say the same thing, decided without a model and explained with numbers.

Claims decide first: the same subject, attribute and value is the same statement whatever its
words; another value is a conflict, and nothing else is. Without claims similarity proposes and
the words confirm: half of 200 pairs that differ in one detail have a cosine above 0.92
(docs/explanation/sameness.md). A wrong merge loses a distinction; a missed one costs a row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any
from unicodedata import category

from idetic.errors import InputError
from idetic.lifecycle.statement_words import Word, WordKind, normalised, read
from idetic.model import Claim
from idetic.spec.typology import PromotionPolicy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = Sequence[float] | npt.NDArray[np.floating[Any]]

# Openings of a phrase that may stand before or after its clause: "on Sunday it left", "it left
# on Sunday". What opens otherwise keeps its place: "only I eat fish", "I eat fish only".
_MOVABLE = frozenset(
    "after at because before by during for from if in on since to until when with within".split()
)


@dataclass(frozen=True, slots=True)
class ComparedStatement:
    """What an entry says: its text, its claim if it has one, its vector if there is one."""

    text: str
    claim: Claim | None = None
    vector: Vector | None = field(default=None, compare=False, repr=False)


class Sameness(StrEnum):
    """How two statements stand to each other."""

    SAME = "same"
    DIFFERENT = "different"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict, the cosine and the trigram similarity behind it, and its reason in words."""

    verdict: Sameness
    similarity: float | None
    trigram: float | None
    why: str


class _Reading:
    """A statement as it is compared, worked out once."""

    def __init__(self, statement: ComparedStatement) -> None:
        claim = statement.claim
        self.words = read(statement.text)
        # The words as well: casefolding makes Mb of MB and "us" of "US".
        self.identity = (normalised(statement.text), tuple(w.value for w in self.words))
        self.key = (normalised(claim.subject), normalised(claim.attribute)) if claim else None
        self.claim = (*self.key, normalised(claim.value)) if claim and self.key else None
        self.text, self.vector = statement.text, statement.vector

    @cached_property
    def trigrams(self) -> frozenset[str]:
        """The trigrams of its text, made once, and only if it is compared by them."""
        return trigrams(self.text)


def compare(
    left: ComparedStatement, right: ComparedStatement, policy: PromotionPolicy
) -> Comparison:
    """How two statements stand to each other under a policy's thresholds."""
    return _compare(_Reading(left), _Reading(right), policy)


def group(statements: Sequence[ComparedStatement], policy: PromotionPolicy) -> list[list[int]]:
    """The statements' positions in groups that say the same, each led by its first member.

    A group holds one claim at most. Without one, only leaders with the same words, in any order,
    are compared: nothing else can be the same, so this stays linear.
    """
    readings = [_Reading(statement) for statement in statements]
    groups: dict[object, list[int]] = {}
    claims: defaultdict[object, set[object]] = defaultdict(set)
    leaders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, reading in enumerate(readings):
        if reading.claim:
            groups.setdefault(reading.claim, []).append(position)
            claims[reading.identity].add(reading.claim)
    for position, reading in [(n, r) for n, r in enumerate(readings) if not r.claim]:
        # A text that stands under two claims corroborates neither of them.
        if len(claims[reading.identity]) == 1:
            groups[next(iter(claims[reading.identity]))].append(position)
            continue
        known = leaders[tuple(sorted(word.value for word in reading.words))]
        same = (n for n in known if _compare(readings[n], reading, policy).verdict is Sameness.SAME)
        leader = next(same, position)
        groups.setdefault(leader, []).append(position)
        if leader == position:
            known.append(position)
    return sorted(sorted(members) for members in groups.values())


def trigrams(text: str) -> frozenset[str]:
    """The trigrams that pg_trgm finds: of each word, with two spaces before and one after."""
    # A combining mark is no letter here; to the server, the vowel signs of some scripts are.
    spaced = (c.lower()[0] if c.isalnum() and category(c) != "No" else " " for c in text)
    words = "".join(spaced).split()
    return frozenset(f"  {word} "[i : i + 3] for word in words for i in range(len(word) + 1))


def trigram_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """pg_trgm's similarity: what two sets of trigrams share; nothing, if one is empty."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0


def differences(left: Sequence[Word], right: Sequence[Word]) -> list[str]:
    """What only one of them has, by kind, the critical kinds first; else their order."""
    ours, theirs = Counter(w.value for w in left), Counter(w.value for w in right)
    kinds = {word.value: word.kind for word in (*right, *left)}
    told = []
    for kind in WordKind:
        only = (ours - theirs, theirs - ours)
        sides = [" ".join(v for v in side if kinds[v] is kind) for side in only]
        if any(sides):
            told.append(f"{kind} " + " | ".join(side or "(nothing)" for side in sides))
    if not left and not right:
        told.append("all, for all that their words tell")
    elif not told and not (_moved(left, right) or _moved(right, left)):
        told.append("the order of the words")
    return told


def _moved(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether `right` is `left`, or `left` with its opening phrase moved to the end."""
    ours, theirs = [w.value for w in left], [w.value for w in right]
    if ours == theirs or not (ours[0] in _MOVABLE or left[0].kind is WordKind.DATE):
        return ours == theirs
    starts = (n for n in range(1, len(ours)) if ours[n] == theirs[0])
    cuts = [n for n in starts if ours[n:] + ours[:n] == theirs]
    # Beside a joint, "only" and "not" would reach into another phrase than before.
    joints = {left[at].kind for n in cuts for at in (n - 1, n, -1)}
    return bool(cuts) and not joints & {WordKind.NEGATION, WordKind.QUANTIFIER}


def _compare(left: _Reading, right: _Reading, policy: PromotionPolicy) -> Comparison:
    """Compare two readings: their claims decide, and where those say nothing, their words."""
    cosine = _cosine(left.vector, right.vector)
    trigram = trigram_similarity(left.trigrams, right.trigrams)
    near = f"trigram {trigram:.3f} (from {policy.dedup_trigram})"
    if cosine is not None:
        near = f"cosine {cosine:.3f} (from {policy.dedup_similarity}), {near}"
    proposed = trigram >= policy.dedup_trigram or (cosine or 0) >= policy.dedup_similarity
    verdict, why = _by_claim(left, right) or _by_words(left, right, near, proposed)
    return Comparison(verdict, cosine, trigram, why)


def _by_claim(left: _Reading, right: _Reading) -> tuple[Sameness, str] | None:
    """What the claims decide; None where neither statement has one."""
    if left.claim == right.claim:
        return (Sameness.SAME, "the same claim") if left.claim else None
    if left.key == right.key:
        return Sameness.CONFLICT, "the same subject and attribute, another value"
    if left.claim and right.claim:
        return Sameness.DIFFERENT, "claims about different things"
    if left.identity == right.identity:
        return Sameness.SAME, "the same text"
    return Sameness.DIFFERENT, "only one makes a claim"


def _by_words(left: _Reading, right: _Reading, near: str, proposed: bool) -> tuple[Sameness, str]:
    """What the words decide: near statements are the same unless a word that counts differs."""
    if left.identity == right.identity:
        return Sameness.SAME, "the same text"
    if not proposed:
        return Sameness.DIFFERENT, f"{near}: too far"
    if told := "; ".join(differences(left.words, right.words)):
        return Sameness.DIFFERENT, f"{near}: near, but they differ in {told}"
    return Sameness.SAME, f"{near}: near, and the same words"


def _cosine(left: Vector | None, right: Vector | None) -> float | None:
    """The cosine of two vectors, or None where one is missing; zeros are near nothing."""
    if left is None or right is None:
        return None
    import numpy as np  # noqa: PLC0415 - importing idetic stays light

    one, other = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if one.shape != other.shape:
        raise InputError(f"Vectors of {one.size} and {other.size} numbers cannot be compared.")
    # Zeros have no direction: divided by 1, their cosine is 0.
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other) or 1.0))

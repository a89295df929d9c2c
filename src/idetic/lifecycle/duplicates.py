"""When two statements say the same thing, decided without a model and explained with numbers.

Claims decide first: the same subject, attribute and value is the same statement whatever its
words; another value is a conflict, and nothing else is. Without claims similarity proposes and
the words confirm: half of 200 pairs that differ in one detail have a cosine above 0.92
(docs/explanation/sameness.md). A wrong merge loses a distinction; a missed one costs a row.

Of the words, writing is levelled where it carries no meaning: case, articles, contractions,
thousands separators, spelled-out numbers, names of units. All that remains counts, and each word is
of a kind, so that a difference can be named: "number 5 | 6" tells more than "0.98 is too little".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from idetic.errors import InputError
from idetic.folding import trigram_similarity, trigrams
from idetic.gates.crossing import give_way
from idetic.model import Claim
from idetic.spec.typology import PromotionPolicy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = Sequence[float] | npt.NDArray[np.floating[Any]]


# With so many that have its words in another order a statement is compared.
MOST_COMPARED = 8


class WordKind(StrEnum):
    """What a word decides. All but the last are critical: one of them turns a sentence around."""

    NUMBER = "number"
    UNIT = "unit"
    NEGATION = "negation"
    DATE = "date"
    QUANTIFIER = "quantifier"
    MODE = "mode"
    CONTRAST = "contrast"
    NAME = "name"
    WORD = "word"


class Word(NamedTuple):
    """One word as it is compared, and its kind, which only explains."""

    value: str
    kind: WordKind


_MONTHS = "january february march april may june july august september october november december"
_KINDS = {
    WordKind.NEGATION: "no not never none nobody nothing nowhere nor neither without unless except "
    "hardly barely scarcely rarely seldom fail fails failed lack lacks lacked unable unavailable "
    "deny denies denied refuse refuses refused stop stops stopped longer ≠",
    # Not May, which is above all a verb; as it is compared, that makes no difference.
    WordKind.DATE: _MONTHS.replace("may ", "") + " monday mondays tuesday tuesdays wednesday "
    "wednesdays thursday thursdays friday fridays saturday saturdays sunday sundays today "
    "yesterday tomorrow tonight morning mornings noon afternoon afternoons evening evenings "
    "night nights midnight weekend weekends spring summer autumn winter daily weekly monthly "
    "yearly hour day week month quarter year",
    WordKind.QUANTIFIER: "all some any every each only most mostly many much few several both "
    "either half part whole single everyone anyone someone always usually often sometimes "
    "occasionally nearly almost about exactly least also even just a the",
    WordKind.MODE: "must may might should can could will would shall need needs ought have has had "
    "was were be been being ?",
    WordKind.CONTRAST: "before after until since during while above below over under more less "
    "fewer higher lower increase increases increased decrease decreases decreased rise rises rose "
    "fall falls fell allow allows allowed block blocks blocked forbid forbids forbidden enable "
    "enables enabled disable disables disabled last next minimum maximum min max up down early "
    "late earlier later shorter faster slower cheaper dearer better worse best worst left right "
    "open opens opened close closes closed inbound outbound in out on off to from into with and or "
    "if when because although though than accept accepted reject rejected + < > = ≤ ≥",
}
_KIND = {word: kind for kind, words in _KINDS.items() for word in words.split()}
# First the unit as it is compared, then its other spellings. They count directly after a number.
_UNITS = """
%: percent pct|€: eur euro euros|$: dollar dollars|£: gbp|¥|usd|chf|yen|yuan|pound: pounds
kg: kilogram kilograms kilo kilos|g: gram grams|mg: milligram milligrams|t: tonne tonnes
ton: tons|l: litre litres liter liters|ml: millilitre millilitres milliliter milliliters
gallon: gallons|km: kilometre kilometres kilometer kilometers|m: metre metres meter meters|cm|mm
mile: miles mi|ms: millisecond milliseconds|s: sec secs second seconds
minute: minutes min mins|h: hr hrs hour hours|day: days|week: weeks|month: months|year: years
am|pm|°|°c|°f|kb|mb|gb|tb|kib|mib|gib|kbps|mbps|gbps|hz|khz|mhz|ghz|w|kw|mw
"""
_UNIT = {
    spelling: group.split(":")[0]
    for group in _UNITS.strip().replace("\n", "|").split("|")
    for spelling in group.replace(":", " ").split()
}
_CURRENCIES = frozenset("€ $ £ ¥ eur usd gbp chf".split())
# Spelled out, a unit's capitals mean nothing; in symbols they do: Mb is an eighth of MB.
_SPELLED_UNIT = re.compile(r"[aeou]|^pm$")
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NUMBER = {name: str(value) for value, name in enumerate(_NUMBERS)} | {"dozen": "12"}
_NUMBER |= {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"}

_LIGHT = frozenset("a an the of is are am".split())
# "Few" is not "a few", "only a child" not "the only child", "a second try" not "the second".
_KEEPS_LIGHT = frozenset("few little bit lot couple number only second third".split())
_ENDINGS = {"n't": " not", "'ve": " have", "'re": " are", "'m": " am", "'ll": " will"}
_WHOLE = {"can't": "can not", "won't": "will not", "cannot": "can not", "&": "and"}
_WHOLE |= {"e-mail": "email", "e-mails": "emails"}
# After a noun, 's may be a genitive; that counts.
_WHOLE |= {f"{word}'s": word for word in "he she it that there here what who where".split()}
# In capitals these are names, in small letters pronouns.
_ACRONYMS = frozenset({"US", "IT", "WHO"})

_LEVEL = str.maketrans("’‘ʼ−‐‑–—", "'''-----")  # noqa: RUF001 - these are what is levelled
# What NFKC or the cutting below would lose: 10⁵ is not 105, .5 not 5, 5' not 5", 5 - 8 not 5, 8.
_KEEP = (
    (re.compile(r"(?<=\d)(?=[⁰¹²³⁴-⁹⁺⁻½¼¾⅐-⅞])"), " "),
    (re.compile(r"(?<![\w.])\.(?=\d)"), "0."),
    (re.compile(r"(?<=\d)'(?!\w)"), "ft"),
    (re.compile(r'(?<=\d)"'), "in"),
    (re.compile(r"(?<=\d)\s+-\s+(?=\d)"), "-"),
    (re.compile(r"!="), "≠"),
)
# Of Latin letters alone: elsewhere a mark makes another letter.
_ACCENTS = re.compile(r"([A-Za-z])[\u0300-\u030c\u0327\u0328]+")
_SILENT = ".,;:!\"'()[]{}«»“”„…*`"
_CUT = re.compile(rf"[\s{re.escape(_SILENT)}-]+")
_SYMBOL = re.compile(r"([?=≠<>≤≥+/~^|&#%€$£¥])")
_SIGN = re.compile(r"[-+](?=[€$£¥]?\d)")
_AMOUNT = re.compile(r"([€$£¥]?)(\d[\d.,]*)(°?[^\W\d]*|[%€$£¥])(\??)")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# Digits, the marks of identifiers and addresses, a capital inside, flags, "O-", "!enabled".
_CODE = re.compile(r"[\d_@\\]|://|[a-z][A-Z]|^(?:-+|!)\w|\w-$")


def normalised(text: str) -> str:
    """The text without what case, spacing and Unicode's variants of one letter add."""
    return " ".join(_levelled(text).casefold().split())


def read(text: str) -> tuple[Word, ...]:
    """The words that count, in their order."""
    bare = _ACCENTS.sub(r"\1", unicodedata.normalize("NFD", _levelled(text)))
    raw = _ordered([("", False), *_raw(unicodedata.normalize("NFC", bare)), ("", False)])
    around = zip(raw, raw[1:], raw[2:], strict=False)
    words = (_word(text, named, before[0], after[0]) for before, (text, named), after in around)
    return tuple(word for word in words if word is not None)


def _levelled(text: str) -> str:
    """The text with one form for each sign, and with what NFKC would lose written out first."""
    text = text.translate(_LEVEL)
    for pattern, kept in _KEEP:
        text = pattern.sub(kept, text)
    return unicodedata.normalize("NFKC", text)


def _raw(text: str) -> Iterator[tuple[str, bool]]:
    """Word by word, and whether it is written like a name: a capital in a sentence, or a code."""
    opens = True
    for chunk in text.split():
        bare = chunk.lstrip(_SILENT.replace("!", "")).rstrip(_SILENT)
        if sign := _SIGN.match(bare):
            yield sign.group(), False
            bare = bare[1:]
        if _CODE.search(bare):
            yield from ((part, True) for part in _coded(bare))
        else:
            for part in _spelled(bare):
                yield part, not opens and part[0].isupper() and part != "I"
                opens = False
            # "No, refunds are paid" is not "no refunds are paid".
            if chunk != bare and bare.casefold() in {"no", "not", "never", "none", "nothing"}:
                yield ",", False
        opens = chunk[-1] in ".!?:"


def _coded(chunk: str) -> list[str]:
    """An amount comes apart into number and unit; any other code stays whole."""
    amount = _AMOUNT.fullmatch(chunk)
    if amount is None or (amount[3] and amount[3].casefold() not in _UNIT):
        return [chunk]
    number = amount[2].replace(",", "") if _GROUPED.fullmatch(amount[2]) else amount[2]
    return [part for part in (amount[1], number, amount[3], amount[4]) if part]


def _spelled(chunk: str) -> list[str]:
    """Contractions are written out; symbols are words of their own."""
    whole = _WHOLE.get(chunk.casefold(), chunk)
    if whole.isalpha():
        return [whole]
    for ending, written in _ENDINGS.items():
        if whole.casefold().endswith(ending):
            whole = whole[: -len(ending)] + written
    return [part for part in _CUT.split(_SYMBOL.sub(r" \1 ", whole)) if part]


def _ordered(raw: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """ "EUR 15" as "15 EUR" and "March 3" as "3 March"."""
    for i in range(1, len(raw) - 1):
        low, number = raw[i][0].casefold(), raw[i + 1][0]
        leads = low in _CURRENCIES or (low in _MONTHS.split() and len(number) < 3)
        if leads and number[:1].isdigit() and not raw[i - 1][0][:1].isdigit():
            raw[i], raw[i + 1] = raw[i + 1], raw[i]
    return raw


def _word(text: str, named: bool, before: str, after: str) -> Word | None:
    """A word and its kind, or None for one that says nothing; the words beside it help decide."""
    low, after = text.casefold(), after.casefold()
    if low in _UNIT and (before[:1].isdigit() or before.casefold() in _NUMBER):
        unit = _UNIT[low] if text in _UNIT or _SPELLED_UNIT.search(low) else text
        return Word(unit, WordKind.UNIT)
    if low in _LIGHT and not (text == "A" and named) and after not in _KEEPS_LIGHT:
        return None
    # "On Tuesday" and "Tuesday" are the same day.
    if (low == "on" and _KIND.get(after) is WordKind.DATE) or (low == "," and not after):
        return None
    if low in _NUMBER or text[:1].isdigit() or text == "-":
        return Word(_NUMBER.get(low, low), WordKind.NUMBER)
    if text in _ACRONYMS:
        return Word(text, WordKind.NAME)
    return Word(low, _KIND.get(low) or (WordKind.NAME if named else WordKind.WORD))


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
        # A text without words, such as "...", says what it is.
        self.said = self.identity[1] or self.identity
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
    are compared: nothing else can be the same. Of many such leaders the first few are: 200 notes
    with the same 200 words in other orders took 8.6 s when each was compared with each.
    """
    readings = list(map(_reading, statements))
    groups: dict[object, list[int]] = {}
    claims: defaultdict[object, set[object]] = defaultdict(set)
    leaders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    said: dict[object, int] = {}
    for position, reading in enumerate(readings):
        if reading.claim:
            groups.setdefault(reading.claim, []).append(position)
            claims[reading.said].add(reading.claim)
    for position, reading in [(n, r) for n, r in enumerate(readings) if not r.claim]:
        # A text that stands under two claims corroborates neither of them.
        if len(claims[reading.said]) == 1:
            groups[next(iter(claims[reading.said]))].append(position)
            continue
        known = leaders[tuple(sorted(word.value for word in reading.words))]
        few = () if reading.said in said else known[:MOST_COMPARED]
        same = (n for n in few if _compare(readings[n], reading, policy).verdict is Sameness.SAME)
        leader = said.setdefault(reading.said, next(same, position))
        groups.setdefault(leader, []).append(position)
        if leader == position:
            known.append(position)
    return sorted(sorted(members) for members in groups.values())


def _reading(statement: ComparedStatement) -> _Reading:
    """A statement as it is compared; a short request that is under way goes first."""
    give_way()
    return _Reading(statement)


def differences(left: Sequence[Word], right: Sequence[Word]) -> list[str]:
    """What only one of them has, by kind, the critical kinds first; else their order."""
    ours, theirs = Counter(w.value for w in left), Counter(w.value for w in right)
    kinds = {word.value: word.kind for word in (*right, *left)}
    told = []
    only = (ours - theirs, theirs - ours)
    for kind in WordKind if any(only) else ():
        sides = [" ".join(v for v in side if kinds[v] is kind) for side in only]
        if any(sides):
            told.append(f"{kind} " + " | ".join(side or "(nothing)" for side in sides))
    if not left and not right:
        told.append("all, for all that their words tell")
    elif not told and not (_moved(left, right) or _moved(right, left)):
        told.append("the order of the words")
    return told


def _moved(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether `right` is `left`, or that with its beginning moved to its end."""
    # Of two names one might take the other's place: then only a phrase such as "on Sunday" moves.
    ours, theirs = [w.value for w in left], [w.value for w in right]
    free = len(ours) > 3 and [w.kind for w in left].count(WordKind.NAME) < 2
    if ours == theirs or not (free or ours[0] in _MOVABLE or left[0].kind is WordKind.DATE):
        return ours == theirs
    cuts = list(_cuts(ours, theirs))
    # Beside a joint, "only" and "not" would reach into another phrase than before.
    joints = {left[at].kind for n in cuts for at in (n - 1, n, -1)}
    return bool(cuts) and not joints & {WordKind.NEGATION, WordKind.QUANTIFIER}


def _cuts(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[int]:
    """Where `ours` can be cut so that its end before its beginning is `theirs`.

    A character stands for each word: to look for a text in another takes no longer than both are.
    """
    signs = {word: chr(number) for number, word in enumerate(dict.fromkeys((*ours, *theirs)))}
    mine, wanted = ("".join(map(signs.__getitem__, words)) for words in (ours, theirs))
    twice = mine + mine[:-1]
    at = twice.find(wanted, 1) if len(mine) == len(wanted) else -1
    while at != -1:
        yield at
        at = twice.find(wanted, at + 1)


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
    if said := _equally_said(left, right):
        return Sameness.SAME, said
    return Sameness.DIFFERENT, "only one makes a claim"


def _equally_said(left: _Reading, right: _Reading) -> str | None:
    """How two statements are equal without any similarity: to the letter, or in their words."""
    if left.identity == right.identity:
        return "the same text"
    return "the same words" if left.said == right.said else None


def _by_words(left: _Reading, right: _Reading, near: str, proposed: bool) -> tuple[Sameness, str]:
    """What the words decide: near statements are the same unless a word that counts differs."""
    if said := _equally_said(left, right):
        return Sameness.SAME, said
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

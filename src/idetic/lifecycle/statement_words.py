"""A statement's words, read so that two statements can be compared without understanding them.

Writing is levelled where it carries no meaning: case, articles, contractions, thousands
separators, spelled-out numbers, names of units. All that remains counts, and each word is of a
kind, so that a difference can be named: "number 5 | 6" tells more than "0.98 is too little".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


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
    raw = _ordered([("", False), *_raw(_levelled(text)), ("", False)])
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
        return Word(
            _UNIT[low] if text in _UNIT or _SPELLED_UNIT.search(low) else text, WordKind.UNIT
        )
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

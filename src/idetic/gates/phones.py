"""Telephone numbers in a run of digits, by the numbering plans that `phonenumbers` knows.

With a `+` a number says its country. Without, it is tried in the given regions, and must be written
as a number is written there: ten digits in a row are an order number more often than a telephone.
Where the words before say that it is one, any plausible number is.
"""
# ruff: noqa: E501 - an expression reads better whole

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from phonenumbers import Leniency, PhoneMetadata, PhoneNumberMatch, PhoneNumberMatcher

from idetic.gates.person_numbers import DigitRun, said_before
from idetic.gates.redaction import Detection

# What is called a telephone, and how people say that they used one.
_PHONE = (
    r"(?:tel(?:efono?|efone?|ephone|efoon|efon\w{0,3})?|tlf|(?:smart)?phone|mobile?|mob|"
    r"cell(?:phone)?|"
    r"handy(?:nummer)?|fax|landline|hotline|desk|gsm|whats ?app|viber|imessage|sms|movil|celular|"
    r"cellulare|"
    r"portable|komorka|puhelin|rufnummer|contact (?:no|number)|callback|电话|電話|手机|携帯|전화(?:번호)?|"
    r"телефон\w{0,2}|тел|هاتف)"
)
_USED = r"(?:call(?:ed|ing)?|dial(?:led)?|text(?:ed)?|message[ds]?|reach\w{0,5}|ring|rang|phone[ds]?|contact)"
_PLAIN = r"(?:[ .\-]{0,2}(?:me|him|her|us|them|back|at|on|under|the|office|support|it|via)){0,5}"
_MARK = (
    r"(?:[ .\-_/(]{0,2}(?:no|nr|num(?:ber|mer|ero|er)?|is|was|at|ist|est|es|e|on file|home|work|"
    r"office|"
    r"private|mobile|cell|main|new|de|of|for|us|uk|your|my|his|her)\b\)?){0,6}[ .]{0,2}"
)
_END = r"[\s.:=#(+\-\"'|→>]{0,6}\Z"
_MARKED = re.compile(rf"(?<![a-z]){_PHONE}{_MARK}{_END}(?<![a-z] )", re.IGNORECASE)
_SAID = re.compile(rf"(?<![a-z])(?:{_PHONE}{_MARK}|{_USED}{_PLAIN}){_END}", re.IGNORECASE)
_PHONE_SHAPED = re.compile(r"\+?\(?\d(?:[ .()\-/]{0,3}\d){6,14}\Z")
_EXTENSION = re.compile(r"(?: ?x ?|,? ?(?:ext|extension|durchwahl|poste)\.? ?)\d{1,6}(?!\w)", re.I)
# The North American spelling is nobody else's, so that an area code nobody has given out yet counts.
_AMERICAN = re.compile(
    r"(?<![\w.\-+])(?:(?:\+|00)?1[ .\-])?(?:\([2-9]\d\d\) ?[2-9]\d\d[ .\-]?|"
    r"[2-9]\d\d([.\-])[2-9]\d\d\1)"
    r"\d{4}(?![\d\-]|\.\d)"
)
# `00` before a country's code is what `+` stands for.
_ABROAD = re.compile(r"00(?=[ \-]?[1-9])[ \-]?")
# A run of more digits is a table of figures: numbers in it begin as one does in some country.
_TABLE = 45
_IN_TABLE = re.compile(
    r"(?<!\d)(?:\(\d{2,5}\)|0\d{1,5}|\d{3})[ .\-/]{1,2}\d{3,5}(?:[ .\-]\d{2,5}){0,3}(?!\d)"
)


# A look-up in the numbering plans takes a millisecond. A text of nothing but numbers has this many;
# from then on, whatever is shaped like a telephone number is taken for one.
LOOK_UPS = 40


def phones(
    text: str, run: DigitRun, regions: tuple[str, ...], numbers: Iterator[int]
) -> Iterator[Detection]:
    """Telephone numbers in one run of digits; `numbers` counts the look-ups of the whole text."""
    if run.digits < 7 or run.is_date:
        return
    said = said_before(text, run.start, _SAID)
    if said:
        # `called 1200000 times` is none, `tel: 1200000` is.
        marked = run.digits > 8 or run.is_grouped or said_before(text, run.start, _MARKED)
        if marked and _PHONE_SHAPED.match(text, run.start, run.end):
            yield _extended(text, run.start, run.end)
            return
    for start, end in _stretches(text, run):
        if next(numbers) < LOOK_UPS:
            yield from _in_stretch(text, run, (start, end), said, regions)
        elif _PHONE_SHAPED.match(text, start, end):
            yield _extended(text, start, end)


def _stretches(text: str, run: DigitRun) -> Iterator[tuple[int, int]]:
    """Where in a run a number may be: all of it, or what looks like one in a table of figures."""
    if run.digits <= _TABLE:
        yield run.start, run.end
        return
    for match in _IN_TABLE.finditer(text, run.start, run.end):
        yield match.span()


def _in_stretch(
    text: str, run: DigitRun, span: tuple[int, int], said: bool, regions: tuple[str, ...]
) -> Iterator[Detection]:
    """Valid numbers in a stretch, which must be written as telephone numbers are."""
    start, end = span
    if "US" in regions and (match := _AMERICAN.search(text, start, end)):
        yield _extended(text, *match.span())
        return
    abroad = _ABROAD.match(run.text) if start == run.start else None
    if abroad and run.digits > 9:
        # Read as with a `+`; what the two signs more or less change is where it stands.
        window = "+" + run.text[abroad.end() :]
        shift = start + abroad.end() - 1
        for one in _phone_matches(window, (None,)):
            yield _extended(text, start, shift + one.end)
        return
    written_so = run.digits > 8 and not run.is_ordinary and run.is_grouped and run.is_alone(text)
    if said or "+" in run.text or written_so:
        # Three characters more on each side: the matcher looks at what a number touches.
        shift = max(0, start - 3)
        window = text[shift : end + 3]
        for one in _phone_matches(window, (None,) if "+" in run.text else regions):
            yield _extended(text, shift + one.start, shift + one.end)


def _extended(text: str, start: int, end: int) -> Detection:
    """A number together with its extension."""
    extension = _EXTENSION.match(text, end)
    return Detection(start, extension.end() if extension else end, "phone")


def _phone_matches(window: str, regions: tuple[str | None, ...]) -> Iterator[PhoneNumberMatch]:
    """Telephone numbers; a region's own need a leading `0` or `(`, or the usual groups."""
    for region in regions:
        if region is None:
            # With its country's code, the right count of digits is enough.
            yield from PhoneNumberMatcher(window, None, leniency=Leniency.POSSIBLE)
            continue
        usual = PhoneNumberMatcher(window, region, leniency=Leniency.STRICT_GROUPING)
        for match in PhoneNumberMatcher(window, region, leniency=Leniency.VALID):
            if match.raw_string[0] in "0(" or (not _begins_with_0(region) and usual.has_next()):
                yield match


@cache
def _begins_with_0(region: str) -> bool:
    """Whether numbers are written with a `0` before them in a region."""
    plan = PhoneMetadata.metadata_for_region(region)
    return plan is not None and plan.national_prefix == "0"

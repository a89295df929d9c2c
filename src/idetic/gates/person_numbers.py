"""Numbers of persons in a text: payment cards, accounts, and what states give to persons.

Each is known by its check digits, as python-stdnum has them. One in ten plain numbers has the
check digit of some country, so each kind of national id says how it is written where nobody names
it (`open`): grouped as plain numbers are not, or with checks that pass few of them (measured: PESEL
0.7 %, IdNr 0.4 %, NIR 0.6 % of random digits). In any other spelling it counts only if the words
before name it. VAT numbers belong to companies and are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from stdnum import iban
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ahv
from stdnum.de import idnr, stnr
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.se import personnummer
from stdnum.us import itin, ssn

from idetic.gates.redaction import Detection

# --- runs of digits -----------------------------------------------------------------------

# At least six digits, with at most three separators between two of them. A comma is none:
# it belongs to amounts and lists.
_RUN = re.compile(r"[0-9](?:[ .()\-/_\t]{0,3}[0-9]){5,}")
_OPENING = re.compile(r"[+(]{0,3}\Z")
_UUID = re.compile(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
)

_DAY = r"(?:(?:19|20)\d\d[-/._]?[01]\d[-/._]?[0-3]\d|[0-3]?\d[-/.][0-3]?\d[-/.](?:19|20)?\d\d)"
_DATES = re.compile(rf"{_DAY}(?:[ _\-/.]{{0,3}}(?:{_DAY}|\d{{1,6}}))*")
_COUNT = r"(?:0|[1-9]\d*)(?:\.\d+)?"
_AMOUNTS = re.compile(
    rf"{_COUNT}(?:[ \-/]{{1,3}}{_COUNT})?|[1-9]\d{{0,2}}(?:[. ]\d{{3}})+(?:[ \-]{{1,3}}\d+)?"
    r"|(?:\d+\.\d+[ \-/]{1,3})+\d+\.\d+"
)
_JOINED = re.compile(r"[A-Za-z0-9_/=&@#%$]")
_SEPARATED = re.compile(r"\d[^\d]+\d")
_LOOK_BACK = 40


class DigitRun:
    """One run of digits: where it stands and how it is written."""

    def __init__(self, text: str, match: re.Match[str]) -> None:
        self.start, self.end = match.span()
        if text[self.start - 1 : self.start] in ("+", "("):
            opening = _OPENING.search(text, max(0, self.start - 3), self.start)
            self.start = opening.start() if opening else self.start
        self.text = text[self.start : self.end]

    @cached_property
    def digits(self) -> int:
        """How many digits it holds."""
        return sum(map(str.isdigit, self.text))

    @cached_property
    def is_date(self) -> bool:
        """Whether it is a date, a time after a date, or a span of dates."""
        return _DATES.fullmatch(self.text) is not None

    @cached_property
    def is_ordinary(self) -> bool:
        """Whether it reads as a date, an amount or a plain number."""
        return self.is_date or _AMOUNTS.fullmatch(self.text) is not None

    @cached_property
    def is_grouped(self) -> bool:
        """Whether anything stands between its digits."""
        return _SEPARATED.search(self.text) is not None

    def is_alone(self, text: str) -> bool:
        """Whether it is no part of a longer name, path or formula."""
        around = text[max(0, self.start - 1) : self.start] + text[self.end : self.end + 1]
        return _JOINED.search(around) is None


def runs(text: str) -> Iterator[DigitRun]:
    """The runs of a text, but for those inside a UUID."""
    for match in _RUN.finditer(text):
        start, end = match.span()
        near = _UUID.finditer(text, max(0, start - 36), min(len(text), end + 36))
        if not any(uuid.start() < end and start < uuid.end() for uuid in near):
            yield DigitRun(text, match)


def said_before(text: str, start: int, label: re.Pattern[str]) -> bool:
    """Whether the words right before say what comes; the label's pattern ends with `\\Z`."""
    return label.search(text, max(0, start - _LOOK_BACK), start) is not None


# --- accounts and cards -------------------------------------------------------------------

# A look ahead, so that what only begins like one does not swallow the one that follows.
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])(?=((?:[A-Za-z]{2}|[A-Z]{2}[ .\-])\d{2}"
    r"(?:[ .\-/_]{0,2}[A-Za-z0-9]){11,30}(?![A-Za-z0-9])))[A-Za-z]"
)
# Looked for from its digits, which are rarer than letters.
_IBAN_START = re.compile(
    r"[0-9][0-9](?:(?<=[A-Za-z]{2}..)(?<![A-Za-z0-9].{4})"
    r"|(?<=[A-Z]{2}[ .\-]..)(?<![A-Za-z0-9].{5}))"
)
_NOT_ALNUM = re.compile(r"[^A-Za-z0-9]")
_SHORTEST, _LONGEST = 15, 34

# What follows a digit and a point or comma is the rest of another number, but not behind four
# digits: of cards in a row with points between them each would be found only when the one before
# it was gone, and so many looks at the rest take the square of its length.
_NO_FRACTION = r"(?<!(?<!\d{3})\d[.,])"
_GAP = r"[ .\-_/]{1,3}"
_WRITTEN = tuple(
    re.compile(rf"(?<!\d){_NO_FRACTION}(?=({form})(?!\d))\d")
    for form in (
        r"\d{12,19}",
        rf"(?:\d{{4}}{_GAP}){{3}}\d{{4}}",
        rf"(?:\d{{4}}{_GAP}){{4}}\d{{1,3}}",
        rf"(?:\d{{4}}{_GAP}){{3}}\d{{1,3}}",
        rf"(?:\d{{4}}{_GAP}){{2}}\d{{4}}",
        rf"\d{{4}}{_GAP}\d{{6}}{_GAP}\d{{4,5}}",
        rf"\d{{8}}{_GAP}\d{{8}}",
        rf"\d(?:{_GAP}\d){{12,18}}",
        rf"\d\d(?:{_GAP}\d\d){{6,8}}",
    )
)
# Who issues which numbers, and how long they are. One number in ten has the right check digit,
# so without the issuer every tenth long number would be a card.
_ISSUED = re.compile(
    rb"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}"
    rb"|6(?:011|4[4-9]\d|5\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12,15}|3(?:0[0-5]|[689]\d)\d{11}"
    rb"|62\d{14,17}|(?:5018|5020|5038|56\d\d|57\d\d|58\d\d|6304|6390|6759|676[1-3]|0604)\d{8,15}"
    rb"|(?:2131|1800)\d{11}"
)
# Where the words before call it a card, any number with the check digit is one.
_CARD_LABEL = re.compile(
    r"(?:card|karte|carte|carta|tarjeta|cartao|visa|master ?card|maestro|amex|american express|"
    r"discover|diners|jcb|\bcc\b|\bpan\b|信用卡|カード|카드)[^\d\n]{0,24}\Z",
    re.IGNORECASE,
)
_BETWEEN = b" .-_/"


def ibans(text: str) -> Iterator[Detection]:
    """International account numbers, however they are grouped."""
    if not _IBAN_START.search(text):
        return
    for match in _IBAN.finditer(text):
        if end := _iban_end(text, match):
            yield Detection(match.start(), end, "iban")


def _iban_end(text: str, match: re.Match[str]) -> int | None:
    """Where the number ends: words may follow, and only one length has the right structure."""
    ends = [at + 1 for at in range(*match.span(1)) if text[at].isalnum()]
    compact = _NOT_ALNUM.sub("", match[1])
    for length in range(min(_LONGEST, len(compact)), _SHORTEST - 1, -1):
        if iban.is_valid(compact[:length], check_country=False):
            return ends[length - 1]
    return None


def cards(text: str, run: DigitRun) -> Iterator[Detection]:
    """Payment card numbers in one run of digits."""
    if run.digits < 12:
        return
    named = said_before(text, run.start, _CARD_LABEL)
    for form in _WRITTEN:
        for match in form.finditer(text, run.start, run.end):
            number = match[1].encode().translate(None, _BETWEEN)
            known = _ISSUED.fullmatch(number) or (named and match.start() == run.start)
            if known and has_luhn(number) and number.count(number[:1]) < len(number):
                yield Detection(*match.span(1), "card")


# A digit's own value, and that of its double with both digits added. Tables, because a wall of
# digits holds a thousand numbers to check: digit by digit they took 4 times as long.
_VALUE = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLE = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))


def has_luhn(number: bytes) -> bool:
    """Whether a number of ASCII digits ends with the check digit of payment cards."""
    plain, doubled = number[::-2].translate(_VALUE), number[-2::-2].translate(_DOUBLE)
    return (sum(plain) + sum(doubled)) % 10 == 0


# --- national ids -------------------------------------------------------------------------

_ANY_STATE = (
    r"national (?:id|insurance|identity)|(?:personal|identity|citizen|tax) (?:id|number|no)|tax ?id"
)


def _alone(pattern: str) -> str:
    """Groups with spaces between them, and no further group: four columns are a table."""
    return rf"(?<![0-9][ \-])(?:{pattern})(?![ \-]{{1,3}}[0-9])"


def _edged(pattern: str, flags: int = 0, before: str = "") -> re.Pattern[str]:
    """An expression that finds a number only by itself, not within a word or another number."""
    edges = rf"(?<![A-Za-z0-9{before}]){_NO_FRACTION}", r"(?![A-Za-z0-9_])"
    return re.compile(rf"{edges[0]}(?:{pattern}){edges[1]}", flags)


_Finder = Callable[[str, DigitRun], Iterator[Detection]]


def _kind(
    valid: Callable[[str], bool], label: str, named: str, open_: str | None = None
) -> _Finder:
    """One kind of number: how it is checked, what it is called, how it is written."""
    called = re.compile(rf"(?:{label}|{_ANY_STATE})[^\d\n]{{0,16}}\Z", re.IGNORECASE)
    written = _edged(named, re.IGNORECASE)
    unnamed = None if open_ is None else _edged(open_, before="_/=&#")

    def find(text: str, run: DigitRun) -> Iterator[Detection]:
        """Detect numbers of this kind at a run of digits, by their form or the words before."""
        # A letter before, a letter and a few digits after may belong to it.
        window = max(0, run.start - 3), min(len(text), run.end + 14)
        matches = list(unnamed.finditer(text, *window)) if unnamed else []
        for one in written.finditer(text, *window):
            # Further on, all that stands before is digits: no name, and so no look for one.
            if one.start() - run.start >= _LOOK_BACK:
                break
            if said_before(text, one.start(), called):
                matches.append(one)
        for number in matches:
            if valid(_compact(number[0])):
                yield Detection(*number.span(), "national_id")

    return find


def _compact(number: str) -> str:
    """Without separators; the sign before the last four digits of Nordic numbers has a meaning."""
    nordic = _NORDIC.fullmatch(number)
    return number.upper() if nordic else _SEPARATORS.sub("", number).upper()


_NORDIC = re.compile(r"\d{6,8}[-+Aa]\w{4}")
_SEPARATORS = re.compile(r"[ .\-/_]")
_S = r"[ .\-/_]{0,2}"
_NINO_NEVER = frozenset("BG GB KN NK NT TN ZZ".split())


def _nino(number: str) -> bool:
    """Whether the letters of a National Insurance number are ones in use."""
    # National Insurance numbers have no check digit, only letters that are never used.
    return number[:2] not in _NINO_NEVER


def _pesel(number: str) -> bool:
    """Whether a Polish person's number is valid, for a birth between 1900 and 2099."""
    # The month says the century. Without the 19th, 22nd and 23rd, 0.7 % of random digits pass
    # instead of 1.7 %.
    return int(number[2:4]) < 40 and pesel.is_valid(number)


_NINO = (
    r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]" + "".join(rf"{_S}\d\d" for _ in range(3)) + rf"{_S}[A-D]"
)
_NIR = (
    rf"[1-478]{_S}\d\d{_S}(?:0[1-9]|1[0-2]|[2-9]\d){_S}(?:\d\d|2[AB]){_S}\d{{3}}{_S}\d{{3}}{_S}\d\d"
)
_ELEVEN = rf"\d(?:{_S}\d){{10}}"
_TWELVE = rf"\d{{4}}{_S}\d{{4}}{_S}\d{{4}}"

_NATIONAL_IDS: tuple[_Finder, ...] = (
    _kind(
        lambda n: ssn.is_valid(n) or itin.is_valid(n),
        r"ssn|itin|social security",
        rf"\d{{3}}{_S}\d\d{_S}\d{{4}}",
        r"\d{3}-\d\d-\d{4}",
    ),
    _kind(nhs.is_valid, r"nhs", rf"\d{{3}}{_S}\d{{3}}{_S}\d{{4}}", _alone(r"\d{3} \d{3} \d{4}")),
    _kind(_nino, r"\bnino?\b", _NINO, _NINO),
    _kind(
        idnr.is_valid,
        r"idnr|steuer-?id\w*",
        _ELEVEN,
        r"\d{11}|" + _alone(r"\d\d \d{3} \d{3} \d{3}"),
    ),
    _kind(
        stnr.is_valid,
        r"steuer-?(?:nummer|nr)|st\.?-?nr",
        rf"\d{{2,3}}{_S}\d{{3,4}}{_S}\d{{4,5}}|\d{{13}}",
        r"\d{2,3}/\d{3}/\d{5}",
    ),
    _kind(nir.is_valid, r"\bnir\b|securite sociale", _NIR, _NIR),
    _kind(
        dni.is_valid,
        r"\bdni\b|\bnif\b",
        rf"\d\d{_S}\d{{3}}{_S}\d{{3}}{_S}[A-Z]",
        r"\d{8}-?[A-Z]|\d\d\.\d{3}\.\d{3}-?[A-Z]",
    ),
    _kind(nie.is_valid, r"\bnie\b", rf"[XYZ]{_S}\d{{7}}{_S}[A-Z]", r"[XYZ]-?\d{7}-?[A-Z]"),
    _kind(bsn.is_valid, r"bsn|burgerservice\w*|\bsofi(?:nummer)?\b", rf"\d(?:{_S}\d){{7,8}}"),
    _kind(_pesel, r"pesel", _ELEVEN, r"\d{11}"),
    _kind(
        personnummer.is_valid,
        r"person(?:al )?n(?:umme)?r|\bpnr\b|personal identity",
        r"(?:\d\d)?\d{6}[-+ ]?\d{4}",
        r"(?:\d\d)?\d{6}[-+]\d{4}",
    ),
    _kind(aadhaar.is_valid, r"aadhaar|aadhar|uidai", _TWELVE, _alone(r"\d{4}[ -]\d{4}[ -]\d{4}")),
    _kind(cpf.is_valid, r"\bcpf\b", _ELEVEN, r"\d{3}\.\d{3}\.\d{3}[-/]\d\d"),
    _kind(
        hetu.is_valid, r"hetu|henkilotunnus", r"\d{6}[-+A]\d{3}[0-9A-Z]", r"\d{6}[-+A]\d{3}[A-Z]"
    ),
    _kind(
        ahv.is_valid, r"ahv|avs", rf"756{_S}\d{{4}}{_S}\d{{4}}{_S}\d\d", r"756\.\d{4}\.\d{4}\.\d\d"
    ),
    _kind(
        nn.is_valid, r"rijksregister\w*|registre national", _ELEVEN, r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d"
    ),
    _kind(
        rrn.is_valid, r"\brrn\b|resident registration|주민등록번호", r"\d{6}-?\d{7}", r"\d{6}-\d{7}"
    ),
    _kind(sin.is_valid, r"\bsin\b|social insurance", rf"\d{{3}}{_S}\d{{3}}{_S}\d{{3}}"),
)

_CODICE = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z]{3} ?[A-Za-z]{3} ?[0-9L-V]{2}[A-Ta-t][0-9L-V]{2} ?[A-Za-z][0-9L-V]{3}"
    r"[A-Za-z](?![A-Za-z0-9])"
)


def national_ids(text: str, run: DigitRun) -> Iterator[Detection]:
    """Numbers of persons in one run of digits."""
    if run.is_date and run.digits <= 10:
        return
    for find in _NATIONAL_IDS:
        yield from find(text, run)


def tax_codes(text: str) -> Iterator[Detection]:
    """Italian tax codes, which are letters and digits in turn and so no run of digits."""
    for match in _CODICE.finditer(text):
        if codicefiscale.is_valid(match[0].replace(" ", "")):
            yield Detection(*match.span(), "national_id")

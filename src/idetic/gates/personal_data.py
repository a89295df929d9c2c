"""The `pii` gate: what points to a person is not remembered."""
# ruff: noqa: RUF001 - the words of other languages

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from itertools import count

from idetic.gates.first_look import (
    ADDRESS_LABEL,
    AT,
    BIRTH,
    BIRTH_PIECES,
    DIGIT,
    STREET,
    TAX_CODE,
    holds,
)
from idetic.gates.person_numbers import (
    cards,
    ibans,
    national_ids,
    runs,
    said_before,
    tax_codes,
)
from idetic.gates.phones import phones
from idetic.gates.postal_addresses import labelled_addresses, written_addresses
from idetic.gates.redaction import Detection, Recogniser, each, signed

# --- e-mail -------------------------------------------------------------------------------

_LABEL = r"[A-Za-z0-9\u0080-\U0010ffff](?:[A-Za-z0-9\u0080-\U0010ffff-]{0,62})"
_EMAIL = re.compile(
    rf"(?<![A-Za-z0-9._%+\-])(?:[A-Za-z0-9._%+\-]{{1,256}}|[^\x00-\x7f\s]{{1,64}})"
    rf"(?:@|%40)(?:{_LABEL}\.){{1,8}}(?:xn--[a-z0-9-]+|[A-Za-z]{{2,24}}|[^\x00-\x7f\s]{{2,24}})",
)
_SPELT_OUT = re.compile(
    r"(?<![A-Za-z0-9._%+\-])[A-Za-z0-9._%+\-]{1,64} ?[\[({<] ?at ?[\])}>] ?"
    r"[A-Za-z0-9\-]{1,63}(?:(?:\.| ?[\[({<] ?dot ?[\])}>] ?)[A-Za-z0-9\-]{2,63}){1,5}",
    re.IGNORECASE,
)
_AT = re.compile(r"[\[({<] ?at ?[\])}>]", re.IGNORECASE)
# The user of `git@host:path` is a program.
_REPOSITORY = re.compile(r"(?:git|hg)@[\w.\-]+:(?!\d)")


def emails(text: str) -> Iterator[Detection]:
    """E-mail addresses, written out or with `(at)`."""
    if "@" in text or "%40" in text:
        for match in _EMAIL.finditer(text):
            if not _REPOSITORY.match(text, match.start()):
                yield Detection(*match.span(), "email")
    if _AT.search(text):
        yield from each(_SPELT_OUT, "email")(text)


# --- internet addresses: they lead to a household -----------------------------------------

_V4 = re.compile(r"(?<![\w.\-])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?(?![\w\-]|\.\d)", re.ASCII)
_V6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,39}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])", re.ASCII)

_DOTTED = re.compile(r"\.[0-9]{1,3}\.[0-9]")
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")

# Four numbers with dots between them are also how versions and sections are counted.
_COUNTED = re.compile(
    r"(?:\b(?:v|ver|version|release|build|firmware|driver|section|sec|chapter|clause|article|"
    r"paragraph|para|rule|step|figure|table|item|oid|upgraded to|updated to)\b|§)[\s.:#=]{0,3}\Z",
    re.IGNORECASE,
)


def addresses(text: str) -> Iterator[Detection]:
    """IPv4 and IPv6 addresses that could be somebody's."""
    if _DOTTED.search(text):
        for match in _V4.finditer(text):
            if _is_host(match[0]) and not said_before(text, match.start(), _COUNTED):
                yield Detection(*match.span(), "ip")
    if _COLONS.search(text):
        for match in _V6.finditer(text):
            if _is_v6(match[0]):
                yield Detection(*match.span(), "ip")


def _is_host(candidate: str) -> bool:
    """Not loopback, unspecified, a netmask or a whole network: those are nobody's."""
    address, _, prefix = candidate.partition("/")
    try:
        host = IPv4Address(address)
        if prefix and int(prefix) < 31 and ip_network(candidate).is_global is not None:
            return False
    except AddressValueError:
        return False
    except ValueError:
        pass  # host bits are set: the address of one machine with its network behind it
    return not (host.is_loopback or host.is_unspecified or address.startswith("255."))


def _is_v6(candidate: str) -> bool:
    """Times and `namespace::name` consist of the same characters."""
    first = candidate.split(":", 1)[0]
    if len(first) < 3 and not candidate.lower().startswith("::ffff:"):
        return False
    if not any(map(str.isdigit, candidate)):
        return False
    try:
        address = IPv6Address(candidate)
    except AddressValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


# --- dates of birth: a date that the words before it call so, in a dozen languages ---------

# Between the label and the date may stand what a form or a sentence puts there (`is`, `on`,
# `(DD/MM)` or a name), and nothing else: `the birth date column was added on 2024-05-03` is about
# a column.

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez|mrz|ene|abr|ago|dic|fev|avr|"
    r"aou|gen|mag|giu|lug|set|ott|out|mei|maa|maj|sty|lut|kwi|cze|lip|sie|wrz|paz|lis|gru|янв|фев|"
    r"мар|апр|мая|июн|июл|авг|сен|окт|ноя|дек)[a-zа-я]{0,8}\.?"
)
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th|er|º|ª)?\.?"
_YEAR = r"(?:(?:18|19|20)\d\d|'?\d\d(?!\d))"
_DATE = (
    r"(?:(?:18|19|20)\d\d ?[-/._] ?\d{1,2} ?[-/._] ?\d{1,2}|(?:18|19|20)\d\d \d\d? \d\d?"
    r"|\d{1,2} ?[-/._] ?\d{1,2} ?[-/._] ?\d{2,4}|\d{1,2} \d{1,2} (?:19|20)\d\d|(?:19|20)\d{6}"
    rf"|{_ORDINAL}[ \-]?(?:day )?(?:of |de |d')?{_MONTH}[,\-]? ?(?:de |del |do )?{_YEAR}"
    rf"|{_MONTH} (?:the )?{_ORDINAL},? {_YEAR}|(?:18|19|20)\d\d,? {_MONTH} {_ORDINAL}"
    r"|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日?|\d{4} ?년 ?\d{1,2} ?월 ?\d{1,2} ?일?)"
)
# A birthday is one without its year as well.
_DAY = rf"(?:{_ORDINAL} (?:of |de )?{_MONTH}|{_MONTH} (?:the )?{_ORDINAL})"
_MARKS = r"\s:=|>→\"'`\-()\[\]*_,"
_SMALL = (
    r"is|was|as|on|the|of|for|her|his|my|your|their|our|in|at|it's|it|he|she|they|who|given|listed|"
    r"recorded|registered|stated|shown|entered|noted|said|confirmed|reads?|being|patient|customer|"
    r"member|client|applicant|user|employee|el|em|le|am|il|op|den|dia|les|est|ist|es|e|war|era|"
    r"jest|"
    r"en|a|w|der|die|dem|la|lo|du|de|del|della|do|da|mon|tue|wednes|thurs|fri|satur|sun)"
)
_JOIN = (
    rf"(?:'s)?(?:[.?] (?=it))?[{_MARKS}]{{0,6}}(?:(?:(?:{_SMALL}(?:day)?|dd|mm|yyyy|yy|jjjj|tt|"
    rf"aaaa|jj|[dmyjta]{{1,4}}"
    rf"[-/.][dmyjta]{{1,4}}[-/.][dmyjta]{{2,4}}|"
    rf"(?-i:[A-Z][\w'./\-]{{1,20}}))[{_MARKS}]{{1,4}}){{0,7}}"
)
_BIRTH_LABEL = (
    r"(?:dates? ?of ?birth|date_of_birth|birth[ _-]?dates?|birth[ _-]?day|d\.?o\.?b\.?(?![a-z])|"
    r"d/o/b|(?<![a-z])born|(?<![a-z])b\.(?= ?\d)|geburts(?:datum|tag)|geb(?:oren|\.)|"
    r"(?:date|jour) de naissance|(?<![a-z])nee? le|(?:fecha|dia) de nacimiento|nacid[oa]|nacio|"
    r"cumpleanos|data di nascita|(?<![a-z])nat[oa] (?:il|a)|compleanno|data de nascimento|"
    r"nascid[oa]|"
    r"nasceu|geboorte(?:datum|dag)|geboren|data urodzenia|urodz(?:on[ya]|ila? sie)|fodelsedatum|"
    r"(?<![a-z])fodd|fodselsdato|fødselsdato|(?<![a-z])født|syntynyt|syntymaaika|dogum tarihi|"
    r"дата рождения|родил(?:ся|ась)|出生(?:日期|年月日|于|於)?|生年月日|생년월일|تاريخ الميلاد)"
)
_BIRTH = re.compile(rf"{_BIRTH_LABEL}{_JOIN}(?P<date>{_DATE})(?!\d)", re.IGNORECASE)
_BIRTHDAY = re.compile(
    rf"(?:birth ?day|geburtstag|cumpleanos|compleanno)(?:'s)? ?(?::|(?:is|falls|es|ist)(?: on| am|"
    rf" el|"
    rf" le)?(?: the)?) (?P<date>{_DAY})(?![\d,]* ?\d)",
    re.IGNORECASE,
)
# The date first: `gave 3 May 1990 as her date of birth`.
_CALLED = re.compile(
    rf"(?<!\d)(?P<date>{_DATE}) (?:as|is|was|\()(?: (?:the|my|his|her|their|your|a|customer's|"
    r"patient's)){0,2} ?(?:date of birth|birth ?date|birth ?day|dob(?![a-z]))",
    re.IGNORECASE,
)
_PIECES = (*BIRTH_PIECES, "føds", "født", "рожд", "родил", "出生", "生年", "생년", "الميلاد")


def birth_dates(text: str) -> Iterator[Detection]:
    """Dates that are called somebody's birth."""
    if not holds(text.lower(), _PIECES):
        return
    for pattern in (_BIRTH, _BIRTHDAY, _CALLED):
        for match in pattern.finditer(text):
            yield Detection(*match.span("date"), "birth_date")


def personal_data(regions: tuple[str, ...]) -> tuple[Recogniser, ...]:
    """The recognisers of personal data; telephone numbers without a `+` are of these regions."""

    def numbers(text: str) -> Iterator[Detection]:
        """Detect cards, national ids and telephones in one walk over the digits."""
        looked_up = count()
        for run in runs(text):
            yield from cards(text, run)
            yield from national_ids(text, run)
            yield from phones(text, run, regions, looked_up)

    return (
        *signed(AT, emails),
        *signed(DIGIT, ibans, numbers, addresses),
        *signed(TAX_CODE, tax_codes),
        *signed(BIRTH, birth_dates),
        *signed(STREET, written_addresses),
        *signed(ADDRESS_LABEL, labelled_addresses),
    )

"""The `pii` gate: what points to a person is not remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network

from phonenumbers import Leniency, PhoneNumberMatch, PhoneNumberMatcher

from idetic.gates.person_numbers import (
    DigitRun,
    cards,
    ibans,
    national_ids,
    runs,
    said_before,
    tax_codes,
)
from idetic.gates.redaction import Detection, Recogniser, each

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
        for found in _EMAIL.finditer(text):
            if not _REPOSITORY.match(text, found.start()):
                yield Detection(*found.span(), "email")
    if _AT.search(text):
        yield from each(_SPELT_OUT, "email")(text)


# --- telephone ----------------------------------------------------------------------------

# What is called a telephone, and how people say that they used one.
_PHONE = (
    r"(?:tel(?:efono?|ephone|efoon|efone)?|phone|mobile?|cell(?:phone)?|handy(?:nummer)?|fax|"
    r"whats ?app|sms|movil|celular|rufnummer|电话|電話|手机|携帯|전화|тел)"
)
_USED = r"(?:call(?:ed|ing)?|dial(?:led)?|texted|reach\w*|ring|rang)"
_PLAIN = r"(?:[ .\-]{0,2}(?:me|him|her|us|them|back|at|on|under))*"
_MARK = r"(?:[ .\-]{0,2}(?:no|nr|num(?:ber|mer|ero)?|is|was|at))*[ .]{0,2}"
_MARKED = re.compile(rf"(?<![a-z]){_PHONE}{_MARK}[\s.:=#(+\-]{{0,6}}\Z(?<![a-z] )", re.IGNORECASE)
_SAID = re.compile(rf"(?<![a-z])(?:{_PHONE}{_MARK}|{_USED}{_PLAIN})[\s.:=#(+\-]{{0,6}}\Z", re.I)
_PHONE_SHAPED = re.compile(r"\+?\(?\d(?:[ .()\-/]{0,3}\d){6,14}\Z")


def phones(text: str, run: DigitRun, regions: tuple[str, ...]) -> Iterator[Detection]:
    """Telephone numbers in one run of digits, by the numbering plans that `phonenumbers` knows.

    With a `+` a number says its country. Without, it is tried in the given regions, and must be
    written as a number is written there: ten digits in a row are an order number more often
    than a telephone. Where the words before say that it is one, any plausible number is.
    """
    if run.digits < 7 or run.is_date:
        return
    said = said_before(text, run.start, _SAID)
    if said:
        # `called 1200000 times` is none, `tel: 1200000` is.
        marked = run.digits > 8 or run.is_grouped or said_before(text, run.start, _MARKED)
        if marked and _PHONE_SHAPED.match(text, run.start, run.end):
            yield Detection(run.start, run.end, "phone")
            return
    written_so = run.digits > 8 and not run.is_ordinary and run.is_grouped and run.is_alone(text)
    if said or "+" in run.text or written_so:
        # Three characters more on each side: the matcher looks at what a number touches.
        shift = max(0, run.start - 3)
        window = text[shift : run.end + 3]
        for found in _phone_matches(window, (None,) if "+" in run.text else regions):
            yield Detection(shift + found.start, shift + found.end, "phone")


def _phone_matches(window: str, regions: tuple[str | None, ...]) -> Iterator[PhoneNumberMatch]:
    """Valid telephone numbers; a region's own need a leading `0` or `(`, or the usual groups."""
    for region in regions:
        usual = PhoneNumberMatcher(window, region, leniency=Leniency.STRICT_GROUPING)
        for found in PhoneNumberMatcher(window, region, leniency=Leniency.VALID):
            if region is None or found.raw_string[0] in "0(" or usual.has_next():
                yield found


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
        for found in _V4.finditer(text):
            if _is_host(found[0]) and not said_before(text, found.start(), _COUNTED):
                yield Detection(*found.span(), "ip")
    if _COLONS.search(text):
        for found in _V6.finditer(text):
            if _is_v6(found[0]):
                yield Detection(*found.span(), "ip")


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


# --- date of birth ------------------------------------------------------------------------

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez|mrz|ene|ago|dic|fev|avr|"
    r"juin|juil|aout)[a-z]{0,8}\.?"
)
_DATE = (
    r"(?:\d{4}[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]{1,2}\d{1,2}[-/. ]{1,2}\d{2,4}|(?:19|20)\d{6}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\.? ?(?:of |de )?{_MONTH},? ?(?:de )?\d{{2,4}}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|\d{{4}} ?年 ?\d{{1,2}} ?月 ?\d{{1,2}} ?日?)"
)
_BIRTH = re.compile(
    r"(?:date of birth|birth ?date|birth ?day|d\.?o\.?b\.?|(?<![a-z])born|geburtsdatum|"
    r"geb(?:oren|\.)|date de naissance|(?<![a-z])nee? le|fecha de nacimiento|nacid[oa]|"
    r"data di nascita|nat[oa] il|data de nascimento|geboortedatum|出生日期|生年月日|생년월일)"
    rf"[\s:=(\-]{{0,4}}(?:(?:is|was|on|am|el|le|em) ){{0,2}}(?P<date>{_DATE})(?!\d)",
    re.IGNORECASE,
)
_BIRTH_PIECES = (
    *("birth", "born", "dob", "d.o.b", "geb", "naissance", "ne le", "nee le", "nacim", "nacid"),
    *("nascita", "nato", "nata", "nascimento", "geboorte", "出生", "生年", "생년"),
)

# --- postal address -----------------------------------------------------------------------

_ADDRESS_LABEL = re.compile(
    r"(?P<sure>(?:home|postal|mailing|billing|shipping|delivery|street|residential|private) "
    r"addr(?:ess|\.)|anschrift|lives? at|living at|resid(?:es|ing) at|wohnhaft(?: in)?|wohnt in)"
    r"|(?<!\w)(?:address|addr\.|adresse|direccion|indirizzo|endereco|adres)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?: (?:is|was|changed to))?[ \t]*[:=]?[ \t]*(?:\n[ \t]*)?", re.IGNORECASE)
_NAME = r"[^\W\d_][\w'\-]*"
_STREET = re.compile(
    r"\d{1,5}[a-z]?,? (?:[\w'\-]+\.? ){0,4}(?:street|str?|road|rd|avenue|ave|lane|ln|drive|dr|"
    r"court|ct|boulevard|blvd|way|place|pl|square|sq|terrace|close|crescent|parkway|pkwy|highway|"
    r"hwy|circle|row|mews)\b\.?"
    r"|(?:[\w\-]+ ){0,2}[\w\-]*(?:stra(?:ss|ß)e|str\.|weg|platz|allee|gasse|ring|laan|straat|"
    r"plein|gatan|vagen|gade|vej)[ ,]{1,2}\d{1,4}[a-z]?\b"
    rf"|(?:\d{{1,4}}(?: bis| ter)?,? )?(?:rue|avenue|boulevard|chemin|quai|via|viale|piazza|corso|"
    rf"calle|avenida|plaza|rua|ul\.)(?: {_NAME}){{1,5}}(?:,? ?\d{{1,5}})?"
    r"|p\.? ?o\.? box \d+|apartado \d+|postfach \d+",
    re.IGNORECASE,
)
# How an address goes on: towns, codes and countries begin with a capital or a digit.
_ON = re.compile(
    r"(?:[, \t]{0,3}\n?[ \t]?(?<![A-Za-z0-9])(?:(?:St|Apt|No|Ste|Mt|Flat|Unit)\. )?"
    r"(?:(?:de|la|le|du|des|der|am|an|im|of|upon|sur|bei) )?[A-Z0-9#][\w'\-/]*)*"
)
_SOMEWHERE = re.compile(r"(?=[^\n]{0,60}\d)(?=[^\n]{0,60}[A-Z][a-z])[A-Z0-9]")
_ADDRESS_PIECES = tuple(
    "addr anschrift adres direcc indirizzo endereco live living resid wohn".split()
)


def labelled(text: str) -> Iterator[Detection]:
    """Dates of birth and postal addresses that are called so."""
    low = text.lower()
    if any(piece in low for piece in _BIRTH_PIECES):
        for found in _BIRTH.finditer(text):
            yield Detection(*found.span("date"), "birth_date")
    if any(piece in low for piece in _ADDRESS_PIECES):
        for label in _ADDRESS_LABEL.finditer(text):
            if span := _address(text, label):
                yield span


def _address(text: str, label: re.Match[str]) -> Detection | None:
    """The address after a label: a street and how it goes on, or capitals and a number."""
    between = _BETWEEN.match(text, label.end())
    start = between.end() if between else label.end()
    street = _STREET.search(text, start, start + 80)
    if street is not None and "\n" not in text[start : street.start()]:
        on = _ON.match(text, street.end())
        return Detection(start, on.end() if on else street.end(), "address")
    if label["sure"] and _SOMEWHERE.match(text, start):
        on = _ON.match(text, start)
        if on and any(map(str.isdigit, on[0])) and " " in on[0].strip():
            return Detection(start, on.end(), "address")
    return None


def personal_data(regions: tuple[str, ...]) -> tuple[Recogniser, ...]:
    """The recognisers of personal data; telephone numbers without a `+` are of these regions."""

    def numbers(text: str) -> Iterator[Detection]:
        """Detect cards, national ids and telephones in one walk over the digits."""
        for run in runs(text):
            yield from cards(text, run)
            yield from national_ids(text, run)
            yield from phones(text, run, regions)

    return (emails, ibans, numbers, tax_codes, addresses, labelled)

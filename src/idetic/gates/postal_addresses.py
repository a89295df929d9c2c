"""Postal addresses: by the way a country writes them, or by a label before them.

Without a label an address is one if a house number stands with a kind of street, or with a postal
code and a town. A year before a street (`in 2019 Wall Street fell`) is no house number.
"""
# ruff: noqa: E501 - an expression reads better whole

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.gates.first_look import ADDRESS_PIECES, holds
from idetic.gates.redaction import Detection

# --- written as an address is written -----------------------------------------------------

# Every repetition has a bound and no two neighbours can share a character: nothing is tried twice.
_CAPITAL = r"[A-Z][\w'\-]{0,30}"
_HOUSE = r"\d{1,5}[A-Za-z]?(?:[-/]\d{1,4}[A-Za-z]?)?"
_EDGE = r"(?<![\w.,/$€£#%:+\-])"
_PARTICLES = (
    r"(?:(?:de|del|della|delle|dei|degli|di|da|do|dos|das|du|des|la|le|les|las|los|el|van|der|den|"
    r"of|"
    r"the|upon|ob|am|im|an|sur|y|i) |[ld]')"
)
_KIND = (
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Court|Ct|Boulevard|Blvd|Place|Terrace|"
    r"Crescent|Parkway|Pkwy|Highway|Hwy|Mews|Close|Square|Alley|Turnpike|Gardens|Grove)"
)
_UNIT = (
    r"(?:[,\n ]{1,2}(?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|Room|Rm|Bldg|Piso|Puerta|Piano|"
    r"Int|"
    r"Appartamento|Interno|Apto|App|Appt|Bus|Whg|Etage)\b\.? ?#?\w{1,5}|[, ]{1,2}#\d{1,5}|"
    r"[, ]{1,2}\d{1,2}(?:st|nd|rd|th) Floor)"
)
_GAP = r"(?:[ ,]{1,2}\n?[ \t]?|\n[ \t]?)"
_NEXT = rf" (?:{_PARTICLES}){{0,2}}{_CAPITAL}\.?"
_TOWN = rf"{_CAPITAL}\.?(?:{_NEXT}){{0,4}}"
_ZIP_US = r"[A-Z]{2},? {1,2}\d{5}(?:-\d{4})?(?!\d)"
_POSTCODE_GB = r"[A-Z]{1,2}\d[A-Z\d]{0,2} ?\d[A-Z]{2}(?![A-Za-z0-9])"
_CODE = r"(?:(?:[A-Z]{1,2}-)?\d{5}(?![\d.,]{0,9}\d)|\d{4} ?[A-Z]{2}(?![A-Za-z])|\d\d-\d{3}(?!\d))"
_NUMBERED = rf",? (?:n[ro]?\.? ?)?{_HOUSE}(?: [a-z](?!\w))?(?!\w|[.,]\d)"
_ENDS = (
    r"(?:(?<=strasse)|(?<=straße)|(?<=[sS]tr\.)|(?<=gasse)|(?<=[aA]llee)|(?<=straat)|(?<=gracht))"
)
_FLAT = r"(?:Flat|Studio|Unit|Apartment) \d{1,4}[A-Za-z]?"
_LINES = rf"{_CAPITAL}(?:[ ,\n]{{1,2}}(?:{_PARTICLES}){{0,2}}{_CAPITAL}){{0,7}}"

# What must be somewhere in the text, and how the address is written then. Most texts have none of
# the first, and one look for it costs little.
_WRITTEN = tuple(
    (re.compile(hint), re.compile(_EDGE + form))
    for hint, form in (
        # 742 Evergreen Terrace; 12 N. High St, Apt 4
        (
            rf"[a-z.] {_KIND}(?![\w'])",
            (
                rf"(?<!No\. )(?P<number>{_HOUSE}) (?:(?:[NSEW]|NE|NW|SE|"
                rf"SW)\.? )?(?:(?:St\. )?{_CAPITAL} ){{1,3}}"
                rf"{_KIND}(?![\w'])\.?(?:{_UNIT}){{0,2}}"
            ),
        ),
        # Whatever the street is called, a state and a ZIP code end an American address.
        (
            _ZIP_US,
            (
                rf"{_HOUSE} (?:{_CAPITAL}\.? ){{0,3}}{_CAPITAL}\.?(?:{_UNIT}){{0,2}}{_GAP}{_TOWN}{_GAP}"
                rf"{_ZIP_US}"
            ),
        ),
        (
            r"[AFD]PO [A-Z]{2} ",
            (
                rf"(?:PSC \d{{1,5}}|Unit \d{{1,5}}|"
                rf"US[NCS]{{1,3}} {_CAPITAL})(?:,? Box \d{{1,5}})?{_GAP}"
                rf"[AFD]PO {_ZIP_US}"
            ),
        ),
        # Number, street, town and a British postcode, on one line or several.
        (_POSTCODE_GB, rf"{_FLAT}{_GAP}(?:{_HOUSE}{_GAP})?{_LINES}{_GAP}{_POSTCODE_GB}"),
        (_POSTCODE_GB, rf"{_HOUSE}{_GAP}{_LINES}{_GAP}{_POSTCODE_GB}"),
        # Street, number, code, town: most of the continent.
        (
            _CODE,
            (
                rf"(?:{_CAPITAL}|[Uu]l|[Aa]l|[Oo]s|[Pp]lac|[Uu]lica|"
                rf"[Rr]ue)\.?(?:{_NEXT}){{0,5}}{_NUMBERED}"
                rf"(?:{_UNIT}){{0,2}}{_GAP}{_CODE}{_GAP}{_TOWN}"
            ),
        ),
        # Calle Mayor 10, Madrid, 28013
        (
            _CODE,
            (
                rf"{_CAPITAL}\.?(?:{_NEXT}){{0,5}}{_NUMBERED}(?:{_UNIT}){{0,2}} ?{_GAP}{_TOWN}"
                rf",? {_CODE}"
            ),
        ),
        # Hauptstrasse 5
        (
            r"(?:[sS]tra(?:ss|ß)e|[sS]tr\.|gasse|[aA]llee|straat|gracht) \d",
            (
                rf"(?:{_CAPITAL} )?[A-Z][\w\-]{{0,30}}\.?{_ENDS} {_HOUSE}(?: ?[a-z](?!\w))?(?!\w|"
                rf"[.,]\d)"
            ),
        ),
        # 12 rue de la Paix
        (
            (
                r"\d(?: bis| ter)?,? (?:[Rr]ue|[Aa]v|[Bb]|[Cc]h|[Qq]uai|[Ii]mp|[Aa]ll|[Cc]ours|"
                r"[Rr]oute|[Pp])"
            ),
            (
                rf"{_HOUSE}(?: bis| ter)?,? (?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Bb]d|[Cc]hemin|[Qq]uai|"
                rf"[Ii]mpasse|[Aa]llee|[Cc]ours|[Rr]oute|[Pp]lace|[Pp]assage) (?:{_PARTICLES}){{0,3}}"
                rf"{_CAPITAL}(?:{_NEXT}){{0,4}}"
            ),
        ),
        # Calle Mayor 10; ul. Nowa 5
        (
            (
                r"(?:Calle|C/|Av|Plaza|Paseo|Camino|Ronda|Carrer|Alameda|Viale|Piazza|Corso|Vicolo|"
                r"Largo|"
                r"Rua|Travessa|Praca|[Uu]l|[Aa]l|[Pp]lac|[Oo]s\.)"
            ),
            (
                rf"(?:Calle|C/|Avenida|Avda\.?|Plaza|Paseo|Camino|Ronda|Carrer|Alameda|Viale|Piazza|"
                rf"Corso|"
                rf"Vicolo|Largo|Rua|Travessa|Praca|[Uu]l\.|[Uu]lica|[Aa]l\.|[Aa]leja|[Pp]lac|[Oo]s\.) ?"
                rf"(?:{_PARTICLES}){{0,3}}{_CAPITAL}(?:{_NEXT}){{0,4}}{_NUMBERED}"
            ),
        ),
        (
            r"Box \d|Postfach \d",
            r"(?:P\. ?O\. ?|PO |Post Office )Box \d{1,6}|Postfach \d[\d ]{1,9}",
        ),
        # H.No. 16, Dixit Circle, Bhilai 265469
        (
            r"[a-z](?: ?- ?| )[1-8]\d{5}(?!\d)",
            (
                rf"(?:(?:H|House|Flat|Plot|Door)\.? ?No\.? ?)?\d[\w/\-]{{0,9}}{_GAP}{_CAPITAL}"
                rf"(?: {_CAPITAL}){{0,3}}{_GAP}{_TOWN}(?: ?- ?| )[1-8]\d{{5}}(?!\d)"
            ),
        ),
    )
)
_YEAR = re.compile(r"(?:19|20)\d\d")
# How an address goes on: towns, codes and countries begin with a capital or a digit.
_ON = re.compile(
    r"(?:[, \t]{0,3}\n?[ \t]?(?<![A-Za-z0-9])(?:(?:St|Apt|No|Ste|Mt|Flat|Unit)\. )?"
    r"(?:(?:de|la|le|du|des|der|am|an|im|of|upon|sur|bei) )?[A-Z0-9#][\w'\-/]{0,40}){0,16}"
)
# Without a comma or a line between, what follows is the next thing said.
_TOWN_ON = re.compile(
    rf"(?:(?:, ?|,?\n[ \t]?)(?:{_CODE}{_GAP})?{_TOWN}){{0,3}}(?:{_GAP}(?:{_ZIP_US}|{_POSTCODE_GB}|"
    rf"{_CODE}))?"
)


def written_addresses(text: str) -> Iterator[Detection]:
    """Addresses that are known by the way they are written."""
    for hint, form in _WRITTEN:
        if not hint.search(text):
            continue
        for match in form.finditer(text):
            on = _TOWN_ON.match(text, match.end())
            end = on.end() if on else match.end()
            number = match["number"] if form.groups else None
            if number and _YEAR.fullmatch(number) and end == match.end():
                continue
            yield Detection(match.start(), end, "address")


# --- behind a label -----------------------------------------------------------------------

_LABEL = re.compile(
    r"(?P<sure>(?:home|postal|mailing|billing|shipping|delivery|street|residential|private|new|my|"
    r"his|her|their|current|permanent|registered) addr(?:ess|\.)|anschrift|wohnadresse|lives? at|"
    r"living at|resid(?:es|ing) at|wohnhaft(?: in)?|wohnt in|domicilio|domicile|residence)"
    r"|(?<!\w)(?:address|addr\.|adresse|direccion|indirizzo|endereco|adres)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"(?:(?:_line_?1| line 1| on file)?(?:[ \t](?:is|was|ist|est|es|"
    r"changed to)){0,1})?[ \t\"']{0,4}"
    r"[:=]?[ \t\"']{0,4}(?:\n[ \t]{0,4})?",
    re.IGNORECASE,
)
_STREET_KINDS = (
    r"(?:street|str?|road|rd|avenue|ave|lane|ln|drive|dr|court|ct|boulevard|blvd|way|place|pl|"
    r"square|"
    r"sq|terrace|close|crescent|parkway|pkwy|highway|hwy|circle|row|mews|trail|loop|hill|grove)"
)
_NAME = r"[^\W\d_][\w'\-]{0,40}"
_STREET = re.compile(
    rf"\d{{1,5}}[a-z]?,? (?:[\w'\-]{{1,40}}\.? ){{0,4}}{_STREET_KINDS}\b\.?"
    r"|(?:[\w\-]{1,40} ){0,2}[\w\-]{0,40}(?:stra(?:ss|ß)e|str\.|weg|platz|allee|gasse|ring|laan|"
    r"straat|"
    r"plein|gatan|vagen|gade|vej)[ ,]{1,2}\d{1,4}[a-z]?\b"
    rf"|(?:\d{{1,4}}(?: bis| ter)?,? )?(?:rue|avenue|boulevard|chemin|quai|via|viale|piazza|corso|"
    rf"calle|avenida|plaza|rua|ul\.)(?: {_NAME}){{1,5}}(?:,? ?\d{{1,5}})?"
    r"|p\.? ?o\.? box \d{1,8}|apartado \d{1,8}|postfach \d{1,8}",
    re.IGNORECASE,
)
_SOMEWHERE = re.compile(r"(?=[^\n]{0,60}\d)(?=[^\n]{0,60}[A-Z][a-z])[A-Z0-9]")
# Chinese, Japanese, Korean and Russian: the rest of the line, if it has a number.
_WHOLE_LINE = re.compile(
    r"(?:住所|地址|주소|адрес(?:\s+(?:доставки|проживания))?)[は是은는]?\s?[:=]?\s?"
    r"(?P<line>(?=[^\n]{0,60}\d)[^\n。;!?]{5,60}+)",
    re.IGNORECASE,
)
_WHOLE_LINE_PIECES = ("住所", "地址", "주소", "адрес")


def labelled_addresses(text: str) -> Iterator[Detection]:
    """Addresses that are called so, in whatever spelling."""
    low = text.lower()
    if holds(low, ADDRESS_PIECES):
        for label in _LABEL.finditer(text):
            if span := _address(text, label):
                yield span
    if holds(low, _WHOLE_LINE_PIECES):
        for match in _WHOLE_LINE.finditer(text):
            yield Detection(*match.span("line"), "address")


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

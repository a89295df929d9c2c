"""Dates of birth and postal addresses, which nothing but their label tells from other ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.gates.spans import Span

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


def labelled(text: str) -> Iterator[Span]:
    """Dates of birth and postal addresses that are called so."""
    low = text.lower()
    if any(piece in low for piece in _BIRTH_PIECES):
        for found in _BIRTH.finditer(text):
            yield Span(*found.span("date"), "birth_date")
    if any(piece in low for piece in _ADDRESS_PIECES):
        for label in _ADDRESS_LABEL.finditer(text):
            if span := _address(text, label):
                yield span


def _address(text: str, label: re.Match[str]) -> Span | None:
    """The address after a label: a street and how it goes on, or capitals and a number."""
    between = _BETWEEN.match(text, label.end())
    start = between.end() if between else label.end()
    street = _STREET.search(text, start, start + 80)
    if street is not None and "\n" not in text[start : street.start()]:
        on = _ON.match(text, street.end())
        return Span(start, on.end() if on else street.end(), "address")
    if label["sure"] and _SOMEWHERE.match(text, start):
        on = _ON.match(text, start)
        if on and any(map(str.isdigit, on[0])) and " " in on[0].strip():
            return Span(start, on.end(), "address")
    return None

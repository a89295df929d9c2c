"""Made-up values of what the gates must find, the same for the same seed.

Numbers have valid check digits, telephone numbers the form of their country, tokens the prefix of
their issuer with random letters behind. Nobody's data are among them.
"""
# ruff: noqa: E501 - an expression reads better whole

from __future__ import annotations

import random
import string
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.ch import ssn as ahv
from stdnum.de import idnr
from stdnum.es import dni
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.nl import bsn
from stdnum.pl import pesel

Make = Callable[[random.Random], str]


def digits(chance: random.Random, count: int) -> str:
    """Some random digits."""
    return "".join(chance.choices("0123456789", k=count))


def grouped(text: str, *sizes: int, by: str = " ") -> str:
    """A number in groups, the last with whatever is left."""
    parts, at = [], 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return by.join(part for part in (*parts, text[at:]) if part)


# Issuers as their cards begin, how many digits they have, and how these are grouped.
_ISSUERS = (
    ("4", 16, (4, 4, 4)), ("51", 16, (4, 4, 4)), ("53", 16, (4, 4, 4)), ("2221", 16, (4, 4, 4)),
    ("34", 15, (4, 6)), ("37", 15, (4, 6)), ("6011", 16, (4, 4, 4)), ("36", 14, (4, 6)),
    ("3530", 16, (4, 4, 4)), ("6759", 12, (4, 4)), ("5018", 13, (4, 4, 4)), ("4", 13, (4, 4, 4)),
    ("2131", 15, (4, 6)), ("62", 16, (4, 4, 4)), ("4", 19, (4, 4, 4, 4)),
)  # fmt: skip


def card(chance: random.Random) -> str:
    """A card of one of many issuers, in a row or in its groups."""
    start, length, sizes = chance.choice(_ISSUERS)
    body = start + digits(chance, length - 1 - len(start))
    number = body + luhn.calc_check_digit(body)
    return chance.choice((number, *(grouped(number, *sizes, by=by) for by in " -.")))


def account(chance: random.Random) -> str:
    """An IBAN of one of five countries, in a row or in fours."""
    country, count = chance.choice((("DE", 18), ("FR", 23), ("ES", 20), ("AT", 16), ("PT", 21)))
    while True:
        body = digits(chance, count)
        number = country + f"{98 - int(_as_number(body + country + '00')) % 97:02d}" + body
        if iban.is_valid(number):
            return chance.choice((number, grouped(number, *(4,) * 6)))


def _as_number(text: str) -> str:
    return "".join(str(int(letter, 36)) for letter in text)


def national(module: Any, count: int, start: str = "", letter: bool = False) -> Make:
    """Numbers of one state: tried until its own rules accept one."""

    def make(chance: random.Random) -> str:
        while True:
            number = start + digits(chance, count)
            if letter:
                number += chance.choice("ABCDEFGHJKLMNPQRSTVWXYZ")
            if module.is_valid(number):
                return number

    return make


def born(make: Make, month: slice, last: int) -> Make:
    """Of such numbers those with a month that somebody alive can have."""

    def alive(chance: random.Random) -> str:
        while not 1 <= int((number := make(chance))[month]) <= last:
            pass
        return number

    return alive


NATIONAL: dict[str, Make] = {
    "tax id": national(idnr, 11),
    "CPF": national(cpf, 11),
    "AHV number": national(ahv, 10, start="756"),
    "DNI": national(dni, 8, letter=True),
    # The check digits of the next and the last fit numbers that nobody has: a month is 1 to 12, and
    # a PESEL of somebody born from 1900 to 2099 says so by less than 40.
    "numéro de sécurité sociale": born(national(nir, 14, start="1"), slice(3, 5), 12),
    "NHS number": national(nhs, 10),
    "BSN": national(bsn, 9),
    "PESEL": born(national(pesel, 11), slice(2, 4), 39),
}

# --- telephones, dates, addresses ---------------------------------------------------------

# `#` is a digit, `N` one from 2 to 9.
_PHONES = (
    "+1 N## N## ####", "+1-N##-N##-####", "(N##) N##-####", "N##-N##-####", "N##.N##.####",
    "+1 (N##) N##-#### x###", "+44 20 7### ####", "020 7### ####", "07### ######", "+44 7### ######",
    "+49 30 ######", "030 ######", "0049 89 ######", "+49 (0)171 #######", "+33 1 4# ## ## ##",
    "+33 6 ## ## ## ##", "+34 6## ### ###", "+39 06 #### ####", "+31 6 ########", "+48 5## ### ###",
    "+91 9#### #####", "+55 11 9####-####", "+81 3 #### ####", "+61 4## ### ###", "00 41 44 ### ## ##",
)  # fmt: skip


def _shaped(chance: random.Random, shape: str) -> str:
    """A shape with its `#` and `N` filled in."""
    some = {"#": "0123456789", "N": "23456789"}
    return "".join(chance.choice(some[sign]) if sign in some else sign for sign in shape)


def phone(chance: random.Random) -> str:
    """A telephone number that shows its country, or is written as one of three countries does."""
    return _shaped(chance, chance.choice(_PHONES))


def birth_date(chance: random.Random) -> str:
    """A day between 1935 and 2015 in one of many spellings."""
    day = date(1935, 1, 1) + timedelta(days=chance.randrange(29_000))
    form = chance.choice(
        ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d %B %Y", "%B %d, %Y",
         "%d %b %Y", "%b %d %Y", "%Y/%m/%d", "%d-%b-%Y", "%d.%m.%y", "%Y%m%d")
    )  # fmt: skip
    return day.strftime(form)


_STREETS = "Maple Ashford Wexley Harlow Juniper Kingsmead Bramble Tilden Orchard Larkspur".split()
_KINDS = "Street Road Avenue Lane Drive Court Boulevard St Rd Ave Blvd Terrace Crescent".split()
_TOWNS = "Springfield Millbrook Ashton Fairview Norwell Brackley Dunmore Easton".split()
_STATES = "CA NY TX WA OR MA IL CO GA NC".split()
_GERMAN = "Linden Garten Bahnhof Schiller Goethe Berg Kirch Wald".split()
_GERMAN_TOWNS = "Kassel Ulm Bamberg Lübeck Jena Worms".split()
_FRENCH = ("de la Gare", "des Lilas", "Victor Hugo", "du Moulin", "Jean Moulin", "de l'Église")
_SPANISH = ("Mayor", "de Alcalá", "San Juan", "del Sol", "Cervantes")
_ITALIAN = ("Garibaldi", "Roma", "Dante", "Verdi", "Cavour")


def address(chance: random.Random) -> str:
    """An address as one of seven countries writes it, on one line or two."""
    pick, number = chance.choice, chance.randrange(1, 400)
    by = pick((", ", ", ", "\n"))
    code = digits(chance, 5)
    letters = "".join(chance.choices("ABDEFGHJLNPQRSTUWXYZ", k=2))
    forms = (
        f"{number} {pick(_STREETS)} {pick(_KINDS)}{by}{pick(_TOWNS)}, {pick(_STATES)} {code}",
        (
            f"{number} {pick(_STREETS)} {pick(_KINDS)}, Apt {number}{by}{pick(_TOWNS)}, "
            f"{pick(_STATES)} {code}"
        ),
        f"{number} {pick(_STREETS)} {pick(_KINDS)}",
        (
            f"Flat {number % 40 + 1}, {number} {pick(_STREETS)} {pick(_KINDS)}{by}{pick(_TOWNS)} "
            f"{pick('BLMNS')}{number % 9 + 1} {code[0]}{letters}"
        ),
        (
            f"{pick(_GERMAN)}{pick(('straße', 'str.', 'weg', 'allee'))} {number}{by}{code} "
            f"{pick(_GERMAN_TOWNS)}"
        ),
        f"{number} rue {pick(_FRENCH)}{by}{code} {pick(('Lyon', 'Nantes', 'Lille', 'Tours'))}",
        f"Calle {pick(_SPANISH)} {number}{by}{code} {pick(('Madrid', 'Sevilla', 'Bilbao'))}",
        f"Via {pick(_ITALIAN)} {number}{by}{code} {pick(('Torino', 'Bologna', 'Pisa'))}",
        f"{pick(_STREETS)}straat {number}{by}{code[:4]} {letters} {pick(('Utrecht', 'Leiden'))}",
    )
    return pick(forms)


# --- secrets ------------------------------------------------------------------------------

_ANY = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def drawn(chance: random.Random, count: int, among: str = _ANY) -> str:
    """Some random letters, with a small one, a capital and a digit if there are any."""
    found = chance.choices(among, k=count)
    if among is _ANY:
        found[1:4] = chance.choice("abcdef"), chance.choice("GHJKLM"), chance.choice("23456789")
    return "".join(found)


def password(chance: random.Random) -> str:
    """A password as people make them up: a word with digits or signs, or letters by lot."""
    word = chance.choice("summer dragon castle winter monkey orange silver hunter".split())
    return chance.choice(
        (word.title() + digits(chance, 4), word + digits(chance, 2) + "!", drawn(chance, 12),
         f"{word}#{digits(chance, 2)}")
    )  # fmt: skip


# Prefix, how many characters follow, and which.
_PREFIXES = (
    ("dapi", 32, _HEX), ("ghp_", 36, _ANY), ("glpat-", 20, _ANY), ("hf_", 34, _ANY),
    ("npm_", 36, _ANY), ("sk_live_", 24, _ANY), ("rk_test_", 24, _ANY), ("AIza", 35, _ANY),
    ("glsa_", 40, _ANY), ("gsk_", 52, _ANY), ("r8_", 37, _ANY), ("figd_", 40, _ANY),
    ("ntn_", 46, _ANY), ("sbp_", 40, _HEX), ("pul-", 40, _HEX), ("rubygems_", 48, _HEX),
    ("NRAK-", 27, string.ascii_uppercase + string.digits), ("ATATT3x", 60, _ANY),
    ("xkeysib-" + "0a" * 32 + "-", 16, _ANY), ("key-", 32, _HEX), ("whsec_", 32, _ANY),
    ("dop_v1_", 64, _HEX), ("shpat_", 32, _HEX), ("hvs.", 30, _ANY), ("sntrys_", 50, _ANY),
)  # fmt: skip


def token(chance: random.Random) -> str:
    """A token of one of 25 issuers, by its prefix."""
    prefix, count, among = chance.choice(_PREFIXES)
    return prefix + drawn(chance, count, among)


def session(chance: random.Random) -> str:
    """What a cookie holds: 24 to 40 letters and digits."""
    return drawn(chance, chance.randrange(24, 41), chance.choice((_ANY, _HEX + "0123456789")))


_DICE = (
    "anchor basil cactus dolphin ember falcon granite harbor island jigsaw kettle lantern meadow "
    "nectar oyster pebble quartz ribbon saddle timber umbrella velvet walnut yonder zephyr"
).split()


def phrase(chance: random.Random) -> str:
    """Four to twelve words drawn by lot."""
    return " ".join(chance.sample(_DICE, chance.choice((4, 5, 6, 12))))


def email(chance: random.Random) -> str:
    """An address of somebody at a host that nobody has."""
    name = chance.choice("jane.roe j_roe roe+news jroe87 jane-r".split())
    return (
        f"{name}@{chance.choice(('mail', 'post', 'team'))}.{chance.choice(_TOWNS).lower()}.example"
    )


def ip(chance: random.Random) -> str:
    """A public address of version 4 or 6."""
    tail = f"{chance.randrange(1, 255)}.{chance.randrange(1, 255)}"
    return chance.choice(
        (f"203.0.{tail}", f"81.17.{tail}", f"2001:db8:{digits(chance, 4)}::{digits(chance, 2)}")
    )

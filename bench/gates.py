"""What the ingest gate finds and what it touches by mistake.

Two measures. The labelled set of the tests (tests/unit/gates_corpus.py) is what the rules were
written against, so its recall says that nothing got worse. The second is new with every seed:
numbers with valid check digits, made up here, in sentences the rules were not written against.
A number counts as found if none of its groups of four or more digits is left.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
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
from tests.unit import gates_corpus as corpus

from bench.common import report
from idetic.gates.gate import Gates, Pipeline
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary

Make = Callable[[random.Random], str]

_FORMS = ("{number}", "{number}, as far as we know", "({number})", "“{number}”")
_SAID = {
    "card": ("The charge went to {}.", "Refund {} today.", "He read out {} on the phone."),
    "iban": ("Pay into {}.", "Their account is {} now.", "Returned from {} twice."),
    "national id": ("His {label} is {}.", "{label}: {}", "The {label} {} was on the form."),
}


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


def card(chance: random.Random) -> str:
    """A card of a common issuer, in a row or in fours."""
    start = chance.choice(("4", "51", "53", "55", "2221"))
    body = start + digits(chance, 15 - len(start))
    number = body + luhn.calc_check_digit(body)
    return chance.choice((number, grouped(number, 4, 4, 4), grouped(number, 4, 4, 4, by="-")))


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


def generated(seed: int, count: int) -> Iterable[tuple[str, str, str]]:
    """(type, text, number), the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for kind, make in (("card", card), ("iban", account)):
        for _ in range(count):
            number = make(chance)
            yield kind, _sentence(chance, kind, number), number
    for label, make in NATIONAL.items():
        for _ in range(count):
            number = make(chance)
            yield label, _sentence(chance, "national id", number, label), number


def _sentence(chance: random.Random, kind: str, number: str, label: str = "") -> str:
    shown = chance.choice(_FORMS).format(number=number)
    return chance.choice(_SAID[kind]).format(shown, label=label)


def found(gate: Pipeline, text: str, number: str) -> bool:
    """Whether nothing of a number is left in a text."""
    left = re.sub(r"[^0-9]", "", gate.apply(text).text)
    return re.sub(r"[^0-9]", "", number)[-8:] not in left


def main(seed: int, count: int) -> int:
    """Measure and report."""
    gate = Gates(load("world_agent")).at(Boundary.INGEST)
    rows = [*_labelled(gate), *_made(gate, seed, count)]
    rows.append(_benign(gate))
    report("gates", rows, {"seed": seed, "made up of each type": count})
    return 0


def _labelled(gate: Pipeline) -> Iterable[dict[str, Any]]:
    hit: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for case in (*corpus.SECRETS, *corpus.PII):
        all_[case.kind] += 1
        hit[case.kind] += case.removed not in gate.apply(case.text).text
    for kind, number in all_.items():
        yield _row("labelled", kind, number, hit[kind])


def _made(gate: Pipeline, seed: int, count: int) -> Iterable[dict[str, Any]]:
    hit: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for kind, text, number in generated(seed, count):
        all_[kind] += 1
        hit[kind] += found(gate, text, number)
    for kind, number_of in all_.items():
        yield _row("made up, checksum", kind, number_of, hit[kind])


def _benign(gate: Pipeline) -> dict[str, Any]:
    texts = (*corpus.BENIGN, *corpus.TAKEN_ALL_THE_SAME)
    touched = sum(gate.apply(text).text != text for text in texts)
    return _row("harmless", "touched", len(texts), touched)


def _row(which: str, kind: str, number: int, hit: int) -> dict[str, Any]:
    return {"set": which, "type": kind, "texts": number, "found": hit, "share": hit / number}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--count", type=int, default=300)
    given = parser.parse_args()
    raise SystemExit(main(given.seed, given.count))

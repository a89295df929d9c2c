"""Numbers that states give to persons, by python-stdnum's check digits.

One in ten plain numbers has the check digit of some country. So each kind says how it is
written where nobody names it (`open`): grouped as plain numbers are not, or with checks that
pass few of them (measured: PESEL 0.7 %, IdNr 0.4 %, NIR 0.6 % of random digits). In any other
spelling it counts only if the words before name it.
VAT numbers belong to companies and are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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

from idetic.gates.digits import Run, said_before
from idetic.gates.spans import Span

_ANY_STATE = (
    r"national (?:id|insurance|identity)|(?:personal|identity|citizen|tax) (?:id|number|no)|tax ?id"
)


@dataclass(frozen=True, slots=True)
class NationalId:
    """One kind of number: how it is written, what it is called, how it is checked."""

    named: re.Pattern[str]
    label: re.Pattern[str]
    valid: Callable[[str], bool]
    open: re.Pattern[str] | None = None

    def find(self, text: str, run: Run) -> Iterator[Span]:
        """Numbers of this kind in and around one run of digits."""
        # A letter before, a letter and a few digits after may belong to it.
        window = max(0, run.start - 3), min(len(text), run.end + 14)
        if self.open is not None:
            for found in self.open.finditer(text, *window):
                if self.valid(found[0]):
                    yield Span(*found.span(), "national_id")
        for found in self.named.finditer(text, *window):
            if said_before(text, found.start(), self.label) and self.valid(found[0]):
                yield Span(*found.span(), "national_id")


def _alone(pattern: str) -> str:
    """Groups with spaces between them, and no further group: four columns are a table."""
    return rf"(?<![0-9][ \-])(?:{pattern})(?![ \-]{{1,3}}[0-9])"


def _edged(pattern: str, flags: int = 0, before: str = "") -> re.Pattern[str]:
    edges = rf"(?<![A-Za-z0-9{before}])(?<!\d[.,])", r"(?![A-Za-z0-9_])"
    return re.compile(rf"{edges[0]}(?:{pattern}){edges[1]}", flags)


def _kind(
    valid: Callable[[str], bool], label: str, named: str, open_: str | None = None
) -> NationalId:
    return NationalId(
        _edged(named, re.IGNORECASE),
        re.compile(rf"(?:{label}|{_ANY_STATE})[^\d\n]{{0,16}}\Z", re.IGNORECASE),
        lambda number: valid(_compact(number)),
        None if open_ is None else _edged(open_, before="_/=&#"),
    )


def _compact(number: str) -> str:
    """Without separators; the sign before the last four digits of Nordic numbers has a meaning."""
    nordic = re.fullmatch(r"\d{6,8}[-+Aa]\w{4}", number)
    return number.upper() if nordic else re.sub(r"[ .\-/_]", "", number).upper()


_S = r"[ .\-/_]{0,2}"
_NINO_NEVER = frozenset("BG GB KN NK NT TN ZZ".split())


def _nino(number: str) -> bool:
    # National Insurance numbers have no check digit, only letters that are never used.
    return number[:2] not in _NINO_NEVER


def _pesel(number: str) -> bool:
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

KINDS: tuple[NationalId, ...] = (
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


def national_ids(text: str, run: Run) -> Iterator[Span]:
    """Numbers of persons in one run of digits."""
    if run.is_date and run.digits <= 10:
        return
    for kind in KINDS:
        yield from kind.find(text, run)


def tax_codes(text: str) -> Iterator[Span]:
    """Italian tax codes, which are letters and digits in turn and so no run of digits."""
    for found in _CODICE.finditer(text):
        if codicefiscale.is_valid(found[0].replace(" ", "")):
            yield Span(*found.span(), "national_id")

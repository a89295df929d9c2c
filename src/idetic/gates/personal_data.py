"""The `pii` gate: what points to a person is not remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from itertools import count

from idetic.gates.birth_dates import birth_dates
from idetic.gates.first_look import ADDRESS_LABEL, AT, BIRTH, DIGIT, STREET, TAX_CODE
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
        for found in _EMAIL.finditer(text):
            if not _REPOSITORY.match(text, found.start()):
                yield Detection(*found.span(), "email")
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

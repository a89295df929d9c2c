"""Internet addresses: they lead to a household."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network

from idetic.gates.digits import said_before
from idetic.gates.spans import Span

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


def addresses(text: str) -> Iterator[Span]:
    """IPv4 and IPv6 addresses that could be somebody's."""
    if _DOTTED.search(text):
        for found in _V4.finditer(text):
            if _is_host(found[0]) and not said_before(text, found.start(), _COUNTED):
                yield Span(*found.span(), "ip")
    if _COLONS.search(text):
        for found in _V6.finditer(text):
            if _is_v6(found[0]):
                yield Span(*found.span(), "ip")


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

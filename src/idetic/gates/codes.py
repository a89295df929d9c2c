"""What a deployment numbers: rows, tickets, orders, accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.gates.spans import Span

# Words that hold a digit, hyphens included. Everything below is looked for in these alone,
# which are few: one scan of the text instead of seven.
_CODED = re.compile(r"(?<![A-Za-z0-9_:\-])(?=[A-Za-z_:\-]*[0-9])[A-Za-z0-9_:\-]+")

# Numbered like a ticket, and known to everyone.
_STANDARDS = (
    "SHA|UTF|ISO|RFC|AES|RSA|MD|IEEE|CVE|CWE|PEP|HTTP|HTTPS|TLS|SSL|IPV|UTC|GMT|COVID|DIN|EN|ANSI|"
    "ASCII|ECMA|NIST|FIPS|PCI|USB|HTML|CSS|PKCS|ED|CRC|BASE|GPT|INT|UINT|FLOAT"
)
_PREFIXES = "acct?|cust?|usr|user|org|ord|inv|sub|pi|ch|txn?|req|ten(?:ant)?|ws|proj|team"
_MACHINES = "ip|host|node|srv|server|web|db|app|vm|pod|i"
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9_])"))
    for kind, pattern in (
        ("uuid", r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
        ("account", rf"(?!(?:{_STANDARDS})-)[A-Z][A-Z0-9]{{1,9}}[-_]\d{{2,}}(?:-\d+)*"),
        ("account", r"[a-z]{2,12}_(?=[A-Za-z0-9]*\d[A-Za-z0-9]*\d)[A-Za-z0-9]{6,}"),
        ("account", rf"(?:{_PREFIXES})_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{{3,}}"),
        ("account", r"(?![0-9A-Fa-f]+\b)(?=(?:[A-Za-z]*\d){3})(?=\d*[A-Za-z])[A-Za-z0-9]{16,}"),
        # `db-prod-01`, `ip-10-0-0-12`: names that machines get.
        ("hostname", r"(?:[a-z][a-z0-9]{0,20}-){1,6}[a-z]{0,12}\d{2,}"),
        (
            "hostname",
            rf"(?:{_MACHINES})-(?:[0-9a-z]{{1,20}}-){{0,6}}[a-z]{{0,12}}\d[0-9a-z]{{0,12}}",
        ),
        ("hex", r"0x[0-9A-Fa-f]{4,}|(?=\d*[A-Fa-f])(?=[A-Fa-f]*\d)[0-9A-Fa-f]{7,128}"),
        ("hex", r"(?:[0-9A-Fa-f]{2}[:\-]){5}[0-9A-Fa-f]{2}"),
        # Six digits or more; round ones are quantities.
        ("number", r"(?<![.,])(?!\d+000\b)\d{6,}(?![.,]\d)"),
    )
)

_NUMBER = re.compile(r"(?<![A-Za-z0-9_.,])(?:[A-Z]{1,4}-?)?[0-9][0-9\-]*(?![A-Za-z0-9_]|[.,]\d)")
_COUNTED = frozenset(
    """
    order ticket invoice account acct customer case contract policy shipment booking reservation
    transaction payment user tenant client incident job request deployment instance host node
    serial ref reference tracking patient member employee device batch
    """.split()
)
_NUMBER_WORDS = frozenset("no number nr num id".split())
_MARKS = " \t:=#"
_LOOK_BACK = 28


def codes(text: str) -> Iterator[Span]:
    """Ids that show by their form what they are."""
    for word in _CODED.finditer(text):
        if word.end() - word.start() < 5:
            continue
        for kind, pattern in _KINDS:
            for found in pattern.finditer(text, *word.span()):
                yield Span(*found.span(), kind)


def numbered(text: str) -> Iterator[Span]:
    """Numbers that the word before makes an id: `order #4711`, `customer 100200`.

    Without a mark it takes five digits: `order 500 units` is about a quantity.
    """
    for found in _NUMBER.finditer(text):
        start, end = found.span()
        if end - start < 2:
            continue
        before = text[max(0, start - _LOOK_BACK) : start]
        plain = before.rstrip(_MARKS)
        marks = before[len(plain) :]
        if _is_counted(plain, marks, end - start) or (end - start > 2 and marks[-1:] == "#"):
            yield Span(start, end, "account")


def _is_counted(before: str, marks: str, length: int) -> bool:
    """Whether the words before say that a number is one of many of its kind."""
    words = before.rstrip(".").lower().replace("_", " ").split()[-2:]
    if not words or not marks:
        return False
    marked = marks.strip() != ""
    if words[-1] in _NUMBER_WORDS:
        marked = True
        words.pop()
    noun = words[-1] if words else ""
    return (marked or length > 4) and (noun in _COUNTED or noun.removesuffix("s") in _COUNTED)

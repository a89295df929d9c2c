"""The `strip_identifiers` gate: what happened stays, where and to whom it happened goes.

Identifiers are the places where a deployment lives (addresses, hosts, files), what it numbers
(rows, tickets, orders, accounts), what its parts and people are called (`deployment_names`), and
the names and patterns that the spec and the caller give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from idetic.gates.deployment_names import accounts_of_people, environments, labelled_names
from idetic.gates.personal_data import addresses, emails
from idetic.gates.redaction import Detection, Recogniser, each, folded, when

_URL = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z][a-z0-9+.\-]{1,15}://|www\.)"
    r"[^\s<>\"'`|\\^{}]*[^\s<>\"'`|\\^{}.,;:!?)\]]",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?<![\w/.:])(?:~|\.{1,2})?/(?:[\w.@\-]+/)+[\w.@\-]*[\w\-]"
    r"|(?<!\w)[A-Za-z]:\\[\w.\\\-]*[\w\-]|\\\\[\w.\-]+(?:\\[\w.\-$]+)+"
    r"|(?<![\w/.])(?:[\w\-]+/)+[\w\-]+\.[a-z][a-z0-9]{0,5}\b"
)

# Endings under which hosts are named. Country codes that are also file endings or words (`py`,
# `sh`, `rs`, `md`, `is`, `in`, `it`, `at`, `to`, `me`, `no`) are left out.
_TOP = (
    "com|net|org|io|ai|dev|app|cloud|biz|info|edu|gov|mil|int|eu|uk|de|fr|es|nl|ch|se|dk|fi|cz|"
    "jp|cn|kr|br|au|ca|us|ru|mx|za|ie|gr|hu|ro|tr|ua|internal|local|localdomain|lan|corp|intern|"
    "intranet|private|cluster|svc|arpa|onion|test|example|invalid|consul|home"
)
_HOST_ENDS = re.compile(rf"\.(?:{_TOP})(?![A-Za-z0-9_\-])", re.IGNORECASE)
_HOST = re.compile(
    rf"(?<![A-Za-z0-9_@.\-])(?:[a-z0-9](?:[a-z0-9\-]{{0,61}}[a-z0-9])?\.){{1,8}}(?:{_TOP})"
    r"(?::\d{1,5})?(?![A-Za-z0-9_\-]|\.[A-Za-z0-9])",
    re.IGNORECASE,
)


def _hosts(text: str) -> Iterator[Detection]:
    """Host names; the ending is looked for first, because few texts have one."""
    if _HOST_ENDS.search(text):
        yield from each(_HOST, "hostname")(text)


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
_NUMBERED_PARTS = (
    "deployment|tenant|customer|client|org|cluster|node|host|server|instance|shard|site|store|env|"
    "workspace|project|account|acct|user|worker|replica|bucket|queue|job|device|member|vendor|partner"
)
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9_])"))
    for kind, pattern in (
        ("uuid", r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
        ("account", rf"(?!(?:{_STANDARDS})-)[A-Z][A-Z0-9]{{1,9}}[-_]\d{{2,}}(?:-\d+)*"),
        ("account", r"[a-z]{2,12}_(?=[A-Za-z0-9]*\d[A-Za-z0-9]*\d)[A-Za-z0-9]{6,}"),
        ("account", rf"(?:{_PREFIXES})_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{{3,}}"),
        ("account", r"(?![0-9A-Fa-f]+\b)(?=(?:[A-Za-z]*\d){3})(?=\d*[A-Za-z])[A-Za-z0-9]{16,}"),
        ("account", rf"(?i:{_NUMBERED_PARTS})[_\-]\d+"),
        ("account", r"(?:vpc|sg|subnet|ami|vol|snap|eni|rtb|igw|nat|acl|asg)-[0-9a-f]{8,17}"),
        # What Kubernetes calls a pod.
        ("hostname", r"(?:[a-z][a-z0-9]{0,20}-){1,5}[0-9a-f]{8,10}-[a-z0-9]{5}"),
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


def codes(text: str) -> Iterator[Detection]:
    """Ids that show by their form what they are."""
    for word in _CODED.finditer(text):
        if word.end() - word.start() < 5:
            continue
        for kind, pattern in _KINDS:
            for match in pattern.finditer(text, *word.span()):
                yield Detection(*match.span(), kind)


def numbered(text: str) -> Iterator[Detection]:
    """Numbers that the word before makes an id: `order #4711`, `customer 100200`.

    Without a mark it takes five digits: `order 500 units` is about a quantity.
    """
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if end - start < 2:
            continue
        before = text[max(0, start - _LOOK_BACK) : start]
        plain = before.rstrip(_MARKS)
        marks = before[len(plain) :]
        if _is_counted(plain, marks, end - start) or (end - start > 2 and marks[-1:] == "#"):
            yield Detection(start, end, "account")


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


def _as_identifier(recogniser: Recogniser) -> Recogniser:
    """A recogniser whose finds are removed as identifiers, whatever their kind."""
    return lambda text: (one._replace(identifier=True) for one in recogniser(text))


_urls = when(("://", "www.", "WWW."), each(_URL, "url"))
_paths = when(("/", "\\"), each(_PATH, "path"))
IDENTIFIERS: tuple[Recogniser, ...] = tuple(
    map(
        _as_identifier,
        (_urls, _hosts, _paths, emails, addresses, codes, numbered, environments, labelled_names,
         accounts_of_people),
    )
)  # fmt: skip


def named(identifiers: Iterable[str]) -> tuple[Recogniser, ...]:
    """A recogniser of the names that the caller gives, in any spelling; none for no names."""
    pattern = _names(tuple(sorted(set(identifiers))))
    return () if pattern is None else (_as_identifier(each(pattern, "name")),)


@lru_cache(maxsize=256)
def _names(identifiers: tuple[str, ...]) -> re.Pattern[str] | None:
    """`Acme Bank` is also `acme-bank` and `AcmeBank`. One letter or two digits name nothing."""
    spelt = []
    for identifier in identifiers:
        parts = re.findall(r"[^\W_]+", folded(identifier).text)
        joined = "".join(parts)
        if len(joined) > (2 if joined.isdigit() else 1):
            spelt.append(r"[\W_]{0,3}".join(map(re.escape, parts)))
    if not spelt:
        return None
    longest_first = "|".join(sorted(spelt, key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?:{longest_first})(?![^\W_])", re.IGNORECASE)


# What the signs of a declared pattern stand for, each with a bound; a number is taken whole.
_SIGNS = {"#": r"[0-9]{1,18}+", "?": "[A-Za-z0-9]", " ": r"[ _\-]"}
_ANYTHING = r"[\w.\-]{0,32}"


def shaped(globs: Iterable[str]) -> tuple[Recogniser, ...]:
    """A recogniser of what the patterns of a spec describe; none for no patterns."""
    pattern = _globs(tuple(sorted(set(globs))))
    return () if pattern is None else (_as_identifier(each(pattern, "name")),)


@lru_cache(maxsize=256)
def _globs(globs: tuple[str, ...]) -> re.Pattern[str] | None:
    """One expression for all patterns, found as whole words."""
    if not globs:
        return None
    either = "|".join(sorted(map(_expression, globs), key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)


def _expression(glob: str) -> str:
    """One pattern as an expression that goes back over its last `*` alone.

    What follows another `*` is taken where it stands first, and kept. Going back over each made a
    pattern with five of them take 0.3 s for a word of 200 letters, and 32 times that with six.
    """
    plain = re.sub(r"(\*|#)\1+", r"\1", glob)
    first, *parts = (
        "".join(_SIGNS.get(sign, re.escape(sign)) for sign in part) for part in plain.split("*")
    )
    kept = "".join(f"(?>{_ANYTHING}?{part})" for part in parts[:-1])
    return first + kept + "".join(_ANYTHING + part for part in parts[-1:])

"""Where a deployment lives: addresses, hosts, files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from idetic.gates.spans import Recogniser, Span, each, when

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


def _if(needed: re.Pattern[str], recogniser: Recogniser) -> Recogniser:
    """Asked only where something rare is found that every match holds."""

    def asked(text: str) -> Iterable[Span]:
        return recogniser(text) if needed.search(text) else ()

    return asked


PLACES: tuple[Recogniser, ...] = (
    when(("://", "www.", "WWW."), each(_URL, "url")),
    _if(_HOST_ENDS, each(_HOST, "hostname")),
    when(("/", "\\"), each(_PATH, "path")),
)

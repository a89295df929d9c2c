"""Whether a text names somebody: an exact look, after what makes no difference is taken away.

Case, width, spacing and characters that show nothing are folded. An identifier is found as a
whole: `ada` is not in `adamant`, and `ada@example.com` is not in `ada@example.com.au`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from idetic.erasure import MAX_IDENTIFIER, Subject
from idetic.errors import InputError
from idetic.verbs.arguments import check_text

SHORTEST = 3
# Scripts that put no space between words, or join particles to a name: there a neighbour says
# nothing about where a name ends.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff"
)
_WORD = f"[^\\W{_UNSPACED}]"
_RUN = re.compile(r"[a-z0-9]+")
_SPACED = re.compile(f"[^{_UNSPACED}]")
# An address or a number goes on behind these; a name does not.
_JOINERS = r"[.+\-]"


def folded(text: str) -> str:
    """A text as it is compared."""
    if not text.isascii():
        shown = (c for c in text if unicodedata.category(c) != "Cf")
        text = unicodedata.normalize("NFKC", "".join(shown))
        text = unicodedata.normalize("NFKC", text.casefold())
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(text.casefold().split())


class Mentions:
    """Finds one subject in texts."""

    def __init__(self, subject: Subject):
        names = [_checked(identifier) for identifier in subject.identifiers]
        # Longest first: an address before the name that it contains.
        names.sort(key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_whole, names)))
        self.names = tuple(names)

    @property
    def runs(self) -> list[str]:
        """For a first look in the database: of each identifier, its longest run of ASCII.

        A text of ASCII alone that names the subject holds one of them, in some case. Any other
        text has to be looked at anyway, since width and hidden characters are folded here only.
        """
        longest = (max(_RUN.findall(name), key=len, default="") for name in self.names)
        return sorted({run for run in longest if run})

    def within(self, *values: object) -> bool:
        """Whether any of some texts, or of the values of a document, names the subject."""
        return any(self._pattern.search(folded(text)) for text in _texts(values))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value)
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value)


def _checked(identifier: object) -> str:
    name = folded(check_text(identifier, MAX_IDENTIFIER, "An identifier"))
    if len(name) < (SHORTEST if _SPACED.search(name) else SHORTEST - 1):
        raise InputError(
            "An identifier is too short to name one person.",
            remedy=f"Give at least {SHORTEST} characters: a full name, an address or an id.",
        )
    return name


def _whole(name: str) -> str:
    strict = "@" in name or any(c.isdigit() for c in name)
    before, after = f"(?<!{_WORD})", f"(?!{_WORD})"
    if strict:
        before += f"(?<!{_WORD}{_JOINERS})"
        after += f"(?!{_JOINERS}{_WORD})"
    return f"{before}{re.escape(name)}{after}"

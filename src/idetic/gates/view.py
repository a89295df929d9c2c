"""The text as a reader sees it: what hides inside a number or a word is looked through.

A zero-width space inside a card number, full-width digits or a no-break hyphen change nothing
for a person and everything for a pattern. Patterns therefore see the view; what they find is
cut out of the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from idetic.gates.spans import Span

_CONTROL = re.compile(r"[^\t\n\r -~]")

# Letters and symbols by category that nevertheless show nothing: the Hangul fillers and the
# empty Braille cell.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_LINE_ENDS = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
_DASHES = frozenset("\u2212\u2043\u207b\u208b")  # minus signs and a bullet, not dashes by category


class View(NamedTuple):
    """The folded text, and where each of its characters stands in the original."""

    text: str
    offsets: list[int] | None

    def original(self, span: Span) -> Span:
        """The span in the text as it was given."""
        if self.offsets is None:
            return span
        last = self.offsets[span.end - 1]
        return span._replace(start=self.offsets[span.start], end=last + 1)


def view(text: str) -> View:
    """The view of a text; plain ASCII is its own."""
    if text.isascii() and (text.isprintable() or not _CONTROL.search(text)):
        return View(text, None)
    folded: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text):
        shown = character if " " <= character <= "~" else _fold(character)
        folded.append(shown)
        offsets.extend([at] * len(shown))
    return View("".join(folded), offsets)


@lru_cache(maxsize=8192)
def _fold(character: str) -> str:
    """One character as patterns see it: plain, a few characters, or nothing."""
    if character in "\t\n\r":
        return character
    if character in _LINE_ENDS:
        return "\n"
    category = unicodedata.category(character)
    if category in ("Cf", "Mn", "Me", "Cc") or character in _BLANK:
        return ""
    if category == "Pd" or character in _DASHES:
        return "-"
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    return "".join(map(_base, unicodedata.normalize("NFKC", character)))


def _base(character: str) -> str:
    """A Latin letter without its accents: `é` may be one character or two, and must not matter."""
    if unicodedata.category(character) == "Mn":
        return ""
    base = unicodedata.normalize("NFKD", character)[0]
    return base if base.isascii() else character

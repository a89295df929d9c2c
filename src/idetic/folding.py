"""Folding: a text as it is compared, whoever compares it.

What a reader overlooks makes no difference: case, accents, width, characters that show nothing,
marks of emphasis, letters of other scripts that look like ours, and whatever stands between words.
The guard, echoes, the gate for notes and erasure all fold here. The guard's functions do the same
in the database (`family/readings.sql`, made with the same table and the same expressions), because
they hold for whoever writes there; a test compares the two.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from unicodedata import category

from idetic.look_alikes import LOOK_ALIKES

# As ranges, because both regular expression engines read them, with their Unicode's version left
# out of it: combining marks that only decorate, and what shows nothing.
HIDDEN = (
    r"\x01-\x08\x0e-\x1f\x7f\u00AD\u0300-\u036F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u1AB0-\u1AFF\u1DC0-\u1DFF"
    r"\u200B-\u200F\u202A-\u202E\u2060-\u206F\u20D0-\u20FF\u2800\u3164\uFE00-\uFE0F\uFE20-\uFE2F"
    r"\uFEFF\uFFA0\uFFF9-\uFFFB\U000E0000-\U000E0FFF"
)
# Punctuation that is common in prose: without it most texts are plain at once.
POINTS = r"\u0080-\u00BF\u2010-\u205E\u3000-\u3006\u3008-\u303F"
# What words are made of, after everything was folded.
LETTERS = (
    r"0-9a-z\u00C0-\u1FFF\u2C00-\u2DFF\u3040-\uD7FF\uF900-\uFDFF\uFE70-\uFEFE\uFF66-\uFFDC"
    r"\U00010000-\U0001EFFF\U00020000-\U0010FFFF"
)
TAG = r"</?[a-z][^<>]{0,80}>"
EMPHASIS = r"[*~`|^\\]+"

_HIDDEN = re.compile(f"[{HIDDEN}]")
_POINTS = re.compile(f"[{POINTS}]")
_BETWEEN = re.compile(f"[^{LETTERS}]+")
_TAG = re.compile(TAG)
_EMPHASIS = re.compile(rf"(?<=[{LETTERS}]){EMPHASIS}(?=[{LETTERS}])")
_PLAIN = str.maketrans(LOOK_ALIKES)
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_MARKED = frozenset("*~`|^\\<")


def characters(text: str) -> str:
    """The text in plain characters: its words, marks and capitals stay where they are."""
    if text.isascii():
        return text if text.isprintable() else _HIDDEN.sub("", text)
    bare = _HIDDEN.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare).translate(_PLAIN)


@lru_cache(maxsize=4096)
def words(text: str) -> str:
    """The bare words of a text, in their order, with one space between them."""
    plain = characters(text)
    # ASCII's capitals alone: those of other scripts are in the table.
    plain = plain.lower() if plain.isascii() else _POINTS.sub(" ", plain).translate(_LOWER)
    if not _MARKED.isdisjoint(plain):
        plain = _EMPHASIS.sub("", _TAG.sub("", plain))
    return _BETWEEN.sub(" ", plain).strip()


def letters(text: str) -> str:
    """The bare letters: spaces left out, put in or replaced by capitals make no difference."""
    return words(text).replace(" ", "")


# --- how alike two texts are, as pg_trgm has it ---------------------------------------------------


def trigrams(text: str) -> frozenset[str]:
    """The trigrams that pg_trgm finds: of each word, with two spaces before and one after."""
    # A combining mark is no letter here; to the server, the vowel signs of some scripts are.
    spaced = (c.lower()[0] if c.isalnum() and category(c) != "No" else " " for c in text)
    words = "".join(spaced).split()
    return frozenset(f"  {word} "[i : i + 3] for word in words for i in range(len(word) + 1))


def trigram_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """pg_trgm's similarity: what two sets of trigrams share; nothing, if one is empty."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0

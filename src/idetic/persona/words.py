"""Text as it is compared."""

from __future__ import annotations

import unicodedata


def normalised(text: str) -> str:
    """Text as it is compared: width, case, punctuation and spacing make no difference."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_WORDS).split())


class _Words(dict[int, int]):
    """Characters of words stay, all others become spaces; each is looked up once.

    `str.translate` reads it without a Python call per character: 10,000 summaries are compared
    in one query.
    """

    def __missing__(self, code: int) -> int:
        character = chr(code)
        # Marks too: in Hindi, Thai or Arabic they are half of the word.
        word = character.isalnum() or unicodedata.category(character)[0] == "M"
        self[code] = code if word else ord(" ")
        return self[code]


_WORDS = _Words()

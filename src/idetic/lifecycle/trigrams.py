"""Trigrams, as the server's pg_trgm finds and compares them."""

from __future__ import annotations

from unicodedata import category


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

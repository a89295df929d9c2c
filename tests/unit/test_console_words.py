"""The console explains its words as the glossary does."""

from __future__ import annotations

import re
from pathlib import Path

from idetic.surfaces.console.wording import MEANINGS, meaning

GLOSSARY = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"
_LINK = re.compile(r" ?\(?\[[^\]]+\]\([^)]+\)\)?")


def test_a_word_means_what_the_glossary_says() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    known = {word: _LINK.sub("", said) for word, said in rows}
    assert {word: known.get(word) for word in MEANINGS} == MEANINGS
    assert meaning("Candidates") == MEANINGS["candidate"]
    assert meaning("names match only closely") is None

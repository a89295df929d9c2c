"""Folding in Python and folding in the database are one: what one overlooks, the other does too."""

from __future__ import annotations

import random
import sys
import unicodedata

import psycopg

from idetic import folding
from idetic.look_alikes import LOOK_ALIKES
from tests.conftest import TestDatabase
from tests.support import shadows

_FOLDED = """SELECT worlds.world_agent_spelled_v1(t)
             FROM unnest(%s::text[]) WITH ORDINALITY u(t, n) ORDER BY n"""
# Unicode's first version that every Python and every PostgreSQL that we support knows.
_OLD = unicodedata.ucd_3_2_0


def known() -> list[str]:
    """Every character that both sides have known for long, but those that no text can hold."""
    every = map(chr, range(1, sys.maxunicode + 1))
    return [c for c in every if _OLD.category(c) not in ("Cn", "Cs", "Co")]


def strings() -> list[str]:
    """Rules in every disguise, each look-alike inside a word, and seeded nonsense."""
    found = [change(rule) for rule in shadows.RULES for change in shadows.DISGUISES.values()]
    found += [f"wi{letter}e {letter.upper()}x" for letter in LOOK_ALIKES]
    rng = random.Random(19)  # noqa: S311 - seeded on purpose
    pool, marks = known(), "*~`|^\\<>/b _-.\t\n\x02\u200b\u0301 aeAE01"
    for _ in range(3_000):
        size = rng.randrange(1, 60)
        found.append(
            "".join(rng.choice(pool if rng.random() < 0.3 else marks) for _ in range(size))
        )
    return found


def test_python_and_the_database_fold_alike(database: TestDatabase) -> None:
    texts = strings() + [f"a{c}b {c}" for c in known()[::7]]
    with psycopg.connect(database.admin_dsn) as connection:
        rows = connection.execute(_FOLDED, (texts,)).fetchall()
    apart = [
        (text, folded, folding.words(text))
        for text, (folded,) in zip(texts, rows, strict=True)
        if folded != folding.words(text)
    ]
    assert len(texts) > 10_000
    assert apart == []


def test_folding_twice_changes_nothing_more() -> None:
    for text in strings()[:2_000]:
        assert folding.words(folding.words(text)) == folding.words(text)


def test_every_disguise_has_the_letters_of_its_rule() -> None:
    for name, change in shadows.DISGUISES.items():
        for rule in shadows.RULES:
            assert folding.letters(change(rule)) == folding.letters(rule), name

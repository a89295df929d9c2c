"""What the page about extraction says is so."""

from __future__ import annotations

from idetic.extract.attributes import KINDS
from tests.support.docs import DOCS, table_rows
from tests.support.following import follow

PAGE = DOCS / "explanation" / "extraction.md"


def test_the_page_runs_and_prints_what_it_shows() -> None:
    assert follow(PAGE) == 3


def test_the_page_has_the_whole_list_of_attributes() -> None:
    told = []
    for kind in KINDS.values():
        many, count = (":\u2026", "many") if kind.many else ("", "one")
        told.append(f"| `{kind.name}{many}` | {kind.meaning} | {count} | {kind.typology} |")
    assert table_rows(PAGE, "attribute") == told

"""No name that a spec may choose collides with a column that the store makes."""

from __future__ import annotations

import re
from importlib import resources

from idetic.spec import reserved


def test_every_column_of_the_family_is_reserved() -> None:
    templates = resources.files("idetic.store").joinpath("sql", "family")
    made = set()
    for file in templates.iterdir():
        for table in re.findall(r"CREATE TABLE .*?\n\)", file.read_text("utf-8"), re.DOTALL):
            made |= set(re.findall(r"^    ([a-z_]+) \S", table, re.MULTILINE))
    assert "memory_id" in made, "the templates are no longer where this test looks"
    assert made <= reserved.COLUMNS

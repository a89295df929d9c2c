"""What a release has frozen stays as it was: a change is a new numbered migration."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support import freeze


def test_the_tree_holds_what_every_release_froze() -> None:
    assert "0.1.0" in freeze.frozen()
    assert freeze.problems(freeze.frozen(), freeze.now()) == []


def changed(here: Any, *path: str, value: str | None = None) -> Any:
    """The tree as it would be after an edit; without a value, after a removal."""
    made = copy.deepcopy(here)
    place = made
    for step in path[:-1]:
        place = place[step]
    place.pop(path[-1]) if value is None else place.update({path[-1]: value})
    return made


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        (("core", "0001_core.sql"), "write a new numbered migration instead, sql/core/"),
        (("tables", "world_agent", "table world_agent_memory_actions"), "`-- alters: table world_"),
        (("tables", "world_agent", "index world_agent_memory_claim"), "`-- alters: index world_"),
        (("contexts", "worlds"), "Contexts have no migrations yet"),
    ],
    ids=lambda each: each[-1] if isinstance(each, tuple) else "",
)
@pytest.mark.parametrize("value", ["0" * 64, None], ids=["edited", "missing"])
def test_a_change_is_named_with_what_to_do_instead(
    path: tuple[str, ...], remedy: str, value: str | None
) -> None:
    (problem,) = freeze.problems(freeze.frozen(), changed(freeze.now(), *path, value=value))
    assert path[-1] in problem
    assert remedy in problem


def test_what_is_new_needs_no_word() -> None:
    here = changed(freeze.now(), "core", "9999_later.sql", value="1")
    here = changed(here, "tables", "world_agent", "table world_agent_memory_later", value="1")
    assert freeze.problems(freeze.frozen(), here) == []

"""The list of what is not applicable on a given server names tests that exist."""

from __future__ import annotations

import pytest

from tests.support.docs import ROOT
from tests.support.not_applicable import NOT_APPLICABLE
from tests.support.servers import Kind

LISTED = [(kind, name) for kind in Kind for name in NOT_APPLICABLE[kind]]


@pytest.mark.parametrize(("kind", "name"), LISTED, ids=str)
def test_what_is_listed_exists_and_has_a_reason(kind: Kind, name: str) -> None:
    """A name that matches nothing any more would hide that its test now runs, or is gone."""
    file, _, test = name.partition("::")
    text = (ROOT / file).read_text("utf-8")
    assert f"def {test.partition('[')[0]}" in text if test else "def test_" in text
    assert NOT_APPLICABLE[kind][name].strip()


def test_every_kind_of_server_has_its_list() -> None:
    assert set(NOT_APPLICABLE) == set(Kind)

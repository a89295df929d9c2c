"""The files whose tests take longest: a run in several processes begins with them.

Whatever is long and begins last is waited for by everybody. What waits for something else comes
last. A run in one process keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

LONGEST = (
    "acceptance/test_docs_run.py",
    "integration/test_consolidation.py",
    "console/test_pages.py",
    "console/test_isolation.py",
    "security/test_promotion_attacks.py",
    "acceptance/test_world.py",
    "security/test_canaries.py",
    "acceptance/test_tutorial.py",
    "property/test_memory_machine.py",
    "faults/test_embedded_heals.py",
    "faults/test_lifecycle_kills.py",
    "faults/test_tampering.py",
    "surfaces/test_http_malformed.py",
    "surfaces/test_http_schema.py",
    "integration/test_embedded.py",
    "unit/extract/test_rules.py",
)
# Runs mypy: beside the tests of `make test` another one fills its cache, and then it takes a tenth.
LAST = "acceptance/test_sync_types.py"
_TESTS = Path(__file__).resolve().parent.parent


def place_of(file: Path) -> int:
    """Where a file stands among the longest; behind them all if it is none, and one at the end."""
    inside = file.is_relative_to(_TESTS)
    name = file.relative_to(_TESTS).as_posix() if inside else ""
    if name == LAST:
        return len(LONGEST) + 1
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


class LongestFirst:
    """A plugin for the processes that share a run."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = longest_first(items)


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The same tests; those of the longest files first, the others in their order."""
    return sorted(items, key=lambda item: place_of(item.path))

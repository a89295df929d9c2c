"""Files that use the same costly thing: in a run of several processes one has them all.

The demo world takes fifteen seconds of a core to load, the console's server and browser seven to
start; and each process would make its own.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    "tests/acceptance/test_docs_run.py",
    "tests/surfaces/test_cli_demo.py",
    "tests/surfaces/test_cli_serve.py",
    "tests/console/",
)


def unit_of(file: str) -> str:
    """What is dealt as one: a file, or all of these."""
    return "together" if file.startswith(TOGETHER) else file


class TogetherScheduling(LoadFileScheduling):  # type: ignore[misc]  # has no types
    """By file, but for these."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(super()._split_scope(nodeid))


class Dealing:
    """A plugin for the process that deals tests out."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Producer
    ) -> TogetherScheduling | None:
        """Where files are dealt; any other way stays as it was asked for."""
        by_file = config.getoption("dist") == "loadfile"
        return TogetherScheduling(config, log) if by_file else None

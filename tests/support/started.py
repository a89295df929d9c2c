"""However a run is started, its tests find the same: a plugin of pytest.

A process inherits more than its arguments. `nohup make test &` leaves the interrupt ignored, and
what a test starts would ignore it too; a pipeline's colours would stand in every answer, and the
user's own database would be the one that tests write to; a test that failed would leave its
half-read pipes to the next one, which then fails for them. The locale, the time zone, the umask and
where temporary files lie stay as they were found: what is tested has to work with any.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import InMemoryExampleDatabase

# Python ignores these two itself, and does not hand that on to what it starts. The hangup stays
# ignored in all of a run: whoever ignores it wants the run to outlive the terminal.
_KEPT = {signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP}
# How wide and how colourful answers are. The last one means colours to the command line's library.
_LOOKS = (
    "COLUMNS LINES TERMINAL_WIDTH NO_COLOR FORCE_COLOR PY_COLORS TTY_COMPATIBLE TTY_INTERACTIVE "
    "GITHUB_ACTIONS"
).split()
# What the user has set up to work with, beginning so; and what is for tests all the same.
_THEIRS = ("IDETIC_", "PG", "OPENAI_", "SENTRY_", "OTEL_", "LANGSMITH_", "LANGCHAIN_")
_OURS = (
    "IDETIC_HOME IDETIC_MODEL_DIR IDETIC_FAULTS IDETIC_KILLS IDETIC_CANARIES IDETIC_MOVED "
    "IDETIC_LONG IDETIC_TEST_DSN IDETIC_TEST_APP_DSN IDETIC_TEST_CREATEDB IDETIC_TEST_DROPDB "
    "IDETIC_TEST_COPYDB IDETIC_SHOTS"
).split()
_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before anything is started or imported; only where tests are run, not where they are dealt.

    So a process that runs tests goes on ignoring what the whole run was to ignore.
    """
    if session.config.getoption("dist", "no") == "no":
        hear_signals()
        leave_out_settings()
        take_time()


def hear_signals() -> None:
    """What is started from here on hears every signal, though this process may ignore some.

    A process that another one starts goes on ignoring what that one ignored, but has the default
    where that one had a handler. So what is ignored here is handled instead, by doing nothing.
    """
    for each in signal.valid_signals() - _KEPT:
        if signal.getsignal(each) is signal.SIG_IGN:
            signal.signal(each, _do_nothing)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def leave_out_settings() -> None:
    """Take out of the environment what would make answers look otherwise, or go elsewhere."""
    for name in list(os.environ):
        if name in _LOOKS or (name.startswith(_THEIRS) and name not in _OURS):
            del os.environ[name]
    # A way to the packages may lead through a proxy; to this machine's own ports none does.
    here = ["127.0.0.1", "localhost", "::1"]
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join([*filter(None, [os.environ.get(name)]), *here])


def take_time() -> None:
    """How long an example takes says how busy the machine is, not whether a property holds."""
    how: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    if not os.access(Path(), os.W_OK):
        # The tree is another user's: examples that failed cannot be kept in it.
        how["database"] = InMemoryExampleDatabase()
    settings.register_profile("however", parent=settings(), **how)
    settings.load_profile("however")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported stays: nobody looks through it for garbage, neither now nor later.

    Of the 34 seconds in which a process collects the suite that took 6.5, and half a second each
    time after them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that it failed."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A failure stays one failure: what the test could not close complains here, to nobody."""
    result = yield
    if item.stash.get(_FAILED, False):
        heard = sys.unraisablehook
        sys.unraisablehook = lambda _: None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # pytest keeps what was raised, and with it the test's frame, until the next test.
                for name in ("last_type", "last_value", "last_traceback", "last_exc"):
                    vars(sys).pop(name, None)
                gc.collect()
        finally:
            sys.unraisablehook = heard
    return result

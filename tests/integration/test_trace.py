"""The way of a call is short: few functions to the driver, few files of the package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from idetic import Idetic, errors
from tests.support import trace
from tests.support.trace import MOST_CALLS, MOST_FILES, MOST_MESSAGES, Step

pytestmark = pytest.mark.anyio
SHARED = True


async def test_a_note_reaches_the_driver_in_few_calls(db: Idetic) -> None:
    way = await trace.observe(db)
    assert any("observe" in step.function for step in way), "the whole way was seen"
    assert len(way) <= MOST_CALLS, "\n".join(map(str, way))


async def test_closing_a_session_passes_few_files(db: Idetic) -> None:
    files = await trace.close(db)
    assert any(file.startswith("lifecycle/") for file in files), "there was something to decide"
    assert len(files) <= MOST_FILES, "\n".join(sorted(files))


async def test_a_close_and_an_erasure_send_few_messages(db: Idetic) -> None:
    found = await trace.messages(db)
    assert found.keys() == MOST_MESSAGES.keys()
    assert all(1 < found[name] <= most for name, most in MOST_MESSAGES.items()), found


async def test_control_a_wrapper_of_ours_is_a_call(db: Idetic) -> None:
    memory = await trace.bound(db)
    direct = await trace.way_to_the_driver(memory.list)
    wrapped = await trace.way_to_the_driver(lambda: ours(memory.list))
    assert wrapped == [Step("errors.py", "forward"), *direct]


async def test_control_a_file_that_runs_is_counted(db: Idetic) -> None:
    async def nothing() -> None:
        """Nothing of the package."""

    assert await trace.files_passed(nothing) == []
    assert await trace.files_passed(lambda: ours(nothing)) == ["errors.py"]


def ours(call: Callable[[], Awaitable[object]]) -> Awaitable[object]:
    """The same call through a function more, which passes for one of the package."""
    made: dict[str, Callable[[Callable[[], Awaitable[object]]], Awaitable[object]]] = {}
    exec("async def forward(call): return await call()", vars(errors), made)  # noqa: S102
    return made["forward"](call)

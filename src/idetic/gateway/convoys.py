"""Convoys: calls that arrive while another one is under way travel together as the next.

Whoever finds nobody under way goes at once and alone, so an idle store makes nobody wait. The
others wait for it, not for a clock, and leave in the order of arrival: of a crowd three quarters.
So a convoy is ready when one comes back, and is under way while those who came back make their next
call. If all left together, the server would wait for the callers, and they for the server.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Generic, TypeVar

from idetic.errors import Busy, DatabaseClosed, DatabaseUnavailable, IdeticError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
# Carries calls together; an answer for each, or an error that is its own.
Travel = Callable[[Sequence[Asked]], Awaitable[Sequence[Answer | Exception]]]
# What no call causes by what it asks.
EVERYBODYS = (Busy, DatabaseClosed, DatabaseUnavailable)
# More together gain little, and hold their places longer.
MOST = 64
# So few leave together: a convoy costs the server about as much as they do.
LEAST = 4


class Convoys(Generic[Asked, Answer]):
    """Calls under way, by lane: calls of one lane may share a convoy, those of two never do."""

    def __init__(self, most: int = MOST, least: int = LEAST):
        self._most = most
        self._least = least
        # A lane is here as long as something of it is under way.
        self._lanes: dict[Hashable, deque[tuple[Asked, asyncio.Future[Answer]]]] = {}
        self._drivers: set[asyncio.Task[None]] = set()

    def __contains__(self, lane: Hashable) -> bool:
        return lane in self._lanes

    @contextmanager
    def leading(self, lane: Hashable, travel: Travel[Asked, Answer]) -> Iterator[None]:
        """Travel alone in a lane that nobody is in; whoever came meanwhile leaves afterwards."""
        self._lanes[lane] = deque()
        try:
            yield
        finally:
            if self._lanes[lane]:
                # In a task of its own: who led has an answer, and must not wait for the others.
                driver = asyncio.get_running_loop().create_task(self._drive(lane, travel))
                self._drivers.add(driver)
                driver.add_done_callback(self._drivers.discard)
            else:
                del self._lanes[lane]

    async def follow(self, lane: Hashable, asked: Asked) -> Answer:
        """Wait for the next convoy of a lane, and travel with it.

        Who gives up before it leaves is not sent; who gives up later is no concern of the others.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._lanes[lane].append((asked, future))
        return await future

    async def _drive(self, lane: Hashable, travel: Travel[Asked, Answer]) -> None:
        """Send convoy after convoy until nobody waits in the lane."""
        waiting = self._lanes[lane]
        try:
            while waiting:
                most = max(self._least, len(waiting) * 3 // 4)
                count = min(len(waiting), self._most, most)
                crowd = (waiting.popleft() for _ in range(count))
                await _travelled([one for one in crowd if not one[1].done()], travel)
        finally:
            del self._lanes[lane]
            for _, future in waiting:
                future.cancel()


async def _travelled(
    crowd: Sequence[tuple[Asked, asyncio.Future[Answer]]], travel: Travel[Asked, Answer]
) -> None:
    """Send one convoy, and give each of the crowd its answer or its error."""
    try:
        answers = await carried([asked for asked, _ in crowd], travel) if crowd else []
    except asyncio.CancelledError:
        for _, future in crowd:
            future.cancel()
        raise
    for (_, future), answer in zip(crowd, answers, strict=True):
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)


async def carried(
    crowd: Sequence[Asked], travel: Travel[Asked, Answer]
) -> list[Answer | Exception]:
    """The answers of a crowd.

    If its convoy fails, each half is sent by itself, until what fails is alone with its error. Not
    if nobody's call can have caused it: then it is not even known whether they were done.
    """
    try:
        return [*await travel(crowd)]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is theirs
        if len(crowd) == 1:
            return [error]
        if not isinstance(error, IdeticError) or isinstance(error, EVERYBODYS):
            # Each its own: a traceback grows where an error is raised.
            return [copy(error) for _ in crowd]
    half = len(crowd) // 2
    first = await carried(crowd[:half], travel)
    return first + await carried(crowd[half:], travel)

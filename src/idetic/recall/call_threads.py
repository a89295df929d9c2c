"""Threads that wait for the next call: to start one for each question took a millisecond."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from idetic.embed.port import EmbeddingFailed

T = TypeVar("T")
# For so many seconds a thread waits for another call before it ends.
_IDLE = 10.0


class CallThreads:
    """Calls each in a thread of its own, and keeps those threads for a while.

    None of them keeps the program from ending.
    """

    def __init__(self) -> None:
        self._idle: list[CallThread] = []

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Begin a call; the future has what it gives or raises."""
        done: Future[T] = Future()
        done.set_running_or_notify_cancel()
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = CallThread(self._idle)
            thread.start()
        thread.take(lambda: _settle(done, work))
        return done


class CallThread(threading.Thread):
    """One thread, which does a call or is idle among the others."""

    def __init__(self, idle: list[CallThread]):
        super().__init__(daemon=True)
        self._idle = idle
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def take(self, call: Callable[[], None]) -> None:
        """Give it its next call."""
        self._calls.put(call)

    def run(self) -> None:
        """Do one call after the other, until none has come for a while."""
        while True:
            try:
                call = self._calls.get(timeout=_IDLE)
            except Empty:
                try:
                    self._idle.remove(self)
                except ValueError:
                    # Somebody has just chosen it: a call is about to come.
                    continue
                return
            call()
            # Before it waits again, it keeps nothing of what it did.
            del call
            self._idle.append(self)


def _settle(done: Future[T], work: Callable[[], T]) -> None:
    """Hand what a call gives or raises to whoever waits for it."""
    try:
        done.set_result(work())
    except Exception as raised:  # noqa: BLE001 - an embedder is anybody's code
        done.set_exception(raised)
    except BaseException as raised:  # noqa: BLE001 - it must not end or cancel who waits
        done.set_exception(EmbeddingFailed(f"It raised {type(raised).__name__}."))

"""A watch over the server: whoever holds a lease has it brought back when it died."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from idetic.errors import EmbeddedServerError

from .home import SOCKET_NAME, Home
from .server import live_pid

log = logging.getLogger("idetic.embedded")

# Looking reads one small file and one line of /proc: 0.1 ms.
_LOOK = 0.5


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds between tries to bring a server back: soon at first, then steadily."""

    first: float = 0.5
    longest: float = 5.0

    def after(self, tries: int) -> float:
        """The pause after so many tries that failed."""
        return min(self.longest, self.first * 2.0 ** min(tries, 8))


class Watch:
    """Looks twice a second whether the server lives, and has it started again if it does not.

    A thread of its own, so that neither a busy event loop nor a program without one keeps the
    server down. It touches nothing that was stopped on purpose.
    """

    def __init__(self, home: Home, start: Callable[[], None], patience: Patience | None = None):
        self._home = home
        self._start = start
        self._patience = patience or Patience()
        self._ended = threading.Event()
        # A daemon: a program that ends without releasing its lease is not held up by it.
        self._thread = threading.Thread(target=self._look, name="idetic-watch", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more. A start that is under way ends by itself."""
        self._ended.set()

    def _look(self) -> None:
        """Look until ended; a server that cannot be started is tried again, more slowly."""
        tries, pause = 0, _LOOK
        while not self._ended.wait(pause):
            if self._is_well():
                tries, pause = 0, _LOOK
                continue
            pause = self._patience.after(tries)
            tries = 0 if self._brought_back(tries, pause) else tries + 1

    def _is_well(self) -> bool:
        """Whether there is a server that can be reached, or that nobody wants."""
        if self._home.stopped.exists() or not self._home.data.exists():
            return True
        return live_pid(self._home) is not None and (self._home.socket_dir / SOCKET_NAME).exists()

    def _brought_back(self, tries: int, pause: float) -> bool:
        """Start the server; whether it answers. What stands in the way is said once."""
        if not tries:
            log.warning("the embedded database has died; it is started again")
        try:
            self._start()
        except EmbeddedServerError as error:
            # The sentence alone: the lines after it repeat the server's log at every try.
            said = error.message.splitlines()[0]
            log.log(logging.DEBUG if tries else logging.ERROR, "%s Tried on, every %.1f s.",
                    said, pause)  # fmt: skip
            return False
        if not self._ended.is_set():
            log.warning("the embedded database answers again")
        return True

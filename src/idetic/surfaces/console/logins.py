"""Who is logged in: a random token in a cookie, the key behind it in this process alone."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from idetic.errors import KeyRefused

COOKIE = "idetic_console"
# After this long without a page or an action, a login is over.
IDLE_SECONDS = 8 * 3600
# A login costs a valid key, so this is far more than there will be; but there must be an end.
MOST = 10_000


@dataclass
class _Login:
    key: str = field(repr=False)
    seen: float


class Logins:
    """Tokens and the API keys they stand for. Nothing of it is written anywhere."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._known: OrderedDict[str, _Login] = OrderedDict()

    def begin(self, key: str) -> str:
        """A new token for a key that was just proven."""
        token = secrets.token_urlsafe(32)
        self._known[token] = _Login(key, self._clock())
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return token

    def key_of(self, token: str | None) -> str:
        """The key behind a token; raises KeyRefused when the login is over."""
        found = self._known.get(token or "")
        now = self._clock()
        if token is None or found is None or now - found.seen > IDLE_SECONDS:
            self.end(token)
            raise KeyRefused("You are not logged in any more.", remedy="Log in again.")
        found.seen = now
        self._known.move_to_end(token)
        return found.key

    def end(self, token: str | None) -> None:
        """Forget a login. Twice is fine."""
        self._known.pop(token or "", None)

"""How much one caller may send: the size of a body, and requests per second for each key."""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from idetic.surfaces.http.errors import RateLimited

# Keys that were never made take a place too, so there must be an end to them.
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes. `rate` is requests per second for each key, after `burst` at once."""

    body_bytes: int = 4 << 20
    rate: float = 200.0
    burst: int = 400


class Rates:
    """A bucket of requests for each key, refilled as time passes.

    A bucket belongs to the whole key as it was sent, secret included: who knows only a key's id
    cannot use it up. It is asked before the database is, and knows nothing of what keys exist.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic):
        self._limits = limits
        self._clock = clock
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, key: bytes) -> None:
        """Count one request; raises RateLimited when the bucket is empty."""
        now, name = self._clock(), hashlib.sha256(key).digest()
        left, since = self._buckets.pop(name, (float(self._limits.burst), now))
        left = min(self._limits.burst, left + (now - since) * self._limits.rate)
        self._buckets[name] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / self._limits.rate)
            raise RateLimited(retry_after=max(1, wait))

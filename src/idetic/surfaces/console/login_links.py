"""One-time links that log in without typing a key: for the demo, on this machine alone."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from ipaddress import ip_address

from idetic.errors import KeyRefused
from idetic.surfaces.console.addresses import BASE

ENTER = "/enter"
# As long as somebody may look for the terminal in which the links were printed.
_SECONDS = 24 * 3600
# A proxy adds one of these: what comes through it is not from this machine.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


class LoginLinks:
    """Links that are still unused, by the hash of their secret; nothing of it is written down."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, float]] = {}

    def issue(self, key: str) -> str:
        """Make the path of a link that logs in with a key, once."""
        secret = secrets.token_urlsafe(24)
        self._keys[_digest(secret)] = (key, time.monotonic() + _SECONDS)
        return f"{BASE}{ENTER}/{secret}"

    def redeem(self, secret: str, host: str | None, headers: Mapping[str, str]) -> str:
        """Return the key of a link and forget the link; raises KeyRefused if it does not hold."""
        if not is_local(host) or any(name in headers for name in _FORWARDED):
            raise KeyRefused(
                "This link works on the machine that the server runs on, and nowhere else.",
                remedy="Open it there, or log in with an API key.",
            )
        key, until = self._keys.pop(_digest(secret), ("", 0.0))
        if not key or time.monotonic() > until:
            raise KeyRefused(
                "This link was used already, or the server was started again since.",
                remedy="Use another link, or start `idetic serve --demo` again for new ones.",
            )
        return key


def is_local(host: str | None) -> bool:
    """Whether a host name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def _digest(secret: str) -> str:
    """Return what a secret is kept as."""
    return hashlib.sha256(secret.encode()).hexdigest()

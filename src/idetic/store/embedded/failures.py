"""What went wrong with the server, said with its own last words."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from idetic.errors import EmbeddedServerError

from .home import Home

_LAST_WORDS = 15
_NO_SPACE = 32 << 20


def server_failed(what: str, home: Home, said: str) -> EmbeddedServerError:
    """The error for a program or server that failed, with what it said and a remedy."""
    lines = [line.strip() for line in said.splitlines() if line.strip()][-_LAST_WORDS:]
    last_words = "\n".join(["", *lines, ""]) if lines else ""
    message = f"{what} The server's log is {home.log}.{last_words}"
    return EmbeddedServerError(message, remedy=_remedy(home, said))


@contextmanager
def told_as_ours(home: Home) -> Iterator[None]:
    """Turn the operating system's refusals into an error that says what to do."""
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise EmbeddedServerError(
            f"The embedded database in {home.path} could not be used: {error.strerror}{where}.",
            remedy=_remedy(home, error.strerror or ""),
        ) from error


def _remedy(home: Home, said: str) -> str | None:
    if "loading shared libraries" in said:
        return (
            "Install the system library it names (on Debian: libgssapi-krb5-2, libssl3, "
            "libxml2, liblz4-1, libzstd1), or give a DSN."
        )
    if "No space left" in said or _is_full(home):
        return f"The disk is full: make room where {home.path} lies, then try again."
    if "Permission denied" in said or "Read-only" in said or "not permitted" in said:
        return (
            "Make that path writable for this user, set IDETIC_HOME to a directory that is, "
            "or give a DSN."
        )
    if "still in use" in said:
        return (
            "Processes of a killed server are still finishing: try again in a moment, or end "
            "the processes named `postgres: idetic`."
        )
    return None


def _is_full(home: Home) -> bool:
    try:
        return shutil.disk_usage(home.path).free < _NO_SPACE
    except OSError:
        return False

"""Errors that nobody expected: the traceback goes to a file, and the caller learns only the kind.

A driver's message may hold SQL and content, so neither a terminal nor a client is shown it.
"""

from __future__ import annotations

import logging
import os
import tempfile
import traceback

from idetic.errors import IdeticError

log = logging.getLogger(__name__)


def told(error: BaseException) -> IdeticError:
    """For whoever runs the program: the kind of error, and the file with the rest."""
    return IdeticError(
        _said(error),
        remedy=f"Report it with {_kept(error)}; look through that file first, it may hold content.",
    )


def logged(error: BaseException) -> IdeticError:
    """For a client elsewhere: the kind of error alone; the server's log names the file."""
    log.error("%s; the traceback is in %s", type(error).__name__, _kept(error))
    return IdeticError(_said(error))


def _said(error: BaseException) -> str:
    """The sentence about an error: its kind, never its message."""
    return f"Idetic met an error that it does not know: {type(error).__name__}."


def _kept(error: BaseException) -> str:
    """Write the traceback to a new file, and return the file's path."""
    # A file of `mkstemp` is its owner's alone: the traceback may hold content.
    handle, path = tempfile.mkstemp(prefix="idetic-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(traceback.format_exception(error))
    return path

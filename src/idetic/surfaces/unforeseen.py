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


def terminal_error(error: BaseException) -> IdeticError:
    """An error for whoever runs the program: its kind, and the file with the rest."""
    return IdeticError(
        _message(error),
        remedy=f"Report it with {_traceback_file(error)}; look through that file first, "
        "it may hold content.",
    )


def client_error(error: BaseException) -> IdeticError:
    """An error for a client elsewhere: its kind alone; the log names the file."""
    log.error("%s; the traceback is in %s", type(error).__name__, _traceback_file(error))
    return IdeticError(_message(error))


def _message(error: BaseException) -> str:
    """The sentence about an error: its kind, never its message."""
    return f"Idetic met an error that it does not know: {type(error).__name__}."


def _traceback_file(error: BaseException) -> str:
    """Write the traceback to a new file, and return the file's path."""
    # A file of `mkstemp` is its owner's alone: the traceback may hold content.
    handle, path = tempfile.mkstemp(prefix="idetic-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(traceback.format_exception(error))
    return path

"""Errors of the client: its own, and those that a server's problem stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

# Imported for the errors they define: a problem's code must find its class.
import idetic.embed.port
import idetic.reason.port
import idetic.recall.rerank
import idetic.spec.problems
import idetic.surfaces.http.request_errors  # noqa: F401 - as those above
from idetic import wire
from idetic.errors import DatabaseError, IdeticError
from idetic.model import Receipt


class ServerUnavailable(DatabaseError):
    """The server does not answer."""

    code = "server_unavailable"
    remedy = "Check its address and that it runs, then try again."


class AnswerUnreadable(IdeticError):
    """The server's answer cannot be read."""

    code = "answer_unreadable"
    remedy = "Check that the address is Idetic's, and that client and server are of one version."
    http_status = 502


class ConnectionClosed(IdeticError):
    """This connection is closed."""

    code = "connection_closed"
    remedy = "Connect again with `connect` or `connect_sync`."


def error_of(problem: Mapping[str, Any]) -> IdeticError:
    """The error that a problem stands for, of its own class where this release knows it."""
    code = str(problem.get("code", ""))
    about = problem.get("about")
    detail = dict(about) if isinstance(about, Mapping) else {}
    for taken in ("self", "message", "remedy"):
        detail.pop(taken, None)
    if "receipt" in detail:
        detail["receipt"] = wire.read(Receipt, detail["receipt"])
    if "id" in problem and problem["id"] is not None:
        detail["problem_id"] = problem["id"]
    kind = _by_code().get(code)
    if kind is None:
        kind, detail = IdeticError, {**detail, "code": code}
    made = kind.__new__(kind)
    # Past the constructors of subclasses: what they would compose, the server has composed.
    IdeticError.__init__(
        made, str(problem.get("detail") or ""), remedy=problem.get("remedy"), **detail
    )
    return made


@cache
def _by_code() -> dict[str, type[IdeticError]]:
    """Every error of Idetic by the code that a problem names it with."""
    known: list[type[IdeticError]] = [IdeticError, *_below(IdeticError)]
    return {kind.code: kind for kind in known}


def _below(kind: type[IdeticError]) -> Iterator[type[IdeticError]]:
    """All subclasses of an error that are ours, however deep; a user's own are left out."""
    for child in kind.__subclasses__():
        # A program's own subclass inherits a code, and no server's problem stands for it.
        if child.__module__.startswith("idetic."):
            yield child
            yield from _below(child)

"""Telling the person at the console: one place in the page, and errors with their remedy."""

from __future__ import annotations

from typing import Any

from nicegui import Client, ui

from idetic.errors import IdeticError, KeyRefused
from idetic.surfaces.console import parts
from idetic.surfaces.http.problems import described, unexpected

_PLACE = "notices"


def place() -> None:
    """Where this page's notices appear; a screen reader reads them as they come."""
    ui.context.client.storage[_PLACE] = parts.text("div", cls="notices", aria_live="polite")


def say(what: str, more: str = "", kind: str = "good") -> None:
    """Tell that something was done, in place of what was told before."""
    _show(ui.context.client, what, more, kind)


def tell(error: Exception) -> None:
    """Tell an error and what to do about it. What nobody foresaw is an id; the log has the rest."""
    client = ui.context.client
    if isinstance(error, KeyRefused):
        client.open("/login")
        return
    known = error if isinstance(error, IdeticError) else unexpected(error)
    told = described(known)
    number = f" Problem {told['id']}." if told.get("id") else ""
    _show(client, told["detail"], f"{told['remedy']}{number}", "bad")


def clear() -> None:
    """Take back what was told."""
    _shown(ui.context.client).clear()


def _show(client: Client, what: str, more: str, kind: str) -> None:
    shown = _shown(client)
    shown.clear()
    with shown:
        parts.notice(what, more, kind)


def _shown(client: Client) -> Any:
    return client.storage[_PLACE]

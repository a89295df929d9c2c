"""The elements of a page that act: buttons, forms over the socket, and notices.

What is only read comes from templates (`markup`). Pages import this module as `el`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from idetic.errors import IdeticError, KeyRefused
from idetic.surfaces.console.markup import part
from idetic.surfaces.http.problems import described, unexpected

Handler = Callable[..., Any]

# Sends the values of a form over the socket, once the browser finds the form complete.
_SEND_FORM = (
    "(event) => { const form = event.currentTarget.form; "
    "if (form.reportValidity()) emit(Object.fromEntries(new FormData(form))); }"
)
_STAY = "(event) => event.preventDefault()"
# The key of a page's storage that holds the element for its notices.
_NOTICES = "notices"


def text(tag: str, said: object = "", cls: str = "", **attributes: Any) -> TextElement:
    """Make an element with a text: `text("p", "…", "quiet", aria_label="…")`.

    Underscores of an attribute's name become dashes.
    """
    made = TextElement(tag=tag, text=str(said)).classes(cls)
    for name, value in attributes.items():
        made.props[name.replace("_", "-")] = value
    return made


def button(said: str, click: Handler, cls: str = "") -> TextElement:
    """Make a button that acts on this page; a link leads to another one."""
    return text("button", said, f"button {cls}", type="button").on("click", click)


@contextmanager
def disabled(made: TextElement) -> Iterator[None]:
    """Disable a button while something runs."""
    made.props["disabled"] = True
    made.update()
    try:
        yield
    finally:
        made.props.pop("disabled", None)
        made.update()


def card(title: str = "", cls: str = "") -> TextElement:
    """Make a section of a page, under its heading if it has one."""
    made = text("section", cls=f"card {cls}")
    if title:
        with made:
            text("h2", title)
    return made


def row() -> TextElement:
    """Make a row: elements beside each other, as far as there is room."""
    return text("div", cls="row")


def socket_form(**attributes: Any) -> TextElement:
    """Make a form that stays on its page; Enter does not send it, only a `socket_button` does."""
    return text("form", cls="asking", **attributes).on("submit", js_handler=_STAY)


def socket_button(said: str, send: Handler, cls: str = "") -> TextElement:
    """Make a button of a `socket_form`; `send` gets the form's values as the event's `args`."""
    made = text("button", said, f"button {cls}", type="button")
    return made.on("click", send, js_handler=_SEND_FORM)


def afterwards(fill: Callable[[], Awaitable[None]]) -> None:
    """Fill something in once the page is painted; the places that wait say `data-pending`."""

    async def told() -> None:
        try:
            await fill()
        except Exception as error:  # noqa: BLE001 - a page must say what went wrong, never trace
            tell_error(error)

    ui.timer(0, told, once=True)


def notices() -> None:
    """Mark the place where this page's notices appear; a screen reader reads them as they come."""
    ui.context.client.storage[_NOTICES] = text("div", cls="notices", aria_live="polite")


def tell(what: str, more: str = "", kind: str = "good") -> None:
    """Show a notice in place of the one before."""
    clear_notices()
    with ui.context.client.storage[_NOTICES]:
        part("notice", what, more, kind)


def tell_error(error: Exception) -> None:
    """Show an error and its remedy; of an unexpected one only its id, the log has the rest."""
    if isinstance(error, KeyRefused):
        ui.context.client.open("/login")
        return
    told = described(error if isinstance(error, IdeticError) else unexpected(error))
    number = f" Problem {told['id']}." if told.get("id") else ""
    tell(told["detail"], f"{told['remedy']}{number}", "bad")


def clear_notices() -> None:
    """Remove the notice that is shown."""
    ui.context.client.storage[_NOTICES].clear()

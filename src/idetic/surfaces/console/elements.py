"""The elements that pages are made of: plain HTML elements, whose text is always text.

Nothing here takes markup. Content of memory goes through `text`, and the browser shows it letter
by letter, whatever it says. Pages import this module as `el`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from idetic.errors import IdeticError, KeyRefused
from idetic.surfaces.http.problems import described, unexpected

# The content of a cell: a text, a count, a moment, or a function that makes the elements in it.
Cell = str | int | datetime | Callable[[], Any] | None
Row = Sequence[Cell]
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

    Underscores of an attribute's name become dashes. An attribute that is None is left out.
    """
    made = TextElement(tag=tag, text=str(said))
    for name, value in attributes.items():
        if value is not None:
            made.props[name.replace("_", "-")] = value
    if cls:
        made.classes(cls)
    return made


def link(said: str, address: str, cls: str = "", **attributes: Any) -> TextElement:
    """Make a link to a page, whose address `addresses.at` wrote."""
    return text("a", said, cls, href=address, **attributes)


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


def submit(said: str, cls: str = "primary") -> TextElement:
    """Make the button that sends a form."""
    return text("button", said, f"button {cls}", type="submit")


def card(title: str | None = None, cls: str = "", **attributes: Any) -> TextElement:
    """Make a section of a page, under its heading."""
    made = text("section", cls=f"card {cls}", **attributes)
    if title is not None:
        with made:
            text("h2", title)
    return made


def row(cls: str = "") -> TextElement:
    """Make a row: elements beside each other, as far as there is room."""
    return text("div", cls=f"row {cls}")


def badge(said: object, kind: str = "") -> TextElement:
    """Make a badge: a word or two about something. `kind` is good, warn, bad or nothing."""
    return text("span", said, f"badge {kind}")


def note(said: str, cls: str = "") -> TextElement:
    """Quote content of memory, in its own words and lines."""
    return text("blockquote", said, f"note {cls}", dir="auto")


def moment(at: datetime | None, missing: str = "-") -> TextElement:
    """Show a time to the minute, in UTC as the ledger keeps it."""
    if at is None:
        return text("span", missing, "quiet")
    universal = at.astimezone(UTC)
    shown = f"{universal:%Y-%m-%d %H:%M}"
    return text("time", shown, datetime=universal.isoformat(), title=f"{universal:%c} UTC")


def facts(about: Mapping[str, Cell]) -> None:
    """Show names and their values."""
    with text("dl", cls="facts"):
        for name, value in about.items():
            with text("div"):
                text("dt", name)
                _cell("dd", value)


def table(head: Sequence[str], rows: Iterable[Row], caption: str) -> None:
    """Show a table; on a phone each row is a block with the column's name before each cell."""
    with text("table", cls="table"):
        text("caption", caption, "unseen")
        with text("thead"), text("tr"):
            for name in head:
                text("th", name, scope="col")
        with text("tbody"):
            for cells in rows:
                with text("tr"):
                    for name, cell in zip(head, cells, strict=True):
                        _cell("td", cell, data_label=name)


def table_card(
    title: str, head: Sequence[str], rows: Collection[Row], caption: str, *empty_text: str
) -> None:
    """Show a card with a table; without rows, the two sentences of `empty`."""
    with card(title):
        if rows or not empty_text:
            table(head, rows, caption)
        else:
            empty(*empty_text)


def _cell(tag: str, cell: Cell, **attributes: Any) -> None:
    """Show one cell: a text, a number, a moment, or what a function draws."""
    if isinstance(cell, str | int):
        text(tag, f"{cell:,}" if isinstance(cell, int) else cell, **attributes)
        return
    with text(tag, **attributes):
        if callable(cell):
            cell()
        else:
            moment(cell)


def bar(name: str, share: float, said: str, *, kind: str = "", address: str | None = None) -> None:
    """Show a share from 0 to 1 as a name, a bar and a number; the bar is for the eye alone."""
    with text("div", cls="bar"):
        text("span", name, "bar-name")
        with text("span", cls="bar-track", aria_hidden="true"):
            width = f"{max(0.0, min(1.0, share)) * 100:.1f}%"
            text("span", cls=f"bar-fill {kind}", style=f"width: {width}")
        with text("span", cls="bar-said"):
            text("span" if address is None else "a", said, href=address)


def aside(summary: str) -> TextElement:
    """Make a part that is folded away under its summary."""
    made = text("details", cls="aside")
    with made:
        text("summary", summary)
    return made


def empty(what: str, remedy: str) -> None:
    """Say that there is nothing, and what would change it."""
    with text("div", cls="empty"):
        text("p", what, "empty-what")
        text("p", remedy, "quiet")


def notice(what: str, remedy: str = "", kind: str = "bad") -> None:
    """Show a message that a screen reader reads at once."""
    with text("div", cls=f"notice {kind}", role="alert" if kind == "bad" else "status"):
        with text("p"):
            text("strong", what)
        if remedy:
            text("p", remedy)


def icon(name: str) -> None:
    """Show a sign beside a word; the word says the same, so screen readers skip the sign."""
    ui.icon(name).props["aria-hidden"] = "true"


def address_form(address: str, cls: str = "", **attributes: Any) -> TextElement:
    """Make a form that leads to a page; the page's address has its values."""
    return text("form", cls=f"asking {cls}", method="get", action=address, **attributes)


def socket_form(**attributes: Any) -> TextElement:
    """Make a form that stays on its page; Enter does not send it, only a `socket_button` does."""
    return text("form", cls="asking", **attributes).on("submit", js_handler=_STAY)


def socket_button(said: str, send: Handler, cls: str = "") -> TextElement:
    """Make a button of a `socket_form`; `send` gets the form's values as the event's `args`."""
    made = text("button", said, f"button {cls}", type="button")
    return made.on("click", send, js_handler=_SEND_FORM)


def field(label: str, *, wide: bool = False, tag: str = "input", **attributes: Any) -> None:
    """Show a labelled line to type into."""
    with text("label", cls="field wide" if wide else "field"):
        text("span", label)
        text(tag, **attributes)


def tick(name: str, label: str, chosen: bool) -> None:
    """Show a labelled box to tick, whose value is "1"."""
    with text("label", cls="field check"):
        text("input", name=name, type="checkbox", value="1", checked=chosen or None)
        text("span", label)


def choice(name: str, label: str, options: Mapping[str, str], chosen: str | None) -> None:
    """Show a labelled list to choose one from."""
    with text("label", cls="field"):
        text("span", label)
        with text("select", name=name):
            for value, said in options.items():
                text("option", said, value=value, selected=value == (chosen or "") or None)


def notices() -> None:
    """Mark the place where this page's notices appear; a screen reader reads them as they come."""
    ui.context.client.storage[_NOTICES] = text("div", cls="notices", aria_live="polite")


def tell(what: str, more: str = "", kind: str = "good") -> None:
    """Show a notice in place of the one before."""
    clear_notices()
    with ui.context.client.storage[_NOTICES]:
        notice(what, more, kind)


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

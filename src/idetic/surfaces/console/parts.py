"""The few parts that pages are made of: plain HTML elements, whose text is always text.

Nothing here takes markup. What memory holds goes through `text`, and a browser shows it letter by
letter, whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

# A cell is a text, or a function that makes the elements in it.
Cell = str | Callable[[], Any]
Click = Callable[..., Any]


def text(tag: str, said: object = "", cls: str = "", **attributes: Any) -> TextElement:
    """An element with a text: `text("p", "…", "quiet", aria_label="…")`.

    A name's underscores become dashes; one at its end is dropped (`for_`, `class_`). An attribute
    that is None is left out.
    """
    made = TextElement(tag=tag, text=str(said))
    for name, value in attributes.items():
        if value is not None:
            made.props[name.rstrip("_").replace("_", "-")] = value
    if cls:
        made.classes(cls)
    return made


def heading(said: str, level: int = 2, **attributes: Any) -> TextElement:
    """A heading; the page's title is the only one of level 1."""
    return text(f"h{level}", said, **attributes)


def link(said: str, address: str, cls: str = "", **attributes: Any) -> TextElement:
    """A link to a page, with its address as `addresses.at` writes it."""
    return text("a", said, cls, href=address, **attributes)


def button(said: str, click: Click, cls: str = "", **attributes: Any) -> TextElement:
    """A button that does something here; what goes elsewhere is a link."""
    return text("button", said, f"button {cls}", type="button", **attributes).on("click", click)


@contextmanager
def card(title: str | None = None, *, level: int = 2, cls: str = "") -> Iterator[TextElement]:
    """A part of a page, under its heading."""
    with text("section", cls=f"card {cls}") as made:
        if title is not None:
            heading(title, level)
        yield made


@contextmanager
def row(cls: str = "") -> Iterator[TextElement]:
    """Things beside each other, as far as there is room."""
    with text("div", cls=f"row {cls}") as made:
        yield made


def badge(said: object, kind: str = "") -> TextElement:
    """A word or two about something; `kind` is good, warn, bad or nothing."""
    return text("span", said, f"badge {kind}")


def note(said: str, cls: str = "") -> TextElement:
    """What memory holds, in its own words and lines."""
    return text("blockquote", said, f"note {cls}", dir="auto")


def moment(at: datetime | None, missing: str = "-") -> TextElement:
    """A time, to the minute, in UTC as the ledger has it."""
    if at is None:
        return text("span", missing, "quiet")
    universal = at.astimezone(UTC)
    shown = f"{universal:%Y-%m-%d %H:%M}"
    return text("time", shown, datetime=universal.isoformat(), title=f"{universal:%c} UTC")


def facts(about: Mapping[str, Cell]) -> TextElement:
    """Names and values."""
    with text("dl", cls="facts") as made:
        for name, value in about.items():
            with text("div"):
                text("dt", name)
                _filled("dd", value)
    return made


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str) -> TextElement:
    """A table; on a phone each row becomes a block with the column's name before each cell."""
    with text("table", cls="table") as made:
        text("caption", caption, "unseen")
        with text("thead"), text("tr"):
            for name in head:
                text("th", name, scope="col")
        with text("tbody"):
            for cells in rows:
                with text("tr"):
                    for name, cell in zip(head, cells, strict=True):
                        _filled("td", cell, data_label=name)
    return made


def _filled(tag: str, cell: Cell, **attributes: Any) -> None:
    if isinstance(cell, str):
        text(tag, cell, **attributes)
        return
    with text(tag, **attributes):
        cell()


def bar(name: str, share: float, said: str, *, kind: str = "", address: str | None = None) -> None:
    """A value from 0 to 1 as a name, a bar and its number; the bar is for the eye alone."""
    with text("div", cls="bar"):
        text("span", name, "bar-name")
        with text("span", cls="bar-track", aria_hidden="true"):
            width = f"{max(0.0, min(1.0, share)) * 100:.1f}%"
            text("span", cls=f"bar-fill {kind}", style=f"width: {width}")
        with text("span", cls="bar-said"):
            text("span" if address is None else "a", said, href=address)


def empty(what: str, do: str) -> None:
    """What to show where there is nothing: that there is nothing, and what would change it."""
    with text("div", cls="empty"):
        text("p", what, "empty-what")
        text("p", do, "quiet")


def notice(what: str, remedy: str = "", kind: str = "bad") -> TextElement:
    """Something to be told at once."""
    role = "alert" if kind == "bad" else "status"
    with text("div", cls=f"notice {kind}", role=role) as made:
        with text("p"):
            text("strong", what)
        if remedy:
            text("p", remedy)
    return made


def choice(
    name: str, label: str, options: Mapping[str, str], chosen: str | None, **attributes: Any
) -> None:
    """A list to choose one from, in a form."""
    with text("label", cls="field"):
        text("span", label)
        with text("select", name=name, **attributes):
            for value, said in options.items():
                selected = True if value == (chosen or "") else None
                text("option", said, value=value, selected=selected)


def entry_field(name: str, label: str, value: str = "", **attributes: Any) -> TextElement:
    """A line to type into, in a form; returns the input."""
    with text("label", cls="field"):
        text("span", label)
        return text("input", name=name, value=value, **attributes)


@contextmanager
def asking(address: str, cls: str = "", **attributes: Any) -> Iterator[TextElement]:
    """A form whose answer is a page: what was asked is in its address."""
    with text("form", cls=f"asking {cls}", method="get", action=address, **attributes) as made:
        yield made


def icon(name: str) -> ui.icon:
    """A sign beside a word, which says it all without it."""
    made = ui.icon(name)
    made.props["aria-hidden"] = "true"
    return made

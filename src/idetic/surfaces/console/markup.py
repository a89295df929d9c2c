"""A spec's page, which is Markdown of our own making, as elements.

Only the shapes that `idetic.spec.render` writes are known: headings, tables, lists, paragraphs,
`code`, **bold** and escapes. Anything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.surfaces.console import parts

_SPAN = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]+)`|\\(?P<plain>[\\|<\[*`])")
_CELL = re.compile(r"(?<!\\)\|")


def show(page: str) -> None:
    """The blocks of a page, from its second heading level on; the title is the shell's."""
    for block in page.split("\n\n"):
        _block(block.strip("\n"))


def _block(block: str) -> None:
    lines = block.split("\n")
    if block.startswith("#"):
        level = len(block) - len(block.lstrip("#"))
        if level > 1:
            _said(f"h{level}", block.lstrip("# "))
    elif lines[0].startswith("| "):
        _table(lines)
    elif lines[0].startswith("- "):
        with parts.text("ul", cls="list"):
            for line in lines:
                _said("li", line.removeprefix("- "))
    elif block:
        _said("p", block)


def _table(lines: list[str]) -> None:
    head = _cells(lines[0])
    label = f"Table of {head[0]}"
    with (
        parts.text("div", cls="scroll", tabindex="0", role="group", aria_label=label),
        parts.text("table", cls="table"),
    ):
        with parts.text("thead"), parts.text("tr"):
            for cell in head:
                _said("th", cell, scope="col")
        with parts.text("tbody"):
            for line in lines[2:]:
                with parts.text("tr"):
                    for name, cell in zip(head, _cells(line), strict=False):
                        _said("td", cell, data_label=name.strip("`"))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line)[1:-1]]


def _said(tag: str, said: str, **attributes: str) -> None:
    with parts.text(tag, **attributes):
        for kind, words in spans(said):
            parts.text(kind, words)


def spans(said: str) -> Iterator[tuple[str, str]]:
    """A line's parts: the element each is shown in, and its text."""
    last, plain = 0, ""
    for found in _SPAN.finditer(said):
        plain += said[last : found.start()]
        last = found.end()
        if found["plain"]:
            plain += found["plain"]
            continue
        if plain:
            yield "span", plain
        plain = ""
        if found["bold"]:
            yield "strong", found["bold"].replace("`", "")
        else:
            yield "code", found["code"]
    plain += said[last:]
    if plain:
        yield "span", plain

"""Spec: what this agent's memory was declared to be, its deviations, and what versions changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from idetic.spec.differences import Difference, differences
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import PRIMITIVES
from idetic.spec.render import render, resolved
from idetic.spec.typology import DEFAULTS
from idetic.store.registry import SpecVersion
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import one_line, words

_SPAN = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`|\\(?P<plain>[\\|<\[*`])")
_CELL = re.compile(r"(?<!\\)\|")


async def build(context: PageContext) -> None:
    """Build the page: deviations first, then versions, then every answer."""
    await context.memory()
    versions = await context.db.spec_versions(context.spec.agent)
    _summary(context)
    with el.text("div", cls="columns"):
        with el.card("Justified deviations"):
            _deviations(context.spec)
        _accepted(context.spec)
    with el.card("Versions", cls="versions"):
        _versions(context, versions)
    with el.card("Every answer", cls="prose"):
        for block in render(context.spec).split("\n\n"):
            _block(block.strip("\n"))


def _summary(context: PageContext) -> None:
    """Show which spec this is, and what this login may do under it."""
    spec = context.spec
    granted = spec.visibility.principals.get(context.scope.principal.kind, ())
    capabilities = ", ".join(words(each) for each in granted if context.may(each)) or "none"
    with el.card(spec.title):
        el.text("p", spec.purpose)
        el.facts(
            {
                "Agent": spec.agent,
                "Version": str(context.version),
                "Digest": partial(el.text, "code", spec.digest[:16]),
                "Anchor": ", ".join(key.name for key in spec.anchor.keys),
            }
        )
        el.text("p", f"You may: {capabilities}.", "quiet")


def _deviations(spec: MemorySpec) -> None:
    """Show what differs from the defaults of the typologies, and why."""
    found = [(name, each) for name in DEFAULTS for each in getattr(spec, name).deviations]
    for section, each in found:
        with el.text("div", cls="deviation"):
            with el.row():
                el.text("strong", PRIMITIVES[section])
                el.badge(words(each.cell), "warn")
            for key, value in each.set.items():
                default = getattr(DEFAULTS[section][each.cell], key)
                with el.text("p", cls="small"):
                    el.text("code", key)
                    el.text("span", f": {_answer(value)} instead of {_answer(default)}")
            el.text("p", each.justification)
    others = [
        (f"Retention of {words(n)}", each.because) for n, each in spec.lifecycle.retention.items()
    ]
    if spec.injection.justification is not None:
        others.insert(0, (PRIMITIVES["injection"], spec.injection.justification))
    for title, because in others:
        with el.text("div", cls="deviation"):
            el.text("strong", title)
            el.text("p", because)
    if not found and not others:
        el.empty("No deviations.", "Every behaviour is the default of its typology.")


def _accepted(spec: MemorySpec) -> None:
    """Show which behaviours are the defaults of their typologies."""
    rows = []
    for section in DEFAULTS:
        changed = {each.cell for each in getattr(spec, section).deviations}
        accepted = [words(cell) for cell in resolved(spec, section) if cell not in changed]
        rows.append((PRIMITIVES[section], ", ".join(accepted) or "none"))
    if spec.injection.justification is None:
        rows.append((PRIMITIVES["injection"], "static budgets and priorities"))
    caption = "Behaviours left at their defaults"
    el.table_card("Accepted defaults", ("Primitive", "Cells"), rows, caption)


def _versions(context: PageContext, versions: Sequence[SpecVersion]) -> None:
    """Compare two stored versions, the last two unless others are asked for."""
    known = {str(each.version): each for each in versions}
    if len(known) < 2:
        el.empty(
            "This is the only version so far.",
            "Once another is applied, what changed is shown here.",
        )
        return
    *_, previous, last = known
    old, new = context.asked("old") or previous, context.asked("new") or last
    labels = {
        number: f"version {number}, {each.applied_at:%Y-%m-%d %H:%M}"
        for number, each in known.items()
    }
    with el.address_form(at("/spec")):
        el.choice("old", "From", labels, old)
        el.choice("new", "To", labels, new)
        el.submit("Compare", "")
    if old in known and new in known:
        _differences(differences(load(known[old].spec), load(known[new].spec)))
    else:
        el.empty("There is no such version.", "Choose from the lists above.")


def _differences(found: Sequence[Difference]) -> None:
    """Show the answers that two versions give differently."""
    if not found:
        el.empty("These versions say the same.", "Choose two others to compare.")
        return
    rows = []
    for each in found:
        path = partial(el.text, "code", each.path)
        before = partial(el.text, "code", _answer(each.before), "removed")
        after = partial(el.text, "code", _answer(each.after), "added")
        rows.append((each.primitive, path, before, after))
    head = ("Primitive", "Answer", "Before", "After")
    el.table(head, rows, "Answers that differ between the two versions")


def _answer(value: Any) -> str:
    """Return a spec's answer in one line; one that is missing says so."""
    return "not given" if value is None else one_line(value)


# A spec's page is Markdown of our own making. Only the shapes that `idetic.spec.render` writes
# are known: headings, tables, lists, paragraphs, `code`, **bold** and escapes. All else is text.


def _block(block: str) -> None:
    """Show one block of a spec's page; its title is the shell's."""
    lines = block.split("\n")
    if block.startswith("#"):
        level = len(block) - len(block.lstrip("#"))
        if level > 1:
            _line(f"h{level}", block.lstrip("# "))
    elif lines[0].startswith("| "):
        _table(lines)
    elif lines[0].startswith("- "):
        with el.text("ul", cls="list"):
            for line in lines:
                _line("li", line.removeprefix("- "))
    elif block:
        _line("p", block)


def _table(lines: Sequence[str]) -> None:
    """Show a Markdown table; wider than the page, it scrolls by itself."""
    head, _, *rows = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines]
    label = f"Table of {head[0]}"
    with (
        el.text("div", cls="scroll", tabindex="0", role="group", aria_label=label),
        el.text("table", cls="table"),
    ):
        with el.text("thead"), el.text("tr"):
            for name in head:
                _line("th", name, scope="col")
        with el.text("tbody"):
            for row in rows:
                with el.text("tr"):
                    for name, cell in zip(head, row, strict=False):
                        _line("td", cell, data_label=name.strip("`"))


def _line(tag: str, line: str, **attributes: str) -> None:
    """Show a line of Markdown in an element, its `code` and **bold** in their own."""
    with el.text(tag, **attributes):
        for kind, said in _spans(line):
            el.text(kind, said)


def _spans(line: str) -> Iterator[tuple[str, str]]:
    """Split a line into the element each part is shown in, and its text."""
    last, plain = 0, ""
    for found in _SPAN.finditer(line):
        plain += line[last : found.start()] + (found["plain"] or "")
        last = found.end()
        if found["plain"]:
            continue
        if plain:
            yield "span", plain
        plain = ""
        if found["strong"]:
            yield "strong", found["strong"].replace("`", "")
        else:
            yield "code", found["code"]
    if plain := plain + line[last:]:
        yield "span", plain

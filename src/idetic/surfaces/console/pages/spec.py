"""Spec: what this agent's memory was declared to be, its deviations, and what versions changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from idetic.spec.differences import Difference, differences
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import PRIMITIVES
from idetic.spec.render import render, resolved
from idetic.spec.typology import DEFAULTS
from idetic.store.registry import SpecVersion
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.pages import workshop
from idetic.surfaces.console.wording import minute, words

_SPAN = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`|\\(?P<plain>[\\|<\[*`])")
_CELL = re.compile(r"(?<!\\)\|")


async def build(context: PageContext) -> None:
    """Build the page: deviations first, then versions, then every answer."""
    await context.memory()
    spec = context.spec
    known = {str(each.version): each for each in await context.db.spec_versions(spec.agent)}
    # The last two are compared, unless others are asked for.
    *_, previous, last = ("", *known)
    old, new = context.asked("old") or previous, context.asked("new") or last
    granted = spec.visibility.principals.get(context.scope.principal.kind, ())
    show(
        "spec.html",
        spec=spec,
        version=context.version,
        workshop=workshop.open_to(context),
        may=[each for each in granted if context.may(each)],
        deviations=list(_deviations(spec)),
        others=list(_others(spec)),
        accepted=_accepted(spec),
        versions={n: f"version {n}, {minute(each.applied_at)}" for n, each in known.items()},
        old=old,
        new=new,
        differences=_compared(known, old, new),
        # Without its title, which the page has already.
        blocks=[_block(block) for block in render(spec).split("\n\n")[1:] if block.strip()],
        spans=_spans,
    )


def _deviations(spec: MemorySpec) -> Iterator[tuple[str, Any, list[tuple[str, Any, Any]]]]:
    """Yield what differs from the defaults of the typologies, each value beside its default."""
    for section, defaults in DEFAULTS.items():
        for each in getattr(spec, section).deviations:
            default = defaults[each.cell]
            changed = [(key, value, getattr(default, key)) for key, value in each.set.items()]
            yield PRIMITIVES[section], each, changed


def _others(spec: MemorySpec) -> Iterator[tuple[str, str]]:
    """Yield what else was justified, by its title."""
    if spec.injection.justification is not None:
        yield PRIMITIVES["injection"], spec.injection.justification
    for name, each in spec.lifecycle.retention.items():
        yield f"Retention of {words(name)}", each.because


def _accepted(spec: MemorySpec) -> dict[str, str]:
    """Return which behaviours are the defaults of their typologies, by primitive."""
    found = {}
    for section in DEFAULTS:
        changed = {each.cell for each in getattr(spec, section).deviations}
        accepted = [words(cell) for cell in resolved(spec, section) if cell not in changed]
        found[PRIMITIVES[section]] = ", ".join(accepted) or "none"
    if spec.injection.justification is None:
        found[PRIMITIVES["injection"]] = "static budgets and priorities"
    return found


def _compared(
    known: Mapping[str, SpecVersion], old: str, new: str
) -> tuple[Difference, ...] | None:
    """Return what two stored versions say differently; None if one of them is unknown."""
    if old not in known or new not in known:
        return None
    return differences(load(known[old].spec), load(known[new].spec))


# A spec's page is Markdown of our own making. Only the shapes that `idetic.spec.render` writes
# are known: headings, tables, lists, paragraphs, `code`, **bold** and escapes. All else is text.


def _block(block: str) -> tuple[str, Any]:
    """Read one block of a spec's page: its kind, and its rows, its items or its text."""
    block = block.strip("\n")
    lines = block.split("\n")
    if block.startswith("#"):
        return f"h{len(block) - len(block.lstrip('#'))}", block.lstrip("# ")
    if block.startswith("| "):
        return "table", [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines]
    if block.startswith("- "):
        return "list", [line.removeprefix("- ") for line in lines]
    return "p", block


def _spans(line: str) -> list[tuple[str, str]]:
    """Split a line into the element each part is shown in, and its text."""
    found: list[tuple[str, str]] = []
    last = 0
    for each in _SPAN.finditer(line):
        found.append(("", line[last : each.start()] + (each["plain"] or "")))
        last = each.end()
        if each["strong"]:
            found.append(("strong", each["strong"].replace("`", "")))
        elif each["code"]:
            found.append(("code", each["code"]))
    return [*found, ("", line[last:])]

"""Spec: what this agent's memory was declared to be, what it deviates in, and what changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

from idetic.spec.differences import Difference, differences
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import PRIMITIVES
from idetic.spec.render import render, resolved
from idetic.spec.typology import DEFAULTS
from idetic.store.registry import SpecVersion
from idetic.surfaces.console import markup, parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import words


async def build(desk: Desk, request: Request) -> None:
    """The page: deviations first, then versions, then every answer."""
    await desk.memory()
    versions = await desk.db.spec_versions(desk.spec.agent)
    _summary(desk)
    with parts.text("div", cls="columns"):
        _deviations(desk.spec)
        _accepted(desk.spec)
    _changes(versions, request)
    with parts.card("Every answer", cls="prose"):
        markup.show(render(desk.spec))


def _summary(desk: Desk) -> None:
    with parts.card(desk.spec.title):
        parts.text("p", desk.spec.purpose)
        parts.facts(
            {
                "Agent": desk.spec.agent,
                "Version": str(desk.version),
                "Digest": lambda: parts.text("code", desk.spec.digest[:16]),
                "Anchor": ", ".join(key.name for key in desk.spec.anchor.keys),
            }
        )
        parts.text("p", f"You may: {_capabilities(desk)}.", "quiet")


def _capabilities(desk: Desk) -> str:
    granted = desk.spec.visibility.principals.get(desk.principal.kind, ())
    return ", ".join(words(each) for each in granted if desk.may(each)) or "none"


def _deviations(spec: MemorySpec) -> None:
    """What differs from the typology defaults, and why."""
    with parts.card("Justified deviations"):
        found = [(name, each) for name in DEFAULTS for each in getattr(spec, name).deviations]
        for section, each in found:
            with parts.text("div", cls="deviation"):
                with parts.row():
                    parts.text("strong", PRIMITIVES[section])
                    parts.badge(words(each.cell), "warn")
                for key, value in each.set.items():
                    default = getattr(DEFAULTS[section][each.cell], key)
                    with parts.text("p", cls="small"):
                        parts.text("code", key)
                        parts.text("span", f": {_said(value)} instead of {_said(default)}")
                parts.text("p", each.justification)
        if spec.injection.justification is not None:
            with parts.text("div", cls="deviation"):
                parts.text("strong", PRIMITIVES["injection"])
                parts.text("p", spec.injection.justification)
        for entity, override in spec.lifecycle.retention.items():
            with parts.text("div", cls="deviation"):
                parts.text("strong", f"Retention of {words(entity)}")
                parts.text("p", override.because)
        if not found and spec.injection.justification is None and not spec.lifecycle.retention:
            parts.empty("No deviations.", "Every behaviour is the default of its typology.")


def _accepted(spec: MemorySpec) -> None:
    """Which behaviours are as their typology has them."""
    rows: list[Sequence[parts.Cell]] = []
    for section in DEFAULTS:
        changed = {each.cell for each in getattr(spec, section).deviations}
        accepted = [words(cell) for cell in resolved(spec, section) if cell not in changed]
        rows.append((PRIMITIVES[section], ", ".join(accepted) or "none"))
    if spec.injection.justification is None:
        rows.append((PRIMITIVES["injection"], "static budgets and priorities"))
    with parts.card("Accepted defaults"):
        parts.table(("Primitive", "Cells"), rows, caption="Behaviours left at their defaults")


def _changes(versions: Sequence[SpecVersion], request: Request) -> None:
    """The differences between two stored versions, the last two unless others are asked for."""
    with parts.card("Versions", cls="versions"):
        known = {str(each.version): each for each in versions}
        if len(known) < 2:
            parts.empty(
                "This is the only version so far.",
                "Once another is applied, what changed is shown here.",
            )
            return
        numbers = list(known)
        old = request.query_params.get("old", numbers[-2])
        new = request.query_params.get("new", numbers[-1])
        options = {
            number: f"version {number}, {each.applied_at:%Y-%m-%d %H:%M}"
            for number, each in known.items()
        }
        with parts.asking(at("/spec")):
            parts.choice("old", "From", options, old)
            parts.choice("new", "To", options, new)
            parts.text("button", "Compare", "button", type="submit")
        if old in known and new in known:
            _difference(differences(load(known[old].spec), load(known[new].spec)))
        else:
            parts.empty("There is no such version.", "Choose from the lists above.")


def _difference(found: Sequence[Difference]) -> None:
    if not found:
        parts.empty("These versions say the same.", "Choose two others to compare.")
        return
    parts.table(
        ("Primitive", "Answer", "Before", "After"),
        [
            (
                each.primitive,
                _code(each.path),
                _code(_said(each.before), "removed"),
                _code(_said(each.after), "added"),
            )
            for each in found
        ],
        caption="Answers that differ between the two versions",
    )


def _code(said: str, cls: str = "") -> parts.Cell:
    return lambda: parts.text("code", said, cls)


def _said(value: Any) -> str:
    if value is None:
        return "not given"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

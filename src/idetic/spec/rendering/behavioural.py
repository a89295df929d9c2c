"""Primitives 6 to 12 as a page shows them: accepted defaults, and deviations in bold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from idetic.model import Tier
from idetic.spec.checks.behavioural import DEFAULTS
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Behaviour, Injection
from idetic.spec.rendering.markdown import bullets, code, prose, shown, table
from idetic.spec.rendering.retention import retention
from idetic.spec.typology import Cell, Policy, cell_of

Changes = frozenset[tuple[Cell, str]]


def behaviour(section: str) -> Callable[[MemorySpec], Iterator[str]]:
    """The part that shows one of the primitives 6 to 11."""

    def part(spec: MemorySpec) -> Iterator[str]:
        declared: Behaviour = getattr(spec, section)
        changed = frozenset((d.cell, key) for d in declared.deviations for key in d.set)
        policies = resolved(spec, section)
        keys = tuple(type(next(iter(policies.values()))).model_fields)
        yield table(
            ("Cell", *map(code, keys), "Source"),
            [_row(cell, policy, changed) for cell, policy in policies.items()],
        )
        if declared.deviations:
            yield bullets(_deviations(section, declared, policies))
        else:
            yield "Typology defaults, accepted for every cell."
        if section == "lifecycle":
            yield from retention(spec)

    return part


def resolved(spec: MemorySpec, section: str) -> dict[Cell, Policy]:
    """The policy of every cell that the typology mix produces, in the tables' order."""
    policy_of = getattr(spec, f"{section}_of")
    found = {cell_of(*where): policy_of(*where) for where in spec.typology.cells()}
    return {cell: found[cell] for cell in Cell if cell in found}


def _row(cell: Cell, policy: Policy, changed: Changes) -> tuple[str, ...]:
    values = (
        f"**{shown(value)}**" if (cell, key) in changed else shown(value) for key, value in policy
    )
    deviates = any(where is cell for where, _ in changed)
    return shown(cell), *values, "**deviation**" if deviates else "default"


def _deviations(section: str, declared: Behaviour, policies: dict[Cell, Policy]) -> Iterator[str]:
    for deviation in sorted(declared.deviations, key=lambda d: list(Cell).index(d.cell)):
        default, policy = DEFAULTS[section][deviation.cell], policies[deviation.cell]
        changes = "; ".join(
            f"{code(key)} is {shown(now)} instead of {shown(getattr(default, key))}"
            for key, now in policy
            if key in deviation.set
        )
        why = prose(deviation.justification)
        yield f"**Deviation** for {shown(deviation.cell)}: {changes}. Justification: {why}"


def injection(spec: MemorySpec) -> Iterator[str]:
    """Primitive 12."""
    section, static = spec.injection, Injection()
    blocks = [(tier, section.at(tier), static.at(tier)) for tier in Tier]
    yield table(
        ("Tier", "Token budget", "Priority", "Presence", "Source"),
        [
            (tier, b.budget, b.priority, b.presence, "default" if b == d else "**deviation**")
            for tier, b, d in blocks
        ],
    )
    yield f"Absolute ceiling: {section.ceiling} tokens, never exceeded."
    if section.justification is None:
        yield "Static budgets and priorities, accepted as they are."
    else:
        yield bullets([f"**Deviation**. Justification: {prose(section.justification)}"])

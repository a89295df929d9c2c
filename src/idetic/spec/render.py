"""A spec as a page: one agent's memory, read as a parameterization of the primitives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from idetic.spec.checks.behavioural import DEFAULTS
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import PRIMITIVES
from idetic.spec.rendering import behavioural, discipline, foundational
from idetic.spec.rendering.markdown import bullets, code, prose

Part = Callable[[MemorySpec], Iterator[str]]

_GROUPS: tuple[tuple[str, str, Mapping[str, Part]], ...] = (
    (
        "Foundational primitives",
        "Explicit answers; nothing here has a default.",
        {
            "anchor": foundational.anchor,
            "typology": foundational.typology,
            "tiers": foundational.tiers,
            "backend": foundational.backend,
            "retrieval": foundational.retrieval,
        },
    ),
    (
        "Behavioral primitives",
        "Typology defaults, unless a **deviation** says otherwise and why.",
        {
            **{section: behavioural.behaviour(section) for section in DEFAULTS},
            "injection": behavioural.injection,
        },
    ),
    (
        "Discipline primitives",
        "Explicit answers, each this agent's own.",
        {
            "references": discipline.references,
            "gates": discipline.gates,
            "visibility": discipline.visibility,
        },
    ),
    (
        "Audit and leak defence",
        "Universal unless exempted; calibrated to how the agent uses canonical content.",
        {"audit": discipline.audit, "leak_defence": discipline.leak_defence},
    ),
)


def render(spec: MemorySpec) -> str:
    """The spec as Markdown, in the documents' order. Equal specs give equal pages."""
    blocks = [f"# {prose(spec.title)}: memory", prose(spec.purpose), _about(spec)]
    for title, lead, parts in _GROUPS:
        blocks += [f"## {title}", lead]
        for key, part in parts.items():
            blocks += [f"### {_heading(PRIMITIVES[key])}", *part(spec)]
    return "\n\n".join(blocks) + "\n"


def _heading(primitive: str) -> str:
    number, _, name = primitive.partition(" ")
    return f"{number}. {name}" if number.isdigit() else primitive


def _about(spec: MemorySpec) -> str:
    count = sum(len(getattr(spec, section).deviations) for section in DEFAULTS)
    count += (spec.injection.justification is not None) + len(spec.lifecycle.retention)
    said = f"{count}, each justified below" if count else "none"
    return bullets(
        [
            f"Agent: {code(spec.agent)}",
            f"Digest: {code(spec.digest)}",
            f"Deviations from the typology defaults: {said}",
        ]
    )

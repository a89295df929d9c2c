"""Primitives 13 to 15, the audit posture and the leak-defence calibration as a page."""

from __future__ import annotations

from collections.abc import Iterator

from idetic.model import Origin, PrincipalKind
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, Canonical, GuardRole, Reasons, SourceStrength
from idetic.spec.rendering.markdown import NOTHING, bullets, code, codes, prose, table

_REASONING = {
    Reasons.OVER: "The agent reasons over canonical content.",
    Reasons.WITH: "The agent reasons with canonical content, through tools.",
}
_GUARDING = {
    GuardRole.PRIMARY: "The shadow guard is the primary defence. It refuses copies, quotes, and "
    "notes that together restate.",
    GuardRole.BACKSTOP: "The shadow guard is a backstop; workshop discipline is the primary "
    "defence. It refuses copies.",
}


def references(spec: MemorySpec) -> Iterator[str]:
    """Primitive 13."""
    part = spec.references
    yield "Non-mirror list, referenced and never copied:"
    yield bullets(prose(category) for category in part.non_mirror)
    if part.canonical:
        yield table(
            ("Noun", "Canonical row", "Pinned by", "Guarded body", "Strength", "Scope",
             "Contradictions"),
            [_canonical(canonical) for canonical in part.canonical],
        )  # fmt: skip
    else:
        yield "No canonical tables are referenced."
    yield f"Corroborations are {'kept' if part.corroborations else 'not kept'}."
    if part.documents:
        yield "It keeps an application's documents: what has the shape of a record is not refused."


def _canonical(canonical: Canonical) -> tuple[str, ...]:
    pinned = f"{canonical.versions}.{canonical.version}" if canonical.versions else None
    columns = (canonical.body, canonical.strength, canonical.scope)
    return (
        code(canonical.noun),
        code(f"{canonical.table}.{canonical.key}"),
        *(code(name) if name else NOTHING for name in (pinned, *columns)),
        "first-class" if canonical.contradictions else NOTHING,
    )


def gates(spec: MemorySpec) -> Iterator[str]:
    """Primitive 14."""
    at = {gate.boundary: gate for gate in spec.gates}
    if not at:
        yield "No boundary transforms anything."
        return
    yield table(
        ("Boundary", "Applies", "Because"),
        [(b, at[b].apply, prose(at[b].because)) for b in Boundary if b in at],
    )


def visibility(spec: MemorySpec) -> Iterator[str]:
    """Primitive 15."""
    part = spec.visibility
    yield "The application checks each scope first; row-level security stands behind it."
    yield table(
        ("Principal", "May"),
        [(kind, part.principals[kind] or "nothing") for kind in PrincipalKind],
    )
    yield table(("Origin", "Starting trust"), [(o, part.trust[o]) for o in Origin])
    yield table(("Source strength", "Hedge"), [(s, prose(part.hedges[s])) for s in SourceStrength])


def audit(spec: MemorySpec) -> Iterator[str]:
    """The audit posture."""
    yield (
        "Universal: append-only. Persistent memory and whatever an action rests on are never "
        "deleted; a state column records each transition."
    )
    yield f"Actions that rest on memory: {codes(spec.audit.action_kinds)}."
    if spec.audit.exemptions:
        yield bullets(
            f"**Exemption**: {prose(e.what)} Justification: {prose(e.justification)}"
            for e in spec.audit.exemptions
        )
    else:
        yield "No exemptions."


def leak_defence(spec: MemorySpec) -> Iterator[str]:
    """The leak-defence calibration."""
    part = spec.leak_defence
    yield f"{_REASONING[part.reasons]} {_GUARDING[part.guard]}"
    yield f"Because: {prose(part.because)}"

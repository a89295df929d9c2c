"""Checks of primitives 13 to 15, the audit posture and the leak-defence calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from idetic.model import Capability, Origin, PrincipalKind, Tier, Typology
from idetic.spec import reserved
from idetic.spec.foundation_checks import longest_family
from idetic.spec.identifier_checks import identifiers
from idetic.spec.memory_spec import GuardRole, Reasons
from idetic.spec.plain import SpecNode, repeated
from idetic.spec.primitives import Boundary, GateKind, SourceStrength
from idetic.spec.problems import Finding
from idetic.spec.typology import Cell, WriteMode

# What may at most be granted to those who only look.
_READ_ONLY: Mapping[PrincipalKind, frozenset[Capability]] = MappingProxyType(
    {
        PrincipalKind.CUSTOMER: frozenset({Capability.READ}),
        PrincipalKind.AUDITOR: frozenset(
            {Capability.READ, Capability.READ_ACROSS, Capability.AUDIT}
        ),
    }
)
# What an audience's boundary must do to what that audience reads.
_AUDIENCE_GATES: Mapping[PrincipalKind, tuple[Boundary, tuple[GateKind, ...]]] = MappingProxyType(
    {
        PrincipalKind.OPERATOR: (Boundary.OPERATOR, (GateKind.HEDGE,)),
        PrincipalKind.CUSTOMER: (Boundary.CUSTOMER, (GateKind.HEDGE, GateKind.READ_ONLY)),
    }
)
# What is about an audience, and no transformation of a text.
_TOLD = (GateKind.HEDGE, GateKind.READ_ONLY)
_GRANT = "Write `{key}: []` for nothing, or list its capabilities: `{key}: [read]`."
_GUARD_FOR = {Reasons.OVER: GuardRole.PRIMARY, Reasons.WITH: GuardRole.BACKSTOP}


def canonical_tables(spec: SpecNode) -> Iterator[Finding]:
    """Each noun once; a version pin needs its table and its column; a scope needs a root."""
    canonical = list(spec["references"]["canonical"].each())
    yield from repeated((c["noun"] for c in canonical), "canonical noun")
    for each in canonical:
        versions, version = each["versions"], each["version"]
        if versions.present != version.present:
            given, lacking = (version, versions) if version.present else (versions, version)
            example = "worlds.rule_versions" if lacking is versions else "version"
            yield lacking.finding(
                f"`{given.steps[-1]}` is given without `{lacking.steps[-1]}`; a pin needs both.",
                f"Add `{lacking.steps[-1]}: {example}`, or remove `{given.steps[-1]}`.",
            )
        if each["scope"].present and not spec["anchor"]["root"].present:
            yield each["scope"].finding(
                "`scope` holds the anchor root's key, but `anchor.root` is not given.",
                "Add `root` to the anchor, or remove `scope`.",
            )


def canonical_columns(spec: SpecNode) -> Iterator[Finding]:
    """A junction carries the anchor, provenance and the canonical key: all in one table."""
    anchor = spec["anchor"]
    taken = {key["name"].text for key in anchor["keys"].each()} | set(anchor["provenance"].texts())
    family = spec["backend"]["family"].text
    for each in spec["references"]["canonical"].each():
        noun, key = each["noun"], each["key"]
        pin = f"{noun.text}_version" if each["versions"].present else None
        if key.text is not None and (key.text in taken or key.text in reserved.COLUMNS):
            yield key.finding(
                f"`{key.text}` is a column of the references table already.",
                f"Give the canonical table a key of its own, for example `{noun.text}_id`.",
            )
        if pin in taken:
            yield noun.finding(
                f"Pins are kept in a column `{pin}`, which the anchor or provenance also names.",
                "Rename the noun, or that anchor key or provenance column.",
            )
        longest = reserved.LONGEST_OF_NOUN.format(family=longest_family(spec), noun=noun.text)
        excess = len(longest) - reserved.IDENTIFIER_MAX
        if family and noun.text and excess > 0:
            yield noun.finding(
                f"`{longest}` is longer than the {reserved.IDENTIFIER_MAX} characters that "
                "PostgreSQL keeps of a name.",
                f"Shorten the noun or `backend.family` by {excess} characters.",
            )


def corroborations_and_documents(spec: SpecNode) -> Iterator[Finding]:
    """Semantic memory needs its corroborations kept; documents need a memory without a guard."""
    semantic = any(Typology.SEMANTIC in spec["typology"][tier].texts() for tier in Tier)
    direct = any(
        d["cell"].text == Cell.SEMANTIC
        and d["set"]["mode"].text in (WriteMode.AUTOMATIC, WriteMode.EXPLICIT)
        for d in spec["writes"]["deviations"].each()
    )
    references = spec["references"]
    lacking = references["corroborations"].data in (None, False)
    if semantic and not direct and references.present and lacking:
        yield references["corroborations"].finding(
            "Semantic memory is promoted by corroboration, but none is kept.",
            "Set `corroborations: true`, or take `semantic` out of `typology`.",
        )
    # Where a guard compares notes with canonical bodies, no value is safe from being refused.
    guarded = [c for c in references["canonical"].each() if c["body"].data is not None]
    if references["documents"].data is True and guarded:
        yield references["documents"].finding(
            "Documents are kept word for word, but the guard refuses what restates a body.",
            "Set `documents: false`, or take `body` out of the canonical tables.",
        )


def listed_once(spec: SpecNode) -> Iterator[Finding]:
    """No list names anything twice."""
    references, audit = spec["references"], spec["audit"]
    yield from repeated(references["non_mirror"].each(), "non-mirror category")
    yield from repeated(audit["action_kinds"].each(), "action kind")
    for gate in spec["gates"].each():
        yield from repeated(gate["apply"].each(), "transformation")
    for _, granted in spec["visibility"]["principals"].fields():
        yield from repeated(granted.each(), "capability")


def gates(spec: SpecNode) -> Iterator[Finding]:
    """One gate per boundary, and one before every audience that reads."""
    section = spec["gates"]
    yield from repeated((gate["boundary"] for gate in section.each()), "boundary")
    if not isinstance(section.data, list):
        return
    applied = {gate["boundary"].text: gate["apply"] for gate in section.each()}
    for kind, (boundary, needed) in _AUDIENCE_GATES.items():
        if Capability.READ not in spec["visibility"]["principals"][kind].texts():
            continue
        listed = ", ".join(needed)
        if boundary not in applied:
            yield section.finding(
                f"The {kind} may read, but nothing stands at the `{boundary}` boundary.",
                f"Add a gate `{{boundary: {boundary}, apply: [{listed}], because: …}}`, or take "
                f"`read` from the {kind}.",
            )
            continue
        lacking = [gate for gate in needed if gate not in applied[boundary].texts()]
        if lacking and isinstance(applied[boundary].data, list):
            yield applied[boundary].finding(
                f"The `{boundary}` boundary does not apply `{'`, `'.join(lacking)}`.",
                f"Write `apply: [{listed}]`: that is what the {kind}'s surface needs.",
            )


def acting_gates(spec: SpecNode) -> Iterator[Finding]:
    """Each gate stands where something crosses, and does there what can be done there."""
    audiences = {boundary: kind for kind, (boundary, _) in _AUDIENCE_GATES.items()}
    tiers = spec["tiers"]
    for gate in spec["gates"].each():
        boundary = gate["boundary"]
        if boundary.text not in set(Boundary):
            continue
        kind = audiences.get(Boundary(boundary.text))
        for one in gate["apply"].each():
            if one.text in _TOLD and kind is None:
                yield one.finding(
                    f"This could not act. Nobody reads at the `{boundary.text}` boundary.",
                    f"Move `{one.text}` to the gate of the operator or of the customer.",
                )
            elif one.text == GateKind.READ_ONLY and kind is not None:
                yield from _changes_beyond(spec["visibility"]["principals"][kind], kind)
        inner = boundary.text == Boundary.INTERACTION_END
        if inner and isinstance(tiers.data, dict) and not tiers[Tier.INTERACTION].present:
            yield boundary.finding(
                "This could not act. The tier model has no interactions that could end.",
                f"Write `boundary: {Boundary.SESSION_END}`, or declare `tiers.interaction`.",
            )


def _changes_beyond(granted: SpecNode, kind: PrincipalKind) -> Iterator[Finding]:
    """A finding about what is granted to an audience whose boundary is read-only."""
    looks = _READ_ONLY[PrincipalKind.AUDITOR]
    beyond = [one for one in granted.texts() if one in set(Capability) - looks]
    if beyond and kind not in _READ_ONLY:
        yield granted.finding(
            f"The `{kind}` boundary is read-only; `{'`, `'.join(beyond)}` go beyond that.",
            f"Remove them, or take `{GateKind.READ_ONLY}` out of the gate.",
        )


def visibility(spec: SpecNode) -> Iterator[Finding]:
    """Every principal, origin and source strength has an answer; readers are granted no writes."""
    visibility = spec["visibility"]
    section = visibility["principals"]
    yield from section.unanswered(PrincipalKind, "principal", _GRANT)
    for kind, most in _READ_ONLY.items():
        for granted in section[kind].each():
            if granted.text in set(Capability) and granted.text not in most:
                allowed = ", ".join(c for c in Capability if c in most)
                yield granted.finding(
                    f"A{'n' if kind[0] == 'a' else ''} {kind} is read-only; "
                    f"`{granted.text}` goes beyond that.",
                    f"Remove it; at most [{allowed}] can be granted to the {kind}.",
                )
    trust, hedges = "Write `{key}: 50`: a number of 0 to 100.", "Write `{key}: As observed only`."
    yield from visibility["trust"].unanswered(Origin, "origin", trust)
    yield from visibility["hedges"].unanswered(SourceStrength, "source strength", hedges)


def leak_defence(spec: SpecNode) -> Iterator[Finding]:
    """The guard's role follows from how the agent reasons, and a guard needs something to guard."""
    section = spec["leak_defence"]
    if section["reasons"].text not in set(Reasons):
        return
    reasons = Reasons(section["reasons"].text)
    guard = section["guard"]
    if guard.text in set(GuardRole) and guard.text != _GUARD_FOR[reasons]:
        yield guard.finding(
            f"An agent that reasons {reasons} canonical content has the guard as "
            f"{_GUARD_FOR[reasons]}.",
            f"Write `guard: {_GUARD_FOR[reasons]}`, or correct `reasons`.",
        )
    bodies = [c["body"] for c in spec["references"]["canonical"].each() if c["body"].present]
    if reasons is Reasons.OVER and not bodies and spec["references"].present:
        yield section["reasons"].finding(
            "The agent reasons over canonical content, but no canonical table has a `body` that "
            "the guard could compare with.",
            "Add `body: body_text` to an entry of `references.canonical`, or write "
            "`reasons: with`.",
        )


CHECKS = (
    canonical_tables,
    canonical_columns,
    corroborations_and_documents,
    listed_once,
    gates,
    acting_gates,
    identifiers,
    visibility,
    leak_defence,
)

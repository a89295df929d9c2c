"""A spec as a page: one agent's memory, read as a parameterization of the primitives.

Text given to `_table` and `_bullets` is Markdown already; what an author wrote freely goes
through `_prose` first, so that no answer breaks out of its column or becomes a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any

from idetic.model import Origin, PrincipalKind, Tier
from idetic.spec.memory_spec import GuardRole, MemorySpec, Reasons
from idetic.spec.primitives import (
    Boundary,
    Canonical,
    Floors,
    FusionMethod,
    Injection,
    Persona,
    Signal,
    SourceStrength,
)
from idetic.spec.problems import PRIMITIVES
from idetic.spec.retention import RETENTION, RetainedEntity, RetentionOverride, entities
from idetic.spec.typology import DEFAULTS, Behaviour, Cell, SpecPart, cell_of

Section = Callable[[MemorySpec], Iterator[str]]

NOTHING = "-"
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


def render(spec: MemorySpec) -> str:
    """The spec as Markdown, in the documents' order. Equal specs give equal pages."""
    count = sum(len(getattr(spec, section).deviations) for section in DEFAULTS)
    count += (spec.injection.justification is not None) + len(spec.lifecycle.retention)
    deviations = f"{count}, each justified below" if count else "none"
    about = (
        f"Agent: {_code(spec.agent)}",
        f"Digest: {_code(spec.digest)}",
        f"Deviations from the typology defaults: {deviations}",
    )
    blocks = [f"# {_prose(spec.title)}: memory", _prose(spec.purpose), _bullets(about)]
    for title, lead, sections in _GROUPS:
        blocks += [f"## {title}", lead]
        for key, section in sections.items():
            number, _, name = PRIMITIVES[key].partition(" ")
            heading = f"{number}. {name}" if number.isdigit() else PRIMITIVES[key]
            blocks += [f"### {heading}", *section(spec)]
    return "\n\n".join(blocks) + "\n"


# --- primitives 1 to 5 --------------------------------------------------------------------


def _anchor(spec: MemorySpec) -> Iterator[str]:
    """The keys that own memory, the row they belong to, and the provenance."""
    keys, root, provenance = spec.anchor.keys, spec.anchor.root, spec.anchor.provenance
    yield f"Memory is owned by ({_codes(k.name for k in keys)}); all keys are required to write."
    yield _table(
        ("Key", "Type", "Role", "Open in cross-scope reads"),
        [
            (_code(key.name), key.type, "key" if i else "tenant", key.nullable_for_queries)
            for i, key in enumerate(keys)
        ],
    )
    if root is not None:
        row = _code(f"{root.table}.{root.key}")
        yield f"Each anchor belongs 1:1 to a {root.noun}: {row}, a foreign key on every entry."
    if provenance:
        names = _codes(provenance)
        yield f"Contextual provenance, never a version pin or a default filter: {names}."


def _typology(spec: MemorySpec) -> Iterator[str]:
    """What kinds of memory each tier holds."""
    tiers = [(spec.tiers.name_of(tier), spec.typology.at(tier)) for tier in spec.tiers.declared]
    yield _table(("Tier", "Typologies"), tiers)


def _tiers(spec: MemorySpec) -> Iterator[str]:
    """What each tier is called here, what leads out of it, and what it holds."""
    model = spec.tiers
    names = [model.name_of(tier) for tier in model.declared]
    name = _code(model.name_of(Tier.PERSISTENT))
    above = "" if model.broader is None else f", and {_code(model.broader.name)} stands above it"
    count = ("Two", "Three", "Four")[len(names) - 2 + (model.broader is not None)]
    yield f"{count} tiers; {name} is the persistent one{above}."
    rows: list[tuple[Any, ...]] = [
        (tier, _code(model.name_of(tier)), one.boundary, _code(one.event), one.lease_minutes,
         _prose(one.holds))
        for tier, one in model.transient.items()
    ]  # fmt: skip
    top = model.persistent
    event = NOTHING if top.event is None else _code(top.event)
    rows.append((Tier.PERSISTENT, name, top.boundary or NOTHING, event, NOTHING, _prose(top.holds)))
    if model.broader is not None:
        keys = f"{_prose(model.broader.holds)} Its anchor: ({_codes(model.broader.keys)})."
        rows.append(("broader", _code(model.broader.name), NOTHING, NOTHING, NOTHING, keys))
    yield _table(("Level", "Name", "Boundary", "Event", "Lease, minutes", "Holds"), rows)


def _backend(spec: MemorySpec) -> Iterator[str]:
    """Where memory is stored, and the log that it is derived from if there is one."""
    part = spec.backend
    if part.log is not None:
        who = " and the ".join(persona.title() for persona in part.log.personas)
        own = ", each in tables and under a role of its own" if len(part.log.personas) > 1 else ""
        yield f"A log of the {who}{own}: {_prose(part.log.holds)} Memory is derived from it."
    tables = _code(f"{part.family}_memory")
    yield _bullets(
        [
            f"Store: every tier in schema {_code(part.schema_)}, in {tables} and its family.",
            f"Checkpointer: schema {_code(part.checkpointer)}, managed by the framework.",
            f"A note holds at most {part.body_text_max} characters.",
            "Other contexts read through a protocol handed to them, never by a grant.",
        ]
    )


def _floors(floors: Floors) -> str:
    """Below which values memory says that it does not know."""
    if not floors.question and not floors.hit:
        return "none, whatever is recalled is used"
    return f"a question from {floors.question}, a hit from {floors.hit} on"


def _retrieval(spec: MemorySpec) -> Iterator[str]:
    """How recall finds entries, and what each signal, tier and envelope key weighs."""
    part, fusion = spec.retrieval, _code(spec.retrieval.fusion.method)
    if part.fusion.method is FusionMethod.RRF:
        fusion += f" with k = {part.fusion.k}"
    yield _bullets(
        [
            f"Embedding: {_code(part.embedding)}.",
            f"Fusion: {fusion}.",
            f"Reranking layer: {_code(part.reranker)}.",
            f"Floors: {_floors(part.floors)}.",
        ]
    )
    yield _table(("Signal", "Weight"), [(s, part.signals.get(s) or "off") for s in Signal])
    weights = [(spec.tiers.name_of(t), part.tiers[t] or "off") for t in spec.tiers.declared]
    if spec.tiers.broader is not None:
        weights.append((spec.tiers.broader.name, spec.tiers.broader.weight or "off"))
    yield _table(("Tier", "Weight"), weights)
    if part.envelope:
        yield _table(
            ("Envelope key", "Type", "Weight", "Required"),
            [(_code(n), k.type, k.weight, k.required) for n, k in sorted(part.envelope.items())],
        )
    if part.short_term is not None:
        settings = {p: h.model_dump() for p in Persona if (h := part.short_term.of(p)) is not None}
        yield _table(
            ("Short-term memory", *(persona.title() for persona in settings)),
            [
                (_code(name), *(one[name] for one in settings.values()))
                for name in next(iter(settings.values()))
            ],
        )


# --- primitives 6 to 12 -------------------------------------------------------------------


def _behaviour(section: str, spec: MemorySpec) -> Iterator[str]:
    """One of the primitives 6 to 11: accepted defaults, and deviations in bold."""
    declared: Behaviour = getattr(spec, section)
    changed = {(deviation.cell, key) for deviation in declared.deviations for key in deviation.set}
    policies = resolved(spec, section)
    rows = []
    for cell, policy in policies.items():
        values = [_bold_if((cell, key) in changed, value) for key, value in policy]
        deviates = any(where is cell for where, _ in changed)
        rows.append((cell, *values, "**deviation**" if deviates else "default"))
    keys = type(next(iter(policies.values()))).model_fields
    yield _table(("Cell", *map(_code, keys), "Source"), rows)
    if declared.deviations:
        yield _bullets(_deviations(section, declared, policies))
    else:
        yield "Typology defaults, accepted for every cell."
    if section == "lifecycle":
        yield from _retention(spec)


def resolved(spec: MemorySpec, section: str) -> dict[Cell, SpecPart]:
    """The policy of every cell that the typology mix produces, in the tables' order."""
    policy_of = getattr(spec, f"{section}_of")
    policies = {cell_of(*where): policy_of(*where) for where in spec.typology.cells()}
    return {cell: policies[cell] for cell in Cell if cell in policies}


def _deviations(section: str, declared: Behaviour, policies: dict[Cell, SpecPart]) -> Iterator[str]:
    """A line for each deviation, in the order of the cells: what it changes, and why."""
    for deviation in sorted(declared.deviations, key=lambda d: list(Cell).index(d.cell)):
        default, policy = DEFAULTS[section][deviation.cell], policies[deviation.cell]
        changes = "; ".join(
            f"{_code(key)} is {_shown(now)} instead of {_shown(getattr(default, key))}"
            for key, now in policy
            if key in deviation.set
        )
        why = _prose(deviation.justification)
        yield f"**Deviation** for {_shown(deviation.cell)}: {changes}. Justification: {why}"


def _retention(spec: MemorySpec) -> Iterator[str]:
    """Every entity of the family with its policy, and why some have another than the default."""
    overrides = spec.lifecycle.retention
    yield (
        "Retention, per entity. The transient tiers register none: they live as long as their "
        "scope. A tombstone can be undone within its grace."
    )
    rows = []
    for entity in entities(spec):
        default = RETENTION[entity]
        resolved = spec.retention_of(entity)
        policy = [
            _bold_if(k in RetentionOverride.model_fields and v != getattr(default, k), v)
            for k, v in resolved
        ]
        rows.append((entity, *policy, "**override**" if entity in overrides else "default"))
    days = ("Active TTL, days", "Tombstone grace, days", "Disposal", "Decay", "Decay, days")
    yield _table(("Entity", *days, "Source"), rows)
    if overrides:
        yield _bullets(
            f"**Retention** of {_code(entity)}. Because: {_prose(overrides[entity].because)}"
            for entity in RetainedEntity
            if entity in overrides
        )
    else:
        yield "Retention defaults, accepted for every entity."


def _injection(spec: MemorySpec) -> Iterator[str]:
    """The token budget of each tier, marked where it is not the default."""
    section, static = spec.injection, Injection()
    rows: list[tuple[object, ...]] = []
    for tier in spec.tiers.declared:
        block = section.at(tier)
        source = "default" if block == static.at(tier) else "**deviation**"
        rows.append(
            (spec.tiers.name_of(tier), block.budget, block.priority, block.presence, source)
        )
    source = "default" if section.core == static.core else "**deviation**"
    rows.append(("core", section.core.budget, section.core.priority, "paged in", source))
    yield _table(("Block", "Token budget", "Priority", "Presence", "Source"), rows)
    yield f"Absolute ceiling: {section.ceiling} tokens, never exceeded."
    if section.justification is None:
        yield "Static budgets and priorities, accepted as they are."
    else:
        yield _bullets([f"**Deviation**. Justification: {_prose(section.justification)}"])


# --- primitives 13 to 15, audit and leak defence -----------------------------------------


def _references(spec: MemorySpec) -> Iterator[str]:
    """What is referred to and never copied, and the canonical tables."""
    part = spec.references
    yield "Non-mirror list, referenced and never copied:"
    yield _bullets(_prose(category) for category in part.non_mirror)
    if part.canonical:
        columns = ("Pinned by", "Guarded body", "Strength", "Scope", "Contradictions")
        yield _table(("Noun", "Canonical row", *columns), map(_canonical, part.canonical))
    else:
        yield "No canonical tables are referenced."
    yield f"Corroborations are {'kept' if part.corroborations else 'not kept'}."
    if part.documents:
        yield "It keeps an application's documents: what has the shape of a record is not refused."


def _canonical(canonical: Canonical) -> tuple[str, ...]:
    """One canonical table as a row of the page."""
    pinned = f"{canonical.versions}.{canonical.version}" if canonical.versions else None
    columns = (pinned, canonical.body, canonical.strength, canonical.scope)
    return (
        _code(canonical.noun),
        _code(f"{canonical.table}.{canonical.key}"),
        *(_code(name) if name else NOTHING for name in columns),
        "first-class" if canonical.contradictions else NOTHING,
    )


def _gates(spec: MemorySpec) -> Iterator[str]:
    """What each boundary does to a text that crosses it, and why."""
    at = {gate.boundary: gate for gate in spec.gates}
    if not at:
        yield "No boundary transforms anything."
        return
    yield _table(
        ("Boundary", "Applies", "Because"),
        [(b, at[b].apply, _prose(at[b].because)) for b in Boundary if b in at],
    )
    for boundary, gate in at.items():
        if gate.identifiers:
            rows = (tuple(map(_code, each)) or NOTHING for each in gate.identifiers.as_rows())
            head = ("Identifiers at", "Names", "Patterns", "Looked up in")
            yield _table(head, [(boundary, *rows)])


def _visibility(spec: MemorySpec) -> Iterator[str]:
    """What each principal may do, how origins are trusted, how answers are hedged."""
    part = spec.visibility
    yield "The application checks each scope first; row-level security stands behind it."
    may = [(kind, part.principals[kind] or "nothing") for kind in PrincipalKind]
    yield _table(("Principal", "May"), may)
    yield _table(("Origin", "Starting trust"), [(o, part.trust[o]) for o in Origin])
    hedges = [(strength, _prose(part.hedges[strength])) for strength in SourceStrength]
    yield _table(("Source strength", "Hedge"), hedges)


def _audit(spec: MemorySpec) -> Iterator[str]:
    """What is never deleted, and which actions rest on memory."""
    yield (
        "Universal: append-only. Persistent memory and whatever an action rests on are never "
        "deleted; a state column records each transition."
    )
    yield f"Actions that rest on memory: {_codes(spec.audit.action_kinds)}."


def _leak_defence(spec: MemorySpec) -> Iterator[str]:
    """How the agent uses canonical content, how it is guarded, and why so."""
    part = spec.leak_defence
    yield f"{_REASONING[part.reasons]} {_GUARDING[part.guard]}"
    if part.guard is GuardRole.PRIMARY:
        hours = part.together_hours
        yield f"What was written at an anchor within {hours} hours is read together."
    yield f"Because: {_prose(part.because)}"


_GROUPS: tuple[tuple[str, str, Mapping[str, Section]], ...] = (
    (
        "Foundational primitives",
        "Explicit answers; nothing here has a default.",
        {
            "anchor": _anchor,
            "typology": _typology,
            "tiers": _tiers,
            "backend": _backend,
            "retrieval": _retrieval,
        },
    ),
    (
        "Behavioral primitives",
        "Typology defaults, unless a **deviation** says otherwise and why.",
        {**{key: partial(_behaviour, key) for key in DEFAULTS}, "injection": _injection},
    ),
    (
        "Discipline primitives",
        "Explicit answers, each this agent's own.",
        {"references": _references, "gates": _gates, "visibility": _visibility},
    ),
    (
        "Audit and leak defence",
        "The posture is universal, the guard calibrated to how the agent uses canonical content.",
        {"audit": _audit, "leak_defence": _leak_defence},
    ),
)


# --- Markdown -----------------------------------------------------------------------------


def _prose(text: str) -> str:
    """Free text on one line, harmless in a table and in a paragraph."""
    text = " ".join(text.split())
    for character in ("\\", "|", "<", "[", "*", "`"):
        text = text.replace(character, "\\" + character)
    return text


def _shown(value: Any) -> str:
    """A value as a reader sees it; text is Markdown already."""
    if value is None or value in ((), {}, ""):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return _code(str(value.value))
    if isinstance(value, Mapping):
        pairs = sorted((_shown(key), _shown(inner)) for key, inner in value.items())
        return ", ".join(f"{key} {inner}" for key, inner in pairs)
    if isinstance(value, tuple | list):
        return ", ".join(_shown(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bold_if(differs: bool, value: Any) -> str:
    """A value as a reader sees it, in bold where it is not the default."""
    return f"**{_shown(value)}**" if differs else _shown(value)


def _code(text: str) -> str:
    """A name or a value as the spec's file has it."""
    return f"`{text}`"


def _codes(names: Iterable[str]) -> str:
    """Names as the spec's file has them, in a row."""
    return ", ".join(map(_code, names))


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; values are shown as a reader sees them."""
    cells = (head, ["---"] * len(head), *([_shown(value) for value in row] for row in rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _bullets(items: Iterable[str]) -> str:
    """A Markdown list of items that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)

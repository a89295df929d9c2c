"""The questions of `spec new`, section by section, each default following from what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from idetic.model import Capability, PrincipalKind, Tier, Typology
from idetic.spec import reserved
from idetic.spec.checks.behavioural import DEFAULTS
from idetic.spec.primitives import (
    Boundary,
    BoundaryKind,
    FusionMethod,
    GateKind,
    Injection,
    Reasons,
    Reranker,
    SourceStrength,
)
from idetic.spec.problems import PRIMITIVES, WHOLE
from idetic.spec.typology import Cell, cell_of

Said = Mapping[str, str]
ACCEPT = "accept"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Question:
    """One question. Answers are text; `many` means that choices are given with commas.

    `default` None means that there is nothing to fall back on: an answer is needed.
    """

    primitive: str
    key: str
    prompt: str
    explanation: str
    default: str | None
    choices: tuple[str, ...] | None = None
    many: bool = False


def _ask(
    key: str,
    prompt: str,
    explanation: str,
    default: str | None,
    choices: tuple[str, ...] | None = None,
    many: bool = False,
) -> Question:
    primitive = PRIMITIVES.get(key.partition(".")[0], WHOLE)
    # Plain text: what a surface shows and hands back is no enumeration member.
    default = None if default is None else str(default)
    choices = None if choices is None else tuple(str(choice) for choice in choices)
    return Question(primitive, key, prompt, explanation, default, choices, many)


def _agent(said: Said) -> Iterator[Question]:
    yield _ask(
        "agent",
        "What is the agent called?",
        "Lower-case letters, digits and underscores; at most 36. It names tables and roles.",
        None,
    )
    name = said["agent"]
    title = name.replace("_", " ").title() or None
    yield _ask("title", "What do people call it?", "The heading of its page.", title)
    yield _ask(
        "purpose",
        "What is it for?",
        "One sentence. Every later answer can be held against it.",
        f"What {said['title']} does has yet to be written down." if said["title"] else None,
    )


def _anchor(said: Said) -> Iterator[Question]:
    yield _ask(
        "anchor.keys",
        "Which keys own its memory?",
        "With commas, the tenant first, as name or name:type (uuid, text, bigint), for example "
        "`org_id:uuid, domain_id:uuid`. Every other decision follows from this one.",
        None,
    )
    yield _ask(
        "anchor.nullable",
        "Which of them may a cross-scope query leave open?",
        "Key names with commas; never the first, which is the tenant.",
        NONE,
    )
    yield _ask(
        "anchor.root",
        "Does a canonical row own each anchor 1:1?",
        "As `noun schema.table key`, for example `world worlds.worlds world_id`.",
        NONE,
    )
    yield _ask(
        "anchor.provenance",
        "What contextual provenance is recorded?",
        "Column names with commas, such as `world_model_version`. Never a filter by default.",
        NONE,
    )


def _typology(said: Said) -> Iterator[Question]:
    usual = {Tier.PERSISTENT: "semantic, procedural"}
    for tier in Tier:
        yield _ask(
            f"typology.{tier}",
            f"Which typologies does the {tier} tier hold?",
            "Episodic: what happened. Semantic: facts. Procedural: how to do things. "
            "Most behaviour follows from this mix.",
            usual.get(tier, "episodic"),
            tuple(Typology),
            many=True,
        )


_TIER_DEFAULTS = {
    Tier.INTERACTION: ("lifecycle_event", "interaction_end", "What happened in one chat thread."),
    Tier.SESSION: ("lifecycle_event", "session_end", "What one session compounded."),
    Tier.PERSISTENT: ("anchor_escalation", "promotion", "What outlives every session."),
}


def _tiers(said: Said) -> Iterator[Question]:
    for tier, (boundary, event, holds) in _TIER_DEFAULTS.items():
        yield _ask(
            f"tiers.{tier}.boundary",
            f"What kind of boundary does the {tier} tier have?",
            "A lifecycle event is temporal, a scope change is the anchor's, an anchor escalation "
            "moves to a broader anchor.",
            boundary,
            tuple(BoundaryKind),
        )
        yield _ask(f"tiers.{tier}.event", "Which event is it?", "One name.", event)
        yield _ask(f"tiers.{tier}.holds", "What does the tier hold?", "One sentence.", holds)


def _backend(said: Said) -> Iterator[Question]:
    name = said["agent"] or None
    taken = name is not None and (reserved.is_reserved_schema(name) or name == "langgraph")
    yield _ask(
        "backend.schema",
        "Which schema holds the memory?",
        "The schema of the agent's owning context.",
        "memory" if taken else name,
    )
    yield _ask("backend.family", "What do its tables begin with?", "One name.", name)
    yield _ask(
        "backend.checkpointer",
        "Which schema holds the checkpointer's state?",
        "Managed by the framework, so never the same as the memory's.",
        "langgraph",
    )


def _retrieval(said: Said) -> Iterator[Question]:
    procedural = said["typology.persistent"] == Typology.PROCEDURAL
    yield _ask(
        "retrieval.signals",
        "Which signals count, and how much?",
        "As signal=weight with commas: envelope, semantic, decay, lexical. Procedural-dominant "
        "memory may weight recency (decay) higher than similarity.",
        f"envelope=1.0, semantic=1.0, decay={'2.0' if procedural else '1.0'}, lexical=1.0",
    )
    yield _ask(
        "retrieval.fusion",
        "How are signals fused?",
        "Reciprocal rank fusion with k = 60 is the default.",
        "rrf",
        tuple(FusionMethod),
    )
    yield _ask(
        "retrieval.tiers",
        "How much does each tier count?",
        "As tier=weight with commas.",
        "interaction=1.0, session=1.0, persistent=1.0",
    )
    yield _ask(
        "retrieval.envelope",
        "Which keys say what an entry is about?",
        "As name or name:type with commas (scalar, list, hierarchy).",
        "topic:hierarchy, tags:list",
    )
    yield _ask(
        "retrieval.reranker",
        "Does a reranking layer sit on top?",
        "A cross-encoder is slower and finds more.",
        "none",
        tuple(Reranker),
    )


def _behavioural(said: Said) -> Iterator[Question]:
    cells = _cells(said)
    for section, table in DEFAULTS.items():
        accepted = "; ".join(
            f"{cell}: "
            + ", ".join(f"{k}={v}" for k, v in table[cell].model_dump(mode="json").items())
            for cell in Cell
            if cell in cells
        )
        yield _ask(
            section,
            "Accept the typology defaults?",
            f"`{ACCEPT}`, or `cell key=value because reason`; several with semicolons. "
            f"Defaults: {accepted}.",
            ACCEPT,
        )


def _cells(said: Said) -> set[Cell]:
    known = set(Typology)
    return {
        cell_of(tier, Typology(name.strip()))
        for tier in Tier
        for name in said[f"typology.{tier}"].split(",")
        if name.strip() in known
    }


def _injection(said: Said) -> Iterator[Question]:
    static = Injection()
    yield _ask(
        "injection.ceiling",
        "How many tokens may memory take at most?",
        "One absolute ceiling, never exceeded.",
        str(static.ceiling),
    )
    for tier in Tier:
        yield _ask(
            f"injection.{tier}",
            f"How many of them are the {tier} tier's?",
            "Transient tiers are always present, the persistent one on demand.",
            str(static.at(tier).budget),
        )
    budgets = {f"injection.{tier}": str(static.at(tier).budget) for tier in Tier}
    changed = {"injection.ceiling": str(static.ceiling), **budgets}
    if any(said[key] != value for key, value in changed.items()):
        yield _ask(
            "injection.justification",
            "What asks for other budgets than the static ones?",
            "A measured retrieval quality, or the pressure on the context window.",
            None,
        )


def _references(said: Said) -> Iterator[Question]:
    yield _ask(
        "references.non_mirror",
        "What may memory never copy?",
        "Categories with semicolons: what lives elsewhere as the single source of truth.",
        "Canonical records of other systems; Audit-chain entries; Customer PII",
    )
    yield _ask(
        "references.canonical",
        "Which canonical tables may it reference?",
        "As `noun schema.table key`, with a fourth word for the text column that the shadow guard "
        "compares with; several with semicolons. Example: `rule worlds.rules rule_id body_text`.",
        NONE,
    )
    semantic = any(Typology.SEMANTIC in said[f"typology.{tier}"] for tier in Tier)
    yield _ask(
        "references.corroborations",
        "Are corroborations kept?",
        "Semantic memory is promoted by them and needs them.",
        "yes" if semantic else "no",
        ("yes", "no"),
    )


GATES: Mapping[Boundary, tuple[str, str]] = {
    Boundary.INGEST: ("secrets, pii", "Credentials and personal data are never memory."),
    Boundary.INTERACTION_END: (NONE, "What leaves an interaction is transformed first."),
    Boundary.SESSION_END: (NONE, "What leaves a session is transformed first."),
    Boundary.PROMOTION: (NONE, "What becomes durable is transformed first."),
    Boundary.AGGREGATION: (
        "strip_identifiers",
        "A pattern across deployments carries none of their identifiers.",
    ),
    Boundary.OPERATOR: ("hedge", "Operators see each answer with the strength of its source."),
    Boundary.CUSTOMER: ("hedge, read_only", "Customers read their own anchor and change nothing."),
}


def _gates(said: Said) -> Iterator[Question]:
    for boundary, (usual, why) in GATES.items():
        yield _ask(
            f"gates.{boundary}",
            f"What is applied at the {boundary} boundary?",
            f"{why} `{NONE}` for no gate.",
            usual,
            tuple(GateKind),
            many=True,
        )


_MAY = {
    PrincipalKind.AGENT: "observe, corroborate, contradict, link_action, read",
    PrincipalKind.OPERATOR: "observe, prefer, corroborate, contradict, link_action, archive, "
    "exempt, read",
    PrincipalKind.CUSTOMER: "read",
    PrincipalKind.AUDITOR: "read, read_across, audit",
    PrincipalKind.MAINTENANCE: "observe, archive, maintain, read, audit",
}
_HEDGES = {
    SourceStrength.AUTHORITATIVE: "According to an authoritative source",
    SourceStrength.CURATED: "According to a curated source",
    SourceStrength.DISTILLED: "As distilled from several sources",
    SourceStrength.OBSERVED: "As observed, not confirmed",
}


def _visibility(said: Said) -> Iterator[Question]:
    for kind, usual in _MAY.items():
        ungated = said.get(f"gates.{kind}") == NONE
        default = ", ".join(c for c in usual.split(", ") if c != "read") if ungated else usual
        yield _ask(
            f"visibility.principals.{kind}",
            f"What may the {kind} do?",
            "Capabilities with commas. Customers and auditors are read-only; who reads behind no "
            "gate reads nothing.",
            default or NONE,
            tuple(Capability),
            many=True,
        )
    yield _ask(
        "visibility.trust",
        "How far is each origin trusted at first?",
        "As origin=trust with commas, 0 to 100.",
        "operator=90, canonical=100, agent=60, tool=40, user=40, external=20",
    )
    for strength, hedge in _HEDGES.items():
        yield _ask(
            f"visibility.hedges.{strength}",
            f"How does an answer from the strength `{strength}` begin?",
            "A few words that tell the reader how strong the source is.",
            hedge,
        )


def _leak_defence(said: Said) -> Iterator[Question]:
    guarded = any(len(part.split()) > 3 for part in said["references.canonical"].split(";"))
    yield _ask(
        "leak_defence.reasons",
        "Does the agent reason over canonical content, or with it through tools?",
        "Over: the shadow guard is the primary defence and needs a text to compare with. With: "
        "the guard is a backstop.",
        Reasons.OVER if guarded else Reasons.WITH,
        tuple(Reasons),
    )
    over = said["leak_defence.reasons"] == Reasons.OVER
    yield _ask(
        "leak_defence.because",
        "Why?",
        "One sentence.",
        "It makes claims out of canonical content, so a copy is one sentence away."
        if over
        else "It reaches canonical content through tools and keeps what it concluded.",
    )


def _audit(said: Said) -> Iterator[Question]:
    yield _ask(
        "audit.action_kinds",
        "Which actions rest on memory?",
        "Names with commas. What such an action rested on can never be removed from under it.",
        "published_decision",
    )


SECTIONS: tuple[Callable[[Said], Iterator[Question]], ...] = (
    _agent,
    _anchor,
    _typology,
    _tiers,
    _backend,
    _retrieval,
    _behavioural,
    _injection,
    _references,
    _gates,
    _visibility,
    _leak_defence,
    _audit,
)

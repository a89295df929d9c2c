"""The questions of `spec new`, in the documents' order, each default following from the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from idetic.model import Capability, PrincipalKind, Tier, Typology
from idetic.spec import reserved
from idetic.spec.memory_spec import Reasons
from idetic.spec.primitives import (
    RECIPES,
    Boundary,
    FusionMethod,
    GateKind,
    Injection,
    RerankerKind,
    Signal,
    SourceStrength,
)
from idetic.spec.problems import PRIMITIVES, WHOLE
from idetic.spec.tiers import BoundaryKind
from idetic.spec.typology import DEFAULTS, cell_of

Answers = Mapping[str, str]
ACCEPT = "accept"
NONE = "none"


@dataclass(frozen=True, slots=True)
class InterviewQuestion:
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


# A key with its prompt, below it the explanation, and after `=` a default that never changes. A key
# with a name in braces is asked once for each value of that name.
_TEXTS = """
agent: What is the agent called?
  Lower-case letters, digits and underscores; at most 36. It names tables and roles.
title: What do people call it?
  The heading of its page.
purpose: What is it for?
  One sentence. Every later answer can be held against it.
anchor.keys: Which keys own its memory?
  With commas, the tenant first, as name or name:type (uuid, text, bigint), for example
  `org_id:uuid, domain_id:uuid`. Every other decision follows from this one.
anchor.nullable: Which of them may a cross-scope query leave open?
  Key names with commas; never the first, which is the tenant.
  = none
anchor.root: Does a canonical row own each anchor 1:1?
  As `noun schema.table key`, for example `world worlds.worlds world_id`.
  = none
anchor.provenance: What contextual provenance is recorded?
  Column names with commas, such as `world_model_version`. Never a filter by default.
  = none
typology.{tier}: Which typologies does the {tier} tier hold?
  Episodic: what happened. Semantic: facts. Procedural: how to do things.
  Most behaviour follows from this mix.
tiers.{tier}.name: What is the {tier} tier called here?
  One name of the agent's own, shown and accepted wherever a tier is named. `none` as the answer for
  `interaction` makes a model of two tiers.
tiers.{ending}.boundary: What ends the {ending} tier?
  A lifecycle event is somebody's close. A scope change is the same principal going on at another
  anchor of the tenant.
tiers.{ending}.event: Which event is it?
  One name. The link of each close says it.
tiers.{tier}.holds: What does the {tier} tier hold?
  One sentence.
tiers.broader: Is there a broader tier above the persistent one?
  As `name key, key: what it holds`, with the keys of the anchor that it keeps, for example
  `organisation org_id: What holds for all of its domains.`
  = none
backend.schema: Which schema holds the memory?
  The schema of the agent's owning context.
backend.family: What do its tables begin with?
  One name.
backend.checkpointer: Which schema holds the checkpointer's state?
  Managed by the framework, so never the same as the memory's.
  = langgraph
retrieval.fusion: How are signals fused?
  The weighted score finds more; reciprocal rank fusion with k = 60 is what the documents name.
  = weighted_score
retrieval.signals: Which signals count, and how much?
  As signal=weight with commas: envelope, semantic, decay, lexical, statement, voice, speaker,
  time, nearby. Procedural-dominant memory may weight recency (decay) higher.
retrieval.tiers: How much does each tier count?
  As tier=weight with commas.
  = interaction=1.0, session=1.0, persistent=1.0
retrieval.envelope: Which keys say what an entry is about?
  As name or name:type with commas (scalar, list, hierarchy).
  = topic:hierarchy, tags:list
retrieval.reranker: Does a reranking layer sit on top?
  A cross-encoder is slower and finds more.
  = none
{behaviour}: Accept the typology defaults?
  `accept`, or `cell key=value because reason`; several with semicolons. Defaults: {accepted}.
  = accept
injection.ceiling: How many tokens may memory take at most?
  One absolute ceiling, never exceeded.
injection.{tier}: How many of them are the {tier} tier's?
  Transient tiers are always present, the persistent one on demand.
injection.justification: What asks for other budgets than the static ones?
  A measured retrieval quality, or the pressure on the context window.
references.non_mirror: What may memory never copy?
  Categories with semicolons: what lives elsewhere as the single source of truth.
  = Canonical records of other systems; Audit-chain entries; Customer PII
references.canonical: Which canonical tables may it reference?
  As `noun schema.table key`, with a fourth word for the text column that the shadow guard
  compares with; several with semicolons. Example: `rule worlds.rules rule_id body_text`.
  = none
references.corroborations: Are corroborations kept?
  Semantic memory is promoted by them and needs them.
gates.{boundary}: What is applied at the {boundary} boundary?
  {why} `none` for no gate.
visibility.principals.{kind}: What may the {kind} do?
  Capabilities with commas. Customers and auditors are read-only; who reads behind no
  gate reads nothing.
visibility.trust: How far is each origin trusted at first?
  As origin=trust with commas, 0 to 100.
  = operator=90, canonical=100, agent=60, tool=40, user=40, external=20
visibility.hedges.{strength}: How does an answer from the strength `{strength}` begin?
  A few words that tell the reader how strong the source is.
leak_defence.reasons: Does the agent reason over canonical content, or with it through tools?
  Over: the shadow guard is the primary defence and needs a text to compare with. With:
  the guard is a backstop.
leak_defence.because: Why?
  One sentence.
audit.action_kinds: Which actions rest on memory?
  Names with commas. What such an action rested on can never be removed from under it.
  = published_decision
"""

_CHOICES: Mapping[str, Iterable[str]] = {
    "typology.{tier}": Typology,
    "tiers.{ending}.boundary": (BoundaryKind.LIFECYCLE_EVENT, BoundaryKind.SCOPE_CHANGE),
    "retrieval.fusion": FusionMethod,
    "retrieval.reranker": RerankerKind,
    "references.corroborations": ("yes", "no"),
    "gates.{boundary}": GateKind,
    "visibility.principals.{kind}": Capability,
    "leak_defence.reasons": Reasons,
}
_MANY = ("typology.{tier}", "gates.{boundary}", "visibility.principals.{kind}")
_EACH: Mapping[str, Iterable[str]] = {
    "": ("",),
    "tier": Tier,
    "ending": (Tier.INTERACTION, Tier.SESSION),
    "behaviour": DEFAULTS,
    "boundary": Boundary,
    "kind": PrincipalKind,
    "strength": SourceStrength,
}

_TIERS = {
    Tier.INTERACTION: ("interaction_end", "What happened in one chat thread."),
    Tier.SESSION: ("session_end", "What one session compounded."),
    Tier.PERSISTENT: ("", "What outlives every session."),
}
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
_MAY = {
    PrincipalKind.AGENT: "observe, corroborate, contradict, link_action, read",
    # As the shipped specs grant it: what nobody may promote, undo or erase stays as it is.
    PrincipalKind.OPERATOR: "observe, prefer, corroborate, contradict, resolve, link_action, "
    "archive, exempt, promote, undo, tombstone, erase, export, import, read",
    PrincipalKind.CUSTOMER: "read",
    PrincipalKind.AUDITOR: "read, read_across, audit",
    PrincipalKind.MAINTENANCE: "observe, archive, undo, erase, export, import, maintain, read, "
    "audit",
}
_HEDGES = {
    SourceStrength.AUTHORITATIVE: "According to an authoritative source",
    SourceStrength.CURATED: "According to a curated source",
    SourceStrength.DISTILLED: "As distilled from several sources",
    SourceStrength.OBSERVED: "As observed, not confirmed",
}


def _recipe(answers: Answers) -> str:
    """The weights that go with a fusion; where procedures dominate, recency counts more."""
    known = answers["retrieval.fusion"]
    method = FusionMethod(known) if known in list(FusionMethod) else FusionMethod.WEIGHTED
    weights = dict(RECIPES[method])
    if answers["typology.persistent"] == "procedural":
        weights[Signal.DECAY] *= 4 if method is FusionMethod.WEIGHTED else 2
    return ", ".join(f"{signal}={weight:g}" for signal, weight in weights.items())


def _schema(answers: Answers) -> str | None:
    """The agent's name as the name of its schema, or `memory` where that is taken."""
    name = answers["agent"]
    taken = reserved.is_reserved_schema(name) or name == "langgraph"
    return "memory" if taken else name or None


def _may(answers: Answers, kind: str) -> str:
    """The usual capabilities of a principal; who reads behind no gate reads nothing."""
    usual = _MAY[PrincipalKind(kind)]
    if answers.get(f"gates.{kind}") != NONE:
        return usual
    return ", ".join(c for c in usual.split(", ") if c != "read") or NONE


def _reasons(answers: Answers) -> str:
    """Over canonical content where a canonical table has a text to compare with."""
    tables = answers["references.canonical"].split(";")
    return str(Reasons.OVER if any(len(table.split()) > 3 for table in tables) else Reasons.WITH)


def _because(answers: Answers) -> str:
    """The usual justification of the leak defence, by how canonical content is used."""
    if answers["leak_defence.reasons"] == Reasons.OVER:
        return "It makes claims out of canonical content, so a copy is one sentence away."
    return "It reaches canonical content through tools and keeps what it concluded."


# The defaults that follow from earlier answers, or from the value that the key names.
_FOLLOWING: Mapping[str, Callable[[Answers, str], str | None]] = {
    "title": lambda answers, _: answers["agent"].replace("_", " ").title() or None,
    "purpose": lambda answers, _: (
        f"What {answers['title']} does has yet to be written down." if answers["title"] else None
    ),
    "typology.{tier}": lambda _, tier: (
        "semantic, procedural" if tier == Tier.PERSISTENT else "episodic"
    ),
    "tiers.{tier}.name": lambda _, tier: tier,
    "tiers.{ending}.boundary": lambda _answers, _: BoundaryKind.LIFECYCLE_EVENT.value,
    "tiers.{ending}.event": lambda _, tier: _TIERS[Tier(tier)][0],
    "tiers.{tier}.holds": lambda _, tier: _TIERS[Tier(tier)][1],
    "backend.schema": lambda answers, _: _schema(answers),
    "backend.family": lambda answers, _: answers["agent"] or None,
    "retrieval.signals": lambda answers, _: _recipe(answers),
    "injection.ceiling": lambda _answers, _: str(Injection().ceiling),
    "injection.{tier}": lambda _, tier: str(Injection().at(Tier(tier)).budget),
    "references.corroborations": lambda answers, _: (
        "yes" if any("semantic" in answers[f"typology.{tier}"] for tier in Tier) else "no"
    ),
    "gates.{boundary}": lambda _, boundary: GATES[Boundary(boundary)][0],
    "visibility.principals.{kind}": _may,
    "visibility.hedges.{strength}": lambda _, strength: _HEDGES[SourceStrength(strength)],
    "leak_defence.reasons": lambda answers, _: _reasons(answers),
    "leak_defence.because": lambda answers, _: _because(answers),
}


@dataclass(frozen=True, slots=True)
class _Template:
    """A question before the value that its key names is put in."""

    key: str
    prompt: str
    explanation: str
    default: str | None

    @property
    def each(self) -> str:
        """The name in the key's braces, if it has one."""
        named = re.search(r"\{(\w+)\}", self.key)
        return named[1] if named else ""

    def question(self, answers: Answers, value: str) -> InterviewQuestion:
        """The question, given the answers before it."""
        named = {self.each: value}
        key = self.key.format(**named)
        following = _FOLLOWING.get(self.key)
        if self.each == "boundary":
            named["why"] = GATES[Boundary(value)][1]
        elif self.each == "behaviour":
            named["accepted"] = _accepted(answers, value)
        choices = _CHOICES.get(self.key)
        return InterviewQuestion(
            PRIMITIVES.get(key.partition(".")[0], WHOLE),
            key,
            self.prompt.format(**named),
            self.explanation.format(**named),
            following(answers, value) if following else self.default,
            # Plain text: what a surface shows and hands back is no enumeration member.
            None if choices is None else tuple(map(str, choices)),
            self.key in _MANY,
        )


def _templates() -> Iterator[_Template]:
    """The questions, read from their text; a last line that begins with `=` is the default."""
    for text in re.split(r"\n(?=\S)", _TEXTS.strip()):
        head, *lines = text.split("\n  ")
        key, _, prompt = head.partition(": ")
        default = lines.pop()[2:] if lines[-1].startswith("= ") else None
        yield _Template(key, prompt, " ".join(lines), default)


_TEMPLATES = tuple(_templates())


def questions_after(answers: Answers) -> Iterator[InterviewQuestion]:
    """Every question, in order; `answers` grows while this goes on."""
    for (_, each), group in groupby(_TEMPLATES, lambda t: (t.key.partition(".")[0], t.each)):
        templates = tuple(group)
        for value in _EACH[each]:
            for template in templates:
                if _is_asked(template.key, value, answers):
                    yield template.question(answers, value)


def has_interactions(answers: Answers) -> bool:
    """Whether the tier model has interactions; without them it has one tier less."""
    return answers.get(f"tiers.{Tier.INTERACTION}.name") != NONE


def _is_asked(key: str, value: str, answers: Answers) -> bool:
    """Whether a question still means something after the answers so far."""
    if key == "injection.justification":
        return _budgets_differ(answers)
    return value != Tier.INTERACTION or key == "tiers.{tier}.name" or has_interactions(answers)


def _budgets_differ(answers: Answers) -> bool:
    """Whether the ceiling or a budget deviates, so that a justification is asked for."""
    static = Injection()
    budgets_given = {tier: answers.get(f"injection.{tier}") for tier in Tier}
    budgets = [
        text not in (None, str(static.at(tier).budget)) for tier, text in budgets_given.items()
    ]
    return answers["injection.ceiling"] != str(static.ceiling) or any(budgets)


def _accepted(answers: Answers, section: str) -> str:
    """The defaults of every cell that the typology mix produces, on one line."""
    cells = {
        cell_of(tier, Typology(name.strip()))
        for tier in Tier
        for name in answers[f"typology.{tier}"].split(",")
        if name.strip() in set(Typology)
    }
    return "; ".join(
        f"{cell}: " + ", ".join(f"{k}={v}" for k, v in policy.model_dump(mode="json").items())
        for cell, policy in DEFAULTS[section].items()
        if cell in cells
    )

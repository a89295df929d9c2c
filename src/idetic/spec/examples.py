"""What an answer looks like, for every key that has to be given: the remedies' examples."""

from __future__ import annotations

from collections.abc import Mapping

from idetic.spec.problems import Steps

# Looked up as the full path without list positions, else `section.key`, else `key`.
_EXAMPLES: Mapping[str, str] = {
    "agent": "agent: my_agent",
    "title": "title: My Agent",
    "purpose": "purpose: What this agent does, in a sentence.",
    "anchor": "anchor: {keys: [{name: org_id, type: uuid}]}",
    "anchor.keys": "keys: [{name: org_id, type: uuid}]",
    "anchor.name": "name: org_id",
    "anchor.root": "root: {noun: world, table: worlds.worlds, key: world_id}",
    "anchor.noun": "noun: world",
    "anchor.table": "table: worlds.worlds",
    "anchor.root.key": "key: world_id",
    "typology": (
        "typology: {interaction: [episodic], session: [episodic], persistent: [semantic]}"
    ),
    "typology.interaction": "interaction: [episodic]",
    "typology.session": "session: [episodic]",
    "typology.persistent": "persistent: [semantic, procedural]",
    "tiers": (
        "tiers: {interaction: …, session: …, persistent: {holds: What outlives every session.}}"
    ),
    "tiers.interaction": (
        "interaction: {boundary: lifecycle_event, event: interaction_end, "
        "holds: What happened in one chat thread.}"
    ),
    "tiers.session": (
        "session: {boundary: lifecycle_event, event: session_end, "
        "holds: What one session compounded.}"
    ),
    "tiers.persistent": "persistent: {holds: What outlives every session.}",
    "tiers.broader": (
        "broader: {name: organisation, keys: [org_id], holds: What holds for all of its domains.}"
    ),
    "tiers.broader.name": "name: organisation",
    "tiers.broader.keys": "keys: [org_id]",
    "tiers.boundary": "boundary: lifecycle_event",
    "tiers.event": "event: session_end",
    "tiers.holds": "holds: What one session compounded out of its interactions.",
    "backend": "backend: {schema: my_context, family: my_agent}",
    "backend.schema": "schema: my_context",
    "backend.family": "family: my_agent",
    "retrieval": (
        "retrieval: {embedding: bge-small-en-v1.5, signals: {semantic: 1.0, decay: 1.0}, "
        "tiers: {interaction: 1.0, session: 1.0, persistent: 1.0}}"
    ),
    "retrieval.embedding": "embedding: bge-small-en-v1.5",
    "retrieval.signals": "signals: {envelope: 1.0, semantic: 1.0, decay: 1.0}",
    "retrieval.tiers": "tiers: {interaction: 1.0, session: 1.0, persistent: 1.0}",
    "retrieval.actor": (
        "actor: {window: 20, threshold: 60, top_k: 8, recency_half_life_seconds: 86400}"
    ),
    "retrieval.subconscious": (
        "subconscious: {window: 50, threshold: 55, top_k: 12, recency_half_life_seconds: 604800}"
    ),
    "window": "window: 20",
    "threshold": "threshold: 60",
    "top_k": "top_k: 8",
    "recency_half_life_seconds": "recency_half_life_seconds: 86400",
    "cell": "cell: semantic",
    "set": "set: {validity_days: 30}",
    "justification": "justification: Prices here change every month, so a month is the window.",
    "lifecycle.because": "because: The operators' contract keeps their preferences for a year.",
    "budget": "budget: 1200",
    "priority": "priority: 90",
    "presence": "presence: always_present",
    "references": "references: {non_mirror: [Customer PII]}",
    "references.non_mirror": "non_mirror: [Customer PII]",
    "references.noun": "noun: rule",
    "references.table": "table: worlds.rules",
    "references.key": "key: rule_id",
    "gates": (
        "gates: [{boundary: operator, apply: [hedge], "
        "because: Operators see how strong each source is.}], or `gates: []` for none"
    ),
    "gates.boundary": "boundary: operator",
    "gates.apply": "apply: [hedge]",
    "because": "because: Operators see each answer with the strength of its source.",
    "visibility": "visibility: {principals: …, trust: …, hedges: …}",
    "visibility.principals": (
        "principals: {agent: [observe, read], operator: [prefer, read], customer: [], "
        "auditor: [read, audit], maintenance: [maintain, read]}"
    ),
    "visibility.trust": (
        "trust: {operator: 90, canonical: 100, agent: 60, tool: 40, user: 40, external: 20}"
    ),
    "visibility.hedges": (
        "hedges: {authoritative: According to an authoritative source, "
        "curated: According to a curated source, "
        "distilled: As distilled from several sources, "
        'observed: "As observed, not confirmed"}'
    ),
    "leak_defence": (
        "leak_defence: {reasons: with, guard: backstop, "
        "because: The agent reaches canonical content through tools only.}"
    ),
    "leak_defence.reasons": "reasons: with",
    "leak_defence.guard": "guard: backstop",
    "audit": "audit: {action_kinds: [published_decision]}",
    "audit.action_kinds": "action_kinds: [published_decision]",
}

QUESTIONS: Mapping[str, str] = {
    "anchor": "Which key tuple owns this memory?",
    "typology": "Which typologies does each tier hold?",
    "tiers": "What ends each tier, and what does it hold?",
    "backend": "Where does memory live?",
    "retrieval": "How does memory enter the agent's reasoning?",
    "references": "What may memory only reference, never copy?",
    "gates": "What is transformed at which boundary?",
    "visibility": "Who may do what, and how far is each origin trusted?",
    "leak_defence": "Does the agent reason over canonical content, or with it?",
    "audit": "Which actions rest on memory?",
}


def example(steps: Steps) -> str | None:
    """An example of what to write at a path, as one line of YAML."""
    keys = [step for step in steps if isinstance(step, str)]
    if not keys:
        return None
    for name in (".".join(keys), f"{keys[0]}.{keys[-1]}", keys[-1]):
        if name in _EXAMPLES:
            return _EXAMPLES[name]
    return None

"""Checks of primitives 1 to 5: whether anchor, typology, tiers, backend and retrieval fit together.

Each check reads what is there and skips the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from idetic.model import Tier, Typology
from idetic.spec import reserved
from idetic.spec.plain import SpecNode, repeated
from idetic.spec.primitives import (
    BODY_TEXT_MAX,
    DERIVATION,
    LOGGED_KEYS,
    VOICES,
    Backend,
    Boundary,
    EnvelopeType,
    Fusion,
    FusionMethod,
    GateKind,
    Neighbours,
    Persona,
    Signal,
)
from idetic.spec.problems import Finding
from idetic.spec.shape import known_keys, unknown_key
from idetic.spec.tiers import BoundaryKind

_BROADER = "broader"


def anchor(spec: SpecNode) -> Iterator[Finding]:
    """The tenant is never open; keys, the root's key and provenance are columns of one table."""
    anchor = spec["anchor"]
    tenant_is_open = anchor["keys"][0]["nullable_for_queries"]
    if tenant_is_open.data is True:
        yield tenant_is_open.finding(
            "The first key is the tenant; no query may leave it open.",
            "Set `nullable_for_queries: false`, or put the tenant key first.",
        )
    keys = [key["name"] for key in anchor["keys"].each()]
    yield from repeated(keys, "anchor key")
    root, provenance = anchor["root"]["key"], list(anchor["provenance"].each())
    for name in (*keys, root, *provenance):
        if name.text in reserved.COLUMNS:
            yield name.finding(
                f"`{name.text}` is a column that memory tables have already.",
                f"Choose another name, for example `own_{name.text}`.",
            )
    yield from repeated(provenance, "provenance column")
    taken = {key.text for key in keys}
    for name in (root, *provenance):
        if name.text is not None and name.text in taken:
            yield name.finding(
                f"`{name.text}` is an anchor key already.",
                "Remove it here, or rename the anchor key: each is a column of its own.",
            )
    for name in provenance if root.text is not None else ():
        if name.text == root.text:
            yield name.finding(
                f"`{name.text}` is the anchor root's key already.",
                "Remove it from `provenance`; every entry carries it.",
            )


def typology_mix(spec: SpecNode) -> Iterator[Finding]:
    """The persistent tier is where memory is; it holds something, and nothing twice."""
    mix = spec["typology"]
    persistent = mix["persistent"]
    if persistent.data == []:
        yield persistent.finding(
            "The persistent tier holds no typology.",
            "Write `persistent: [semantic, procedural]`, or the one that outlives sessions here.",
        )
    for tier in Tier:
        yield from repeated(mix[tier].each(), "typology")
    for tier in (Tier.INTERACTION, Tier.SESSION):
        for held in mix[tier].each():
            if held.text in (Typology.SEMANTIC, Typology.PROCEDURAL):
                yield held.finding(
                    f"A tier that ends holds what happened; {held.text} memory is never written "
                    "there.",
                    f"Move `{held.text}` to `persistent`: it is what sessions leave.",
                )


def tier_model(spec: SpecNode) -> Iterator[Finding]:
    """Two to four tiers with names of their own, and for each boundary what it needs to act."""
    tiers = spec["tiers"]
    named = [tiers[level]["name"] for level in (*Tier, _BROADER)]
    yield from repeated(named, "tier")
    for level, name in zip((*Tier, _BROADER), named, strict=True):
        if name.text in {*Tier, _BROADER} - {level}:
            yield name.finding(
                f"`{name.text}` is the name of another level of durability.",
                "Choose a name of the agent's own.",
            )
    interaction, mix = tiers[Tier.INTERACTION], spec["typology"][Tier.INTERACTION]
    alone = bool(mix.data) if not interaction.present else not mix.present
    if isinstance(tiers.data, dict) and spec["typology"].present and alone:
        yield mix.finding(
            "`tiers.interaction` and `typology.interaction` are given together or not at all.",
            "Declare both, or leave both out: then the model has no interactions.",
        )
    for tier in (Tier.INTERACTION, Tier.SESSION):
        kind = tiers[tier]["boundary"]
        if kind.text == BoundaryKind.SCOPE_CHANGE and len(list(spec["anchor"]["keys"].each())) == 1:
            yield kind.finding(
                "The anchor has one key, which is the tenant: there is no other anchor to go to.",
                "Write `boundary: lifecycle_event`, or give the anchor a second key.",
            )
    for key, other in tiers.fields():
        if key not in {*Tier, _BROADER}:
            yield other.finding(
                "At most two tiers end: a place in memory has a session and an interaction.",
                "Let `session` hold it, with a longer lease, or declare it as `broader`.",
            )
    yield from _escalation(spec)


def _escalation(spec: SpecNode) -> Iterator[Finding]:
    """A broader tier, the boundary that leads to it, its keys and the gate before it."""
    broader, persistent = spec["tiers"][_BROADER], spec["tiers"][Tier.PERSISTENT]
    kind, event = persistent["boundary"], persistent["event"]
    if broader.present != kind.present and persistent.present:
        yield kind.finding(
            "An anchor escalation leads to a broader tier: one needs the other.",
            "Write `boundary: anchor_escalation` here and declare `tiers.broader`, or neither.",
        )
    if event.present != kind.present:
        yield event.finding(
            "`boundary` and `event` of the persistent tier are given together or not at all.",
            "Write `event: escalation` beside the boundary, or remove it.",
        )
    keys, own = broader["keys"], [key["name"].text for key in spec["anchor"]["keys"].each()]
    if broader.present and keys.texts() not in [own[:n] for n in range(1, len(own))]:
        yield keys.finding(
            "A broader anchor keeps the first keys of the anchor, and not all of them.",
            f"Write `keys: [{own[0] if own else 'org_id'}]`.",
        )
    crossed = [g for g in spec["gates"].each() if g["boundary"].text == Boundary.AGGREGATION]
    strips = any(GateKind.STRIP_IDENTIFIERS in gate["apply"].texts() for gate in crossed)
    if broader.present and not strips and isinstance(spec["gates"].data, list):
        yield broader.finding(
            "What escalates crosses the aggregation boundary, where no gate strips identifiers.",
            "Add `{boundary: aggregation, apply: [strip_identifiers], because: …}` to `gates`.",
        )


def backend_schemas(spec: SpecNode) -> Iterator[Finding]:
    """Memory has a schema of its owning context; checkpointer state has another."""
    backend = spec["backend"]
    schema, checkpointer = backend["schema"], backend["checkpointer"]
    for name in (schema, checkpointer):
        if name.text is not None and reserved.is_reserved_schema(name.text):
            yield name.finding(
                f"The schema `{name.text}` is reserved.",
                "Name a schema of the agent's owning context, for example `worlds`.",
            )
    if schema.text is not None and schema.text == (checkpointer.text or "langgraph"):
        yield schema.finding(
            f"`{schema.text}` is the checkpointer's schema too.",
            "Give memory a schema of its own: the framework manages the checkpointer's.",
        )
    # Python callers may say `schema_`; a file has one spelling.
    if backend["schema_"].present:
        yield unknown_key(backend["schema_"].steps, known_keys(Backend))


def bounded_notes(spec: SpecNode) -> Iterator[Finding]:
    """A long note beside guarded text could carry a copy that no comparison of whole texts sees."""
    most = spec["backend"]["body_text_max"]
    guarded = [one for one in spec["references"]["canonical"].each() if one["body"].present]
    if guarded and (most.number or 0) > BODY_TEXT_MAX:
        yield most.finding(
            f"Notes beside guarded canonical text have at most {BODY_TEXT_MAX:,} characters.",
            f"Set `body_text_max: {BODY_TEXT_MAX}`, or leave it out.",
        )


def longest_family(spec: SpecNode) -> str:
    """The family's name; with two personas, that of the one with the longer name."""
    family = spec["backend"]["family"].text or ""
    both = len(list(spec["backend"]["log"]["personas"].each())) > 1
    return f"{family}_{Persona.SUBCONSCIOUS}" if both else family


def family_leaves_room(spec: SpecNode) -> Iterator[Finding]:
    """Names made of the family stay under what PostgreSQL keeps of a name."""
    family = spec["backend"]["family"]
    made = [
        reserved.LONGEST_OF_CELL.format(family=longest_family(spec), tier=tier, typology=typology)
        for tier in Tier
        for typology in spec["typology"][tier].texts()
        if typology in set(Typology)
    ]
    longest = max(made, key=len, default="")
    excess = len(longest) - reserved.IDENTIFIER_MAX
    if family.text is not None and excess > 0:
        yield family.finding(
            f"`{longest}` is longer than the {reserved.IDENTIFIER_MAX} characters that "
            "PostgreSQL keeps of a name.",
            f"Shorten `family` by {excess}.",
        )


def canonical_is_elsewhere(spec: SpecNode) -> Iterator[Finding]:
    """Memory cannot be its own canon: that would be the copy the invariant forbids."""
    schema, family = spec["backend"]["schema"].text, spec["backend"]["family"].text
    if schema is None or family is None:
        return
    tables = [c["table"] for c in spec["references"]["canonical"].each()]
    for table in (spec["anchor"]["root"]["table"], *tables):
        if table.text is not None and table.text.startswith(f"{schema}.{family}_"):
            yield table.finding(
                f"`{table.text}` is one of this agent's own memory tables.",
                "Name the table of the context that owns the canonical rows, e.g. `worlds.rules`.",
            )


def retrieval(spec: SpecNode) -> Iterator[Finding]:
    """Something has to score, every tier says how much it counts, and `claim` is never declared."""
    retrieval = spec["retrieval"]
    for section, example in ((retrieval["signals"], "semantic"), (retrieval["tiers"], "session")):
        weights = [weight.number for _, weight in section.fields()]
        if isinstance(section.data, dict) and not any(weights) and None not in weights:
            yield section.finding(
                "No weight is above zero, so nothing could ever be recalled.",
                f"Give at least one a weight above 0, for example `{example}: 1.0`.",
            )
    nearby = retrieval["signals"][Signal.NEARBY]
    if nearby.number and not retrieval["signals"][Signal.LEXICAL].number:
        yield nearby.finding(
            "`nearby` needs `lexical`, which finds out what stands beside what.",
            "Give `lexical` a weight too, or remove `nearby`.",
        )
    judged = any(retrieval["signals"][s].number for s in (Signal.SEMANTIC, Signal.LEXICAL))
    for key, floor in retrieval["floors"].fields():
        if floor.number and not judged:
            yield floor.finding(
                f"Relevance is judged by meaning and words, so the floor `{key}` could not act.",
                "Give `semantic` or `lexical` a weight too, or remove the floor.",
            )
    yield from _idle_retrieval(retrieval)
    tiers = spec["tiers"]
    declared = [tier for tier in Tier if not tiers.present or tiers[tier].present]
    yield from retrieval["tiers"].unanswered(declared, "weight of the tier", "Write `{key}: 1.0`.")
    for key, weight in retrieval["tiers"].fields():
        if key in set(Tier) - set(declared):
            yield weight.finding(f"The model has no {key} tier.", "Remove the weight.")
    for key, value in retrieval["envelope"].fields():
        if key in reserved.ENVELOPE_KEYS:
            yield value.finding(
                f"`{key}` is the envelope's reserved part: subject, attribute and value.",
                "Remove it; every spec has it. Declare your own key under another name.",
            )


def _idle_retrieval(retrieval: SpecNode) -> Iterator[Finding]:
    """Findings about answers that only a signal reads, or a way of fusing, that is not there."""
    signals, fusion = retrieval["signals"], retrieval["fusion"]
    weighted = fusion["method"].text == FusionMethod.WEIGHTED
    neighbours = Neighbours().model_dump()
    for value, default, idle, why, remedy in (
        (fusion["k"], Fusion().k, weighted, "A weighted score has no ranks.", "Remove `k`."),
        (retrieval["voices"], dict(VOICES), not signals[Signal.VOICE].number,
         "The signal `voice` has no weight.", "Give `voice` a weight, or remove `voices`."),
        *((retrieval["neighbours"][key], standing, not signals[Signal.LEXICAL].number,
           "The signal `lexical` has no weight.", "Give `lexical` a weight, or remove it.")
          for key, standing in neighbours.items()),
    ):  # fmt: skip
        if idle and value.present and value.data != default:
            yield value.finding(f"This could not act. {why}", remedy)


def log(spec: SpecNode) -> Iterator[Finding]:
    """A log's events become entries, and those need a cell, an envelope and a provenance."""
    section = spec["backend"]["log"]
    if not section.present:
        return
    personas = list(section["personas"].each())
    yield from repeated(personas, "persona")
    if personas and personas[0].text in set(Persona) - {Persona.ACTOR}:
        yield personas[0].finding(
            "The first persona of a log is the Actor.",
            "Write `personas: [actor]` or `personas: [actor, subconscious]`.",
        )
    for tier in (Tier.SESSION, Tier.PERSISTENT):
        mix = spec["typology"][tier]
        if mix.data is not None and Typology.EPISODIC not in mix.texts():
            what = "one entry per loop" if tier is Tier.SESSION else "one entry per event"
            yield mix.finding(
                f"A log derives {what}, but the {tier} tier holds no episodic memory.",
                "Add `episodic` to it, or remove `backend.log`.",
            )
    envelope = spec["retrieval"]["envelope"]
    for key in LOGGED_KEYS:
        kind = envelope[key]["type"].text or EnvelopeType.SCALAR
        if not envelope[key].present or kind != EnvelopeType.SCALAR:
            yield envelope[key].finding(
                f"Every event has a `{key}`, which entries of the log carry in their envelope.",
                f"Declare `{key}: {{type: scalar, weight: 1.0}}` in `retrieval.envelope`.",
            )
    if DERIVATION not in spec["anchor"]["provenance"].texts():
        yield spec["anchor"]["provenance"].finding(
            "Entries of a log say what compacted them, and no provenance is called so.",
            f"Add `{DERIVATION}` to `anchor.provenance`.",
        )


def short_term(spec: SpecNode) -> Iterator[Finding]:
    """Short-term memory is kept per persona of a log, and its score must be able to rank."""
    section, log = spec["retrieval"]["short_term"], spec["backend"]["log"]
    personas = {persona.text for persona in log["personas"].each()}
    if section.present and not log.present:
        yield section.finding(
            "Short-term memory has one entry per loop of a log, but there is no log.",
            "Declare `backend.log`, or remove `short_term`.",
        )
    if log.present and not section.present:
        yield section.finding(
            "A log has short-term memory, and nothing says how it is searched.",
            "Write `short_term: {actor: {window: 20, threshold: 60, top_k: 8, "
            "recency_half_life_seconds: 86400}}`.",
        )
    for persona in sorted(set(Persona) & personas) if section.present else ():
        if not section[persona].present:
            yield section[persona].finding(
                f"The log has the persona `{persona}`, whose short-term memory is not declared.",
                f"Write `{persona}: {{window: 20, threshold: 60, …}}` under `short_term`.",
            )
    for name, heuristics in section.fields():
        if heuristics.present and log.present and name in set(Persona) - personas:
            yield heuristics.finding(
                f"The log has no persona `{name}`.",
                f"Remove `{name}` here, or add it to `backend.log.personas`.",
            )
        weights = heuristics["weights"]
        if weights["similarity"].number == 0 and weights["recency"].number == 0:
            yield weights.finding(
                "Both weights are zero, so every summary would score the same.",
                "Give `similarity` or `recency` a weight above 0, for example `similarity: 1.0`.",
            )


CHECKS = (
    anchor,
    typology_mix,
    tier_model,
    backend_schemas,
    bounded_notes,
    family_leaves_room,
    canonical_is_elsewhere,
    retrieval,
    log,
    short_term,
)

"""Primitives 1 to 5 as a page shows them."""

from __future__ import annotations

from collections.abc import Iterator

from idetic.model import Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Fusion, FusionMethod, Log, Persona, ShortTerm, Signal
from idetic.spec.rendering.markdown import bullets, code, codes, prose, table


def anchor(spec: MemorySpec) -> Iterator[str]:
    """Primitive 1."""
    keys = spec.anchor.keys
    yield f"Memory is owned by ({codes(key.name for key in keys)}); all keys are required to write."
    yield table(
        ("Key", "Type", "Role", "Open in cross-scope reads"),
        [
            (code(key.name), key.type, "key" if i else "tenant", key.nullable_for_queries)
            for i, key in enumerate(keys)
        ],
    )
    root = spec.anchor.root
    if root is not None:
        row = code(f"{root.table}.{root.key}")
        yield f"Each anchor belongs 1:1 to a {root.noun}: {row}, a foreign key on every entry."
    if spec.anchor.provenance:
        names = codes(spec.anchor.provenance)
        yield f"Contextual provenance, never a version pin or a default filter: {names}."


def typology(spec: MemorySpec) -> Iterator[str]:
    """Primitive 2."""
    yield table(("Tier", "Typologies"), [(tier, spec.typology.at(tier)) for tier in Tier])


def tiers(spec: MemorySpec) -> Iterator[str]:
    """Primitive 3."""
    yield "Three tiers; `persistent` is the top one."
    models = [(tier, spec.tiers.at(tier)) for tier in Tier]
    yield table(
        ("Tier", "Called here", "Boundary", "Ends with", "Observes", "Holds"),
        [
            (
                tier,
                prose(model.called or ""),
                model.boundary,
                code(model.event),
                codes(model.observes),
                prose(model.holds),
            )
            for tier, model in models
        ],
    )


def backend(spec: MemorySpec) -> Iterator[str]:
    """Primitive 4."""
    part = spec.backend
    tables = code(f"{part.family}_memory")
    if part.log is not None:
        yield _log(part.log)
    yield bullets(
        [
            f"Store: every tier in schema {code(part.schema_)}, in {tables} and its family.",
            f"Checkpointer: schema {code(part.checkpointer)}, managed by the framework.",
            f"A note holds at most {part.body_text_max} characters.",
            "Other contexts read through a protocol handed to them, never by a grant.",
        ]
    )


def retrieval(spec: MemorySpec) -> Iterator[str]:
    """Primitive 5."""
    part = spec.retrieval
    yield bullets(
        [
            f"Embedding: {code(part.embedding)}.",
            f"Fusion: {_fusion(part.fusion)}.",
            f"Reranking layer: {code(part.reranker)}.",
        ]
    )
    yield table(("Signal", "Weight"), [(s, part.signals.get(s) or "off") for s in Signal])
    yield table(("Tier", "Weight"), [(tier, part.tiers[tier] or "off") for tier in Tier])
    if part.envelope:
        yield table(
            ("Envelope key", "Type", "Weight", "Required"),
            [
                (code(name), key.type, key.weight, key.required)
                for name, key in sorted(part.envelope.items())
            ],
        )
    if part.short_term is not None:
        yield _short_term(part.short_term)


def _fusion(fusion: Fusion) -> str:
    method = code(fusion.method)
    return f"{method} with k = {fusion.k}" if fusion.method is FusionMethod.RRF else method


def _log(log: Log) -> str:
    who = " and the ".join(persona.title() for persona in log.personas)
    own = ", each in tables and under a role of its own" if len(log.personas) > 1 else ""
    return f"A log of the {who}{own}: {prose(log.holds)} Memory is derived from it."


def _short_term(short_term: ShortTerm) -> str:
    found = {p: h.model_dump() for p in Persona if (h := short_term.of(p)) is not None}
    names = next(iter(found.values()))
    return table(
        ("Short-term memory", *(persona.title() for persona in found)),
        [(code(name), *(one[name] for one in found.values())) for name in names],
    )

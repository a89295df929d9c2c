"""Probes of a spec: what its compiled schema and the engine's pure decisions make of it.

Each takes a spec and gives something that can be compared. No probe looks at the rendered page, or
at the spec itself: only at what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import numpy as np

from idetic.errors import IdeticError
from idetic.evidence import Corroboration, SourceType
from idetic.gates.gate import Gates
from idetic.gateway.write_items import ItemMaker, WriteCell, WriteItem
from idetic.gateway.write_policy import check_written_here, sampled, sampling_rules, write_cell
from idetic.library.questions import joined, tiers_named
from idetic.lifecycle.canonical_rescan import minding_changes
from idetic.lifecycle.close_scope import close_step, compound, lease_starts
from idetic.lifecycle.consolidation import _merges
from idetic.lifecycle.escalation import recurs, told_steps
from idetic.lifecycle.lifetimes import lifetime_of
from idetic.lifecycle.observations import link_action
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import SessionStatement, SupportedEntry
from idetic.lifecycle.scope_change import ended_by_change
from idetic.lifecycle.stated_patterns import stated_patterns
from idetic.model import (
    Capability,
    Claim,
    Entry,
    Observation,
    Origin,
    Principal,
    PrincipalKind,
    Ref,
    Scope,
    Tier,
    Typology,
)
from idetic.persona.events import StmEntry
from idetic.persona.retrieval import rank
from idetic.recall.context import assemble
from idetic.recall.engine import RecallEngine
from idetic.recall.floors import FloorOverride, above_floors
from idetic.recall.hits import Hit, Recall
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import (
    Boundary,
    EnvelopeType,
    FusionMethod,
    KeyType,
    Persona,
    Signal,
    SourceStrength,
)
from idetic.spec.retention import entities
from idetic.spec.typology import WriteMode
from idetic.store.anchor_transaction import ScopeRow, StoredEntry
from idetic.store.compiler import compile_spec
from idetic.store.entries import Entries
from idetic.store.entry_sql import cause, due, pressure
from idetic.store.family import CELLS, Family
from idetic.store.fusion import Candidates
from idetic.store.members import Members
from idetic.store.recall_query import Filters, RecallQuery
from idetic.store.recall_statement import RecallStatement
from idetic.store.steps import LinkStep
from idetic.store.traits import Traits
from idetic.store.word_scores import Postings, WordScores
from idetic.surfaces.langgraph import checkpoints_of
from idetic.verbs.authorization import allows, bind

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
_VALUES = {KeyType.UUID: UUID(int=7), KeyType.TEXT: "acme", KeyType.BIGINT: 7}
NOBODY = cast("Any", None)
Probe = Callable[[MemorySpec], Any]
PROBES: dict[str, Probe] = {}


def probe(function: Probe) -> Probe:
    PROBES[function.__name__] = function
    return function


# --- the compiled schema, and the statements ----------------------------------------------------


@probe
def schema(spec: MemorySpec) -> Any:
    return [(one.kind, one.name, one.digest) for one in compile_spec(spec)]


@probe
def retention(spec: MemorySpec) -> Any:
    return {entity: spec.retention_of(entity).model_dump() for entity in entities(spec)}


@probe
def dispositions(spec: MemorySpec) -> Any:
    of = (Family(spec), scope_of(spec))
    return due(*of), cause(*of), pressure(*of, "%(moment)s")


@probe
def recall(spec: MemorySpec) -> Any:
    engine = RecallEngine(spec, NOBODY, NOBODY, NOBODY, NOBODY)
    weights = {signal: float(weight) for signal, weight in spec.retrieval.signals.items() if weight}
    filters = Filters(include_candidates=spec.retrieval.unconfirmed)
    about = dict.fromkeys(spec.retrieval.envelope, "x")
    asked = ("what?", 5, AT, weights, [0.1] * 384, UUID(int=1), about, filters)
    family = Family(spec)
    made = RecallStatement(family, scope_of(spec), RecallQuery(*asked), "public")
    text = made.whole(Entries(NOBODY, family)).text
    return text, made.envelope(), scores(spec, weights), type(engine.reranker)


def traits(count: int) -> Traits:
    """Entries of every cell and origin, each a week and a year older than the one before."""
    numbers = np.arange(count)
    ages = AT.timestamp() - numbers * 372 * 86_400.0
    no = np.zeros(count, bool)
    cells, origins = numbers % len(CELLS), numbers % len(Origin)
    return Traits(cells, no, no, no, origins, np.full(count, 8), ages, ages, np.zeros(count, int))


def scores(spec: MemorySpec, weights: dict[Signal, float]) -> list[float]:
    """What nine neighbours of three tiers score by every signal, each with other values."""
    count = 9
    ids = np.arange(count * 16, dtype=np.uint8).reshape(-1, 16)
    members = Members(ids, np.ones(count, np.int64), np.ones(count, np.int64), traits(count))
    window = spec.retrieval.neighbours
    words = WordScores(members, window.before, window.after, np.ones(count, bool))
    words.add_all({"wire": words.reach(Postings(np.array([2]), np.array([1.0])))})
    values = {signal: np.linspace(n / 20, 1, count) for n, signal in enumerate(Signal, 1)}
    del values[Signal.NEARBY]
    values[Signal.DECAY] = members.traits.freshness(spec, AT)
    values[Signal.VOICE] = members.traits.voice(spec)
    asked = Candidates(
        ids=ids,
        tiers=["interaction", "session", "persistent"] * 3,
        distances=np.linspace(-0.9, -0.1, count),
        values=values | {Signal.LEXICAL: words.scores},
        covered=words.covered,
        words=words.scores,
        places=members.places,
        turns=np.arange(count),
        asks=np.arange(count) % 2 == 0,
        brevity=words.brevity,
    )
    found: list[float] = asked.fuse(spec.retrieval, weights).tolist()
    return found


@probe
def checkpointer(spec: MemorySpec) -> Any:
    agent = cast("Any", SimpleNamespace(spec=spec))
    return checkpoints_of(NOBODY, agent)._composed("schema").as_string(None)


# --- writing ------------------------------------------------------------------------------------


@probe
def write_policy(spec: MemorySpec) -> Any:
    cells = ((t, y, m) for t in Tier for y in Typology for m in WriteMode)
    return [outcome(partial(write_cell, spec, t, y, "observed", m)) for t, y, m in cells]


@probe
def items(spec: MemorySpec) -> Any:
    """What becomes of an observation: its trust by origin, a record, a long note."""
    declared = spec.retrieval.envelope.items()
    about: dict[str, Any] = {key: "x" for key, one in declared if one.required}
    record = '{"id": "0b6f", "name": "Ada", "status": "open", "limit": 100, "since": "2026-01-01"}'
    seen = [
        Observation("It rained."),
        Observation("x" * 3000, about),
        Observation(record, about),
        *(Observation("It rained.", about, heard_from=origin) for origin in Origin),
    ]
    return [outcome(partial(_written, spec, one)) for one in seen]


@probe
def sampling(spec: MemorySpec) -> Any:
    found = []
    declared = spec.retrieval.envelope.items()
    scalars = [key for key, one in declared if one.type is EnvelopeType.SCALAR]
    for tier in (Tier.SESSION, Tier.PERSISTENT):
        for kind in ("heartbeat", "reading"):
            about = dict.fromkeys(scalars, kind)
            many = [Observation("tick", about, idempotency_key=f"k{n}") for n in range(50)]
            items = [item(spec, one, tier) for one in many]
            made = sampled(items[0].cell, items)
            found.append([one.sampling for one in made])
    return found


@probe
def action_kinds(spec: MemorySpec) -> Any:
    binding = cast("Any", SimpleNamespace(spec=spec))
    kinds = ("rule_promotion", "change_set_acceptance", "letter_sent")
    calls = [cast("Any", link_action.function(binding, UUID(int=1), kind, [])) for kind in kinds]
    return [outcome(partial(call.send, None)) for call in calls]


# --- tiers --------------------------------------------------------------------------------------


@probe
def tier_model(spec: MemorySpec) -> Any:
    """Leases, what a scope change ends, the links of closes and of an escalation."""
    closes = [
        close_step(spec, ScopeRow(UUID(int=1), tier, UUID(int=1), AT, "a", None, None), "r").detail
        for tier in spec.tiers.transient
    ]
    told = [cast("LinkStep", step).detail for step in told_steps(spec, "r", {}, {}, {})]
    return lease_starts(spec, AT), ended_by_change(spec), closes, told


@probe
def tier_names(spec: MemorySpec) -> Any:
    """The names by which a verb takes a tier, and those in a prompt."""
    asked = ("visit", "shift", "site", "stop", "interaction", "session", "persistent")
    return [outcome(partial(tiers_named, spec, [name])) for name in asked], context(spec)


@probe
def broader(spec: MemorySpec) -> Any:
    anchor = dict(scope_of(spec).anchor)
    above = spec.broader_anchor(anchor)
    refused = outcome(lambda: check_written_here(spec, scope_of(spec, above or anchor)))
    found, more = _recall(hit(1, 1.0)), _recall(hit(2, 0.9), hit(3, 3.0))
    enough = [recurs(spec, anchors) for anchors in range(5)]
    return above, refused, enough, [one.entry.id for one in joined(spec, found, more, 5).hits]


# --- maturing -----------------------------------------------------------------------------------


@probe
def lifetimes(spec: MemorySpec) -> Any:
    claim = Claim("pump", "is", "worn")
    said = (Observation("x"), Observation("x", claim=claim))
    return [lifetime_of(spec, *cell, one) for cell in spec.typology.cells() for one in said]


@probe
def closing(spec: MemorySpec) -> Any:
    """What of an interaction goes into its session: the same, and the near by vector."""
    texts = (
        ("The partner bank closes its books at four on Fridays.", (1.0, 0.0)),
        ("The partner bank closes its books at four on Fridays!", (1.0, 0.0)),
        ("If it rains a dozen dogs stay.", (0.0, 1.0)),
        ("12 dogs stay if it rains.", (0.28, 0.96)),
    )
    place: dict[str, Any] = {"session_id": UUID(int=1), "interaction_id": UUID(int=2)}
    own = [
        StoredEntry(entry(n, Tier.INTERACTION, text=text, **place), np.array(vector), rests=False)
        for n, (text, vector) in enumerate(texts, 1)
    ]
    steps, into = compound(spec, Gates(spec).at(Boundary.INTERACTION_END), own, [], UUID(int=1))
    return len(steps), len(into), [_merges(spec, typology) for typology in Typology]


@probe
def promotion(spec: MemorySpec) -> Any:
    return list(_promotions(spec))


def _promotions(spec: MemorySpec) -> Iterator[Any]:
    """The four gates, a conflict, what a session leaves, failures, versions: each as decided."""
    semantic = entry(1, claim=Claim("pump", "is", "worn"), candidate=True)
    habit = entry(2, Typology.PROCEDURAL, claim=Claim("ada", "prefers", "brief"), candidate=True)
    for known in (semantic, habit):
        for voices in ("a", "ab"):
            work = _pass(spec)
            sources = [source(n, voices[n % len(voices)]) for n in range(4)]
            supported = SupportedEntry(known, sources)
            yield [gate.as_data() for gate in work.gates(supported)]
            old = SupportedEntry(entry(9, known.typology, claim=_other(known)), [source(8, "a")])
            work.weigh(supported, [old], forced="an operator says so")
            yield _transitions(work)
    rule = (Ref("rule", UUID(int=5)),)
    for attribute in ("is", "prefers", "asks for", None):
        claim = None if attribute is None else Claim("ada", attribute, "brief")
        said = entry(3, Tier.SESSION, claim=claim)
        work = _pass(spec)
        one = SessionStatement([StoredEntry(said, None, rests=False)], [], [source(1, "a")])
        work.settle(one, [], None)
        yield _transitions(work)
    for origin in Origin:
        asked = entry(6, Tier.SESSION, text="Please use lists instead of tables.", origin=origin)
        one = SessionStatement([StoredEntry(asked, None, rests=False)], [], [])
        yield [found.claim for found in stated_patterns(spec, [one])]
    for typology in Typology:
        work, supported = _pass(spec), SupportedEntry(entry(4, typology, claim=semantic.claim))
        for n in range(3):
            work.fail(supported, source(n, "abc"[n]))
        yield _transitions(work)
    work = _pass(spec)
    fact = entry(5, claim=semantic.claim, refs=rule)
    work.weigh(SupportedEntry(fact, [source(n, "ab"[n % 2], f"v{n % 2}") for n in range(4)]), [])
    yield _transitions(work)


@probe
def rescans(spec: MemorySpec) -> Any:
    """Whose entries are looked at again when canonical content changes."""
    return minding_changes(spec)


def _pass(spec: MemorySpec) -> PromotionPass:
    return PromotionPass(spec, Gates(spec).at(Boundary.SESSION_END, Boundary.PROMOTION), AT)


def _transitions(work: PromotionPass) -> list[tuple[str, ...]]:
    return [(one.transition, one.reason) for one in work.steps if isinstance(one, LinkStep)]


def _other(known: Entry) -> Claim:
    assert known.claim is not None
    return Claim(known.claim.subject, known.claim.attribute, "another")


# --- prompts, gates, access ---------------------------------------------------------------------


@probe
def prompt(spec: MemorySpec) -> Any:
    return context(spec), context(spec, asked=False)


def context(spec: MemorySpec, *, asked: bool = True) -> Any:
    """The text for many entries of each tier; with hits of every strength, if it was asked."""
    place: dict[str, Any] = {"session_id": UUID(int=1), "interaction_id": UUID(int=2)}
    transient = {
        Tier.PERSISTENT: [entry(n, Tier.PERSISTENT, core_at=AT) for n in range(400, 440)],
        Tier.SESSION: [entry(n, Tier.SESSION, session_id=UUID(int=1)) for n in range(200, 260)],
        Tier.INTERACTION: [entry(n, Tier.INTERACTION, **place) for n in range(300, 360)],
    }
    hits = [hit(n, 1.0 / n, strength) for n, strength in enumerate([*SourceStrength] * 15, 1)]
    found = _recall(*hits) if asked else None
    counter = ConservativeCounter()
    made = assemble(spec, query="what?", transient=transient, recall=found, counter=counter)
    return made.text, made.evicted


@probe
def floors(spec: MemorySpec) -> Any:
    applied = FloorOverride().over(spec.retrieval.floors)
    found = Recall("q", (hit(1, 1.0),), FusionMethod.RRF, {}, 50, 50, AT, known=0.4, floors=applied)
    kept, why = above_floors(found)
    return why, len(kept.hits if kept else ())


@probe
def short_term(spec: MemorySpec) -> Any:
    found = []
    declared = spec.retrieval.short_term
    for persona in Persona if declared is not None else ():
        heuristics = declared.of(persona) if declared is not None else None
        if heuristics is not None:
            loops = [_loop(n) for n in range(heuristics.window)]
            best = rank("some very late wire", loops, heuristics, AT + timedelta(days=2))
            found.append([(one.entry.loop_id, one.score) for one in best])
    return found


@probe
def gates(spec: MemorySpec) -> Any:
    """What each boundary does to a text with a secret, personal data and names in it."""
    text = (
        "Mail ada@example.com about host db-17.acme.internal, key AKIAIOSFODNN7EXAMPLE, "
        "plant Osprey-9 and Kestrel."
    )
    found = {}
    for boundary in Boundary:
        pipeline = Gates(spec).at(boundary)
        told = (pipeline.hedges, pipeline.read_only, pipeline.lookups)
        found[boundary] = (pipeline.apply(text, ["Kestrel"]).text, *told)
    return found


@probe
def access(spec: MemorySpec) -> Any:
    return [
        allows(spec, Scope(spec.agent, {}, Principal(kind, "x")), capability)
        for kind in PrincipalKind
        for capability in Capability
    ]


@probe
def binding(spec: MemorySpec) -> Any:
    """Which values bind an anchor: of another type, and with the second key left open."""
    keys = spec.anchor.keys
    tried = [{key.name: value for key in keys} for value in _VALUES.values()]
    whole = {key.name: _VALUES[key.type] for key in keys}
    tried += [{name: value for name, value in whole.items() if name != key.name} for key in keys]
    return [outcome(partial(bind, spec, values, Principal.auditor("eve"))) for values in tried]


# --- what probes are made of --------------------------------------------------------------------


def outcome(attempt: Callable[[], Any]) -> Any:
    try:
        return attempt()
    except (IdeticError, AttributeError) as error:
        return f"{type(error).__name__}: {error} {getattr(error, 'remedy', '')}"


def scope_of(spec: MemorySpec, anchor: Any = None) -> Scope:
    keys = {key.name: _VALUES[key.type] for key in spec.anchor.keys}
    return Scope(spec.agent, anchor or keys, Principal.agent("a"))


def item(spec: MemorySpec, seen: Observation, tier: Tier = Tier.SESSION) -> WriteItem:
    kept = sampling_rules(spec, tier, Typology.EPISODIC)
    cell = WriteCell("observed", tier, Typology.EPISODIC, supersede=False, sampling=kept)
    scope = Scope(spec.agent, {}, Principal.operator("ada"))
    return ItemMaker(spec, scope, cell, Gates(spec).at(Boundary.INGEST)).make(seen)


def _written(spec: MemorySpec, seen: Observation) -> Any:
    made = item(spec, seen)
    return made.origin, made.trust, made.form


def entry(
    number: int, *cell: Tier | Typology, text: str = "The pump is out.", **more: Any
) -> Entry:
    tier = next((one for one in cell if isinstance(one, Tier)), Tier.PERSISTENT)
    typology = next((one for one in cell if isinstance(one, Typology)), Typology.SEMANTIC)
    if tier is not Tier.PERSISTENT:
        typology = Typology.EPISODIC
    claim = more.pop("claim", None)
    envelope = {"claim": claim.as_dict()} if claim is not None else {}
    origin = more.pop("origin", Origin.AGENT)
    said = (tier, typology, text, envelope, origin, 60, AT, "agent:a", 1)
    return Entry(UUID(int=number), {}, *said, **more)


def source(number: int, voice: str, version: str | None = None) -> Corroboration:
    provenance = {} if version is None else {"world_model_version": version}
    own, session = UUID(int=100 + number), UUID(int=200 + number % 2)
    told = (own, SourceType.OBSERVATION_EVENT, own, AT, voice, voice, Origin.AGENT, session)
    return Corroboration(*told, provenance=provenance)


def hit(number: int, score: float, strength: SourceStrength | None = None) -> Hit:
    found = entry(number, refs=(Ref("rule", UUID(int=5)),) if strength else ())
    return Hit(found, score, {}, strength, relevance=0.3)


def _recall(*hits: Hit) -> Recall:
    return Recall("q", hits, FusionMethod.RRF, {}, 50, 50, AT)


def _loop(number: int) -> StmEntry:
    words = "the late wire " if number % 2 else "some later wires "
    kind = "user_input" if number % 3 else "error"
    seen = "external" if number % 2 else "internal"
    return cast(
        "StmEntry",
        SimpleNamespace(
            loop_id=UUID(int=number), ts=AT + timedelta(hours=number % 40),
            summary=words * (1 + number % 3), kinds=(kind,), visibilities=(seen,),
        ),
    )  # fmt: skip

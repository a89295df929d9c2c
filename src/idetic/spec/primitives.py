"""The explicit primitives and the token budget, as types.

Shapes only: what each primitive may say. Whether the answers fit together is the business of the
checks; the behavioural primitives, which have defaults, are in `typology` and `retention`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, overload

from pydantic import ConfigDict, Field, StringConstraints

from idetic.model import Capability, Origin, PrincipalKind, Tier
from idetic.spec.identifiers import GateIdentifiers
from idetic.spec.typology import Sentence, SpecPart

# PostgreSQL cuts identifiers at 63 bytes; the compiler appends up to 27.
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,35}$")]
Table = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}$")]
Column = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Weight = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]

BODY_TEXT_MAX = 2000
# What a spec may raise it to, where no canonical text is guarded: a long note is found by pieces.
LONG_TEXT_MAX = 500_000
ENVELOPE_MAX_BYTES = 8192


# --- 1. Anchor ----------------------------------------------------------------------------
class KeyType(StrEnum):
    """The types an anchor key may have."""

    UUID = "uuid"
    TEXT = "text"
    BIGINT = "bigint"


class AnchorKey(SpecPart):
    """One key of the scope tuple."""

    name: Name
    type: KeyType = KeyType.UUID
    nullable_for_queries: bool = False


class AnchorRoot(SpecPart):
    """A canonical row that each anchor belongs to 1:1, carried on every entry as a foreign key."""

    noun: Name
    table: Table
    key: Column


class Anchor(SpecPart):
    """Primitive 1: the key tuple that owns memory. The first key is the tenant."""

    keys: Annotated[tuple[AnchorKey, ...], Field(min_length=1, max_length=4)]
    root: AnchorRoot | None = None
    provenance: tuple[Name, ...] = ()

    @property
    def tenant(self) -> AnchorKey:
        """The key that every statement and every constraint carries."""
        return self.keys[0]


# --- 4. Backend ---------------------------------------------------------------------------
class Persona(StrEnum):
    """One of an agent's two personas: the one that acts, or the one that maintains."""

    ACTOR = "actor"
    SUBCONSCIOUS = "subconscious"


# What every entry of a log carries: two keys in its envelope, and what compacted it.
LOGGED_KEYS = ("kind", "visibility")
DERIVATION = "derivation"


class DeclaredLog(SpecPart):
    """The record store that memory derives from: every event, literally, outside the gateway.

    Its long-term mirror has one persistent entry per event, its short-term memory one session entry
    per loop. With two personas each has a log and a family of its own, under a role of its own.
    """

    personas: Annotated[tuple[Persona, ...], Field(min_length=1, max_length=2)]
    holds: Sentence


class Backend(SpecPart):
    """Primitive 4: where memory lives. Checkpointer state stays in its own schema."""

    schema_: Annotated[Name, Field(alias="schema")]
    family: Name
    checkpointer: Name = "langgraph"
    body_text_max: Annotated[int, Field(ge=200, le=LONG_TEXT_MAX)] = BODY_TEXT_MAX
    log: DeclaredLog | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @property
    def place(self) -> str:
        """The schema and the family: where an agent's memory is."""
        return f"{self.schema_}.{self.family}"

    @property
    def personas(self) -> tuple[Persona | None, ...]:
        """The personas with a family of their own; `(None,)` where one family serves them all."""
        return self.log.personas if self.log and len(self.log.personas) > 1 else (None,)

    @property
    def conversation(self) -> bool:
        """Whether it holds conversations: a log of one persona, which `add` writes to."""
        return self.log is not None and self.personas == (None,)


# --- 5. Retrieval -------------------------------------------------------------------------
class Signal(StrEnum):
    """A signal by which recall scores an entry."""

    ENVELOPE = "envelope"
    SEMANTIC = "semantic"
    DECAY = "decay"
    LEXICAL = "lexical"
    # Whether it states something: 0 for a short question.
    STATEMENT = "statement"
    # Whose words they are, by origin; and whether the question names who said them.
    VOICE = "voice"
    SPEAKER = "speaker"
    # How well its own time fits the dates in the question.
    TIME = "time"
    # What it gains from strong hits right beside it.
    NEARBY = "nearby"


class FusionMethod(StrEnum):
    """How signals become one ranking."""

    RRF = "rrf"
    WEIGHTED = "weighted_score"


class Fusion(SpecPart):
    """How signals are fused. RRF with k = 60 is the default the documents name."""

    method: FusionMethod = FusionMethod.RRF
    k: Annotated[int, Field(ge=1, le=1000)] = 60


# The recipe for each way of fusing: the weights that `spec new` offers. They were chosen on one
# half of the development sets, with the other in sight (decision 0043). In RRF a weight is worth
# weight / 61 at most, so that what only tells equals apart weighs little there.
RECIPES: dict[FusionMethod, dict[Signal, float]] = {
    FusionMethod.WEIGHTED: {
        Signal.ENVELOPE: 1.0,
        Signal.SEMANTIC: 1.0,
        Signal.LEXICAL: 1.1,
        Signal.DECAY: 0.05,
        Signal.STATEMENT: 0.6,
        Signal.VOICE: 0.4,
        Signal.SPEAKER: 0.15,
        Signal.TIME: 1.0,
        Signal.NEARBY: 0.15,
    },
    FusionMethod.RRF: {
        Signal.ENVELOPE: 1.0,
        Signal.SEMANTIC: 1.0,
        Signal.LEXICAL: 1.6,
        Signal.DECAY: 1.0,
        Signal.STATEMENT: 0.25,
        Signal.VOICE: 0.2,
        Signal.SPEAKER: 0.1,
        Signal.TIME: 0.6,
        Signal.NEARBY: 0.1,
    },
}


class Neighbours(SpecPart):
    """How many entries around a short entry count as its text for the lexical signal.

    Within one interaction or session, in time order. Words of a conversation often stand one
    turn away from the statement they belong to. Entries without a scope have no neighbours.
    """

    before: Annotated[int, Field(ge=0, le=5)] = 2
    after: Annotated[int, Field(ge=0, le=5)] = 1


class Floors(SpecPart):
    """Below which values memory says that it does not know; 0 is no floor.

    `question` is the least probability that memory knows something about a question, `hit` the
    least relevance of an entry in a prompt or an answer. `recall` shows everything all the same.
    """

    question: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    hit: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0


class EnvelopeType(StrEnum):
    """The shapes an envelope value may have."""

    SCALAR = "scalar"
    LIST = "list"
    HIERARCHY = "hierarchy"


class EnvelopeKey(SpecPart):
    """One declared key of the envelope: what an entry is about."""

    type: EnvelopeType = EnvelopeType.SCALAR
    weight: Weight = 1.0
    required: bool = False


class RerankerKind(StrEnum):
    """Whether a reranking layer sits on top."""

    NONE = "none"
    CROSS_ENCODER = "cross_encoder"


class EventKind(StrEnum):
    """The kind of an event; `feedback` is an addition to the eight kinds of the document."""

    USER_INPUT = "user_input"
    ACTOR_OUTPUT = "actor_output"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SUBCONSCIOUS_PROMPT = "subconscious_prompt"
    SUBCONSCIOUS_OUTPUT = "subconscious_output"
    SYSTEM_EVENT = "system_event"
    ERROR = "error"
    FEEDBACK = "feedback"


class EventVisibility(StrEnum):
    """Whether an event was meant for the outside or only for the agent."""

    EXTERNAL = "external"
    INTERNAL = "internal"


class FuzzyWeights(SpecPart):
    """What similarity and recency weigh in the short-term score."""

    similarity: Weight = 1.0
    recency: Weight = 1.0


class FuzzyHeuristics(SpecPart):
    """One persona's rolling window of loop summaries and how fuzzy search scores them.

    A boost that is not listed is 1.0. The threshold cuts on similarity (0 to 100) alone,
    before recency and boosts.
    """

    window: Annotated[int, Field(ge=1, le=10_000)]
    threshold: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
    top_k: Annotated[int, Field(ge=1, le=1000)]
    recency_half_life_seconds: Annotated[float, Field(gt=0, le=3.2e9, allow_inf_nan=False)]
    weights: FuzzyWeights = FuzzyWeights()
    kind_boosts: dict[EventKind, Weight] = Field(default_factory=dict)
    visibility_boosts: dict[EventVisibility, Weight] = Field(default_factory=dict)


class ShortTerm(SpecPart):
    """Short-term memory beside a log; each persona of the log answers for itself."""

    actor: FuzzyHeuristics
    subconscious: FuzzyHeuristics | None = None

    def of(self, persona: Persona) -> FuzzyHeuristics | None:
        """One persona's heuristics."""
        found: FuzzyHeuristics | None = getattr(self, persona.value)
        return found


# People's own words answer more questions than an agent's about them (decision 0035).
VOICES = {Origin.USER: 1.0, Origin.OPERATOR: 1.0, Origin.CANONICAL: 1.0}


class Retrieval(SpecPart):
    """Primitive 5: how memory enters the agent's reasoning."""

    embedding: Literal["bge-small-en-v1.5"]
    signals: dict[Signal, Weight]
    # What the words of each origin are worth to the `voice` signal; an origin not named, nothing.
    voices: dict[Origin, Weight] = Field(default_factory=lambda: dict(VOICES))
    fusion: Fusion = Fusion()
    neighbours: Neighbours = Neighbours()
    floors: Floors = Floors()
    tiers: dict[Tier, Weight]
    envelope: dict[Name, EnvelopeKey] = Field(default_factory=dict)
    # Whether a recall shows what nobody has confirmed yet, unless it is told otherwise.
    unconfirmed: bool = False
    reranker: RerankerKind = RerankerKind.NONE
    short_term: ShortTerm | None = None


# --- 12. Injection ------------------------------------------------------------------------
class Presence(StrEnum):
    """Whether a tier is always in the prompt or fetched when asked."""

    ALWAYS = "always_present"
    ON_DEMAND = "on_demand"


class PromptBlock(SpecPart):
    """One tier's block of the prompt."""

    budget: Annotated[int, Field(ge=0, le=1_000_000)]
    priority: Annotated[int, Field(ge=0, le=100)]
    presence: Presence


class CoreBlock(SpecPart):
    """The block of what was paged in: always present, whatever is asked."""

    budget: Annotated[int, Field(ge=0, le=1_000_000)]
    priority: Annotated[int, Field(ge=0, le=100)]


class Injection(SpecPart):
    """Primitive 12: per-tier token budgets under one absolute ceiling, and the paged core."""

    ceiling: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    core: CoreBlock = CoreBlock(budget=400, priority=95)
    interaction: PromptBlock = PromptBlock(budget=1200, priority=90, presence=Presence.ALWAYS)
    session: PromptBlock = PromptBlock(budget=1200, priority=70, presence=Presence.ALWAYS)
    persistent: PromptBlock = PromptBlock(budget=1600, priority=50, presence=Presence.ON_DEMAND)
    justification: Sentence | None = None

    @overload
    def at(self, block: Tier) -> PromptBlock: ...
    @overload
    def at(self, block: str) -> PromptBlock | CoreBlock: ...
    def at(self, block: str) -> PromptBlock | CoreBlock:
        """The block of a tier, or the core."""
        found: PromptBlock | CoreBlock = getattr(self, block)
        return found


# --- 13. References -----------------------------------------------------------------------
class SourceStrength(StrEnum):
    """How strong a canonical source is; decides the hedge."""

    AUTHORITATIVE = "authoritative"
    CURATED = "curated"
    DISTILLED = "distilled"
    OBSERVED = "observed"


class Canonical(SpecPart):
    """A canonical table that memory may reference and never copy.

    `versions` names the table of (key, version) that pins point to; `body` is what the shadow
    guard compares with; `scope` is the column that holds the anchor root's key.
    """

    noun: Name
    table: Table
    key: Column
    body: Column | None = None
    strength: Column | None = None
    scope: Column | None = None
    versions: Table | None = None
    version: Column | None = None
    contradictions: bool = False


class References(SpecPart):
    """Primitive 13: what may only be referenced."""

    non_mirror: Annotated[tuple[Sentence, ...], Field(min_length=1)]
    canonical: tuple[Canonical, ...] = ()
    corroborations: bool = False
    # An application's own values, kept word for word: what has the shape of a record is theirs.
    documents: bool = False


# --- 14. Gates ----------------------------------------------------------------------------
class Boundary(StrEnum):
    """Where content crosses from one trust scope into another."""

    INGEST = "ingest"
    INTERACTION_END = "interaction_end"
    SESSION_END = "session_end"
    PROMOTION = "promotion"
    AGGREGATION = "aggregation"
    OPERATOR = "operator"
    CUSTOMER = "customer"


class GateKind(StrEnum):
    """The transformations a boundary may apply."""

    SECRETS = "secrets"
    PII = "pii"
    STRIP_IDENTIFIERS = "strip_identifiers"
    HEDGE = "hedge"
    READ_ONLY = "read_only"


class Gate(GateIdentifiers):
    """A transformation at a boundary; `identifiers` are for one that strips them."""

    boundary: Boundary
    apply: Annotated[tuple[GateKind, ...], Field(min_length=1)]
    because: Sentence


# --- 15. Visibility -----------------------------------------------------------------------
class Visibility(SpecPart):
    """Primitive 15: who may do what, and how far each origin is trusted."""

    principals: dict[PrincipalKind, tuple[Capability, ...]]
    trust: dict[Origin, Annotated[int, Field(ge=0, le=100)]]
    hedges: dict[SourceStrength, Sentence]

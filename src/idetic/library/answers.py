"""Answers for those outside an agent: hedged, quoted, behind the gate of whoever asks.

What comes back has crossed the spec's operator or customer gate. In process, over HTTP and over MCP
the principal decides the mode; another context is handed a runner (`library/runners.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import CapabilityRefused
from idetic.gates.gate import Pipeline
from idetic.model import Capability, Entry, Principal, PrincipalKind, Ref, Scope, Tier
from idetic.recall.evidence import QUOTE, strength_of, visible
from idetic.recall.floors import above_floors
from idetic.recall.hits import Hit
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, Signal, SourceStrength
from idetic.store.recall_query import Filters
from idetic.verbs.arguments import MAX_QUERY, check_text
from idetic.verbs.authorization import allows, article, refuse
from idetic.verbs.declaration import AUDIENCE, McpTool, post, verb

DONT_KNOW = "I don't know."
LOOKED_AT = 10
MOST_EVIDENCE = 5
# From this cosine on a note is near a question. Whatever it leaves out costs an "I don't know",
# never a wrong answer.
NEAR = 0.6


class Mode(StrEnum):
    """The audience of an answer."""

    OPERATOR = "operator"
    CUSTOMER = "customer"


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """One entry as it crossed the gate: what it says, and how strong its source is."""

    entry_id: UUID
    text: str
    hedge: str | None
    strength: SourceStrength
    noted_at: datetime
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with its evidence; without evidence the answer is "I don't know"."""

    text: str
    evidence: tuple[AnswerEvidence, ...]
    mode: Mode

    @property
    def known(self) -> bool:
        """Whether memory had an answer."""
        return bool(self.evidence)


@verb(
    placed=True,
    whole_anchor=True,
    # It passes the gate piece by piece, and leaves out what means nothing behind it.
    gated=False,
    http=post("/ask", "asking"),
    tool=McpTool(
        "Ask for an answer that others may read",
        'A hedged answer with its evidence, behind the gate of whoever asks, or "I don\'t know". '
        "For operators and customers; it is all that a customer can do.",
        # The tool that another agent is given is called after the agent that it asks.
        name="ask_{agent}",
        kinds=AUDIENCE,
    ),
    examples=('idetic ask "When do wires go out?" {scope}',),
)
async def ask(binding: Binding, question: str) -> Answered:
    """Give a hedged answer with its evidence, through the principal's gate; or "I don't know".

    It is for operators and customers. The answer uses persistent memory, and passes the gate of
    their audience.
    """
    spec, engine, scope = binding.spec, binding.engine, binding.scope
    mode = mode_of(scope.principal)
    # A customer's `read` is this and no more, so it is not asked for by `require`.
    if not allows(spec, scope, Capability.READ):
        refuse(spec, scope, Capability.READ)
    check_text(question, MAX_QUERY, "question")
    recalled = await engine.recall.recall(
        scope, question, limit=LOOKED_AT, envelope={}, filters=Filters(tiers=[Tier.PERSISTENT])
    )
    recall, _ = above_floors(recalled)
    gate = engine.gates.at(Boundary(mode.value))
    crossed = (_crossed(spec, scope, gate, hit) for hit in recall or () if _speaks_to_it(hit))
    evidence = tuple(each for each in crossed if each is not None)[:MOST_EVIDENCE]
    if not evidence:
        return Answered(DONT_KNOW, (), mode)
    read = [each.entry_id for each in evidence]
    await engine.embeddings.read(scope, binding.place, read, engine.clock.now())
    return Answered("\n".join(map(_quotation, evidence)), evidence, mode)


def mode_of(principal: Principal) -> Mode:
    """For whom a principal asks; only operators and customers are audiences."""
    kind = principal.kind
    if kind not in (PrincipalKind.OPERATOR, PrincipalKind.CUSTOMER):
        raise CapabilityRefused(
            f"A memory bound for {article(kind).lower()} {kind} principal cannot answer for "
            "another agent.",
            remedy="Bind it for an operator or a customer.",
        )
    return Mode(kind.value)


def _speaks_to_it(hit: Hit) -> bool:
    """Whether a hit has to do with the question: a recall ranks what is merely fresh as well."""
    words = hit.signals.get(Signal.LEXICAL)
    if words is not None and words.rank is not None:
        return True
    return hit.similarity is not None and hit.similarity >= NEAR


def _crossed(spec: MemorySpec, scope: Scope, gate: Pipeline, hit: Hit) -> AnswerEvidence | None:
    """A hit as it crosses the gate; None where nothing of it is left."""
    entry: Entry = hit.entry
    passed = gate.apply(entry.body_text, [str(value) for value in scope.anchor.values()])
    if passed.refused is not None:
        return None
    strength = strength_of(entry, hit.strength)
    hedge = spec.visibility.hedges[strength] if gate.hedges else None
    text = visible(passed.text)
    return AnswerEvidence(entry.id, text, hedge, strength, entry.created_at, entry.refs)


def _quotation(evidence: AnswerEvidence) -> str:
    """A piece of evidence as the answer quotes it, after its hedge."""
    # Every line of a note stays behind a mark: it is quoted, and never an instruction.
    quoted = "\n".join(QUOTE + line for line in evidence.text.split("\n"))
    return quoted if evidence.hedge is None else f"{evidence.hedge.rstrip(' .:')}:\n{quoted}"

"""What is recorded: metrics by name, spans, and the one filter for facts that leave the process."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Mapping, Sequence, Sized
from enum import Enum, StrEnum
from typing import Any, Protocol, Self
from uuid import UUID

from idetic.errors import GateRefused, IdeticError, RecordRefused, Refused, ShadowRefused
from idetic.model import Decision, Receipt, Scope

PREFIX = "gen_ai.memory."
Fact = str | int | float | bool
Facts = dict[str, Fact]
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}\Z")


class Name(str):
    """A word that our own code chose: an operation, a task, an error's code. No user's text."""

    __slots__ = ()


REJECTED = Name("rejected")
# Refusals for what a note says, not for who wrote it or when.
_CONTENT = (ShadowRefused, RecordRefused, GateRefused)


class Shape(StrEnum):
    """How a metric adds up."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


class Metric(Enum):
    """A metric's name, shape, unit in UCUM and meaning. docs/reference/metrics.md lists them."""

    OPERATIONS = (
        *("operation.duration", Shape.HISTOGRAM, "s"),
        "How long an operation took; a recall's is its latency.",
    )
    WRITES = "writes", Shape.COUNTER, "{decision}", "What the gateway decided about writes."
    REJECTIONS = (
        *("guard.rejections", Shape.COUNTER, "{rejection}"),
        "What the shadow guard, a gate, the write policy or a missing capability refused.",
    )
    PROMOTIONS = (
        *("promotions", Shape.COUNTER, "{entry}"),
        "Entries that were proposed, promoted or meta-promoted.",
    )
    CACHE_LOOKUPS = (
        *("cache.lookups", Shape.COUNTER, "{lookup}"),
        "Look-ups in a cache, and whether they hit.",
    )
    BACKLOG_AGE = "backlog.age", Shape.GAUGE, "s", "How long the oldest job of a task has waited."
    BACKLOG_JOBS = "backlog.jobs", Shape.GAUGE, "{job}", "How many jobs of a task wait."

    def __init__(self, name: str, shape: Shape, unit: str, meaning: str):
        self.title = f"{PREFIX}{name}"
        self.shape = shape
        self.unit = unit
        self.meaning = meaning


def safe(given: Mapping[str, Any]) -> Facts:
    """The facts that may leave the process. Of a text only its length leaves."""
    facts: Facts = {}
    for key, value in given.items():
        if isinstance(value, bool | int) and not isinstance(value, Enum):
            facts[key] = value
        elif isinstance(value, float):
            facts[key] = round(value, 6) if math.isfinite(value) else 0.0
        elif isinstance(value, UUID):
            facts[key] = str(value)
        elif isinstance(value, Enum):
            facts[key] = str(value.value)
        elif isinstance(value, Name) and _WORD.match(value):
            facts[key] = str(value)
        elif isinstance(value, Scope):
            facts |= scope_facts(value)
        elif isinstance(value, str | bytes):
            facts[f"{key}_length"] = len(value)
        elif isinstance(value, Sized):
            facts[f"{key}_count"] = len(value)
    return facts


def scope_facts(scope: Scope) -> Facts:
    """Who and where, without a name: an anchor key may be somebody's address."""
    values = "\x1f".join(str(value) for value in scope.anchor.values())
    digest = hashlib.sha256(f"{scope.agent}\x1f{values}".encode()).hexdigest()
    return {"agent": scope.agent, "anchor": digest[:16], "principal": scope.principal.kind.value}


# --- recording ----------------------------------------------------------------------------------


class Recorder(Protocol):
    """Where spans and metrics go: a log, OpenTelemetry, Sentry."""

    def begin(self, operation: str, facts: Facts) -> Any:
        """An operation begins; what is returned comes back when it ends."""
        return None

    def end(
        self, begun: Any, operation: str, facts: Facts, seconds: float, error: BaseException | None
    ) -> None:
        """It ended, well or with an error whose text may hold content."""
        ...

    def metric(self, metric: Metric, value: float, facts: Facts) -> None:
        """One measurement; by default it is not recorded."""
        return

    def rejected(self, facts: Facts) -> None:
        """Writes were refused: a separate event within the operation."""
        ...


class _Where:
    """The recorders in use: a holder, so that every module sees a change."""

    recorders: tuple[Recorder, ...] = ()


def use(*recorders: Recorder) -> None:
    """Record to these from now on, in this process; with none, to nowhere."""
    _Where.recorders = recorders


def recording() -> bool:
    """Whether anybody listens."""
    return bool(_Where.recorders)


class _NoSpan:
    """The span of a process in which nobody listens."""

    __slots__ = ()

    def tell(self, **given: Any) -> None:
        """Add facts that are known by now."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the operation."""


class _OpenSpan(_NoSpan):
    """One operation, from entering the block to leaving it."""

    __slots__ = ("_begun", "_facts", "_operation", "_started")

    def __init__(self, operation: str, given: dict[str, Any]):
        self._operation = operation
        self._facts = safe(given)

    def tell(self, **given: Any) -> None:
        """Add facts that are known by now, without what is not safe to tell."""
        self._facts |= safe(given)

    def __enter__(self) -> Self:
        operation, facts = self._operation, self._facts
        self._begun = [(each, each.begin(operation, facts)) for each in _Where.recorders]
        self._started = time.perf_counter()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        seconds = time.perf_counter() - self._started
        # A batch in which something was refused did not simply go well, although it raises nothing.
        partly = error is None and self._facts.get("rejected")
        outcome = REJECTED if partly else outcome_of(error)
        self._facts |= safe({"outcome": outcome})
        # A refusal with a receipt was recorded with the receipt.
        alone = isinstance(error, Refused) and "receipt" not in error.detail
        if alone and isinstance(error, _CONTENT):
            # Before it ends, so that the event stands within it.
            _tell_rejected({**self._facts, "reason": str(outcome), "rejected": 1})
        for each, begun in reversed(self._begun):
            each.end(begun, self._operation, dict(self._facts), seconds, error)
        few = _few(self._facts)
        _metric(Metric.OPERATIONS, seconds, {**few, "operation": self._operation})
        if alone:
            _metric(Metric.REJECTIONS, 1, {**few, "reason": str(outcome)})


_NO_SPAN = _NoSpan()


def span(operation: str | None, **given: Any) -> _NoSpan:
    """`with span("recall", scope=scope) as operation`: an operation and its facts; None is none."""
    return _OpenSpan(operation, given) if operation and _Where.recorders else _NO_SPAN


def finished(operation: str, seconds: float, error: BaseException | None, **given: Any) -> None:
    """Record an operation that was timed elsewhere."""
    if not _Where.recorders:
        return
    facts = safe({**given, "outcome": outcome_of(error)})
    for each in _Where.recorders:
        each.end(each.begin(operation, facts), operation, facts, seconds, error)
    _metric(Metric.OPERATIONS, seconds, {**_few(facts), "operation": operation})


def measure(metric: Metric, value: float = 1, **given: Any) -> None:
    """Add to a counter, or set a gauge."""
    if _Where.recorders:
        _metric(metric, value, safe(given))


def _few(facts: Facts) -> Facts:
    """The facts a metric is split by: a value for each anchor would be a series for each."""
    return {key: value for key, value in facts.items() if key in ("agent", "outcome", "task")}


def _metric(metric: Metric, value: float, facts: Facts) -> None:
    """Hand one measurement to every recorder."""
    for each in _Where.recorders:
        each.metric(metric, value, facts)


def outcome_of(error: BaseException | None) -> Name:
    """The outcome of an operation in one word: never an error's message."""
    if error is None:
        return Name("ok")
    return Name(error.code if isinstance(error, IdeticError) else type(error).__name__)


def _tell_rejected(facts: Facts) -> None:
    """Tell every recorder that writes were refused for what they say."""
    for each in _Where.recorders:
        each.rejected(facts)


def count_receipts(scope: Scope, receipts: Sequence[Receipt]) -> None:
    """Count the decisions about writes, and record refusals, one event for each reason."""
    if not _Where.recorders:
        return
    for decision in Decision:
        if count := sum(one.decision is decision for one in receipts):
            measure(Metric.WRITES, count, agent=Name(scope.agent), decision=decision)
    refused: dict[str, list[Receipt]] = {}
    for one in receipts:
        if one.decision is Decision.REJECT:
            refused.setdefault(one.reason, []).append(one)
    for reason, same in refused.items():
        about = {"reason": Name(reason), "rejected": len(same), "outcome": REJECTED}
        facts = safe({**receipt_facts(same[0]), **about, "scope": scope})
        _tell_rejected(facts)
        _metric(Metric.REJECTIONS, len(same), {"agent": scope.agent, "reason": reason})


def receipt_facts(answer: Any) -> dict[str, Any]:
    """The facts of an answer's receipts: how many; of a single one, its ids and its similarity."""
    answers = answer if isinstance(answer, list) else [answer]
    receipts = [one for one in answers if isinstance(one, Receipt)]
    refused = sum(one.decision is Decision.REJECT for one in receipts)
    if len(receipts) != 1:
        return {"receipts": len(receipts), "rejected": refused} if receipts else {}
    (one,) = receipts
    similarity = one.detail.get("similarity")
    return {
        "decision": one.decision,
        "position": one.position,
        "receipt": one.id,
        "entry": one.entry_id,
        "replayed": one.replayed,
        "rejected": refused,
        "similarity": similarity if isinstance(similarity, int | float) else None,
    }

"""Recording: the one place where spans and metrics are handed to recorders, as safe facts only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol, Self

from idetic.errors import IdeticError, Refused
from idetic.model import Decision, Receipt
from idetic.telemetry.facts import Facts, Metric, Name, safe


class Recorder(Protocol):
    """Where spans and metrics go: a log, OpenTelemetry, Sentry."""

    def begin(self, operation: str, facts: Facts) -> Any:
        """An operation begins; what is returned comes back when it ends."""
        ...

    def end(
        self, begun: Any, operation: str, facts: Facts, seconds: float, error: BaseException | None
    ) -> None:
        """It ended, well or with an error whose text may hold content."""
        ...

    def metric(self, metric: Metric, value: float, facts: Facts) -> None:
        """One measurement."""
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
        outcome = outcome_of(error)
        self._facts |= safe({"outcome": outcome})
        for each, begun in reversed(self._begun):
            each.end(begun, self._operation, dict(self._facts), seconds, error)
        few = _few(self._facts)
        _metric(Metric.OPERATIONS, seconds, {**few, "operation": self._operation})
        if isinstance(error, Refused) and "receipt" not in error.detail:
            # What has a receipt was counted with it.
            _metric(Metric.REJECTIONS, 1, {**few, "reason": str(outcome)})


_NO_SPAN = _NoSpan()


def span(operation: str | None, **given: Any) -> _NoSpan:
    """`with span("recall", scope=scope) as told`: an operation and its facts; None is none."""
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


def count_receipts(agent: str, receipts: Sequence[Receipt]) -> None:
    """Count what was decided about writes, and what was refused."""
    if not _Where.recorders:
        return
    for decision in Decision:
        if found := sum(one.decision is decision for one in receipts):
            measure(Metric.WRITES, found, agent=Name(agent), decision=decision)
    for one in receipts:
        if one.decision is Decision.REJECT:
            measure(Metric.REJECTIONS, agent=Name(agent), reason=Name(one.reason))


def receipt_facts(answer: Any) -> dict[str, Any]:
    """The facts of an answer's receipts: how many; of a single one, its ids and its similarity."""
    answers = answer if isinstance(answer, list) else [answer]
    receipts = [one for one in answers if isinstance(one, Receipt)]
    if len(receipts) != 1:
        return {"receipts": len(receipts)} if receipts else {}
    (one,) = receipts
    similarity = one.detail.get("similarity")
    return {
        "decision": one.decision,
        "position": one.position,
        "receipt": one.id,
        "entry": one.entry_id,
        "replayed": one.replayed,
        "similarity": similarity if isinstance(similarity, int | float) else None,
    }

"""The one place where anything is recorded. Recorders get safe facts and nothing else."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Protocol, Self

from idetic.errors import IdeticError, Refused
from idetic.telemetry.facts import Fact, Name, safe
from idetic.telemetry.metrics import Metric

Facts = dict[str, Fact]


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


class Span:
    """One operation, from entering the block to leaving it."""

    __slots__ = ("_begun", "_facts", "_operation", "_started")

    def __init__(self, operation: str, given: dict[str, Any]):
        self._operation = operation
        self._facts = safe(given)

    def tell(self, **given: Any) -> None:
        """Add facts that are known by now."""
        self._facts |= safe(given)

    def __enter__(self) -> Self:
        self._begun = [
            (each, each.begin(self._operation, self._facts)) for each in _Where.recorders
        ]
        self._started = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._started
        outcome = outcome_of(error)
        self._facts |= safe({"outcome": outcome})
        for each, begun in reversed(self._begun):
            each.end(begun, self._operation, dict(self._facts), seconds, error)
        few = _few(self._facts)
        _metric(Metric.OPERATIONS, seconds, {**few, "operation": self._operation})
        if isinstance(error, Refused):
            _metric(Metric.REJECTIONS, 1, {**few, "reason": str(outcome)})


class _Nothing:
    """The span of a process in which nobody listens."""

    __slots__ = ()

    def tell(self, **given: Any) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing."""


_NOTHING = _Nothing()


def span(operation: str, **given: Any) -> Span | _Nothing:
    """`with span("recall", scope=scope) as told`: an operation and its facts."""
    return Span(operation, given) if _Where.recorders else _NOTHING


def finished(operation: str, seconds: float, error: BaseException | None, **given: Any) -> None:
    """An operation that was timed elsewhere."""
    if not _Where.recorders:
        return
    facts = safe({**given, "outcome": outcome_of(error)})
    for each in _Where.recorders:
        each.end(each.begin(operation, facts), operation, facts, seconds, error)
    _metric(Metric.OPERATIONS, seconds, {**_few(facts), "operation": operation})


def count(metric: Metric, value: int = 1, **given: Any) -> None:
    """Add to a counter."""
    if _Where.recorders:
        _metric(metric, value, safe(given))


def gauge(metric: Metric, value: float, **given: Any) -> None:
    """Say how much there is now."""
    if _Where.recorders:
        _metric(metric, value, safe(given))


def _few(facts: Facts) -> Facts:
    """What a metric is split by: a value for each anchor would be a series for each."""
    return {key: value for key, value in facts.items() if key in ("agent", "outcome", "task")}


def _metric(metric: Metric, value: float, facts: Facts) -> None:
    for each in _Where.recorders:
        each.metric(metric, value, facts)


def outcome_of(error: BaseException | None) -> Name:
    """How an operation ended, in one word: never an error's message."""
    if error is None:
        return Name("ok")
    return Name(error.code if isinstance(error, IdeticError) else type(error).__name__)

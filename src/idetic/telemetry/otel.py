"""Spans and metrics for OpenTelemetry, under `gen_ai.memory.*`. Needs the extra `otel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from idetic.errors import IdeticError
from idetic.telemetry.metrics import Metric, Shape
from idetic.telemetry.record import Facts, outcome_of

PREFIX = "gen_ai.memory."
NAME = "idetic"


class OpenTelemetry:
    """A recorder for the providers that the application has set up, or for those given."""

    def __init__(self, tracer: Tracer | None = None, meter: Meter | None = None):
        self._tracer = tracer or trace.get_tracer(NAME)
        made = meter or metrics.get_meter(NAME)
        makers: dict[Shape, Callable[[str, str, str], Any]] = {
            Shape.COUNTER: made.create_counter,
            Shape.HISTOGRAM: made.create_histogram,
            Shape.GAUGE: made.create_gauge,
        }
        self._instruments: dict[Metric, Any] = {
            each: makers[each.shape](each.title, each.unit, each.meaning) for each in Metric
        }

    def begin(self, operation: str, facts: Facts) -> tuple[Span, Any]:
        """A span that is the current one until it ends, so that others nest within it."""
        span = self._tracer.start_span(
            f"{PREFIX}{operation}", kind=SpanKind.INTERNAL, attributes=_attributes(facts)
        )
        return span, context.attach(trace.set_span_in_context(span))

    def end(
        self,
        begun: tuple[Span, Any],
        operation: str,
        facts: Facts,
        seconds: float,
        error: BaseException | None,
    ) -> None:
        """The span's last facts. No exception is recorded: its text could hold content."""
        span, token = begun
        span.set_attributes(_attributes(facts))
        if error is not None:
            span.set_attribute("error.type", str(outcome_of(error)))
            if not isinstance(error, IdeticError):
                span.set_status(Status(StatusCode.ERROR))
        context.detach(token)
        span.end()

    def metric(self, metric: Metric, value: float, facts: Facts) -> None:
        """One measurement."""
        instrument, attributes = self._instruments[metric], _attributes(facts)
        if metric.shape is Shape.COUNTER:
            instrument.add(value, attributes)
        elif metric.shape is Shape.HISTOGRAM:
            instrument.record(value, attributes)
        else:
            instrument.set(value, attributes)


def _attributes(facts: Facts) -> dict[str, str | int | float | bool]:
    return {f"{PREFIX}{key}": value for key, value in facts.items()}

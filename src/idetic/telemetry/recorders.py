"""The recorders (a log, OpenTelemetry, Sentry) and the set-up that says which are used."""

# The backends are imported when they are asked for: the core runs without any of them.
# ruff: noqa: PLC0415
from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO, cast

from idetic.errors import IdeticError, InputError
from idetic.telemetry.record import (
    PREFIX,
    REJECTED,
    Facts,
    Metric,
    Recorder,
    Shape,
    outcome_of,
    use,
)

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Span, Tracer
    from sentry_sdk.types import Event, Hint

LOGGER = "idetic.memory"
LEVELS = ("debug", "info", "warning", "error")
REMOVED = "(removed)"
REFUSAL = f"memory.{REJECTED}"
# What an event of Sentry may keep: where and what kind, never what was said.
_KEPT = frozenset(
    "event_id timestamp level platform release environment server_name sdk tags exception".split()
)
_FRAME = ("filename", "abs_path", "function", "module", "lineno", "in_app")


class Logs(Recorder):
    """A recorder that logs through the standard library's `idetic.memory`, as JSON.

    What ends well is a matter for DEBUG, an error of ours for INFO, a refused write for a WARNING
    of its own, anything unforeseen for ERROR: where the lines go and which of them are kept is the
    application's own logging configuration.
    """

    def __init__(self, logger: logging.Logger | None = None):
        import structlog

        self._log = structlog.wrap_logger(
            logger or logging.getLogger(LOGGER),
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.stdlib.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(sort_keys=True),
            ],
        )

    def end(
        self, begun: Any, operation: str, facts: Facts, seconds: float, error: BaseException | None
    ) -> None:
        """One line for the operation, with the code or the type of its error alone."""
        level = logging.DEBUG
        if error is not None:
            level = logging.INFO if isinstance(error, IdeticError) else logging.ERROR
        self._log.log(level, f"memory.{operation}", seconds=round(seconds, 6), **facts)

    def metric(self, metric: Metric, value: float, facts: Facts) -> None:
        """One line for the measurement; durations are in their operation's line already."""
        if metric is not Metric.OPERATIONS:
            self._log.log(logging.DEBUG, metric.title, value=value, **facts)

    def rejected(self, facts: Facts) -> None:
        """One line, as a warning."""
        self._log.log(logging.WARNING, REFUSAL, **facts)


def to_stream(level: int, stream: TextIO) -> Logs:
    """Log to a stream, for a process that configures no logging of its own."""
    logger = logging.getLogger(LOGGER)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False
    return Logs(logger)


class OpenTelemetry:
    """A recorder for the providers that the application has set up, or for those given."""

    def __init__(self, tracer: Tracer | None = None, meter: Meter | None = None):
        from opentelemetry import metrics, trace

        self._tracer = tracer or trace.get_tracer("idetic")
        made = meter or metrics.get_meter("idetic")
        makers: dict[Shape, Callable[[str, str, str], Any]] = {
            Shape.COUNTER: made.create_counter,
            Shape.HISTOGRAM: made.create_histogram,
            Shape.GAUGE: made.create_gauge,
        }
        self._instruments: dict[Metric, Any] = {
            each: makers[each.shape](each.title, each.unit, each.meaning) for each in Metric
        }

    def begin(self, operation: str, facts: Facts) -> tuple[Span, Any]:
        """Start a span that is the current one until it ends, so that others nest within it."""
        from opentelemetry import context, trace

        span = self._tracer.start_span(f"{PREFIX}{operation}", attributes=_attributes(facts))
        return span, context.attach(trace.set_span_in_context(span))

    def end(
        self,
        begun: tuple[Span, Any],
        operation: str,
        facts: Facts,
        seconds: float,
        error: BaseException | None,
    ) -> None:
        """End the span. No exception is recorded: its text could hold content."""
        from opentelemetry import context
        from opentelemetry.trace import Status, StatusCode

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
        verb = {Shape.COUNTER: "add", Shape.HISTOGRAM: "record", Shape.GAUGE: "set"}[metric.shape]
        getattr(self._instruments[metric], verb)(value, _attributes(facts))

    def rejected(self, facts: Facts) -> None:
        """An event on the span of the operation that is under way."""
        from opentelemetry import trace

        trace.get_current_span().add_event(f"{PREFIX}{REJECTED}", _attributes(facts))


def _attributes(facts: Facts) -> Facts:
    """The facts as a span's attributes, under our prefix, so that they are nobody else's."""
    return {f"{PREFIX}{key}": value for key, value in facts.items()}


class Sentry(Recorder):
    """A recorder that reports faults and records no metric. An error of ours is no fault.

    It reports refused writes too, as warnings: somebody tried to write what memory must not hold.
    """

    def end(
        self, begun: Any, operation: str, facts: Facts, seconds: float, error: BaseException | None
    ) -> None:
        """Report an unforeseen error, tagged with the operation's facts."""
        import sentry_sdk

        if isinstance(error, Exception) and not isinstance(error, IdeticError):
            with sentry_sdk.new_scope() as scope:
                for key, value in {"operation": operation, **facts}.items():
                    scope.set_tag(key, value)
                scope.capture_exception(error)

    def rejected(self, facts: Facts) -> None:
        """A warning, by its reason, tagged with the facts."""
        import sentry_sdk

        with sentry_sdk.new_scope() as scope:
            for key, value in facts.items():
                scope.set_tag(key, value)
            scope.capture_message(REFUSAL, level="warning")


def start_sentry(dsn: str, **options: Any) -> Sentry:
    """Set Sentry up for this process, scrubbed, and give its recorder."""
    import sentry_sdk

    sentry_sdk.init(
        dsn=dsn,
        before_send=scrub,
        before_breadcrumb=lambda crumb, hint: None,
        before_send_transaction=lambda event, hint: None,
        include_local_variables=False,
        include_source_context=False,
        max_breadcrumbs=0,
        **options,
    )
    return Sentry()


def scrub(event: Event, hint: Hint) -> Event | None:
    """An event with nothing left in it that somebody may have written."""
    kept: dict[str, Any] = {key: value for key, value in event.items() if key in _KEPT}
    values = (kept.get("exception") or {}).get("values") or ()
    kept["exception"] = {"values": [_exception(each) for each in values]}
    if event.get("message") == REFUSAL:
        # Words of ours, and the only ones.
        kept["message"] = REFUSAL
    return cast("Event", kept)


def _exception(exception: Mapping[str, Any]) -> dict[str, Any]:
    """The kind of an error and where it was raised. A driver's message may hold a whole note."""
    made = {"type": exception.get("type"), "module": exception.get("module"), "value": REMOVED}
    frames = (exception.get("stacktrace") or {}).get("frames") or ()
    places = [{key: frame[key] for key in _FRAME if key in frame} for frame in frames]
    return {**made, "stacktrace": {"frames": places}}


def configure(
    *, logs: str | None = None, otel: bool = False, sentry_dsn: str | None = None
) -> None:
    """Record to a log at a level ("debug", …), to OpenTelemetry, to Sentry; to none by default.

    `logs` writes JSON lines to stderr. An application with logging of its own passes recorders to
    `use` instead: `use(Logs())` logs through its `idetic.memory` logger.
    """
    recorders: list[Recorder] = []
    if logs is not None:
        if logs not in LEVELS:
            raise InputError(f"The level of the logs must be one of {', '.join(LEVELS)}.")
        recorders.append(to_stream(getattr(logging, logs.upper()), sys.stderr))
    if otel:
        recorders.append(_installed(OpenTelemetry, "OpenTelemetry", "otel"))
    if sentry_dsn is not None:
        recorders.append(_installed(lambda: start_sentry(sentry_dsn), "Sentry", "sentry"))
    use(*recorders)


def _installed(make: Callable[[], Recorder], what: str, extra: str) -> Recorder:
    """Make a recorder; without its package or with a bad DSN, say what to do."""
    try:
        return make()
    except ModuleNotFoundError:
        raise InputError(
            f"{what} is not installed.", remedy=f"Install the extra: `pip install idetic[{extra}]`."
        ) from None
    except ValueError:
        raise InputError(f"The DSN of {what} cannot be read.") from None

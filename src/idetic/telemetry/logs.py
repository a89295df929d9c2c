"""Spans and metrics as log lines, with structlog."""

from __future__ import annotations

import logging
from typing import Any, TextIO

import structlog

from idetic.errors import IdeticError
from idetic.telemetry.metrics import Metric
from idetic.telemetry.record import Facts

LOGGER = "idetic.memory"


class Logs:
    """A recorder that logs through the standard library's `idetic.memory`, as JSON.

    What ends well is a matter for DEBUG, a refusal for INFO, anything unforeseen for ERROR: where
    the lines go and which of them are kept is the application's own logging configuration.
    """

    def __init__(self, logger: logging.Logger | None = None):
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

    def begin(self, operation: str, facts: Facts) -> None:
        """Nothing: a line is written when it is over."""

    def end(
        self, begun: Any, operation: str, facts: Facts, seconds: float, error: BaseException | None
    ) -> None:
        """One line for the operation. The error is told by its code or its type alone."""
        level = logging.DEBUG
        if error is not None:
            level = logging.INFO if isinstance(error, IdeticError) else logging.ERROR
        self._log.log(level, f"memory.{operation}", seconds=round(seconds, 6), **facts)

    def metric(self, metric: Metric, value: float, facts: Facts) -> None:
        """One line for the measurement; durations are in their operation's line already."""
        if metric is not Metric.OPERATIONS:
            self._log.log(logging.DEBUG, metric.title, value=value, **facts)


def to_stream(level: int, stream: TextIO) -> Logs:
    """Lines to a stream, for a process that configures no logging of its own."""
    logger = logging.getLogger(LOGGER)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False
    return Logs(logger)

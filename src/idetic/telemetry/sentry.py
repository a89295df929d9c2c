"""Unforeseen errors for Sentry, without anything that could hold content. Extra `sentry`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import sentry_sdk
from sentry_sdk.types import Event, Hint

from idetic.errors import IdeticError
from idetic.telemetry.metrics import Metric
from idetic.telemetry.record import Facts

REMOVED = "(removed)"
# What an event may keep: where and what kind, never what was said.
_KEPT = ("event_id", "timestamp", "level", "platform", "release", "environment", "server_name",
         "sdk", "tags", "exception")  # fmt: skip
_FRAME = ("filename", "abs_path", "function", "module", "lineno", "in_app")


class Sentry:
    """A recorder that reports what is no error of ours: those are answers, not faults."""

    def begin(self, operation: str, facts: Facts) -> None:
        """Nothing to do."""

    def end(
        self, begun: Any, operation: str, facts: Facts, seconds: float, error: BaseException | None
    ) -> None:
        """Report an unforeseen error, tagged with the operation's facts."""
        if isinstance(error, Exception) and not isinstance(error, IdeticError):
            with sentry_sdk.new_scope() as scope:
                scope.set_tag("operation", operation)
                for key, value in facts.items():
                    scope.set_tag(key, value)
                scope.capture_exception(error)

    def metric(self, metric: Metric, value: float, facts: Facts) -> None:
        """Nothing: Sentry is for faults."""


def start(dsn: str, **options: Any) -> Sentry:
    """Set Sentry up for this process, scrubbed, and give its recorder."""
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
    given = cast("Mapping[str, Any]", event)
    kept: dict[str, Any] = {key: given[key] for key in _KEPT if key in given}
    values = (kept.get("exception") or {}).get("values") or ()
    kept["exception"] = {"values": [_exception(each) for each in values]}
    return cast("Event", kept)


def _exception(given: Mapping[str, Any]) -> dict[str, Any]:
    """The kind of an error and where it was raised. A driver's message may hold a whole note."""
    made = {"type": given.get("type"), "module": given.get("module"), "value": REMOVED}
    frames = (given.get("stacktrace") or {}).get("frames") or ()
    places = [{key: frame[key] for key in _FRAME if key in frame} for frame in frames]
    return {**made, "stacktrace": {"frames": places}}

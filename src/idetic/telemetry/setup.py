"""Saying where telemetry goes: by arguments, or by the environment of a command."""

# The backends are imported when they are asked for: the core runs without any of them.
# ruff: noqa: PLC0415
from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping

from idetic.errors import InputError
from idetic.telemetry.record import Recorder, use

LEVELS = ("debug", "info", "warning", "error")


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
            raise InputError(f"The level of the logs is one of {', '.join(LEVELS)}.")
        from idetic.telemetry.logs import to_stream

        recorders.append(to_stream(getattr(logging, logs.upper()), sys.stderr))
    if otel:
        recorders.append(_otel())
    if sentry_dsn is not None:
        recorders.append(_sentry(sentry_dsn))
    use(*recorders)


def configure_from_environment(environment: Mapping[str, str] = os.environ) -> None:
    """IDETIC_LOG (a level), IDETIC_OTEL (1), SENTRY_DSN: what a command is started with."""
    logs, dsn = environment.get("IDETIC_LOG"), environment.get("SENTRY_DSN")
    otel = environment.get("IDETIC_OTEL", "0") not in ("", "0")
    if logs or dsn or otel:
        configure(logs=logs or None, otel=otel, sentry_dsn=dsn or None)


def _otel() -> Recorder:
    try:
        from idetic.telemetry.otel import OpenTelemetry
    except ModuleNotFoundError:
        raise _missing("OpenTelemetry", "otel") from None
    return OpenTelemetry()


def _sentry(dsn: str) -> Recorder:
    try:
        from idetic.telemetry.sentry import start
    except ModuleNotFoundError:
        raise _missing("Sentry", "sentry") from None
    try:
        return start(dsn)
    except ValueError:
        raise InputError("The DSN of Sentry cannot be read.") from None


def _missing(what: str, extra: str) -> InputError:
    return InputError(
        f"{what} is not installed.", remedy=f"Install the extra: `pip install idetic[{extra}]`."
    )

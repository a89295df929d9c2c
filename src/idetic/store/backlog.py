"""Jobs as those see them whose memory they are for: what, since when, how often, why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class JobState(StrEnum):
    """Where a job stands; one that is done is gone."""

    WAITING = "waiting"
    RUNNING = "running"
    FAILED = "failed"


# What the queue calls it.
STATUS = {JobState.WAITING: "todo", JobState.RUNNING: "doing", JobState.FAILED: "failed"}


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a scope.

    `since` is when it was enqueued or first due, when it began to run, or when it failed for good.
    `about` are the ids that it was given beside its anchor, by name: UUIDs and nothing else, so
    that no text comes to be shown that somebody put into the queue.
    """

    id: int
    task: str
    state: JobState
    since: datetime | None
    attempts: int
    error: str | None = None
    reason: str | None = None
    anchor: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskBacklog:
    """What the queue holds of one task."""

    task: str
    waiting: int
    running: int
    failed: int
    oldest_seconds: float | None
    last_error: str | None
    last_reason: str | None

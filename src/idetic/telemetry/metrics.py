"""The metrics by name, each with its unit and meaning. docs/reference/metrics.md lists them."""

from __future__ import annotations

from enum import Enum, StrEnum


class Shape(StrEnum):
    """How a metric adds up."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


class Metric(Enum):
    """Name, shape, unit, meaning."""

    OPERATIONS = (
        "gen_ai.memory.operation.duration", Shape.HISTOGRAM, "s",
        "How long an operation took; a recall's is its latency.",
    )  # fmt: skip
    WRITES = (
        "gen_ai.memory.writes", Shape.COUNTER, "{decision}",
        "What the gateway decided about writes.",
    )  # fmt: skip
    REJECTIONS = (
        "gen_ai.memory.guard.rejections", Shape.COUNTER, "{rejection}",
        "What the shadow guard, a gate, the write policy or a missing capability refused.",
    )  # fmt: skip
    PROMOTIONS = (
        "gen_ai.memory.promotions", Shape.COUNTER, "{entry}",
        "Entries that moved up: proposed, promoted, meta-promoted.",
    )  # fmt: skip
    CACHE_LOOKUPS = (
        "gen_ai.memory.cache.lookups", Shape.COUNTER, "{lookup}",
        "Look-ups in a cache, and whether they hit.",
    )  # fmt: skip
    BACKLOG_AGE = (
        "gen_ai.memory.backlog.age", Shape.GAUGE, "s",
        "How long the oldest job of a task has waited.",
    )  # fmt: skip
    BACKLOG_JOBS = (
        "gen_ai.memory.backlog.jobs", Shape.GAUGE, "{job}", "How many jobs of a task wait.",
    )  # fmt: skip

    @property
    def title(self) -> str:
        """The metric's name, as OpenTelemetry knows it."""
        return self.value[0]

    @property
    def shape(self) -> Shape:
        """How it adds up."""
        return self.value[1]

    @property
    def unit(self) -> str:
        """Its unit, in UCUM."""
        return self.value[2]

    @property
    def meaning(self) -> str:
        """What it says."""
        return self.value[3]

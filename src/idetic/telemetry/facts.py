"""The facts that may leave the process: the metrics by name, and the one filter for the rest."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sized
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

from idetic.model import Scope

PREFIX = "gen_ai.memory."
Fact = str | int | float | bool
Facts = dict[str, Fact]
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}\Z")


class Name(str):
    """A word that our own code chose: an operation, a task, an error's code. No user's text."""

    __slots__ = ()


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
        "Entries that moved up: proposed, promoted, meta-promoted.",
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
    """The facts that may leave the process. A text leaves as its length, whoever passed it."""
    told: Facts = {}
    for key, value in given.items():
        if isinstance(value, bool | int) and not isinstance(value, Enum):
            told[key] = value
        elif isinstance(value, float):
            told[key] = round(value, 6) if math.isfinite(value) else 0.0
        elif isinstance(value, UUID):
            told[key] = str(value)
        elif isinstance(value, Enum):
            told[key] = str(value.value)
        elif isinstance(value, Name) and _WORD.match(value):
            told[key] = str(value)
        elif isinstance(value, Scope):
            told |= scope_facts(value)
        elif isinstance(value, str | bytes):
            told[f"{key}_length"] = len(value)
        elif isinstance(value, Sized):
            told[f"{key}_count"] = len(value)
    return told


def scope_facts(scope: Scope) -> Facts:
    """Who and where, without a name: an anchor key may be somebody's address."""
    values = "\x1f".join(str(value) for value in scope.anchor.values())
    digest = hashlib.sha256(f"{scope.agent}\x1f{values}".encode()).hexdigest()
    return {"agent": scope.agent, "anchor": digest[:16], "principal": scope.principal.kind.value}

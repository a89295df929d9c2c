"""What memory does, told to whoever runs it: spans, counts and gauges; ids, lengths and
similarities. Never a text: what is not a number, an id or a word of our own leaves as its length.

Nothing is recorded until somebody says where to: `use(…)`, or `configure()`. Until then a call here
costs a look at an empty tuple.
"""

from __future__ import annotations

from idetic.telemetry.facts import Name
from idetic.telemetry.metrics import Metric
from idetic.telemetry.record import count, finished, gauge, recording, span, use
from idetic.telemetry.setup import configure, configure_from_environment
from idetic.telemetry.tracing import traced

__all__ = [
    "Metric",
    "Name",
    "configure",
    "configure_from_environment",
    "count",
    "finished",
    "gauge",
    "recording",
    "span",
    "traced",
    "use",
]

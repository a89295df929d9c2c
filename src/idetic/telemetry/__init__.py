"""What memory does, told to whoever runs it: spans, counts and gauges; ids, lengths and
similarities. Never a text: what is not a number, an id or a word of our own leaves as its length.

Nothing is recorded until somebody says where to: `use(…)`, or `configure()`. Until then a call here
costs a look at an empty tuple.
"""

from idetic.telemetry.facts import Metric, Name
from idetic.telemetry.record import finished, measure, recording, span, traced, use
from idetic.telemetry.recorders import configure, configure_from_environment

__all__ = [
    "Metric",
    "Name",
    "configure",
    "configure_from_environment",
    "finished",
    "measure",
    "recording",
    "span",
    "traced",
    "use",
]

"""Telemetry: spans, counters and gauges about what memory does, for whoever runs it.

Facts are ids, numbers, and words of our own. A text is never one: it leaves as its length. Nothing
is recorded until `use(…)` or `configure()` names a recorder; until then a call here costs a look at
an empty tuple.
"""

from idetic.telemetry.record import (
    Metric,
    Name,
    count_receipts,
    finished,
    measure,
    receipt_facts,
    recording,
    span,
    use,
)
from idetic.telemetry.recorders import configure

__all__ = [
    "Metric",
    "Name",
    "configure",
    "count_receipts",
    "finished",
    "measure",
    "receipt_facts",
    "recording",
    "span",
    "use",
]

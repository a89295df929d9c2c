"""T12, shadow: what a threshold of the guard's measure means, on public pairs of sentences.

MRPC (same meaning or not) and STS-B test (4.8 of 5 and more the same, up to 4 not), compared by
the database's own pg_trgm. The guard is after copies, not paraphrases: what it should have is
precision, and recall says how much rewording it takes to pass it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from bench.common import report
from bench.dedup import Pairs, mrpc, stsb
from bench.place import bench_server

THRESHOLDS = [0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95]
CONTRACT = 0.85
FLOOR = 100
# As the trigger compares, and as it is asked whether one stands inside the other.
_MEASURES = """
SELECT p.n, similarity(p.one, p.two),
       greatest(word_similarity(p.one, p.two), word_similarity(p.two, p.one))
FROM pairs p ORDER BY p.n
"""


def measured(connection: psycopg.Connection[Any], pairs: Pairs) -> list[tuple[float, float]]:
    """Similarity and word similarity of every pair."""
    connection.execute("DROP TABLE IF EXISTS pairs")
    connection.execute("CREATE TEMP TABLE pairs (n integer, one text, two text)")
    with connection.cursor() as cursor, cursor.copy("COPY pairs FROM STDIN") as copy:
        for number, (_, one, two) in enumerate(pairs):
            copy.write_row((number, one, two))
    return [(row[1], row[2]) for row in connection.execute(_MEASURES).fetchall()]


def figures(
    name: str, pairs: Pairs, found: Sequence[tuple[float, float]]
) -> Iterator[dict[str, Any]]:
    """Precision and recall of both measures at every threshold."""
    same = [one for one, _, _ in pairs]
    long = [len(one) >= FLOOR for _, one, _ in pairs]
    for column, measure in enumerate(("similarity", "word similarity")):
        for threshold in THRESHOLDS:
            said = [values[column] > threshold for values in found]
            row = {"set": name, "measure": measure, "above": threshold, **_scored(same, said)}
            floored = [s and enough for s, enough in zip(said, long, strict=True)]
            told = _scored(same, floored)
            row |= {f"{FLOOR}+: {key}": told[key] for key in ("said same", "precision", "recall")}
            yield row


def _scored(same: Sequence[bool], said: Sequence[bool]) -> dict[str, Any]:
    right = sum(s and t for s, t in zip(same, said, strict=True))
    return {
        "said same": sum(said),
        "precision": round(right / sum(said), 4) if any(said) else None,
        "recall": round(right / sum(same), 4),
    }


def main() -> int:
    """Measure and report."""
    sets = {"MRPC train": mrpc("train"), "MRPC test": mrpc("test"), "STS-B test": stsb()}
    rows: list[dict[str, Any]] = []
    with bench_server() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        version = connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = 'pg_trgm'"
        ).fetchone()
        for name, pairs in sets.items():
            rows += figures(name, pairs, measured(connection, pairs))
    meta = {
        "pairs": ", ".join(
            f"{name} {len(pairs)} ({sum(same for same, _, _ in pairs)} same)"
            for name, pairs in sets.items()
        ),
        "contract": f"above {CONTRACT}, from {FLOOR} characters on",
        "pg_trgm": version[0] if version else "unknown",
    }
    report("shadow", rows, meta)
    return 0


if __name__ == "__main__":
    sys.exit(main())

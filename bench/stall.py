"""The stall attack: one key sends the worst batches we know; how long another tenant waits.

The server is a process of its own, as `idetic serve` starts it. The other tenant recalls in turn:
first in the quiet, then while four batches at a time are on their way. At most three times the
quiet p95 is what we promise.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import anyio
import httpx

from bench.common import report
from bench.http import NOTE, QUESTION, _tenant
from bench.place import bench_server, percentile, served
from idetic import Idetic, Observation

BOUND = 3.0
AT_ONCE = 4
# Each was slow once: digits that many recognisers look at, words that nearly are a secret, decor.
WORST = {
    "ones": "1 1 1 1 ",
    "dashes": "4-4-4-4-",
    "assignments": "key=key=key=",
    "spaces": "a          ",
}


async def main(calls: int, notes: int, length: int) -> None:
    """Measure and report."""
    rows: list[dict[str, Any]] = []
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            memory, key = await _tenant(db)
            _, attacker = await _tenant(db)
            async with memory.session() as session:
                await session.observe_many([Observation(f"{n}: {NOTE}") for n in range(500)])
            with served(server.home) as address:
                async with _client(address, key) as other, _client(address, attacker) as one:
                    await _recalls(other, 10)
                    quiet = await _recalls(other, calls)
                    rows.append(_row("quiet", quiet, quiet))
                    for name, unit in WORST.items():
                        text = (unit * (length // len(unit) + 1))[:length]
                        rows.append(
                            _row(name, await _attacked(one, other, text, notes, calls), quiet)
                        )
    unit = "ms that the other tenant waits for a recall"
    report("stall", rows, {"unit": unit, "notes a batch": notes, "characters a note": length})
    if max(row["times quiet"] for row in rows) > BOUND:
        raise SystemExit(f"Another tenant waited more than {BOUND:.0f} times as long.")


def _client(address: str, key: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=address, headers=headers, timeout=300)


async def _recalls(http: httpx.AsyncClient, calls: int) -> list[float]:
    """The milliseconds of recalls, one after the other."""
    waited = []
    for _ in range(calls):
        begun = time.perf_counter()
        (await http.post("/v1/recall", json={"query": QUESTION})).raise_for_status()
        waited.append((time.perf_counter() - begun) * 1000)
    return waited


async def _attacked(
    one: httpx.AsyncClient, other: httpx.AsyncClient, text: str, notes: int, calls: int
) -> list[float]:
    """The other tenant's recalls while batches keep coming."""
    opened = (await one.post("/v1/sessions", json={})).raise_for_status().json()["id"]
    batch = {"observations": [{"text": f"{n} {text}"} for n in range(notes)], "session_id": opened}
    # Encoded once: this process measures, and would else wait for itself.
    body, head = json.dumps(batch).encode(), {"Content-Type": "application/json"}

    async def send() -> None:
        while True:
            answer = await one.post("/v1/observations/batch", content=body, headers=head)
            # What is refused was read all the same.
            assert answer.status_code in (200, 422, 503), answer.text

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(send)
        await anyio.sleep(0.5)
        waited = await _recalls(other, calls)
        group.cancel_scope.cancel()
    return waited


def _row(name: str, waited: list[float], quiet: list[float]) -> dict[str, Any]:
    p95 = percentile(waited, 0.95)
    return {
        "while": name,
        "p50": round(percentile(waited, 0.5), 1),
        "p95": round(p95, 1),
        "max": round(max(waited), 1),
        "times quiet": round(p95 / percentile(quiet, 0.95), 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--length", type=int, default=1_500)
    given = parser.parse_args()
    anyio.run(main, given.calls, given.notes, given.length)

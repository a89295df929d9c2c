"""The stall attack: one key sends the worst batches we know; how long another tenant waits.

The server is a process of its own, as `idetic serve` starts it. The other tenant recalls in turn:
in the quiet, while four batches at a time are on their way, and in the quiet again. The attacks
take turns for several rounds, so that a slow moment of the machine falls on both sides. At most
three times the quiet p95 is what we promise.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, field
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
# Bodies that are refused, and once were read for a minute before.
REFUSED = {
    "empty objects": b'{"observations":[' + b"{}," * 1_300_000 + b"{}]}",
    "unknown members": b'{"observations":[{"text":"a"'
    + b"".join(b',"member%d":1' % number for number in range(9_000))
    + b"}]}",
}


@dataclass
class Waits:
    """The milliseconds that the other tenant waited, in the quiet around an attack and in it."""

    quiet: list[float] = field(default_factory=list)
    attacked: list[float] = field(default_factory=list)

    def row(self, name: str) -> dict[str, Any]:
        """A line of the table."""
        quiet, attacked = (percentile(found, 0.95) for found in (self.quiet, self.attacked))
        return {
            "while": name,
            "quiet p50": round(percentile(self.quiet, 0.5), 1),
            "quiet p95": round(quiet, 1),
            "p50": round(percentile(self.attacked, 0.5), 1),
            "p95": round(attacked, 1),
            "max": round(max(self.attacked), 1),
            "times quiet": round(attacked / quiet, 2),
        }


async def main(rounds: int, calls: int, notes: int, length: int) -> None:
    """Measure and report."""
    waits = {name: Waits() for name in (*WORST, *REFUSED)}
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            memory, key = await _tenant(db)
            _, attacker = await _tenant(db)
            async with memory.session() as session:
                await session.observe_many([Observation(f"{n}: {NOTE}") for n in range(500)])
            with served(server.home) as address:
                async with _client(address, key) as other, _client(address, attacker) as one:
                    await _recalls(other, 10)
                    for _ in range(rounds):
                        for name, found in waits.items():
                            body = REFUSED.get(name) or await _batch(one, name, notes, length)
                            found.quiet += await _recalls(other, calls // 2)
                            found.attacked += await _attacked(one, other, body, calls)
                            found.quiet += await _recalls(other, calls // 2)
    rows = [found.row(name) for name, found in waits.items()]
    report(
        "stall",
        rows,
        {
            "unit": "ms that the other tenant waits for a recall",
            "rounds": rounds,
            "recalls per round, quiet and attacked each": calls,
            "notes a batch": notes,
            "characters a note": length,
            "load of the machine at the end": round(os.getloadavg()[0], 1),
        },
    )
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


async def _batch(one: httpx.AsyncClient, name: str, notes: int, length: int) -> bytes:
    """A batch of such notes. Encoded once: this process measures, and would wait for itself."""
    unit = WORST[name]
    opened = (await one.post("/v1/sessions", json={})).raise_for_status().json()["id"]
    text = (unit * (length // len(unit) + 1))[:length]
    told = [{"text": f"{n} {text}"} for n in range(notes)]
    return json.dumps({"observations": told, "session_id": opened}).encode()


async def _attacked(
    one: httpx.AsyncClient, other: httpx.AsyncClient, body: bytes, calls: int
) -> list[float]:
    """The other tenant's recalls while batches keep coming; it ends when the last is answered."""
    ended = False
    head = {"Content-Type": "application/json"}

    async def send() -> None:
        while not ended:
            answer = await one.post("/v1/observations/batch", content=body, headers=head)
            # What is refused was read all the same.
            assert answer.status_code in (200, 413, 422, 503), answer.text

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(send)
        await anyio.sleep(0.5)
        waited = await _recalls(other, calls)
        ended = True
    return waited


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.stall")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--length", type=int, default=1_500)
    given = parser.parse_args()
    anyio.run(main, given.rounds, given.calls, given.notes, given.length)

"""The promise at size: export, import, export is equal to the byte.

A thousand entries in the ordinary run, ten thousand with `make moving`.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pytest

from idetic import Claim, Idetic, Observation, Principal, Rule
from tests.conftest import TestDatabase, World
from tests.support.databases import copy_of
from tests.support.moving import copy_canon, rows_of
from tests.support.servers import TestServer
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio

T = TypeVar("T")
COUNT = int(os.environ.get("IDETIC_MOVED", "1000"))


async def history(world: World, count: int) -> None:
    """Nine of ten entries are episodes of sessions; of the rest, half replaced another one."""
    for part in range(3):
        session = await world.memory.session().open()
        many = [
            Observation(
                f"Episode {part}-{n}: the check of wire {n * 37 % 1009} took {n % 91} minutes.",
                envelope={"topic": f"payments/wire/{n % 7}", "tags": [f"t{n % 13}", "wire"]},
                refs=(Rule(world.rule.id),) if n % 10 == 0 else (),
                claim=Claim(f"wire {n}", "took", str(n % 91)) if n % 3 == 0 else None,
                idempotency_key=f"{part}-{n}" if n % 5 == 0 else None,
            )
            for n in range(count * 3 // 10)
        ]
        await session.observe_many(many)
    operator, stated = world.operator, []
    for n in range(count // 10):
        claim = Claim(f"step {n // 2}", "done", f"way {n}")
        made = await operator.prefer(f"Do step {n // 2} in way {n}.", claim=claim)
        assert made.entry_id
        stated.append(made.entry_id)
    for n, entry_id in enumerate(stated[1::2]):
        if n % 3 == 0:
            await operator.archive(entry_id, reason=f"reason {n}")
        elif n % 3 == 1:
            await operator.link_action(uuid4(), "override_triage", [entry_id])
        else:
            await vouch(operator, entry_id, notes=f"Note {n}.")


async def test_many_entries_with_history_are_equal_to_the_byte(
    world: World, database: TestDatabase, server: TestServer, template: str, tmp_path: Path
) -> None:
    await history(world, COUNT)
    took = {}
    with copy_of(server, template) as target:
        copy_canon(database, target)
        async with Idetic.open(target.dsn, admin_dsn=target.admin_dsn) as db:
            there = (await db.agent("world_agent")).bind(
                org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
            )

            async def timed(name: str, step: Awaitable[T]) -> T:
                started = time.perf_counter()
                done = await step
                took[name] = round(time.perf_counter() - started, 2)
                return done

            await timed("export", world.operator.export_to(tmp_path / "a.jsonl"))
            await timed("import", there.import_from(tmp_path / "a.jsonl"))
            done = await timed("export again", there.export_to(tmp_path / "b.jsonl"))
    assert done.entries == COUNT
    digests = {digest_of(tmp_path / name) for name in ("a.jsonl", "b.jsonl")}
    told = {"entries": done.entries, "rows": done.rows, "bytes": done.size, "seconds": took}
    print(json.dumps({**told, "sha256": sorted(digests)}))
    assert len(digests) == 1


def digest_of(path: Path) -> str:
    return hashlib.sha256(b"".join(rows_of(path.read_bytes()))).hexdigest()

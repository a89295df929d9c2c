"""A database of the baseline, as its dump: two agents with a little memory, a closed session.

`make baseline-dump` makes it anew, as long as the tree is the baseline. It is plain SQL with
INSERTs, so that any server of any version takes it without psql. The memory is written under a
fixed clock; its ids are new each time.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from uuid import UUID

import anyio
import psycopg

from idetic import Idetic, Principal
from idetic.context import Worlds
from idetic.persona.events import EventKind
from idetic.persona.identity import Identity
from idetic.store import templates
from idetic.store.embedded import EmbeddedServer
from tests.support import freeze
from tests.support.clock import SettableClock

BASELINE = "0.1.0"
DUMP = Path(__file__).parents[1] / "data" / "baseline.sql.gz"
ORG, DOMAIN = UUID(int=0x0A), UUID(int=0x0B)
TEAM = UUID(int=0x0C)
AGENTS = ("operator_agent", "persona_agent", "world_agent")
RULE = (
    "A wire transfer above ten thousand must be checked by two operators before it is released, "
    "and both checks must be recorded with their time and the operator's name."
)
NOTES = ("The night desk answers slowly.", "Ask before a transfer is released.")
# What psql alone reads, and what only the newest PostgreSQL knows.
_LEFT_OUT = re.compile(
    r"\\(un)?restrict |SET transaction_timeout = |(GRANT|REVOKE) .* ON (FUNCTION|TABLE) pg_catalog"
)


def restore(admin_dsn: str) -> None:
    """Put the baseline into an empty database."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute(templates.read("roles.sql").encode())
        connection.execute(gzip.decompress(DUMP.read_bytes()))


async def remember(db: Idetic) -> None:
    """Write what the dump holds."""
    world_agent = await db.agent("world_agent")
    worlds = Worlds(db)
    world = await worlds.register(ORG, DOMAIN, "Payments")
    rule = await worlds.put_rule(ORG, world, RULE)
    anchor = {"org_id": ORG, "domain_id": DOMAIN}
    memory = world_agent.bind(**anchor, principal=Principal.agent("explorer"))
    async with memory.session() as session:
        await session.observe(NOTES[0], refs=[rule])
    await world_agent.bind(**anchor, principal=Principal.operator("ada")).prefer(NOTES[1])
    desk = await db.persona(Identity("help-desk"), tenant="acme")
    async with desk.loop("a question") as loop:
        await loop.append(EventKind.USER_INPUT, NOTES[0])
    await desk.dream()
    operator_agent = await db.agent("operator_agent")
    keys = {key.name: TEAM for key in operator_agent.spec.anchor.keys}
    await operator_agent.bind(**keys, principal=Principal.operator("ada")).prefer(NOTES[1])


def main() -> None:
    """Make the dump from an embedded server of its own."""
    if freeze.now() != freeze.frozen().get(BASELINE):
        sys.exit(f"The tree is not what {BASELINE} froze, so it cannot make its dump. Only if that "
                 "is not released yet: `make freeze ANEW=1` first.")  # fmt: skip
    home = Path(tempfile.mkdtemp(prefix="idetic-baseline-"))
    home.chmod(0o755)
    try:
        lease = EmbeddedServer.acquire(home)
        anyio.run(_fill, home)
        text = _dumped(home, lease.dsn())
        lease.release()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines = [line for line in text.splitlines() if not _LEFT_OUT.match(line)]
    DUMP.parent.mkdir(exist_ok=True)
    DUMP.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    print(f"{DUMP.name}: {len(lines)} lines, {DUMP.stat().st_size >> 10} KB.", file=sys.stderr)


async def _fill(home: Path) -> None:
    async with Idetic.open(home=home, clock=SettableClock()) as db:
        await remember(db)


def _dumped(home: Path, dsn: str) -> str:
    programs = next(home.glob("postgresql-*"))
    done = subprocess.run(
        [str(programs / "bin" / "pg_dump"), "--inserts", "--no-comments", dsn],
        env={"LD_LIBRARY_PATH": str(programs / "lib")},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main()

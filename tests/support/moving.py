"""Two databases, one of them with an anchor that has a row of every kind in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from idetic import Claim, Idetic, Observation, Principal, Rule
from idetic.evidence import ContradictionStatus, ProposalStatus
from idetic.library.handles import Agent, Memory
from tests.conftest import TestDatabase, World
from tests.support.triggers import without_triggers
from tests.support.voices import vouch

CANON = ("worlds.worlds", "worlds.rules", "worlds.rule_versions")


@dataclass(frozen=True)
class Elsewhere:
    """Another database, which knows the canonical rows and nothing of the memory."""

    database: TestDatabase
    db: Idetic
    agent: Agent

    def bind(self, world: World, principal: Principal | None = None) -> Memory:
        chosen = principal or Principal.operator("ada")
        return self.agent.bind(org_id=world.org_id, domain_id=world.domain_id, principal=chosen)


def copy_canon(source: TestDatabase, target: TestDatabase) -> None:
    """What memory refers to moves with the tools of its own context: here, COPY."""
    with psycopg.connect(source.admin_dsn) as one, psycopg.connect(target.admin_dsn) as other:
        without_triggers(other)
        for table in CANON:
            named = sql.SQL(table)
            with one.cursor().copy(sql.SQL("COPY {} TO STDOUT").format(named)) as out:
                data = b"".join(bytes(part) for part in out)
            into = sql.SQL("COPY {} FROM STDIN").format(named)
            with other.cursor().copy(into) as copied:
                copied.write(data)


async def live(world: World, *, count: int = 3) -> UUID:
    """A life with everything in it: what is left has rows of every kind; gives one entry's id."""
    memory, operator = world.memory, world.operator
    async with memory.session() as session, session.interaction() as turn:
        await turn.observe(
            "The rule on wires left out standing orders.",
            refs=[Rule(world.rule.id)],
            claim=Claim("standing orders", "covered", "no"),
            envelope={"topic": "payments/wire", "tags": ["wire", "order"]},
            provenance={"world_model_version": "v7"},
            idempotency_key="first",
        )
        await turn.observe_many([Observation(f"Step {n} of a long pass.") for n in range(count)])
        await session.observe('Ünïcode \u2028 and "quotes" \\ and \t tabs, 1e16: kept.')
    stated = await operator.prefer(
        "Ask before releasing.", claim=Claim("wire", "release", "ask"), idempotency_key="second"
    )
    await operator.prefer("Never release alone.", claim=Claim("wire", "release", "never alone"))
    kept = await operator.prefer(
        "Sum up in one line.", claim=Claim("summary", "length", "1"), envelope={"activity": 10**16}
    )
    assert kept.entry_id
    assert stated.entry_id
    await operator.link_action(uuid4(), "rule_promotion", [kept.entry_id])
    made = (await operator.propose([kept.entry_id], reason="everywhere")).proposals[0]
    await operator.decide(made.id, ProposalStatus.DECLINED, reason="Too short.")
    done = await vouch(operator, kept.entry_id, notes="Seen it.")
    await vouch(operator, kept.entry_id)
    await operator.undo(done, reason="a mistake")
    found = await operator.contradict(kept.entry_id, Rule(world.rule.id), reason="says otherwise")
    (one,) = await operator.contradictions()
    await operator.resolve(one.id, ContradictionStatus.SURFACED, notes="For Ada.")
    assert found.entry_id
    gone = await operator.prefer("To be archived.", claim=Claim("a", "b", "c"))
    assert gone.entry_id
    await operator.archive(gone.entry_id, reason="no longer wanted")
    await operator.context("How do we release a wire?")
    async with memory.session() as session:
        await session.observe("Left over, with an open session beside it.")
    await memory.session().open()
    await _mark(world)
    return kept.entry_id


async def _mark(world: World) -> None:
    """As a worker does when it has finished with an anchor."""
    rooms = world.agent.engine
    marks = rooms.marks
    scope = world.bind(Principal.maintenance("worker")).scope
    await marks.mark(scope, "embed", await marks.position(scope), rooms.clock.now())


async def exported(memory: Memory, *, vectors: bool = False) -> bytes:
    return b"".join([chunk async for chunk in memory.export(vectors=vectors)])


def rows_of(data: bytes) -> list[bytes]:
    """The rows of an export, but for the link by which an import took them in."""
    lines = data.splitlines(keepends=True)[1:-1]
    return [line for line in lines if b'"transition": "anchor_imported"' not in line]


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def every_row(database: TestDatabase) -> dict[str, int]:
    """How many rows each table of memory has, past every policy; prints are canonical content's."""
    with psycopg.connect(database.admin_dsn) as connection:
        tables = connection.execute(
            """SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'worlds'::regnamespace
               AND c.relkind = 'r' AND c.relname LIKE 'world\\_agent\\_%'
               AND c.relname NOT LIKE '%\\_prints'"""
        ).fetchall()
        found = {}
        for (table,) in tables:
            counted = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("worlds", table))
            row = connection.execute(counted).fetchone()
            found[table] = row[0] if row else -1
    return found

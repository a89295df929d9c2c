"""The nodes of a Citus cluster: whether each has of ours what the coordinator has.

Citus hands most statements on to its nodes, not all of them, and what somebody changes on a worker
the coordinator does not hear of. A query runs on the worker, by its roles, policies and functions.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from psycopg import sql

from idetic.store import templates
from idetic.store.database import Connection, Database
from idetic.store.node_rules import NodeFinding, finding
from idetic.store.pipeline import Rows
from idetic.store.statement import BoundStatement, Statement
from idetic.store.templates import raw

FILE = "queries/nodes.sql"
# Somebody who runs SQL for us: the application's door, or an admin's connection.
Ask = Callable[[str], Awaitable[Rows]]
# An object's kind, its name, and what of it is looked at.
Aspect = tuple[str, str, str]
# The order in which one would mend things: what follows rests on what came before.
_ORDER = ("server", "extension", "role", "schema", "type", "function", "table")
_SAID_AGAIN = ("role", "schema", "function", "table")


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What one node said it has: by aspect, each state with the shard that is in it, if one is."""

    name: str
    coordinator: bool
    said: Mapping[Aspect, tuple[tuple[str, str | None], ...]] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that were asked, and what some of them have otherwise. A plain server has none."""

    names: tuple[str, ...] = ()
    findings: tuple[NodeFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every node should have: what the coordinator's catalog says, but what is its alone."""

    aspects: Mapping[Aspect, str]
    alone: frozenset[str] = field(default_factory=frozenset)

    def differences(self, node: NodeAnswer) -> Iterator[NodeFinding]:
        """What a node lacks, has otherwise, or has besides."""
        said = node.said or {}
        for aspect, state in self.aspects.items():
            kind, name, what = aspect
            if aspect not in said:
                if not (kind == "function" and name in self.alone) and what != "public":
                    yield finding(node.name, kind, name, "missing", state)
                continue
            for found, shard in said[aspect]:
                if found != state and not (what == "public" and found == "closed"):
                    yield finding(node.name, kind, name, what, state, found, shard)
        for kind, name, what in said.keys() - self.aspects.keys():
            if what in ("definition", "attributes"):
                yield finding(node.name, kind, name, "besides", "")


async def look(ask: Ask) -> Nodes:
    """Ask every node what it has, and compare; one question each. Nothing of any tenant is read."""
    ((citus, schemas),) = await ask(templates.query(FILE, "there"))
    if not citus:
        return Nodes()
    said = composed("said", schemas=schemas)
    nodes = [_heard(*row) for row in await ask(composed("ask", said=said))]
    alone = {name for (name,) in await ask(composed("here_alone", schemas=schemas))}
    wanted = _wanted(nodes, alone)
    found = [each for node in nodes for each in _findings(node, wanted)]
    # Where a whole object is missing, each of its aspects would say so.
    return Nodes(tuple(node.name for node in nodes), tuple(dict.fromkeys(found)))


async def mending(ask: Ask, findings: Iterable[NodeFinding]) -> list[str]:
    """What to say on the coordinator, which hands it on, so that every node has it again."""
    wanted = {(each.kind, each.name): set[str]() for each in findings if each.kind in _SAID_AGAIN}
    for each in findings:
        wanted.get((each.kind, each.name), set()).add(each.aspect)
    statements = []
    for (kind, name), aspects in wanted.items():
        rows = await ask(composed(kind, name=name))
        statements += [text for aspect, text in rows if aspects & {aspect, "missing"}]
    return statements


def _heard(name: str, coordinator: bool, answered: bool, result: str) -> NodeAnswer:
    if not answered:
        return NodeAnswer(name, coordinator, None, result.strip().splitlines()[0] if result else "")
    said: dict[Aspect, tuple[tuple[str, str | None], ...]] = {}
    for kind, what, aspect, state, shard in json.loads(result or "null") or []:
        said[kind, what, aspect] = (*said.get((kind, what, aspect), ()), (state, shard))
    return NodeAnswer(name, coordinator, said)


def _wanted(nodes: list[NodeAnswer], alone: set[str]) -> Wanted:
    """The coordinator's tables as its catalog has them, which is where statements are planned."""
    here = next((node.said for node in nodes if node.coordinator and node.said), {})
    aspects = {
        aspect: next(state for state, shard in states if shard is None)
        for aspect, states in here.items()
        if any(shard is None for _, shard in states)
    }
    # Whoever is open to everybody is so against our rule, on the coordinator too.
    closed = {aspect: "closed" for aspect in aspects if aspect[2] == "public"}
    return Wanted(aspects | closed, frozenset(alone))


def _findings(node: NodeAnswer, wanted: Wanted) -> list[NodeFinding]:
    if node.said is None:
        return [finding(node.name, "node", node.name, "silent", "", node.error)]
    return sorted(
        wanted.differences(node), key=lambda each: (_ORDER.index(each.kind), each.name, each.aspect)
    )


def composed(query: str, **values: str | list[str]) -> str:
    """A query with names of the catalog's in it, as literals."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    return raw(templates.query(FILE, query)).format(**literals).as_string(None)


def through(database: Database) -> Ask:
    """As the application: whoever cannot get to a node finds out that way."""

    async def ask(text: str) -> Rows:
        return await database.run_all(None, [BoundStatement(Statement(text), {})])

    return ask


def over(connection: Connection) -> Ask:
    """With an admin's rights."""

    async def ask(text: str) -> Rows:
        cursor = await connection.execute(raw(text))
        return await cursor.fetchall()

    return ask

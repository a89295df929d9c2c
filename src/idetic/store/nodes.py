"""The nodes of a Citus cluster: whether each has of ours what the coordinator has.

Citus hands most statements on to its nodes, not all of them, and what somebody changes on a worker
the coordinator does not hear of. A query runs on the worker, by its roles, policies and functions.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from idetic.store import templates
from idetic.store.database import Connection, Database
from idetic.store.driver import Rows
from idetic.store.templates import BoundStatement, Statement, composed, raw

FILE = "queries/nodes.sql"
# Somebody who runs SQL for us: the application's pool, or an admin's connection.
Ask = Callable[[str], Awaitable[Rows]]
# An object's kind, its name, and what of it is looked at.
Aspect = tuple[str, str, str]
# By aspect, what a node has: each state with the shard that is in it, if one is.
States = Mapping[Aspect, tuple[tuple[str, str | None], ...]]
# The order in which one would mend things: what follows rests on what came before.
_ORDER = ("server", "extension", "role", "schema", "type", "function", "table")
_SAID_AGAIN = ("role", "schema", "function", "table")

_THERE = "on that node, after `SET citus.enable_ddl_propagation = off`."
_AGAIN = "Run `idetic distribute AGENT`, for any agent that is distributed: it is sent again."
_ANSWER = (
    "Start the node, or let in the role that asks: `idetic distribute AGENT` lets ours log in, "
    "and pg_hba.conf of the node has to let the coordinator in as them."
)
_RESTORE = "Restore the node from a backup, or move the shard's group away and back."
_INSTALL = "Install one version on every node; for an extension, then `ALTER EXTENSION … UPDATE`."
_REVOKE = f"{_AGAIN} One too many: REVOKE it {_THERE}"
# By aspect: what is the matter, and the way out of it.
_RULES = {
    "silent": ("It does not answer: {found}.", _ANSWER),
    "missing": ("It has no {kind} {name}.", _AGAIN),
    "besides": (
        "It has the {kind} {name}, which the coordinator does not have.",
        f"Drop it {_THERE}",
    ),
    "presence": ("The shard {name} is not there, though Citus believes so.", _RESTORE),
    "version": ("{name} is {found} there, {state} on the coordinator.", _INSTALL),
    "attributes": ("The role {name} is {found} there, {state} on the coordinator.", _AGAIN),
    "memberships": (
        "The role {name} is a member of {found} there, of {state} on the coordinator.",
        _REVOKE,
    ),
    "grants": ("The {kind} {name} has another owner or other grants there.", _REVOKE),
    "public": ("PUBLIC may execute the function {name}.", _AGAIN),
    "definition": ("The {kind} {name} is not the coordinator's: its definition differs.", _AGAIN),
    "security": ("{name} has {found}, the coordinator {state}.", _AGAIN),
    "policies": ("The policies of {name} are not the coordinator's.", _AGAIN),
    # What enables a trigger, and all about one on TRUNCATE, Citus hands on to no shard.
    "triggers": (
        "The triggers of {name} are not the coordinator's.",
        f"{_AGAIN} One that is disabled, or on TRUNCATE: enable or make it {_THERE}",
    ),
}
_SHAPE = (
    "The {aspect} of {name} are not the coordinator's.",
    f"Compare the two with `\\d`, and say the missing ALTER TABLE or CREATE INDEX {_THERE}",
)
_TYPE = f"Say the ALTER TYPE or ALTER DOMAIN {_THERE}"


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """What one node has otherwise than the coordinator, and what to do about it."""

    node: str
    kind: str
    name: str
    aspect: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that were asked, and what some of them have otherwise. A plain server has none."""

    names: tuple[str, ...] = ()
    findings: tuple[NodeFinding, ...] = ()


async def look(ask: Ask) -> Nodes:
    """Ask every node what it has, and compare; one question each. Nothing of any tenant is read."""
    ((citus, schemas),) = await ask(templates.query(FILE, "there"))
    if not citus:
        return Nodes()
    said = _query("said", schemas=schemas)
    nodes = await ask(_query("ask", said=said))
    alone = {name for (name,) in await ask(_query("here_alone", schemas=schemas))}
    heard = {name: _states(result) for name, _, answered, result in nodes if answered}
    here = next((heard[name] for name, first, *_ in nodes if first and heard.get(name)), {})
    wanted = _wanted(here)
    found: list[NodeFinding] = []
    for name, _, answered, result in nodes:
        if answered:
            found += sorted(
                _differences(name, heard[name], wanted, alone),
                key=lambda each: (_ORDER.index(each.kind), each.name, each.aspect),
            )
        else:
            error = result.strip().splitlines()[0] if result else ""
            found.append(_finding(name, "node", name, "silent", "", error))
    # Where a whole object is missing, each of its aspects would say so.
    return Nodes(tuple(name for name, *_ in nodes), tuple(dict.fromkeys(found)))


async def mending(ask: Ask, findings: Iterable[NodeFinding]) -> list[str]:
    """What to say on the coordinator, which hands it on, so that every node has it again."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for each in findings:
        if each.kind in _SAID_AGAIN:
            wanted.setdefault((each.kind, each.name), set()).add(each.aspect)
    statements = []
    for (kind, name), aspects in wanted.items():
        rows = await ask(_query(kind, name=name))
        statements += [text for aspect, text in rows if aspects & {aspect, "missing"}]
    return statements


def _query(title: str, **values: str | list[str]) -> str:
    """One query of this file with its values in place."""
    return composed(templates.query(FILE, title), **values)


def _states(answer: str) -> States:
    """What one node says of each aspect of each object, by shard where there are several."""
    said: dict[Aspect, tuple[tuple[str, str | None], ...]] = {}
    for kind, what, aspect, state, shard in json.loads(answer or "null") or []:
        said[kind, what, aspect] = (*said.get((kind, what, aspect), ()), (state, shard))
    return said


def _wanted(coordinator: States) -> dict[Aspect, str]:
    """What every node should have: the coordinator's tables as its catalog has them.

    Its catalog is where statements are planned. Whoever is open to everybody is so against our
    rule, on the coordinator too.
    """
    own = {
        aspect: next((state for state, shard in states if shard is None), None)
        for aspect, states in coordinator.items()
    }
    return {
        aspect: "closed" if aspect[2] == "public" else state
        for aspect, state in own.items()
        if state is not None
    }


def _differences(
    node: str, said: States, wanted: Mapping[Aspect, str], alone: set[str]
) -> Iterator[NodeFinding]:
    """What a node lacks, has otherwise, or has besides; `alone` are the coordinator's functions."""
    for aspect, state in wanted.items():
        kind, name, what = aspect
        if aspect not in said:
            if not (kind == "function" and name in alone) and what != "public":
                yield _finding(node, kind, name, "missing", state)
            continue
        for found, shard in said[aspect]:
            if found != state and not (what == "public" and found == "closed"):
                yield _finding(node, kind, name, what, state, found, shard)
    for kind, name, what in said.keys() - wanted.keys():
        if what in ("definition", "attributes"):
            yield _finding(node, kind, name, "besides", "")


def _finding(
    node: str,
    kind: str,
    name: str,
    aspect: str,
    state: str,
    found: str = "",
    shard: str | None = None,
) -> NodeFinding:
    """One difference, in words; `name` is the table's, and `shard` what is told of it."""
    message, remedy = _RULES.get(aspect, _SHAPE)
    if kind == "type":
        remedy = _TYPE
    said = {"kind": kind, "name": shard or name, "aspect": aspect}
    said |= {"state": state or "none", "found": found or "none"}
    return NodeFinding(node, kind, name, aspect, message.format(**said), remedy)


def through(database: Database) -> Ask:
    """Ask as the application: whoever cannot get to a node finds out that way."""

    async def ask(text: str) -> Rows:
        return await database.run_all(None, [BoundStatement(Statement(text))])

    return ask


def over(connection: Connection) -> Ask:
    """Ask with an admin's rights."""

    async def ask(text: str) -> Rows:
        cursor = await connection.execute(raw(text))
        return await cursor.fetchall()

    return ask

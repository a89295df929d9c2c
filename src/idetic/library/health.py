"""How an Idetic is: one check for each thing it rests on, each with what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from anyio import to_thread

from idetic.embed.status import status
from idetic.errors import DatabaseError
from idetic.library.idetic import Idetic
from idetic.library.persona import is_persona
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store import family_migration
from idetic.store.catalog import open_ways
from idetic.store.embedded import status as embedded_status
from idetic.store.health import ServerFacts, facts
from idetic.store.nodes import Nodes, look, through
from idetic.store.queue import Queue, TaskBacklog
from idetic.store.registry import SpecVersion

# A backlog older than this means that no worker keeps up.
OLD_SECONDS = 600
LEAST_FREE = 2**30
# A worker that has lost one thing may have lost hundreds.
MOST_FINDINGS = 12
# Earlier ones cannot go on searching when a filter leaves too few.
LEAST_VECTOR = (0, 8)


class Verdict(StrEnum):
    """How a check came out."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, and what to do if it is not good."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


async def unreachable(error: DatabaseError) -> list[Check]:
    """What can be checked without a database, when it cannot be opened."""
    return [
        Check("database", Verdict.BAD, error.message, error.remedy),
        await to_thread.run_sync(_model),
        _disk(embedded=True),
    ]


async def examine(db: Idetic) -> list[Check]:
    """Every check, in the order in which one would mend things."""
    latest = {version.agent: version for version in await db.spec_versions()}
    specs = [load(version.spec) for version in latest.values()]
    known = await facts(db.database, specs)
    return [
        *_database(known),
        _versions(latest.values(), known),
        *_security(known),
        *await _catalog(db, specs),
        *_nodes(await look(through(db.database))),
        _specs(specs, known),
        await to_thread.run_sync(_model),
        *_jobs(await Queue(db.database).backlog()),
        _disk(embedded=db.embedded),
    ]


async def vital(db: Idetic) -> list[Check]:
    """What a tenant's own people may be told: nothing of other tenants, agents or this machine."""
    latest = {version.agent: version for version in await db.spec_versions()}
    known = await facts(db.database, [load(version.spec) for version in latest.values()])
    model = await to_thread.run_sync(_model)
    protected = all(check.verdict is Verdict.GOOD for check in _security(known))
    found = "roles and row-level security stand" if protected else "a protection is not in force"
    return [
        *_database(known),
        _check("protection", not protected, found, "Ask whoever runs the server to see `doctor`."),
        # Where the model's files lie is not told.
        model if model.verdict is Verdict.GOOD else replace(model, found="not in use"),
    ]


def _check(name: str, bad: bool, found: str, remedy: str, *, soft: bool = False) -> Check:
    if not bad:
        return Check(name, Verdict.GOOD, found)
    return Check(name, Verdict.WARNING if soft else Verdict.BAD, found, remedy)


def _database(known: ServerFacts) -> list[Check]:
    wanted = {"vector", "pg_trgm", "btree_gist"}
    missing = sorted(wanted - known.extensions.keys())
    old = "vector" in known.extensions and _older(known.extensions["vector"], LEAST_VECTOR)
    lacking = ", ".join([*missing, *(["vector 0.8 or newer"] if old else [])])
    shown = ", ".join(f"{name} {version}" for name, version in sorted(known.extensions.items()))
    return [
        Check("database", Verdict.GOOD, f"PostgreSQL {known.version}"),
        _check("extensions", bool(lacking), shown if not lacking else f"missing: {lacking}",
               "Install them on the server and run `CREATE EXTENSION` (`ALTER EXTENSION … UPDATE` "
               "for an old one), or use the embedded server."),
    ]  # fmt: skip


def _versions(agents: Collection[SpecVersion], known: ServerFacts) -> Check:
    """The release's numbers: whatever is older was refused at open, but for a family's tables."""
    newest = family_migration.newest()
    told = [f"{a.agent}@{a.version} with family {known.families.get(a.agent, 0)}" for a in agents]
    older = [a.agent for a in agents if known.families.get(a.agent, 0) < newest]
    return _check("versions", bool(older), ", ".join([f"core {known.core}", *told]),
                  "Back up, then run `idetic upgrade`.")  # fmt: skip


async def _catalog(db: Idetic, specs: list[MemorySpec]) -> list[Check]:
    """Where two personas are apart, whether the catalogs tell one of the other."""
    if not any(map(is_persona, specs)):
        return []
    async with db.database.reading() as connection:
        told = await open_ways(connection)
    found = f"any role can tell sizes and activity, by {len(told)} ways" if told else "closed"
    return [_check("catalog", bool(told), found, "Run `idetic persona close-catalog` with a "
                   "superuser's login (IDETIC_ADMIN_DSN).", soft=True)]  # fmt: skip


def _older(version: str, least: tuple[int, ...]) -> bool:
    """Whether a version such as 0.7.4 is below another; what cannot be read is not."""
    parts = [part for part in version.split(".")[: len(least)] if part.isdigit()]
    return tuple(map(int, parts)) < least if len(parts) == len(least) else False


def _security(known: ServerFacts) -> list[Check]:
    roles = ", ".join(known.bad_roles)
    bare = ", ".join(known.unsecured[:5])
    return [
        _check("application role", known.bypasses, f"acts as {known.role}",
               f"ALTER ROLE {known.role} NOSUPERUSER NOBYPASSRLS;"),
        _check("roles", bool(roles), f"missing or unbound: {roles}" if roles else "all there",
               "Open the database once with an admin login; revoke SUPERUSER and BYPASSRLS."),
        _check("row-level security", bool(bare), f"off on: {bare}" if bare else "forced",
               "Run `idetic spec apply` for the agent whose tables these are."),
    ]  # fmt: skip


def _nodes(nodes: Nodes) -> list[Check]:
    """Nothing about a server of its own; of a cluster, what a node has otherwise."""
    if not nodes.findings:
        return [Check("nodes", Verdict.GOOD, ", ".join(nodes.names))] if nodes.names else []
    told = [
        Check(f"node {each.node}", Verdict.BAD, each.message, each.remedy)
        for each in nodes.findings[:MOST_FINDINGS]
    ]
    left = len(nodes.findings) - len(told)
    more = Check("nodes", Verdict.BAD, f"{left} more like these", "Mend these, then ask again.")
    return [*told, more] if left else told


def _specs(specs: list[MemorySpec], known: ServerFacts) -> Check:
    agents = ", ".join(sorted(spec.agent for spec in specs)) or "no agent yet"
    gone = ", ".join(known.missing[:5])
    return _check("specs", bool(gone), f"missing tables: {gone}" if gone else agents,
                  "Run `idetic spec plan`, then `idetic spec apply`.")  # fmt: skip


def _model() -> Check:
    found = status()
    told = f"{found.model}, verified" if found.verified else found.reason
    return _check("embedding model", not found.verified, told,
                  "Run `idetic model install`; until then recall goes without meaning.",
                  soft=True)  # fmt: skip


def _jobs(backlog: list[TaskBacklog]) -> list[Check]:
    waiting = sum(task.waiting for task in backlog)
    failed = [task for task in backlog if task.failed]
    oldest = max((task.oldest_seconds or 0 for task in backlog), default=0)
    told = f"{waiting} waiting, the oldest for {oldest:.0f} s" if waiting else "nothing waits"
    checks = [
        _check("jobs", oldest > OLD_SECONDS, told, "Run `idetic worker`, or more of them.",
               soft=True)
    ]  # fmt: skip
    for task in failed:
        why = f"{task.failed} failed: {task.last_error}: {task.last_reason}"
        checks.append(
            Check(f"job {task.task}", Verdict.WARNING, why,
                  "Mend the cause; the next sweep enqueues the work again.")
        )  # fmt: skip
    return checks


def _disk(*, embedded: bool) -> Check:
    home = embedded_status().home
    place = Path(home)
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    # Where a server of another machine keeps its files cannot be seen through SQL.
    where = f"at {place}" if embedded else "on this machine; look at the server's own disk there"
    return _check("disk", free < LEAST_FREE, f"{free / 2**30:.1f} GiB free {where}",
                  "Free some space where the database lives; writes fail when it is full.",
                  soft=True)  # fmt: skip

"""How an Idetic is: one check for each thing it rests on, each with what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from urllib.parse import urlsplit
from uuid import UUID

from anyio import to_thread

from idetic.embed import ModelStatus, status
from idetic.errors import DatabaseError, InputError
from idetic.library.idetic import Idetic
from idetic.library.persona import is_persona
from idetic.library.reasoner_settings import ReasonerSettings
from idetic.library.settings import SettledSettings
from idetic.reason.openai_compatible import OpenAICompatible
from idetic.reason.port import ConflictAsked, ReasonerError, ReasonerMalformed, ShownEntry
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import RerankerKind
from idetic.store import family_migration
from idetic.store.catalog import ServerFacts, open_ways, server_facts
from idetic.store.embedded import status as embedded_status
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


class CheckVerdict(StrEnum):
    """How a check came out."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, and what to do if it is not good."""

    name: str
    verdict: CheckVerdict
    found: str
    remedy: str = ""


async def unreachable(error: DatabaseError) -> list[Check]:
    """What can be checked without a database, when it cannot be opened."""
    return [
        Check("database", CheckVerdict.BAD, error.message, error.remedy),
        await to_thread.run_sync(_model),
        _disk(embedded=True),
    ]


async def examine(db: Idetic) -> list[Check]:
    """Every check, in the order in which one would mend things."""
    latest = {version.agent: version for version in await db.spec_versions()}
    specs = [load(version.spec) for version in latest.values()]
    known = await server_facts(db.database, specs)
    return [
        *_database(known),
        _versions(latest.values(), known),
        *_security(known),
        *await _catalog(db, specs),
        *_nodes(await look(through(db.database))),
        _specs(specs, known),
        await to_thread.run_sync(_model),
        *await to_thread.run_sync(_reranker, specs),
        *_jobs(await Queue(db.database).backlog()),
        _disk(embedded=db.embedded),
    ]


async def vital(db: Idetic) -> list[Check]:
    """Checks for a tenant's own people: nothing about other tenants, agents or this machine."""
    latest = {version.agent: version for version in await db.spec_versions()}
    known = await server_facts(db.database, [load(version.spec) for version in latest.values()])
    model = await to_thread.run_sync(_model)
    protected = all(check.verdict is CheckVerdict.GOOD for check in _security(known))
    found = "roles and row-level security stand" if protected else "a protection is not in force"
    return [
        *_database(known),
        _check("protection", not protected, found, "Ask whoever runs the server to see `doctor`."),
        # Without the place of the model's files.
        model if model.verdict is CheckVerdict.GOOD else replace(model, found="not in use"),
    ]


def _check(name: str, bad: bool, found: str, remedy: str, *, soft: bool = False) -> Check:
    """A check with its verdict; it has a remedy only where something is wrong."""
    if not bad:
        return Check(name, CheckVerdict.GOOD, found)
    return Check(name, CheckVerdict.WARNING if soft else CheckVerdict.BAD, found, remedy)


def _database(known: ServerFacts) -> list[Check]:
    """The server's version, and whether the extensions that memory needs are there."""
    lacking = sorted({"vector", "pg_trgm", "btree_gist"} - known.extensions.keys())
    if "vector" in known.extensions and _older(known.extensions["vector"], LEAST_VECTOR):
        lacking.append("vector 0.8 or newer")
    shown = ", ".join(f"{name} {version}" for name, version in sorted(known.extensions.items()))
    found = f"missing: {', '.join(lacking)}" if lacking else shown
    remedy = (
        "Install them on the server and run `CREATE EXTENSION` (`ALTER EXTENSION … UPDATE` for an "
        "old one), or use the embedded server."
    )
    return [
        Check("database", CheckVerdict.GOOD, f"PostgreSQL {known.version}"),
        _check("extensions", bool(lacking), found, remedy),
    ]


def _older(version: str, least: tuple[int, ...]) -> bool:
    """Whether a version such as 0.7.4 is below another; what cannot be read is not."""
    parts = [part for part in version.split(".")[: len(least)] if part.isdigit()]
    return tuple(map(int, parts)) < least if len(parts) == len(least) else False


def _versions(agents: Collection[SpecVersion], known: ServerFacts) -> Check:
    """The release's numbers: whatever is older was refused at open, but for a family's tables."""
    families = {each.agent: known.families.get(each.agent, 0) for each in agents}
    agents_found = [f"{a.agent}@{a.version} with family {families[a.agent]}" for a in agents]
    older = any(held < family_migration.newest() for held in families.values())
    found = ", ".join([f"core {known.core}", *agents_found])
    return _check("versions", older, found, "Back up, then run `idetic upgrade`.")


def _security(known: ServerFacts) -> list[Check]:
    """Whether the roles are bound by row-level security, and every table has it forced."""
    roles, bare = ", ".join(known.bad_roles), ", ".join(known.unsecured[:5])
    found = f"missing or unbound: {roles}" if roles else "all there"
    revoke = "Open the database once with an admin login; revoke SUPERUSER and BYPASSRLS."
    alter = f"ALTER ROLE {known.role} NOSUPERUSER NOBYPASSRLS;"
    apply = "Run `idetic spec apply` for the agent whose tables these are."
    return [
        _check("application role", known.bypasses, f"acts as {known.role}", alter),
        _check("roles", bool(roles), found, revoke),
        _check("row-level security", bool(bare), f"off on: {bare}" if bare else "forced", apply),
    ]


async def _catalog(db: Idetic, specs: list[MemorySpec]) -> list[Check]:
    """Where two personas are apart, whether the catalogs tell one of the other."""
    if not any(map(is_persona, specs)):
        return []
    async with db.database.reading() as connection:
        ways = await open_ways(connection)
    found = f"any role can tell sizes and activity, by {len(ways)} ways" if ways else "closed"
    remedy = "Run `idetic persona close-catalog` with a superuser's login (IDETIC_ADMIN_DSN)."
    return [_check("catalog", bool(ways), found, remedy, soft=True)]


def _nodes(nodes: Nodes) -> list[Check]:
    """The nodes of a cluster that differ from the coordinator; no check for a single server."""
    if not nodes.findings:
        return [Check("nodes", CheckVerdict.GOOD, ", ".join(nodes.names))] if nodes.names else []
    checks = [
        Check(f"node {each.node}", CheckVerdict.BAD, each.message, each.remedy)
        for each in nodes.findings[:MOST_FINDINGS]
    ]
    if left := len(nodes.findings) - len(checks):
        more, remedy = f"{left} more like these", "Correct these, then ask again."
        checks.append(Check("nodes", CheckVerdict.BAD, more, remedy))
    return checks


def _specs(specs: list[MemorySpec], known: ServerFacts) -> Check:
    """Which agents there are, and whether every table that their specs ask for is there."""
    agents = ", ".join(sorted(spec.agent for spec in specs)) or "no agent yet"
    gone = ", ".join(known.missing[:5])
    found = f"missing tables: {gone}" if gone else agents
    return _check("specs", bool(gone), found, "Run `idetic spec plan`, then `idetic spec apply`.")


def _model() -> Check:
    """Whether the embedding model is installed and verified; recall goes on without it."""
    remedy = "Run `idetic model install`; until then recall goes without meaning."
    return _pinned("embedding model", status(), remedy)


def _reranker(specs: list[MemorySpec]) -> list[Check]:
    """The same of the reranker, where a spec asks for one."""
    if all(spec.retrieval.reranker is RerankerKind.NONE for spec in specs):
        return []
    remedy = "Run `idetic model install reranker`; until then the fused order stands."
    return [_pinned("reranker", status("reranker"), remedy)]


def _pinned(name: str, model: ModelStatus, remedy: str) -> Check:
    """Whether a pinned model's files are here."""
    found = f"{model.model} {model.precision}, verified" if model.verified else model.reason
    return _check(name, not model.verified, found, remedy, soft=True)


def _jobs(backlog: list[TaskBacklog]) -> list[Check]:
    """How much work waits and for how long, and each task that has failed jobs."""
    waiting = sum(task.waiting for task in backlog)
    oldest = max((task.oldest_seconds or 0 for task in backlog), default=0)
    found = f"{waiting} waiting, the oldest for {oldest:.0f} s" if waiting else "nothing waits"
    remedy, late = "Run `idetic worker`, or more of them.", oldest > OLD_SECONDS
    checks = [_check("jobs", late, found, remedy, soft=True)]
    for task in backlog:
        if task.failed:
            why = f"{task.failed} failed: {task.last_error}: {task.last_reason}"
            remedy = "Correct the cause; the next sweep enqueues the work again."
            checks.append(Check(f"job {task.task}", CheckVerdict.WARNING, why, remedy))
    return checks


def _disk(*, embedded: bool) -> Check:
    """How much room is left where the embedded server lives, or on this machine."""
    home = embedded_status().home
    # The home may not have been made yet.
    place = next(step for step in (home, *home.parents) if step.exists())
    free = shutil.disk_usage(place).free
    # Where a server of another machine keeps its files cannot be seen through SQL.
    where = f"at {place}" if embedded else "on this machine; look at the server's own disk there"
    remedy = "Free some space where the database lives; writes fail when it is full."
    return _check(
        "disk", free < LEAST_FREE, f"{free / 2**30:.1f} GiB free {where}", remedy, soft=True
    )


# --- settings: can they be read, and is what they name there ------------------------------------

# A model that answers this can do its work; no word of it is anybody's memory.
_ASKED = ConflictAsked(
    ShownEntry(UUID(int=1), "The lamp in the hall is on."),
    ShownEntry(UUID(int=2), "The lamp in the hall is off."),
)


async def examine_settings(
    settled: SettledSettings, file: str | None, broken: InputError | None = None
) -> list[Check]:
    """Every check about settings; `broken` is why those of the file, or all of them, do not hold.

    The reasoner is asked one question, within the caps of a run.
    """
    return [
        _settings(settled.sources, file, broken),
        *await _reasoner(settled.settings.reasoner),
        *_sentry(settled),
    ]


def without_reranker(checks: list[Check], settled: SettledSettings) -> list[Check]:
    """The checks of a process that needs no reranker, if the settings turn it off."""
    if settled.settings.reranker == "on":
        return checks
    off = Check("reranker", CheckVerdict.GOOD, "turned off; recall keeps the fused order")
    return [off if check.name == "reranker" else check for check in checks]


def _settings(sources: Mapping[str, str], file: str | None, broken: InputError | None) -> Check:
    """Which settings hold, and where they were read."""
    if broken is not None:
        return Check("settings", CheckVerdict.BAD, broken.message, broken.remedy)
    where = f"{file}; " if file else ""
    return Check("settings", CheckVerdict.GOOD, f"{where}set: {', '.join(sources) or 'nothing'}")


async def _reasoner(settings: ReasonerSettings) -> list[Check]:
    """Whether the endpoint is reached and the model answers in the form that is asked for."""
    try:
        endpoint = settings.endpoint()
        if endpoint is None:
            return []
        # Without retries: the user wants the answer now, not after three attempts.
        once = replace(endpoint, retries=0)
        async with OpenAICompatible(once, settings.meter()) as reasoner:
            answered = await reasoner.judge(_ASKED)
    except ReasonerMalformed as error:
        found = f"it answers, but not as asked: {error.message}"
        return [Check("reasoner", CheckVerdict.WARNING, found, error.remedy)]
    except (ReasonerError, InputError) as error:
        return [Check("reasoner", CheckVerdict.BAD, error.message, error.remedy)]
    took = f"{answered.usage.tokens} tokens, {answered.usage.seconds:.1f} s"
    return [Check("reasoner", CheckVerdict.GOOD, f"{endpoint.model} at {endpoint.host}, {took}")]


def _sentry(settled: SettledSettings) -> list[Check]:
    """Whether Sentry's package is there and its address can be read. Nothing is sent."""
    dsn = settled.settings.sentry_dsn
    if dsn is None:
        return []
    host = _host(dsn.get_secret_value())
    if host is None:
        remedy = "Copy the DSN whole from Sentry's project settings."
        return [Check("sentry", CheckVerdict.BAD, "its DSN cannot be read", remedy)]
    if find_spec("sentry_sdk") is None:
        remedy = "Run `pip install 'idetic[sentry]'`."
        return [Check("sentry", CheckVerdict.BAD, "its package is not installed", remedy)]
    return [Check("sentry", CheckVerdict.GOOD, f"reports to {host}")]


def _host(dsn: str) -> str | None:
    """The host of a DSN, without its key; None if it is none."""
    try:
        parts = urlsplit(dsn)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    whole = parts.scheme in ("http", "https") and parts.username and parts.path.strip("/")
    return f"{parts.hostname}{port}" if whole and parts.hostname else None

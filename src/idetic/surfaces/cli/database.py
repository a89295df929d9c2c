"""`idetic db …`, `doctor`, `upgrade` and `distribute`: the database below memory."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

import idetic
from idetic.surfaces.cli import config, output
from idetic.surfaces.cli.options import Dsn, Json, Set, Yes, examples, group
from idetic.surfaces.cli.sources import agreed, with_admin_login, with_database

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.errors import InputError
    from idetic.library.idetic import Idetic
    from idetic.library.settings import SettledSettings
    from idetic.store.database import Connection
    from idetic.store.distribution_plan import Distribution
    from idetic.store.embedded.server_memory import ServerMemory
    from idetic.store.upgrade import FamilyVersions, Upgrade

DOCTOR = examples("idetic doctor", "idetic doctor --json", "idetic doctor --dsn postgresql://…")
UPGRADE = examples(
    "idetic upgrade --plan",
    "idetic upgrade",
    "IDETIC_ADMIN_DSN=postgresql://admin@… idetic upgrade --yes",
)
DISTRIBUTE = examples(
    "idetic distribute world_agent --plan",
    "idetic distribute world_agent --plan > distribute.sql",
    "idetic distribute world_agent --yes --dsn postgresql://…",
)
_BEFORE_UPGRADE = {
    "question": "Is there a backup, and shall this be done?",
    "changes": "This changes the database",
    "look": "Back it up, look at --plan",
}

db = group(
    "Start, stop and inspect the embedded PostgreSQL server.", "idetic db status", "idetic db start"
)


@db.command("start", epilog=examples("idetic db start", "IDETIC_HOME=/srv/idetic idetic db start"))
def start(json: Json = False) -> None:
    """Start the embedded server and keep it running until `idetic db stop`."""
    from idetic.store.embedded import EmbeddedServer

    EmbeddedServer.acquire(keep=True).release()
    status(json)


@db.command("stop", epilog=examples("idetic db stop", "idetic db stop --json"))
def stop(json: Json = False) -> None:
    """Stop the embedded server, even if others use it. Committed work is kept."""
    from idetic.store import embedded

    stopped = embedded.stop()
    outcome = "The embedded server is stopped." if stopped else "No embedded server was running."
    output.say(outcome, {"stopped": stopped}, json)


@db.command("status", epilog=examples("idetic db status", "idetic db status --json"))
def status(json: Json = False) -> None:
    """Show the embedded server: home, process, socket, version, memory. It changes nothing."""
    from idetic.store import embedded

    server, memory = embedded.status(), embedded.memory()
    rows = {
        "State": "running" if server.running else "not running",
        "Kept": "yes, until `idetic db stop`" if server.kept else "no, it stops with its last user",
        "Process": server.pid or "none",
        "Home": server.home,
        "Socket": server.socket_dir,
        "PostgreSQL": server.version or "not unpacked yet",
        "Users": "unknown" if server.users is None else server.users,
        "Memory": _memory(memory),
    }
    data = {**output.plain(server), "memory": memory}
    title = "The embedded server"
    output.answer(data, json, lambda console: console.print(output.facts(rows, title=title)))


def _memory(server: ServerMemory | None) -> str:
    """How much memory the server has, and may take, in one line."""
    if server is None:
        return "none"
    used, shared, bound = (
        size >> 20 for size in (server.used, server.shared_buffers, server.bound)
    )
    return f"{used} MB now, at most {bound} MB; shared_buffers {shared} MB"


def doctor(given: Set = None, dsn: Dsn = None, json: Json = False) -> int:
    """Check settings, database, security, specs, models, reasoner, jobs and disk.

    If a reasoner is set, it is asked one question. The exit code is 1 if a check is bad, such as a
    database that does not open. Warnings do not change it.
    """
    import anyio

    from idetic.errors import DatabaseError
    from idetic.library.health import examine, examine_settings, unreachable, without_reranker

    settings, broken = _settled_settings(given)
    try:
        checks = with_database(dsn, examine, settings.settings)
    except DatabaseError as error:
        checks = anyio.run(unreachable, error)
    path = config.current.get().path
    about = anyio.run(examine_settings, settings, str(path) if path else None, broken)
    checks = [*about, *without_reranker(checks, settings)]

    def show(console: Console) -> None:
        """Print the checks as a table, each with its verdict and what to do."""
        names = {"verdict": "verdict", "name": "check", "found": "found", "remedy": "what to do"}
        rows = [{said: getattr(one, name) for name, said in names.items()} for one in checks]
        console.print(output.Listing(rows))

    output.answer({"checks": checks}, json, show)
    return int(any(one.verdict == "bad" for one in checks))


def _settled_settings(given: list[str] | None) -> tuple[SettledSettings, InputError | None]:
    """The settings that hold, and what is wrong with the others: then none of them does."""
    from idetic.errors import InputError
    from idetic.library.settings import SettledSettings

    try:
        return config.settled(given), config.current.get().broken
    except InputError as error:
        return SettledSettings(), error


def upgrade(
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what would be done; change nothing.")
    ] = False,
    yes: Yes = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Upgrade a database to this release, or set up a new one.

    Back up first: nobody can undo a migration. The core is upgraded first, then the tables of every
    agent. If the upgrade is interrupted, call it again, and it goes on. Without a terminal it needs
    --yes.
    """
    from idetic.context import shipped_contexts
    from idetic.store.upgrade import check_upgrade, plan_upgrade

    # Only one of the two logins is given: the other may have to be made.
    alone = bool(dsn) != bool(config.admin_dsn())

    async def work(connection: Connection) -> tuple[Upgrade, list[str]]:
        """Tell the plan, and carry it out unless only the plan is wanted or somebody says no."""
        planned = await plan_upgrade(connection, shipped_contexts())
        _print_lines(_versions(planned), json)
        if plan:
            return planned, []
        check_upgrade(planned)
        # No question where nothing is to do, or where the database has nothing of ours to lose.
        if planned.empty or planned.fresh or yes or agreed(asking=not json, **_BEFORE_UPGRADE):
            return planned, await _run_upgrade(connection, planned, json, alone=alone)
        _print_lines(["Nothing was changed."], json)
        return planned, []

    planned, done = with_admin_login(dsn, work)
    data = {**_upgrade_data(planned), "done": done, "upgraded": bool(done)}
    output.answer(data, json, lambda console: None)


async def _run_upgrade(
    connection: Connection, planned: Upgrade, as_json: bool, *, alone: bool
) -> list[str]:
    """Carry the upgrade out and tell each step when it is done; returns the steps."""
    import getpass

    from idetic.context import shipped_contexts
    from idetic.ids import SystemClock
    from idetic.store.connect import login_to_make
    from idetic.store.upgrade import plan_upgrade, run_upgrade

    steps: list[str] = []

    def say(line: str) -> None:
        steps.append(line)
        _print_lines([f"  done  {line}"], as_json)

    at, by = SystemClock().now(), getpass.getuser()
    await run_upgrade(connection, shipped_contexts(), by=by, at=at, say=say)
    if not steps:
        _print_lines(["Nothing to do."], as_json)
        return steps
    after = await plan_upgrade(connection, shipped_contexts())
    _print_lines(["Upgraded.", *_versions(after)], as_json)
    # With a login of each kind, or on the embedded server, there is none to make.
    login = await login_to_make(connection) if planned.fresh and alone else None
    _print_lines([login] if login else [], as_json)
    return steps


def _print_lines(lines: Iterable[str], as_json: bool) -> None:
    """Print lines for people as the work goes on; nothing beside JSON."""
    for line in () if as_json else lines:
        output.console().print(output.literal(line), soft_wrap=True)


def _versions(planned: Upgrade) -> Iterator[str]:
    """The plan in lines: the versions before and after, and the migrations between them."""
    core = planned.core
    yield f"Idetic {idetic.__version__}"
    yield f"core: {_between(core.held, core.carried)}"
    yield from (f"  migrate {name}" for name in core.migrations)
    if core.queue:
        yield f"  migrate the queue: {len(core.queue)} files of procrastinate"
    for family in planned.families:
        yield from _family(family)


def _family(family: FamilyVersions) -> Iterator[str]:
    """One agent's lines of the plan: versions, migrations, counts of changes, refusals."""
    plan = family.plan
    spec = f"{family.agent}@{plan.from_version}"
    if plan.to_version != plan.from_version:
        spec += f" (becomes @{plan.to_version})"
    yield f"{spec}: family {_between(family.held, family.carried)}"
    yield from (f"  migrate {migration.name}" for migration in plan.migrations)
    counts = Counter(step.action for step in plan.changes)
    if counts:
        yield "  " + ", ".join(f"{number} to {action}" for action, number in counts.items())
    yield from (f"  refuse {s.kind} {s.name}: {s.why}" for s in plan.refusals)


def _between(before: int, after: int) -> str:
    """Two versions in words; a single number where they are the same."""
    return str(before) if before == after else f"from {before} to {after}"


def _upgrade_data(planned: Upgrade) -> dict[str, Any]:
    """The plan as JSON holds it."""
    core = planned.core
    return {
        "release": idetic.__version__,
        "empty": planned.empty,
        "core": {"from": core.held, "to": core.carried, "migrations": core.migrations},
        "queue": core.queue,
        "agents": [
            {
                "agent": family.agent,
                "from_version": family.plan.from_version,
                "to_version": family.plan.to_version,
                "from": family.held,
                "to": family.carried,
                "migrations": [migration.name for migration in family.plan.migrations],
                "counts": Counter(step.action for step in family.plan.changes),
                "refused": [f"{s.kind} {s.name}: {s.why}" for s in family.plan.refusals],
            }
            for family in planned.families
        ],
    }


def distribute(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT", show_default=False, help="The name of an agent in the database."
        ),
    ],
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only print the SQL that would run; this works on any server."),
    ] = False,
    yes: Yes = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Spread an agent's tables over a Citus cluster by tenant, keeping each tenant together.

    The tables must be empty. If it is interrupted, call it again, and it goes on. Without a
    terminal it needs --yes.
    """

    async def work(db: Idetic) -> tuple[Distribution, bool]:
        """Plan and ask, then distribute; the flag says whether that was done."""
        planned = await db.distribute(agent, dry_run=True)
        if plan:
            return planned, False
        # Otherwise the call below refuses and says why: nobody is asked in vain.
        if planned.citus and not planned.broken and not planned.loaded:
            _print_lines(_script(planned), json)
            if planned.pending and not (yes or _agreed_to_move(planned, asking=not json)):
                return planned, False
        return await db.distribute(agent), True

    found, done = with_database(dsn, work)
    outcome = "Nothing was changed."
    if done:
        outcome = "Nothing to do: every table is where it belongs."
        if found.pending:
            outcome = f"Distributed. {_counted(found)}."
    _print_lines(_script(found) if plan else [outcome], json)
    names = ("table", "place", "why", "tenant", "done", "rows", "statement")
    tables = [{name: getattr(t, name) for name in names} for t in found.tables]
    data = {"loaded": found.loaded, "statements": found.statements, "distributed": done}
    output.answer({**output.plain(found), **data, "tables": tables}, json, lambda console: None)


def _agreed_to_move(plan: Distribution, *, asking: bool) -> bool:
    """Whether somebody at the terminal agrees that the tables move."""
    question = f"Distribute {', '.join(plan.agents)}?"
    changes = f"This would move {len(plan.pending)} tables"
    return agreed(question, asking=asking, changes=changes, look="Look at --plan")


def _counted(plan: Distribution) -> str:
    """How many tables the plan moves, finds there already, and leaves, in words."""
    from idetic.store.distribution_plan import TablePlace

    pending = [t.place for t in plan.pending]
    there = sum(t.done for t in plan.tables)
    stay = sum(t.place is TablePlace.LOCAL for t in plan.tables)
    return (
        f"{pending.count(TablePlace.DISTRIBUTED)} tables by tenant, "
        f"{pending.count(TablePlace.REFERENCE)} on every node; {there} were there, {stay} stay here"
    )


def _script(plan: Distribution) -> Iterator[str]:
    """The plan as a script: what psql runs, and the rest as comments."""
    for remark in _remarks(plan):
        # A name may hold the end of a line, and what follows must not become a statement.
        yield from (f"-- {line}" for line in remark.splitlines())
    if plan.statements:
        yield from (f"{statement};" for statement in ("BEGIN", *plan.statements, "COMMIT"))


def _remarks(plan: Distribution) -> Iterator[str]:
    """What the plan says beside its statements: the counts, and whatever is in the way."""
    yield f"{', '.join(plan.agents)}: {_counted(plan)}."
    if not plan.citus:
        yield "This server has no Citus: these statements are for one that has."
    for each in plan.broken:
        yield f"BROKEN {each.table} ({each.rule}): {each.message} {each.remedy}"
    for found in plan.nodes:
        yield f"NODE {found.node}: {found.message} {found.remedy}"
    if plan.loaded:
        yield f"HOLDS ROWS: {', '.join(plan.loaded)}. Distribute these while they are empty."

"""`idetic upgrade`: a database of an older release, or an empty one, brought to this one."""

# ruff: noqa: PLC0415
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

import idetic
from idetic.surfaces.cli import config, output
from idetic.surfaces.cli.options import Dsn, Json, examples

if TYPE_CHECKING:
    from idetic.store.database import Connection
    from idetic.store.upgrade import FamilyVersions, Upgrade

UPGRADE = examples(
    "idetic upgrade --plan",
    "idetic upgrade",
    "IDETIC_ADMIN_DSN=postgresql://admin@… idetic upgrade --yes",
)


def upgrade(
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say what would be done; changes nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Bring a database to this release: the core, then the tables of every agent; or set one up.

    Back up first: migrations are not undone. What was done stays if it is interrupted, and another
    call goes on there. Without a terminal nobody can be asked, and it needs --yes.
    """
    from idetic.context import shipped_contexts
    from idetic.store.upgrade import check_upgrade, plan_upgrade
    from idetic.surfaces.cli.sources import with_admin_login

    alone = bool(dsn) != bool(config.admin_dsn())

    async def work(connection: Connection) -> tuple[Upgrade, list[str]]:
        planned = await plan_upgrade(connection, shipped_contexts())
        _tell(_versions(planned), json)
        if plan:
            return planned, []
        check_upgrade(planned)
        if planned.empty or yes or _agreed(planned, asking=not json):
            return planned, await _run(connection, planned, json, alone=alone)
        _tell(["Nothing was changed."], json)
        return planned, []

    planned, done = with_admin_login(dsn, work)
    data = {**_data(planned), "done": done, "upgraded": bool(done)}
    output.answer(data, json, lambda console: None)


async def _run(
    connection: Connection, planned: Upgrade, as_json: bool, *, alone: bool
) -> list[str]:
    import getpass

    from idetic.context import shipped_contexts
    from idetic.ports import SystemClock
    from idetic.store.connect import login_to_make
    from idetic.store.upgrade import plan_upgrade, run_upgrade

    done: list[str] = []

    def say(line: str) -> None:
        done.append(line)
        _tell([f"  done  {line}"], as_json)

    at, by = SystemClock().now(), getpass.getuser()
    await run_upgrade(connection, shipped_contexts(), by=by, at=at, say=say)
    if not done:
        _tell(["Nothing to do."], as_json)
        return done
    after = await plan_upgrade(connection, shipped_contexts())
    _tell(["Upgraded.", *_versions(after)], as_json)
    # With a login of each kind, or on the embedded server, there is none to make.
    login = await login_to_make(connection) if planned.fresh and alone else None
    _tell([login] if login else [], as_json)
    return done


def _agreed(planned: Upgrade, *, asking: bool) -> bool:
    from idetic.errors import InputError
    from idetic.surfaces.cli.sources import confirmed

    if planned.fresh:
        return True
    if not (asking and sys.stdin.isatty()):
        raise InputError(
            "This changes the database, and there is no terminal to ask at.",
            remedy="Back it up, look at --plan, then give --yes; nothing was changed.",
        )
    return confirmed("Is there a backup, and shall this be done?")


def _tell(lines: Iterable[str], as_json: bool) -> None:
    if as_json:
        return
    console = output.console()
    for line in lines:
        console.print(output.literal(line), soft_wrap=True)


def _versions(planned: Upgrade) -> Iterator[str]:
    core = planned.core
    yield f"Idetic {idetic.__version__}"
    yield f"core: {_between(core.held, core.carried)}"
    yield from (f"  migrate {name}" for name in core.migrations)
    if core.queue:
        yield f"  migrate the queue: {len(core.queue)} files of procrastinate"
    for family in planned.families:
        yield from _family(family)


def _family(family: FamilyVersions) -> Iterator[str]:
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


def _between(held: int, carried: int) -> str:
    return str(held) if held == carried else f"from {held} to {carried}"


def _data(planned: Upgrade) -> dict[str, Any]:
    core = planned.core
    return {
        "release": idetic.__version__,
        "empty": planned.empty,
        "core": {"from": core.held, "to": core.carried, "migrations": core.migrations},
        "queue": core.queue,
        "agents": [_agent_data(family) for family in planned.families],
    }


def _agent_data(family: FamilyVersions) -> dict[str, Any]:
    plan = family.plan
    return {
        "agent": family.agent,
        "from_version": plan.from_version,
        "to_version": plan.to_version,
        "from": family.held,
        "to": family.carried,
        "migrations": [migration.name for migration in plan.migrations],
        "counts": Counter(step.action for step in plan.changes),
        "refused": [f"{s.kind} {s.name}: {s.why}" for s in plan.refusals],
    }

"""`idetic distribute`: an agent's tables over a Citus cluster, by tenant."""

# ruff: noqa: PLC0415
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, examples

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic
    from idetic.store.distribution_plan import Distribution

DISTRIBUTE = examples(
    "idetic distribute world_agent --plan",
    "idetic distribute world_agent --plan > distribute.sql",
    "idetic distribute world_agent --yes --dsn postgresql://…",
)


def distribute(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT", show_default=False, help="An agent that the database holds."
        ),
    ],
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only say what would be done, as SQL; on any server."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Spread an agent's tables over a Citus cluster by tenant, so that each tenant lies together.

    Tables must be empty. What is distributed already stays, so it can be called again; without a
    terminal nobody can be asked, and it needs --yes.
    """
    from idetic.surfaces.cli.sources import with_database

    async def work(db: Idetic) -> tuple[Distribution, bool]:
        planned = await db.distribute(agent, dry_run=True)
        if plan:
            return planned, False
        if planned.citus and not planned.broken and not planned.loaded:
            if not json:
                _say(planned)
            if not (yes or _agreed(planned, asking=not json and sys.stdin.isatty())):
                return planned, False
        return await db.distribute(agent), True

    found, done = with_database(dsn, work)
    data = {**_data(found), "distributed": done}
    if json or plan:
        output.answer(data, json, lambda _: _say(found))
    else:
        output.console().print(_outcome(found, done))


def _agreed(plan: Distribution, *, asking: bool) -> bool:
    from idetic.errors import InputError
    from idetic.surfaces.cli.sources import confirmed

    if not plan.pending:
        return True
    if not asking:
        raise InputError(
            f"This would move {len(plan.pending)} tables, and there is no terminal to ask at.",
            remedy="Look at --plan, then give --yes; nothing was changed.",
        )
    return confirmed(f"Distribute {', '.join(plan.agents)}?")


def _outcome(plan: Distribution, done: bool) -> str:
    if not done:
        return "Nothing was changed."
    if not plan.pending:
        return "Nothing to do: every table is where it belongs."
    return f"Distributed. {_counted(plan)}."


def _counted(plan: Distribution) -> str:
    from idetic.store.distribution_plan import TablePlace

    pending = [t.place for t in plan.pending]
    there = sum(t.done for t in plan.tables)
    stay = sum(t.place is TablePlace.LOCAL for t in plan.tables)
    return (
        f"{pending.count(TablePlace.DISTRIBUTED)} tables by tenant, "
        f"{pending.count(TablePlace.REFERENCE)} on every node; {there} were there, {stay} stay here"
    )


def _data(plan: Distribution) -> dict[str, Any]:
    names = ("table", "place", "why", "tenant", "done", "rows", "statement")
    return {
        "agents": plan.agents,
        "citus": plan.citus,
        "tables": [{name: getattr(t, name) for name in names} for t in plan.tables],
        "broken": plan.broken,
        "nodes": plan.nodes,
        "loaded": plan.loaded,
        "statements": plan.statements,
    }


def _say(plan: Distribution) -> None:
    """The plan as a script: what psql runs, and the rest as comments."""
    console = output.console()
    for remark in _remarks(plan):
        # A name may hold the end of a line, and what follows must not become a statement.
        for line in remark.splitlines():
            console.print(output.literal(f"-- {line}"), soft_wrap=True)
    if plan.statements:
        for statement in ("BEGIN", *plan.statements, "COMMIT"):
            console.print(output.literal(f"{statement};"), soft_wrap=True)


def _remarks(plan: Distribution) -> Iterator[str]:
    yield f"{', '.join(plan.agents)}: {_counted(plan)}."
    if not plan.citus:
        yield "This server has no Citus: these statements are for one that has."
    for each in plan.broken:
        yield f"BROKEN {each.table} ({each.rule}): {each.message} {each.remedy}"
    for found in plan.nodes:
        yield f"NODE {found.node}: {found.message} {found.remedy}"
    if plan.loaded:
        yield f"HOLDS ROWS: {', '.join(plan.loaded)}. Distribute these while they are empty."

"""`idetic demo world`: the demo world, loaded if it is not there, and who is in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from idetic.library.idetic import Idetic
from idetic.surfaces.cli import output
from idetic.surfaces.cli.sources import with_database
from idetic.world import Login, World, load_world
from idetic.world.counting import WORDS
from idetic.world.loading import Progress


def run_world(dsn: str | None, as_json: bool) -> None:
    """Load the world, or find it; say who is in it and how much of what."""
    begun = time.monotonic()
    world = with_database(dsn, lambda db: loaded_world(db, quiet=as_json))
    seconds = round(time.monotonic() - begun, 2)
    data = {**world_data(world), "seconds": seconds}
    output.answer(data, as_json, lambda console: _show(console, world, dsn, seconds))


async def loaded_world(db: Idetic, *, quiet: bool) -> World:
    """The world of a database, with a bar on stderr for whoever watches."""
    with _bar(quiet=quiet) as progress:
        return await load_world(db, progress=progress)


def world_data(world: World) -> dict[str, Any]:
    """The world as JSON holds it; whoever wants in is named with all that a key needs."""
    return {
        "loaded": world.loaded,
        "abandoned": world.abandoned,
        "embedded": world.embedded,
        "begins": world.begins,
        "ends": world.ends,
        "organisations": [
            {"name": one.name, "org_id": one.id,
             "domains": [{"name": each.name, "domain_id": each.id} for each in one.domains]}
            for one in world.organisations
        ],
        "personas": world.personas,
        "logins": [
            {"who": one.who, "organisation": one.organisation, "domain": one.domain,
             "agent": one.agent, "as": _as(one), "anchor": one.anchor}
            for one in world.logins
        ],
        "actions": world.actions,
        "counts": world.counts,
    }  # fmt: skip


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Progress | None]:
    console = output.console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = quiet or not console.is_terminal
    with Bar(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("Loading the demo world", total=None)

        def report(what: str, done: int, of: int) -> None:
            bar.update(task, description=what, completed=done, total=of)

        yield None if hidden else report


def said_of(world: World) -> list[str]:
    """What became of a load, in sentences."""
    lines = ["The demo world is loaded." if world.loaded else "The demo world is there."]
    if world.abandoned:
        lines.append(
            "An earlier load was interrupted: the world began anew in other tenants, and what that "
            "load left stays where it is."
        )
    if not world.embedded:
        lines.append(
            "There was no embedding model, so its entries have no vectors yet: "
            "`idetic model install`, then `idetic worker --once`."
        )
    return lines


def _show(console: Console, world: World, dsn: str | None, seconds: float) -> None:
    for line in said_of(world):
        console.print(output.literal(line, "bold cyan"))
    spans = f"From {output.moment(world.begins)} to {output.moment(world.ends)}."
    console.print(output.literal(spans, "dim"))
    table = output.table("organisation", "domain", "who", "agent", title="Who is who")
    for one in world.logins:
        domain = one.domain or world.personas[0].name
        table.add_row(one.organisation, domain, output.literal(_as(one)), one.agent)
    console.print(table)
    console.print(_counts(world))
    console.print(output.literal(f"That took {seconds} seconds. Try next:", "bold cyan"))
    if dsn:
        console.print(output.literal("  (with IDETIC_DSN set, or --dsn as you gave it)", "dim"))
    for line in _try(world):
        # Never wrapped: a broken line cannot be copied.
        console.print(output.literal(f"  {line}"), soft_wrap=True)


def _counts(world: World) -> Any:
    names = [one.name for one in world.organisations]
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    for where, counts in world.counts.items():
        found[where.partition("/")[0]].update(counts)
    table = output.table("", *names, title="What there is")
    for what, words in WORDS.items():
        if any(found[name][what] for name in names):
            table.add_row(words, *(str(found[name][what] or "") for name in names))
    return table


def _try(world: World) -> list[str]:
    operators = [one for one in world.logins if one.who == "operator"]
    auditors = [one for one in world.logins if one.who == "auditor"]
    action = next(one for one in world.actions if one.domain == auditors[1].domain)
    return [
        f"idetic recall 'Why do names match only closely?' {scope(operators[1])}",
        f"idetic explain {action.id} {scope(auditors[1])}",
        f"idetic list {scope(operators[-1])}",
        f"idetic verify {scope(auditors[0])}",
        "idetic demo month",
    ]


def scope(login: Login) -> str:
    """Somebody as the options that bind them."""
    anchor = " ".join(f"--anchor {key}={value}" for key, value in login.anchor.items())
    return f"--agent {login.agent} {anchor} --as {_as(login)}"


def _as(login: Login) -> str:
    return f"{login.principal.kind}:{login.principal.name}"

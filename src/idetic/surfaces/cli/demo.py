"""`idetic demo …`: stories in the terminal, the demo world, and keys to it for `idetic serve`."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, examples
from idetic.surfaces.cli.sources import with_database

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.library.idetic import Idetic
    from idetic.model import Principal
    from idetic.world import Login, World
    from idetic.world.performance import Performance
    from idetic.world.story import Scene, Sections

# For a server that was killed and could not revoke them.
_KEYS_HOLD = timedelta(days=7)
_STYLES = {
    **dict.fromkeys(("promoted", "meta_promoted", "promote", "confirmed"), "green"),
    **dict.fromkeys(("invalidated", "superseded", "archived", "archive"), "yellow"),
    **dict.fromkeys(("promotion_refused", "corroboration_failed"), "red"),
    "undone": "magenta",
}
_SECTIONS = {
    "facts": "Facts, and who says so",
    "habits": "How things are done",
    "candidates": "Candidates, and what they lack",
    "replaced": "Replaced: both values are kept, with the time each stood",
    "archived": "Archived",
    "due": "Due: somebody has to decide",
    "contradictions": "Contradictions with rules",
    "kept": "Notes that outlived their session",
    "dropped": "Notes that left nothing",
    "written": "All notes",
}
_HOW = (
    "s05/2 is the second thread of the fifth session. A thread counts once, however often it says "
    "something; what stands in (brackets) never counts."
)

app = typer.Typer(
    epilog=examples("idetic demo", "idetic demo --dsn postgresql://me@localhost/idetic")
)


@app.callback(invoke_without_command=True)
def demo(context: typer.Context, dsn: Dsn = None, json: Json = False) -> None:
    """Load the demo world, if it is not there, and play the whole story in a minute.

    Each run tells the story in a tenant of its own, so it can be run any number of times.
    """
    if context.invoked_subcommand is not None:
        # What was said before the command's name holds for it too.
        context.default_map = {context.invoked_subcommand: {"dsn": dsn, "json": json}}
        return
    from idetic.store.embedded import status
    from idetic.world.player import perform

    begun, stage = time.monotonic(), Stage(quiet=json)
    place = "the database that the DSN names" if dsn else f"the embedded server in {status().home}"
    stage.say("Governed memory for AI agents.", "bold")
    stage.say(f"The demo runs in {place}, in tenants of its own.")

    async def work(db: Idetic) -> tuple[World, Performance]:
        """Load the world, say what became of the load, and play the tour."""
        world = await loaded_world(db, quiet=json)
        for line in _about(world):
            stage.say(line)
        stage.say(f"{_contents(world)}: `idetic demo world` shows who is who.")
        return world, await perform(db, "tour", stage.show)

    world, performance = with_database(dsn, work)
    data = {"world": _world_data(world), "scenes": stage.scenes, "seconds": _since(begun)}
    output.answer(data, json, lambda console: _try_next(console, begun, dsn, _after(performance)))


@app.command("world", epilog=examples("idetic demo world", "idetic demo world --json"))
def demo_world(dsn: Dsn = None, json: Json = False) -> None:
    """Load the demo world, if it is not there: two organisations and a month of their memory.

    The world is the same each time, and its last day is the day before it is loaded. A load that
    was interrupted starts again from the beginning.
    """
    begun = time.monotonic()
    world = with_database(dsn, lambda db: loaded_world(db, quiet=json))

    def show(console: Console) -> None:
        """Print who is who, what there is, and what to try next."""
        for line in _about(world):
            console.print(output.literal(line, "bold cyan"))
        spans = f"From {output.moment(world.begins)} to {output.moment(world.ends)}."
        console.print(output.literal(spans, "dim"))
        who = [
            {
                "organisation": one.organisation,
                "domain": one.domain or world.personas[0].name,
                "who": _who(one.principal),
                "agent": one.agent,
            }
            for one in world.logins
        ]
        console.print(output.Listing(who, "Who is who"))
        console.print(output.Listing(_counts(world), "What there is"))
        _try_next(console, begun, dsn, _in_world(world))

    output.answer({**_world_data(world), "seconds": _since(begun)}, json, show)


@app.command("month", epilog=examples("idetic demo month", "idetic demo month --json"))
def demo_month(dsn: Dsn = None, json: Json = False) -> None:
    """Play a month of an agent's life: thirty sessions, and what memory made of them.

    The story has a clock of its own, so the month takes seconds. The outcome is the same each time.
    """
    from idetic.world.player import MONTH_BEGINS, perform

    begun, stage = time.monotonic(), Stage(quiet=json)
    month = with_database(dsn, lambda db: perform(db, "month", stage.show, begins=MONTH_BEGINS))
    days = [scene for scene in stage.scenes if scene.kind != "look"]
    # Nothing in it differs from run to run: no id, no time that passed.
    output.answer({**month.looks, "days": days}, json, lambda console: _took(console, begun))


class Stage:
    """The terminal that a story is played in, scene by scene; with JSON it prints nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self.scenes: list[Scene] = []
        self._console = None if quiet else output.console()
        self._looked: Sections = {}

    def say(self, line: str, style: str = "") -> None:
        """One line of the teller's own."""
        if self._console is not None:
            self._console.print(output.literal(line, style))

    def show(self, scene: Scene) -> None:
        """Tell one scene: explained and numbered, as a look at memory, or as a day's event."""
        self.scenes.append(scene)
        if self._console is None:
            return
        if scene.about:
            self.say(f"\n{len(self.scenes)}. {scene.title}", "bold cyan")
            self.say(scene.about, "dim")
            self._tables(scene.sections)
        elif scene.kind == "look":
            self._console.print()
            self._console.rule(output.literal(scene.title, "bold cyan"))
            self.say("Only what has changed since." if self._looked else _HOW, "dim")
            before, self._looked = self._looked, scene.sections
            self._tables({k: v for k, v in scene.sections.items() if v != before.get(k)})
        else:
            day = output.literal(f"day {scene.day:>3}  ", "cyan")
            self._console.print(day + output.literal(scene.title, "bold"), soft_wrap=True)
        for line, same in groupby(scene.lines):
            times = len(list(same))
            did = line.did.replace("_", " ") + (f" x{times}" if times > 1 else "")
            text = output.literal(f"{'':9}{did:<28}", _STYLES.get(line.did, "dim"))
            text += output.literal(f"{line.what:<16} ") + output.literal(line.why, "dim")
            self._console.print(text, soft_wrap=True)

    def _tables(self, sections: Sections) -> None:
        """Print each section that has rows as a table with its title."""
        for name, rows in sections.items():
            if rows and self._console is not None:
                # Ids leave no room for sentences; the commands at the end have them.
                told = [{key: row[key] for key in row if key != "entry"} for row in rows]
                self._console.print(output.Listing(told, _SECTIONS.get(name)))


async def loaded_world(db: Idetic, *, quiet: bool) -> World:
    """The world of a database; how far its load is stands on stderr."""
    from idetic.world import load_world

    with output.bar("Loading the demo world", quiet=quiet, lines=True) as report:

        def progress(what: str, done: int, of: int) -> None:
            if report is not None:
                report(done, of, what)

        return await load_world(db, progress=progress)


def _about(world: World) -> list[str]:
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


def _contents(world: World) -> str:
    """How much the world holds, and of whom, in words."""
    total, names = world.total, " and ".join(one.name for one in world.organisations)
    counted = f"{total('rules')} rules, {total('observations')} notes and {total('facts')} facts"
    return f"{counted} of {names}"


def _world_data(world: World) -> dict[str, Any]:
    """The world as JSON, with all that a key needs for each of its logins."""
    organisations = [
        {
            "name": one.name,
            "org_id": one.id,
            "domains": [{"name": each.name, "domain_id": each.id} for each in one.domains],
        }
        for one in world.organisations
    ]
    logins = [{**vars(one), "as": _who(one.principal)} for one in world.logins]
    for login in logins:
        del login["principal"]
    return {**vars(world), "organisations": organisations, "logins": logins}


def _counts(world: World) -> list[dict[str, object]]:
    """What is counted in the world, one row for each thing and a column for each organisation."""
    from idetic.world.looks import COUNTED

    sums: dict[str, Counter[str]] = {one.name: Counter() for one in world.organisations}
    for where, counts in world.counts.items():
        sums[where.partition("/")[0]].update(counts)
    return [
        {
            "": what.replace("_", " "),
            **{name: counts[what] or "" for name, counts in sums.items()},
        }
        for what in COUNTED
        if any(counts[what] for counts in sums.values())
    ]


def _since(begun: float) -> float:
    """The seconds since a reading of the monotonic clock."""
    return round(time.monotonic() - begun, 2)


def _took(console: Console, begun: float, more: str = "") -> None:
    """Say how long it took, and something more if there is more to say."""
    console.print(output.literal(f"\nThat took {_since(begun)} seconds.{more}", "bold cyan"))


def _try_next(console: Console, begun: float, dsn: str | None, lines: list[str]) -> None:
    """What to try next, in lines that work when copied."""
    _took(console, begun, " Try next:")
    if dsn:
        console.print(output.literal("  (with IDETIC_DSN set, or --dsn as you gave it)", "dim"))
    for line in lines:
        # Never wrapped: a broken line cannot be copied.
        console.print(output.literal(f"  {line}"), soft_wrap=True)


def _after(performance: Performance) -> list[str]:
    """What to try after the tour: its own tenant, seen from the command line."""
    place = performance.cast.setting
    scope = _scope(
        "world_agent",
        {"org_id": place.org_id, "domain_id": place.domain_id},
        performance.cast.operator.scope.principal,
    )
    first = performance.looks["ledger"]["current"][0]
    return [
        f"idetic list {scope}",
        f"idetic list {scope} --as-of {first['asked'].removeprefix('as of ')}",
        f"idetic history {first['entry']} {scope}",
        "idetic spec render world_agent",
        "idetic spec new --out my_agent.yaml",
        "idetic db status",
    ]


def _in_world(world: World) -> list[str]:
    """What to try in the demo world, as an operator and as an auditor."""
    operators = [_login(one) for one in world.logins if one.who == "operator"]
    auditors = [one for one in world.logins if one.who == "auditor"]
    action = next(one for one in world.actions if one.domain == auditors[1].domain)
    return [
        f"idetic recall 'Why do names match only closely?' {operators[1]}",
        f"idetic explain {action.id} {_login(auditors[1])}",
        f"idetic list {operators[-1]}",
        f"idetic verify {_login(auditors[0])}",
        "idetic demo month",
    ]


def _login(login: Login) -> str:
    """The options with which a command runs as this login."""
    return _scope(login.agent, login.anchor, login.principal)


def _who(principal: Principal) -> str:
    """A principal as `--as` takes it."""
    return f"{principal.kind}:{principal.name}"


def _scope(agent: str, anchor: Mapping[str, Any], principal: Principal) -> str:
    """The options that bind somebody to their memory."""
    keys = " ".join(f"--anchor {key}={value}" for key, value in anchor.items())
    return f"--agent {agent} {keys} --as {_who(principal)}"


@dataclass(frozen=True)
class DemoKey:
    """A key to the demo world: whose, and where it leads."""

    organisation: str
    domain: str | None
    agent: str
    principal: str
    key: str = field(repr=False)
    id: UUID


@asynccontextmanager
async def demo_keys(db: Idetic, *, wanted: bool, quiet: bool) -> AsyncIterator[list[DemoKey]]:
    """Load the demo world if it is wanted, and hand out a key for each login while this lasts."""
    logins = (await loaded_world(db, quiet=quiet)).logins if wanted else ()
    keys: list[DemoKey] = []
    try:
        for login in logins:
            made = await db.keys.create(
                agent=login.agent,
                principal=login.principal,
                anchor=login.anchor,
                expires_at=db.clock.now() + _KEYS_HOLD,
            )
            whose = (login.organisation, login.domain, login.agent, _who(login.principal))
            keys.append(DemoKey(*whose, made.key, made.id))
        yield keys
    finally:
        for each in keys:
            await db.keys.revoke(each.id)

"""`idetic demo`: the demo world, and then the story, scene by scene as it happens."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.panel import Panel

from idetic.library.idetic import Idetic
from idetic.model import Entry
from idetic.spec.memory_spec import MemorySpec
from idetic.store.embedded import status
from idetic.surfaces.cli import demo_scenes as scenes
from idetic.surfaces.cli import demo_story as story
from idetic.surfaces.cli import output
from idetic.surfaces.cli.demo_play import play
from idetic.surfaces.cli.demo_show import Stage, show
from idetic.surfaces.cli.demo_world import loaded_world, said_of, world_data
from idetic.surfaces.cli.memory import entry_data
from idetic.surfaces.cli.sources import with_database
from idetic.world import World


def run_demo(dsn: str | None, as_json: bool) -> None:
    """Play the story; tell it as it happens, or all at once as JSON."""
    begun = time.monotonic()
    told: list[scenes.Scene] = []
    stage = None if as_json else Stage(output.console())
    if stage is not None:
        stage.console.print(_where(dsn))

    def tell(scene: scenes.Scene) -> None:
        told.append(scene)
        if stage is not None:
            show(scene, stage)

    async def work(db: Idetic) -> tuple[World, scenes.LedgerScene]:
        world = await loaded_world(db, quiet=as_json)
        if stage is not None:
            _introduce(stage.console, world)
        return world, await play(db, tell)

    world, last = with_database(dsn, work)
    seconds = round(time.monotonic() - begun, 2)
    scenes_told = [_data(scene) for scene in told]
    data = {"world": world_data(world), "scenes": scenes_told, "seconds": seconds}
    output.answer(data, as_json, lambda console: _end(console, last, dsn, seconds))


def _where(dsn: str | None) -> Panel:
    place = "the database that the DSN names" if dsn else f"the embedded server in {status().home}"
    said = f"Governed memory for AI agents. This happens in {place}, in tenants of its own."
    return Panel(output.literal(said), title="Idetic", title_align="left", border_style="cyan")


def _introduce(console: Console, world: World) -> None:
    """The world in a few lines: the story below is one of its smallest."""
    names = " and ".join(one.name for one in world.organisations)
    held = (
        f"{world.total('rules')} rules, {world.total('observations')} notes and "
        f"{world.total('facts')} facts of {names}: `idetic demo world` shows who is who."
    )
    for line in (*said_of(world), held):
        console.print(output.literal(line))


def _data(scene: scenes.Scene) -> dict[str, Any]:
    """A scene as JSON holds it: its name first, specs as their data, entries with their state."""
    name = type(scene).__name__.removesuffix("Scene").lower()
    fields = {key: _value(value) for key, value in vars(scene).items()}
    return {"scene": name, **fields}


def _value(value: Any) -> Any:
    if isinstance(value, MemorySpec):
        return value.as_data()
    if isinstance(value, list):
        return [entry_data(each) if isinstance(each, Entry) else each for each in value]
    return value


def _end(console: Console, last: scenes.LedgerScene, dsn: str | None, seconds: float) -> None:
    """What to try next, in lines that work when copied."""
    world = last.world
    scope = (
        f"--agent {story.AGENT} --anchor org_id={world.org_id} "
        f"--anchor domain_id={world.domain_id} --as operator:{story.OPERATOR}"
    )
    console.print()
    console.print(output.literal(f"That took {seconds} seconds. Try next:", "bold cyan"))
    if dsn:
        console.print(output.literal("  (with IDETIC_DSN set, or --dsn as you gave it)", "dim"))
    for line in (
        f"idetic list {scope}",
        f"idetic list {scope} --as-of {last.moment.isoformat()}",
        f"idetic history {last.entry_id} {scope}",
        f"idetic spec render {story.AGENT}",
        "idetic spec new --out my_agent.yaml",
        "idetic db status",
    ):
        # Never wrapped: a broken line cannot be copied.
        console.print(output.literal(f"  {line}"), soft_wrap=True)

"""`idetic spec migrate`: an agent's memory into the family of a structurally changed spec."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.errors import InputError
from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Dsn, Json, SpecSource, Yes, examples
from idetic.surfaces.cli.sources import (
    agreed,
    anchor_of,
    read_specs,
    read_text,
    with_database,
)

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic
    from idetic.library.spec_migration import SpecMigration
    from idetic.spec.memory_spec import MemorySpec

EXAMPLES = examples(
    "idetic spec migrate my_agent.yaml --dry-run",
    "idetic spec migrate my_agent.yaml --default region=emea --mapping regions.csv",
    "idetic spec migrate my_agent.yaml --abandon",
)


def migrate(
    spec: SpecSource,
    default: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            show_default=False,
            help="A new anchor key's value, for every anchor without one of its own; repeatable.",
        ),
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="A CSV file with a line for each anchor: its old keys, and values of new ones.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done.")
    ] = False,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give up an unfinished migration.")
    ] = False,
    yes: Yes = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Move an agent's memory into the tables of a changed spec, and switch to them.

    Use it for a change that `spec apply` refuses, such as other anchor keys. Until the migration is
    done, memory can only be read. If it is stopped, call it again, and it goes on.
    """
    (wanted,) = read_specs([spec], dsn)
    values = anchor_of(wanted, default or (), "--default")
    rows = [] if mapping is None else _rows(wanted, mapping)

    async def work(db: Idetic) -> SpecMigration | bool:
        """Show what would be done, and do it if it is agreed to."""
        if abandon:
            return await db.abandon_migration(wanted.agent)
        planned = await db.migrate(wanted, default=values, mapping=rows, dry_run=True)
        if planned.done or dry_run:
            return planned
        if not json:
            output.say(_planned(planned), {}, as_json=False)
        if not (yes or _agreed(planned, asking=not json)):
            return planned
        with output.bar("links", quiet=json) as report:
            return await db.migrate(wanted, default=values, mapping=rows, progress=report)

    done = with_database(dsn, work)
    if isinstance(done, bool):
        said = "The old family is open again." if done else "No migration is under way."
        output.say(said, {"agent": wanted.agent, "abandoned": done}, json)
        return
    output.say(_done(done, dry_run=dry_run), _data(done), json)


def _rows(spec: MemorySpec, path: str) -> list[dict[str, Any]]:
    """The anchors of a mapping file, with the values of the spec's keys in their types."""
    found = []
    for row in csv.DictReader(StringIO(read_text(path)), skipinitialspace=True):
        if None in row or None in row.values():
            raise InputError(
                f"{path}: a line has more or fewer values than the first one has names.",
                remedy="The first line names the old anchor keys and the new ones, with commas.",
            )
        named = [f"{key.name}={row[key.name]}" for key in spec.anchor.keys if key.name in row]
        found.append({**row, **anchor_of(spec, named, path)})
    return found


def _agreed(planned: SpecMigration, *, asking: bool) -> bool:
    """Whether to move: somebody agrees."""
    return agreed(
        f"Move the memory of {planned.agent}?",
        asking=asking,
        changes=f"This moves the memory of {planned.agent} to {planned.new}",
        look="Look at `idetic spec migrate --dry-run`",
    )


def _planned(planned: SpecMigration) -> str:
    """What would be done, in a few lines."""
    counts = Counter(step.kind for step in planned.steps if step.action == "create")
    made = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    lines = [
        f"{planned.agent}: from {planned.old} to {planned.new}, version {planned.version}",
        f"  to move: {planned.anchors} anchors, {planned.links} links",
        f"  to create: {made or 'nothing'}",
    ]
    return "\n".join([*lines, *_keys(planned)])


def _done(done: SpecMigration, *, dry_run: bool) -> str:
    """What was done."""
    if not done.done:
        return f"{_planned(done)}\nNothing was changed." if dry_run else "Nothing was changed."
    if not done.moved and not done.anchors:
        return f"Nothing to do: {done.agent}@{done.version} is stored."
    left = f"{done.agent}@{done.version - 1}"
    lines = [
        f"Moved {done.moved} of {done.anchors} anchors to {done.new}, and verified each.",
        f"{done.agent}@{done.version} is stored. Read what {done.old} holds as {left}.",
    ]
    return "\n".join([*lines, *_keys(done)])


def _keys(done: SpecMigration) -> list[str]:
    """The API keys that end with the old anchors."""
    if not done.keys:
        return []
    return [f"  API keys to be made anew, because they lack an anchor key: {', '.join(done.keys)}"]


def _data(done: SpecMigration) -> dict[str, Any]:
    """The same as JSON holds it."""
    columns = ("action", "kind", "name", "why")
    steps = [{name: getattr(step, name) for name in columns} for step in done.steps]
    names = ("agent", "version", "old", "new", "anchors", "links", "moved", "rows", "done", "keys")
    return {**{name: getattr(done, name) for name in names}, "steps": steps}

"""`idetic spec render`, `diff` and `list`: looking at specs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from idetic.library.idetic import Idetic
from idetic.spec.differences import Difference, differences
from idetic.spec.loader import load, shipped
from idetic.spec.render import render
from idetic.store.embedded import status
from idetic.store.registry import SpecVersion
from idetic.surfaces.cli import output
from idetic.surfaces.cli.sources import read_specs, with_database, write_text


def render_spec(source: str, out: str | None, dsn: str | None, as_json: bool) -> None:
    """The spec's page: to a file, or to stdout as it is."""
    (spec,) = read_specs([source], dsn)
    page = render(spec)
    if out is not None:
        write_text(out, page, anew=False)
    data = {"agent": spec.agent, "digest": spec.digest, "out": out}
    said = f"The page of {spec.agent} is in {out}."
    output.answer(
        data if out else {**data, "markdown": page},
        as_json,
        # Not through the console, which would break the page's long lines.
        lambda console: console.print(output.literal(said)) if out else _write(page),
    )


def _write(text: str) -> None:
    sys.stdout.write(text)


def diff_specs(old: str, new: str, dsn: str | None, as_json: bool) -> None:
    """Every answer in which two specs differ."""
    before, after = read_specs([old, new], dsn)
    found = differences(before, after)
    data = {"old": before.digest, "new": after.digest, "differences": found}
    output.answer(data, as_json, lambda console: show_differences(console, found))


def show_differences(console: Console, found: Sequence[Difference]) -> None:
    """Differences under the primitive that each belongs to."""
    if not found:
        console.print("The specs are the same.")
    primitive = None
    for each in found:
        if each.primitive != primitive:
            primitive = each.primitive
            console.print(output.literal(primitive, "bold"))
        console.print(output.literal(f"  {each.path}", "cyan"), soft_wrap=True)
        for sign, value, style in (("-", each.before, "red"), ("+", each.after, "green")):
            if value is not None:
                console.print(output.literal(f"    {sign} {_short(value)}", style), soft_wrap=True)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else output.as_line(value)


def list_specs(dsn: str | None, as_json: bool) -> None:
    """Shipped specs, then stored versions."""
    ours = [load(name) for name in shipped()]
    stored = with_database(dsn, _versions) if dsn or _has_database() else []
    data = {
        "shipped": [{"agent": s.agent, "title": s.title, "digest": s.digest} for s in ours],
        "stored": [
            {
                "agent": v.agent,
                "version": v.version,
                "digest": v.digest,
                "applied_at": v.applied_at,
                "applied_by": v.applied_by,
            }
            for v in stored
        ],
    }

    def show(console: Console) -> None:
        table = output.table("agent", "title", "digest", title="Shipped with Idetic")
        for spec in ours:
            table.add_row(spec.agent, output.literal(spec.title), spec.digest[:12])
        console.print(table)
        console.print(_stored_table(stored) if stored else "No version is stored yet.")

    output.answer(data, as_json, show)


async def _versions(db: Idetic) -> list[SpecVersion]:
    return await db.spec_versions()


def _has_database() -> bool:
    """Whether there is an embedded database: a look at what is stored should not make one."""
    return (status().data_dir / "PG_VERSION").exists()


def _stored_table(stored: Sequence[SpecVersion]) -> Any:
    table = output.table(
        "agent@version", "digest", "applied", "by", title="Stored in this database"
    )
    for each in stored:
        table.add_row(
            f"{each.agent}@{each.version}",
            each.digest[:12],
            output.moment(each.applied_at),
            output.literal(each.applied_by),
        )
    return table

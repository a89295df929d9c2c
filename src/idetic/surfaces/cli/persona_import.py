"""`idetic persona import`."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Any

import typer
from rich.console import Console

from idetic.errors import IdeticError
from idetic.library.idetic import Idetic
from idetic.library.persona_import.report import FINDINGS, ImportReport
from idetic.surfaces.cli import output
from idetic.surfaces.cli.sources import with_database

_SHOWN = 3


def run_import(
    file: str, tenant: str, dsn: str | None, as_json: bool, *, agent: str | None, dry_run: bool
) -> None:
    """Import one file, with progress on stderr."""

    async def run(db: Idetic) -> ImportReport:
        return await db.import_personas(
            file, tenant=tenant, agent=agent, dry_run=dry_run, progress=_progress
        )

    done = with_database(dsn, run)
    output.answer(_as_data(done), as_json, lambda console: _show(console, done))
    if not done.complete:
        raise typer.Exit(IdeticError.exit_code)


def _progress(what: str, done: int, total: int) -> None:
    sys.stderr.write(f"{what}: {done} of {total}\n")


def _as_data(done: ImportReport) -> dict[str, Any]:
    said = {each.name: getattr(done, each.name) for each in fields(done)}
    return {**said, "complete": done.complete}


def _show(console: Console, done: ImportReport) -> None:
    wrote = "would be written" if done.dry_run else "written"
    console.print(
        f"{done.read} events read, {done.written} {wrote}, {done.there} there already. "
        f"Taken over: {done.ltm_kept} long-term entries, {done.stm_kept} loop summaries; "
        f"{done.stm_derived} loop summaries derived."
    )
    rows = [{"agent/persona": whose, "events": events} for whose, events in done.personas.items()]
    console.print(output.listing(rows or [{"agent/persona": "", "events": ""}]))
    if done.missing:
        lacking = f"The file lacks: {', '.join(done.missing)}"
        console.print(output.literal(lacking, "yellow"), soft_wrap=True)
    for name, found in done.findings.items():
        first = ", ".join(found.first[:_SHOWN]) + (", …" if found.count > _SHOWN else "")
        line = output.literal(f"{found.count} {FINDINGS[name]}: ", "yellow")
        console.print(line + output.literal(first), soft_wrap=True)
    if done.complete:
        end = "Every event of the file is in the log."
        console.print(output.literal("Nothing was written." if done.dry_run else end, "green"))

"""`idetic export`, `import` and `adopt`: memory into a file, and out of one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from idetic.library.idetic import Idetic
from idetic.surfaces.cli import output
from idetic.surfaces.cli.audit import read_head
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.memory import Asked, memory_of, principal_of
from idetic.surfaces.cli.progress import bar
from idetic.surfaces.cli.sources import with_database
from idetic.transfer.adoption import Adopted
from idetic.transfer.exports import Exported
from idetic.transfer.imports import Imported

# A screenful; `--json` has them all.
_SHOWN = 20


@dataclass(frozen=True)
class Taking:
    """An import as typed."""

    file: str
    apply: bool
    vectors: bool
    embed: bool
    head: str | None


def export_anchor(
    file: str, asked: Asked, *, vectors: bool, dsn: str | None, as_json: bool
) -> None:
    """Export to a file, or to stdout and then nothing else to it."""
    principal_of(asked.principal)
    if file == "-" and as_json:
        raise UsageRefused("--json and an export to stdout cannot share stdout.")

    async def run(db: Idetic) -> Exported | None:
        memory = await memory_of(db, asked)
        with bar("rows", quiet=as_json or file == "-") as report:
            if file != "-":
                return await memory.export_to(file, vectors=vectors, progress=report)
            async for chunk in memory.export(vectors=vectors):
                sys.stdout.buffer.write(chunk)
        return None

    done = with_database(dsn, run)
    if done is not None:
        data = {"file": file, **done.as_data()}
        output.answer(data, as_json, lambda console: console.print(output.facts(_told(data))))


def import_anchor(taking: Taking, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """Import a file, and embed what came if that is wanted."""
    principal_of(asked.principal)
    head = None if taking.head is None else read_head(taking.head)

    async def run(db: Idetic) -> tuple[int, Imported, int]:
        applied = await db.apply_specs(taking.file) if taking.apply else 0
        memory = await memory_of(db, asked)
        with bar("rows", quiet=as_json) as report:
            done = await memory.import_from(
                taking.file, vectors=taking.vectors, head=head, progress=report
            )
        with bar("entries", quiet=as_json) as report:
            embedded = (await memory.embed(report)).embedded if taking.embed else 0
        return applied, done, embedded

    applied, done, embedded = with_database(dsn, run)
    data = {"applied": applied, **done.as_data(), "embedded": embedded}
    shown = _told({**data, "head": f"{done.head.position}, {done.head.hash.hex()}"})
    output.answer(data, as_json, lambda console: console.print(output.facts(shown)))


def adopt_file(
    file: str, source: str, asked: Asked, *, dry_run: bool, dsn: str | None, as_json: bool
) -> None:
    """Bring another store's memories to the gateway, and report what was not taken."""
    principal_of(asked.principal)

    async def run(db: Idetic) -> Adopted:
        return await (await memory_of(db, asked)).adopt(source, file, dry_run=dry_run)

    done = with_database(dsn, run)
    output.answer(done.as_data(), as_json, lambda console: _show_adopted(console, done))


def _show_adopted(console: Console, done: Adopted) -> None:
    became = ", ".join(f"{count} {what}" for what, count in sorted(done.became.items()))
    rows = {
        "would take" if done.dry_run else "taken": done.taken,
        "known already": done.known,
        "not taken": len(done.not_taken),
        "metadata left out": ", ".join(sorted(done.left_out)) or "none",
        "became": became or "nothing yet",
    }
    console.print(output.facts(rows))
    if not done.not_taken:
        return
    table = output.table("not taken", "code", "why")
    for one in done.not_taken[:_SHOWN]:
        table.add_row(output.literal(one.id), one.code, output.literal(one.why))
    console.print(table)
    if len(done.not_taken) > _SHOWN:
        console.print(f"and {len(done.not_taken) - _SHOWN} more; --json lists all.")


def _told(data: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", " "): value for name, value in data.items()}

"""What waits for somebody, from the shell: contradictions and dispositions, seen and decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from idetic.evidence import Contradiction, ContradictionStatus, Disposition, Outcome
from idetic.library.idetic import Idetic
from idetic.model import Receipt
from idetic.surfaces.cli import output
from idetic.surfaces.cli.memory import Asked, entry_data, memory_of, principal_of
from idetic.surfaces.cli.sources import with_database
from idetic.verbs.arguments import check_uuid


def show_contradictions(
    status: Sequence[ContradictionStatus] | None,
    limit: int,
    asked: Asked,
    dsn: str | None,
    as_json: bool,
) -> None:
    """The operators' queue, oldest first."""
    principal_of(asked.principal)

    async def read(db: Idetic) -> list[Contradiction]:
        return await (await memory_of(db, asked)).contradictions(status=status, limit=limit)

    found = with_database(dsn, read)
    output.answer({"contradictions": found}, as_json, lambda console: _show(console, found))


def resolve_contradiction(
    contradiction_id: str,
    status: ContradictionStatus,
    notes: str,
    asked: Asked,
    dsn: str | None,
    as_json: bool,
) -> None:
    """Move one on."""
    wanted = check_uuid(contradiction_id, "CONTRADICTION_ID")
    principal_of(asked.principal)

    async def resolve(db: Idetic) -> Receipt:
        return await (await memory_of(db, asked)).resolve(wanted, status, notes=notes)

    receipt = with_database(dsn, resolve)
    data = {"contradiction_id": wanted, "status": status, "position": receipt.position}
    output.answer(data, as_json, lambda console: console.print(f"{wanted} is {status} now."))


def show_due(limit: int, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """The disposition queue."""
    principal_of(asked.principal)

    async def read(db: Idetic) -> list[Disposition]:
        return await (await memory_of(db, asked)).disposition(limit=limit)

    found = with_database(dsn, read)
    data = {"disposition": [_due_data(one) for one in found]}
    output.answer(data, as_json, lambda console: _show_due(console, found))


def dispose_of(
    outcome: Outcome,
    entry_ids: Sequence[str],
    reason: str,
    asked: Asked,
    dsn: str | None,
    as_json: bool,
) -> None:
    """Decide, and say what was decided about each."""
    wanted = [check_uuid(each, "ENTRY_ID") for each in entry_ids]
    principal_of(asked.principal)

    async def dispose(db: Idetic) -> list[Receipt]:
        return await (await memory_of(db, asked)).dispose(wanted, outcome, reason=reason)

    receipts = with_database(dsn, dispose)
    told = [
        {"entry_id": one.entry_id, "decision": one.decision, "position": one.position}
        for one in receipts
    ]
    said = f"{len(receipts)} decided: {outcome}."
    output.answer({"decided": told}, as_json, lambda console: console.print(said))


def _due_data(one: Disposition) -> dict[str, Any]:
    return {
        "entry": entry_data(one.entry),
        "cause": one.cause,
        "pressure": one.pressure,
        "due_at": one.due_at,
    }


def _show(console: Console, found: Sequence[Contradiction]) -> None:
    if not found:
        console.print("No contradictions.")
        return
    table = output.table("id", "status", "entry", "speaks against", "since", keep=("id", "entry"))
    for one in found:
        version = "" if one.ref.version is None else f" v{one.ref.version}"
        table.add_row(
            output.literal(one.id, "cyan"),
            one.status.replace("_", " "),
            output.literal(one.entry_id),
            output.literal(f"{one.ref.noun} {one.ref.id}{version}"),
            output.literal(f"{output.moment(one.observed_at)}\n{one.observed_by}"),
        )
    console.print(table)


def _show_due(console: Console, found: Sequence[Disposition]) -> None:
    if not found:
        console.print("Nothing waits for a decision.")
        return
    table = output.table("entry", "because", "pressure", "since", "note", keep=("entry",))
    for one in found:
        table.add_row(
            output.literal(one.entry.id, "cyan"),
            one.cause.replace("_", " "),
            f"{one.pressure:.2f}",
            output.moment(one.due_at),
            output.literal(one.entry.body_text),
        )
    console.print(table)

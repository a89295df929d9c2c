"""`idetic verify` and `idetic explain`: an auditor's questions from the shell."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.console import Console

from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ActionExplanation
from idetic.audit.findings import Verified
from idetic.errors import ChainBroken, InputError
from idetic.library.idetic import Idetic
from idetic.surfaces.cli import output
from idetic.surfaces.cli.memory import Asked, memory_of, principal_of
from idetic.surfaces.cli.progress import bar
from idetic.surfaces.cli.sources import read_text, with_database, write_text
from idetic.verbs.arguments import check_uuid

# A screenful; `--json` has them all.
_SHOWN = 50


@dataclass(frozen=True)
class Heads:
    """The files of a verification, as typed: a head to compare with, where to keep the next."""

    compare: str | None
    save: str | None


def show_verified(asked: Asked, heads: Heads, dsn: str | None, as_json: bool) -> int:
    """Verify, keep the head if all is well, say what was found; the exit code."""
    kept = None if heads.compare is None else read_head(heads.compare)
    principal_of(asked.principal)

    async def check(db: Idetic) -> Verified:
        memory = await memory_of(db, asked)
        with bar("links", quiet=as_json) as report:
            return await memory.verify(kept, report)

    found = with_database(dsn, check)
    if heads.save is not None and found.intact:
        write_text(heads.save, output.as_text(found.head.as_data()) + "\n", anew=False)
    output.answer(found.as_data(), as_json, lambda console: _show(console, found, heads))
    return 0 if found.intact else ChainBroken.exit_code


def show_action(action_id: str, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """What an action rested on."""
    wanted = check_uuid(action_id, "ACTION_ID")
    principal_of(asked.principal)

    async def ask(db: Idetic) -> ActionExplanation:
        return await (await memory_of(db, asked)).explain_action(wanted)

    told = with_database(dsn, ask)
    output.answer(
        told.as_data(),
        as_json,
        lambda console: console.print(output.literal(told.explain()), soft_wrap=True),
    )


def read_head(path: str) -> ChainHead:
    """A head that was kept in a file."""
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError(
            f"The file {path!r} is not JSON.", remedy="Give a file that --save-head wrote."
        ) from None
    return ChainHead.from_data(data)


def _show(console: Console, found: Verified, heads: Heads) -> None:
    compared = "no head was given, so a tail that was cut off whole would not show"
    if found.compared is not None:
        compared = f"compared with the head kept at position {found.compared.position}"
    head = f"{found.head.position}, {found.head.hash.hex()}"
    count = len(found.problems) + found.more
    rows = {
        "Chain": "intact" if found.intact else f"broken: {count} problem(s)",
        "Checked": f"{found.links} links, {found.entries} entries",
        "Head": head,
        "Tail": compared,
    }
    if heads.save is not None:
        rows["Kept"] = heads.save if found.intact else "nothing: the chain is broken"
    console.print(output.facts(rows))
    if not found.problems:
        return
    table = output.table("kind", "position", "what", "why", "entry", keep=("entry",))
    for each in found.problems[:_SHOWN]:
        table.add_row(
            output.literal(each.kind, "bold red"),
            "" if each.position is None else str(each.position),
            each.what,
            output.literal(each.why),
            output.literal(each.entry_id or ""),
        )
    console.print(table)
    if count > _SHOWN:
        console.print(f"and {count - _SHOWN} more; --json lists up to {len(found.problems)}.")
    console.print(output.literal(f"What to do: {ChainBroken.remedy}"), soft_wrap=True)

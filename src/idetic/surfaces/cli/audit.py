"""`idetic verify`, `explain` and `erase`: an auditor's questions, and an end that cannot be undone.

They are verbs whose commands need more than their declaration says: files, an exit code, a yes.
"""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from idetic.errors import ChainBroken, InputError
from idetic.surfaces.cli import output
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.options import SCOPE, AgentName, Anchor, As, Dsn, Json, examples

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.audit.findings import Verified
    from idetic.audit.head import ChainHead
    from idetic.library.handles import Memory

_AUDITOR = SCOPE.replace("operator:ada", "auditor:ben")
VERIFY = examples(
    f"idetic verify {_AUDITOR}",
    f"idetic verify {_AUDITOR} --save-head head.json",
    f"idetic verify {_AUDITOR} --head head.json --json",
)
EXPLAIN = examples(
    f"idetic explain ACTION_ID {_AUDITOR}", f"idetic explain ACTION_ID {_AUDITOR} --json"
)
ERASE = examples(
    f'idetic erase --reason "request 17" --yes {SCOPE} < identifiers.txt',
    f'idetic erase "Zora Quell" zora@quell.example --reason "request 17" --yes {SCOPE}',
)
# A screenful; `--json` has them all.
_SHOWN = 50


def verify(
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    head: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A head kept earlier: a tail cut since then shows."),
    ] = None,
    save_head: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where to keep the chain's head, if all is well."),
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> int:
    """Check every link of one anchor's chain, its end, and that entries say what they said.

    Reads only. The exit code is 9 when something is not as it was written.
    """
    from idetic.surfaces.cli.sources import with_memory, write_text

    kept = None if head is None else read_head(head)

    async def work(memory: Memory) -> Verified:
        with output.bar("links", quiet=json) as report:
            return await memory.verify(kept, report)

    found = with_memory(agent, anchor, as_, dsn, work)
    if save_head is not None and found.intact:
        write_text(save_head, output.as_text(found.head.as_data()) + "\n", anew=False)
    output.answer(found.as_data(), json, lambda console: _show(console, found, save_head))
    return 0 if found.intact else ChainBroken.exit_code


def read_head(path: str) -> ChainHead:
    """A head that was kept in a file."""
    import json

    from idetic.audit.head import ChainHead
    from idetic.surfaces.cli.sources import read_text

    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError(
            f"The file {path!r} is not JSON.", remedy="Give a file that --save-head wrote."
        ) from None
    return ChainHead.from_data(data)


def _show(console: Console, found: Verified, save_head: str | None) -> None:
    compared = "no head was given, so a tail that was cut off whole would not show"
    if found.compared is not None:
        compared = f"compared with the head kept at position {found.compared.position}"
    count = len(found.problems) + found.more
    rows = {
        "Chain": "intact" if found.intact else f"broken: {count} problem(s)",
        "Checked": f"{found.links} links, {found.entries} entries",
        "Head": f"{found.head.position}, {found.head.hash.hex()}",
        "Tail": compared,
    }
    if save_head is not None:
        rows["Kept"] = save_head if found.intact else "nothing: the chain is broken"
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


def explain(
    action_id: Annotated[str, typer.Argument(metavar="ACTION_ID", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Show what an action rested on, as it stood then, and everything behind that."""
    from idetic.surfaces.cli.sources import with_memory
    from idetic.verbs.arguments import check_uuid

    wanted = check_uuid(action_id, "ACTION_ID")
    found = with_memory(agent, anchor, as_, dsn, lambda memory: memory.explain_action(wanted))
    output.say(found.explain(), found.as_data(), json)


def erase(
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    reason: Annotated[str, typer.Option(help="Why; kept for good, so without the name.")],
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="IDENTIFIER", show_default=False, help="A name, an address or an id; or stdin."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it: it cannot be undone.")] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Empty everything that names somebody, and what was made of it. This is for good.

    Without identifiers, they are read from stdin, one to a line: other users of the machine can
    read a command's arguments.
    """
    from idetic.erasure import Subject
    from idetic.surfaces.cli.sources import with_memory

    if not yes:
        raise UsageRefused(
            "What is erased cannot come back.", remedy="Say --yes. Nothing was erased."
        )
    subject = Subject(identifiers or [line.strip() for line in sys.stdin if line.strip()])
    done = with_memory(agent, anchor, as_, dsn, lambda memory: memory.erase(subject, reason=reason))
    data = {
        "found": done.found,
        "position": done.receipt.position,
        "receipt": done.receipt.id,
        "entries": list(done.entries),
        "removed": {table: list(ids) for table, ids in done.removed.items()},
        "kept": [one.as_data() for one in done.kept],
    }
    kept = [f"Kept: {one.count} in {one.table}.{one.column}, {one.why}." for one in done.kept]
    output.say("\n".join([str(done), *kept]), data, json)

"""`idetic erase`: somebody's data out of one anchor, and a receipt of what went and what stayed."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.surfaces.cli.options import AgentName, Anchor, As, Dsn, Json, examples

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.erasure import Erased
    from idetic.library.idetic import Idetic

SCOPE = "--agent world_agent --anchor org_id=UUID --anchor domain_id=UUID --as operator:ada"
ERASE = examples(
    f'idetic erase --reason "request 17" --yes {SCOPE} < identifiers.txt',
    f'idetic erase "Zora Quell" zora@quell.example --reason "request 17" --yes {SCOPE}',
)


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
    import sys

    from idetic.erasure import Subject
    from idetic.surfaces.cli import output
    from idetic.surfaces.cli.failures import UsageRefused
    from idetic.surfaces.cli.memory import Asked, memory_of
    from idetic.surfaces.cli.sources import with_database

    if not yes:
        raise UsageRefused(
            "What is erased cannot come back.", remedy="Say --yes. Nothing was erased."
        )
    given = identifiers or [line.strip() for line in sys.stdin if line.strip()]
    subject = Subject(given)

    async def run(db: Idetic) -> Erased:
        memory = await memory_of(db, Asked(agent, tuple(anchor), as_))
        return await memory.erase(subject, reason=reason)

    done = with_database(dsn, run)
    output.answer(_data(done), json, lambda console: _show(console, done))


def _data(done: Erased) -> dict[str, Any]:
    return {
        "found": done.found,
        "position": done.receipt.position,
        "receipt": done.receipt.id,
        "entries": list(done.entries),
        "removed": {table: list(ids) for table, ids in done.removed.items()},
        "kept": [one.as_data() for one in done.kept],
    }


def _show(console: Console, done: Erased) -> None:
    console.print(str(done), markup=False, highlight=False)
    for one in done.kept:
        console.print(
            f"Kept: {one.count} in {one.table}.{one.column}, {one.why}.",
            markup=False, highlight=False,
        )  # fmt: skip

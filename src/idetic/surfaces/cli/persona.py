"""`idetic persona check | import | close-catalog` and `idetic dream`.

What a command works with is imported when it runs: `--help` stays fast.
"""

# ruff: noqa: PLC0415
from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.errors import IdeticError
from idetic.surfaces.cli import failures, output
from idetic.surfaces.cli.options import Dsn, Json, examples, group
from idetic.surfaces.cli.sources import with_database

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.library.idetic import Idetic
    from idetic.persona.log_import import ImportReport
    from idetic.persona.loops import Dreamed

DREAM = examples(
    "idetic dream help-desk.yaml --tenant acme", "idetic dream help-desk.yaml --tenant acme --json"
)
Tenant = Annotated[str, typer.Option(metavar="NAME", help="The tenant that the agents belong to.")]

app = group(
    "Agents with persona memory: check their identity files, import their events.",
    "idetic persona check help-desk.yaml",
    "idetic persona import events.jsonl --tenant acme",
)


@app.command(
    "check",
    epilog=examples(
        "idetic persona check help-desk.yaml", "idetic persona check agents/*.yaml --json"
    ),
)
def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", show_default=False, help="Identity files.")
    ],
    json: Json = False,
) -> int:
    """Check identity files: every problem with its place and its remedy."""
    from idetic.persona.identity import Identity

    def read(file: str) -> tuple[dict[str, Any], str]:
        identity = Identity.load(file)
        known = {"agent_id": identity.agent_id, "version": identity.version}
        return known, f"{identity.agent_id} version {identity.version}"

    return failures.check_each("identities", "file", files, read, as_json=json)


@app.command(
    "import",
    epilog=examples(
        "idetic persona import events.jsonl --tenant acme --dry-run",
        "idetic persona import events.jsonl --tenant acme --agent help-desk --json",
    ),
)
def import_events(
    file: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="Events as JSON Lines.")
    ],
    tenant: Tenant,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            show_default=False,
            help="Import only this agent's events; a line without `agent_id` counts as one.",
        ),
    ] = None,
    spec: Annotated[
        str, typer.Option(metavar="SPEC", help="The spec of the agents; it must declare a log.")
    ] = "persona_agent",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; say what would be written.")
    ] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Import events into logs, with their ids, moments and loops.

    Each line of the file is one event as JSON. If you stop the command, run it again: no event
    is imported twice. Progress is on stderr. The exit code is 1 if a line could not be imported;
    the command says which and why. Run `idetic dream` afterwards, for vectors.
    """

    async def run(db: Idetic) -> ImportReport:
        """Import the file's events and tell progress on stderr."""
        return await db.import_events(
            file, tenant=tenant, agent=agent, spec=spec, dry_run=dry_run, progress=_progress
        )

    report = with_database(dsn, run)
    data = asdict(report) | {"complete": report.complete}
    output.answer(data, json, lambda console: _show_imported(console, report))
    if not report.complete:
        raise typer.Exit(IdeticError.exit_code)


def _show_imported(console: Console, report: ImportReport) -> None:
    """Print what an import wrote, what it did not and why, and the problems line by line."""
    wrote = "would be written" if report.dry_run else "written"
    console.print(
        f"{report.read} events read, {report.written} {wrote}, {report.there} there already, "
        f"{report.loops} loops summarised."
    )
    rows = [{"agent/persona": whose, "events": events} for whose, events in report.personas.items()]
    if rows:
        console.print(output.Listing(rows))
    counts = {
        "refused": report.refused,
        "in the log with another content, and not written": report.differing,
        "erased since they were imported; they stay empty": report.erased,
        "of other agents, and skipped": report.skipped,
        "of an unknown kind, kept as system_event": report.unknown_kinds,
        "redacted by the ingest gate": report.redacted,
    }
    for what, count in counts.items():
        if count:
            console.print(output.literal(f"{count} {what}", "yellow"), soft_wrap=True)
    for problem in report.problems:
        console.print(output.literal(f"  {problem}", "red"), soft_wrap=True)
    if report.complete:
        end = "Every event of the file is in the log."
        console.print(output.literal("Nothing was written." if report.dry_run else end, "green"))


@app.command(
    "close-catalog",
    epilog=examples("idetic persona close-catalog", "idetic persona close-catalog --json"),
)
def close_catalog(dsn: Dsn = None, json: Json = False) -> None:
    """Close the views that show every role how large other tables are.

    PostgreSQL lets every role ask for sizes, row counts, locks and sessions, so one persona could
    infer what another one keeps. This command allows it only to pg_monitor, in this database. It
    needs a superuser's login (IDETIC_ADMIN_DSN), and can be repeated. The embedded server's views
    are closed already.
    """
    closed = with_database(dsn, lambda db: db.close_catalog())
    outcome = f"Closed to PUBLIC: {len(closed)}." if closed else "All of it was closed already."
    output.answer({"closed": closed}, json, lambda console: console.print(outcome))


def dream(
    identity: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="The agent's identity file.")
    ],
    tenant: Tenant,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Backfill an agent's long-term and short-term memory from its log, for both personas.

    If you stop the command, run it again: it makes only the missing entries. Progress is on stderr.
    The exit code is 1 if something is still missing; the command says what.
    """
    from idetic.persona.identity import Identity

    known = Identity.load(identity)

    async def run(db: Idetic) -> Dreamed:
        memory = await db.persona(known, tenant=tenant)
        return await memory.dream(_progress, reasoner=db.reasoner)

    done = with_database(dsn, run)
    data = {
        **{name: getattr(done, name) for name in ("loop_id", "derived", "embedded", "summarised")},
        "equal": done.equal,
        "coverage": {coverage.persona: coverage for coverage in done.coverage},
    }
    output.answer(data, json, lambda console: _show_dreamed(console, done))
    if not done.equal:
        raise typer.Exit(IdeticError.exit_code)


def _progress(what: str, done: int, total: int) -> None:
    """Write a line of progress to stderr: stdout is the answer's."""
    sys.stderr.write(f"{what}: {done} of {total}\n")


def _show_dreamed(console: Console, done: Dreamed) -> None:
    """Print what a dream did, the coverage of each persona, and what is still missing."""
    console.print(
        f"{done.derived} entries derived, {done.embedded} embedded, {done.summarised} loops "
        "summarised."
    )
    names = {"ltm": "long-term", "stm": "short-term"}
    columns = ("persona", "events", "ltm", "vectors", "loops", "stm")
    rows = [{names.get(n, n): getattr(one, n) for n in columns} for one in done.coverage]
    console.print(output.Listing(rows))
    for covered in done.coverage:
        missing = {
            "events without a long-term entry": covered.without_ltm,
            "entries without a vector": covered.without_vector,
            "loops without a short-term entry": covered.without_stm,
        }
        for what, ids in missing.items():
            if ids:
                line = f"{covered.persona}: {what}: {', '.join(map(str, ids[:5]))}"
                more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
                console.print(output.literal(line + more, "yellow"), soft_wrap=True)
        if covered.without_vector:
            console.print("`idetic model status` says whether there is a model to embed with.")
    if done.equal:
        console.print(output.literal("Everything is covered.", "green"))

"""`idetic persona … | dream`: how they are called; their work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.options import Dsn, Json, examples, help_if_alone

DREAM = examples(
    "idetic dream help-desk.yaml --tenant acme", "idetic dream help-desk.yaml --tenant acme --json"
)

app = typer.Typer(
    help="Agents with persona memory: check their identity files, import what they remember.",
    epilog=examples(
        "idetic persona check help-desk.yaml", "idetic persona import chaos.db --tenant acme"
    ),
)


@app.callback(invoke_without_command=True)
def _persona(context: typer.Context) -> None:
    help_if_alone(context)


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
) -> None:
    """Check identity files: every problem with its place and its remedy."""
    from idetic.surfaces.cli.persona import check_identities

    check_identities(files, json)


@app.command(
    "import",
    epilog=examples(
        "idetic persona import chaos.db --tenant acme --dry-run",
        "idetic persona import chaos.db --tenant acme --agent help-desk --json",
    ),
)
def import_layout(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False, help="A CHAOS layout: a SQLite file."),
    ],
    tenant: Annotated[str, typer.Option(metavar="NAME", help="Whose agents they are.")],
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            show_default=False,
            help="Take this agent's events alone; names it where the file does not.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; say what would be written.")
    ] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Import an existing CHAOS layout into persona memory, with its ids.

    Reads the tables idetic_events, ltm_entries, stm_entries and stm_ltm_map, and changes nothing
    in the file. Can be stopped and run again: nothing comes twice. Progress is on stderr. Ends
    with 1 if an event of the file is not in the log, and says which. Dream afterwards, for vectors.
    """
    from idetic.surfaces.cli.persona_import import run_import

    run_import(file, tenant, dsn, json, agent=agent, dry_run=dry_run)


@app.command(
    "close-catalog",
    epilog=examples("idetic persona close-catalog", "idetic persona close-catalog --json"),
)
def close_catalog(dsn: Dsn = None, json: Json = False) -> None:
    """Close what tells any role how large a table is, so that no persona can infer another's.

    PostgreSQL lets every role ask for sizes, row counts, locks and sessions. This takes it from
    PUBLIC, in this database, and gives it to pg_monitor. It needs a superuser's login
    (IDETIC_ADMIN_DSN); the embedded server's is closed already. Twice is once.
    """
    from idetic.surfaces.cli.persona import run_close_catalog

    run_close_catalog(dsn, json)


def dream(
    identity: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="The agent's identity file.")
    ],
    tenant: Annotated[str, typer.Option(metavar="NAME", help="Whose agent it is.")],
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Backfill an agent's long-term and short-term memory from its log, for both personas.

    Can be stopped and run again: it takes up what is missing. Progress is on stderr. Ends with 1
    if something is still not covered, and says what.
    """
    from idetic.surfaces.cli.persona import run_dream

    run_dream(identity, tenant, dsn, json)

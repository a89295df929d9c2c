"""`idetic spec …`: how the commands are called. What they do is imported when they run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.commands import help_if_alone
from idetic.surfaces.cli.options import Dsn, Json, Source, examples

app = typer.Typer(
    help="Specs: check, show, plan and apply what an agent's memory is.",
    epilog=examples("idetic spec list", "idetic spec render world_agent"),
)

Out = Annotated[
    str | None,
    typer.Option("--out", metavar="FILE", show_default=False, help="Write there, not to stdout."),
]


@app.callback(invoke_without_command=True)
def _spec(context: typer.Context) -> None:
    help_if_alone(context)


@app.command(
    "check", epilog=examples("idetic spec check my_agent.yaml", "idetic spec check world_agent")
)
def check(
    specs: Annotated[
        list[str],
        typer.Argument(metavar="SPEC...", show_default=False, help="Shipped names or YAML files."),
    ],
    json: Json = False,
) -> None:
    """Check specs and list every problem with its place and remedy. Exit code 5 if any."""
    from idetic.surfaces.cli.spec_check import check_specs

    check_specs(specs, json)


@app.command(
    "render",
    epilog=examples(
        "idetic spec render world_agent", "idetic spec render my_agent.yaml --out memory.md"
    ),
)
def render(spec: Source, out: Out = None, dsn: Dsn = None, json: Json = False) -> None:
    """Show a spec as a readable Markdown page, with the defaults it accepted."""
    from idetic.surfaces.cli.spec_show import render_spec

    render_spec(spec, out, dsn, json)


@app.command(
    "plan", epilog=examples("idetic spec plan my_agent.yaml", "idetic spec plan world_agent --json")
)
def plan(spec: Source, dsn: Dsn = None, json: Json = False) -> None:
    """Show what applying a spec would change in the database. Changes nothing."""
    from idetic.surfaces.cli.spec_plan import show_plan

    show_plan(spec, dsn, json)


@app.command(
    "apply",
    epilog=examples("idetic spec apply my_agent.yaml", "idetic spec apply my_agent.yaml --yes"),
)
def apply(
    spec: Source,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply without asking.")] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Show the plan, ask, apply it, and store the spec's version.

    Without a terminal nobody can be asked: a change to a version that the database already
    holds then needs --yes.
    """
    from idetic.surfaces.cli.spec_plan import apply_spec

    apply_spec(spec, dsn, json, yes=yes)


@app.command(
    "diff",
    epilog=examples(
        "idetic spec diff world_agent my_agent.yaml",
        "idetic spec diff world_agent@1 world_agent@2",
    ),
)
def diff(old: Source, new: Source, dsn: Dsn = None, json: Json = False) -> None:
    """Show what differs between two specs, primitive by primitive."""
    from idetic.surfaces.cli.spec_show import diff_specs

    diff_specs(old, new, dsn, json)


@app.command(
    "new",
    epilog=examples(
        "idetic spec new --out my_agent.yaml",
        'idetic spec new --set agent=tutor --set "anchor.keys=school_id:uuid"',
        "idetic spec new --answers answers.yaml --out tutor.yaml",
    ),
)
def new(
    out: Out = None,
    answers: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False, help="Answers as YAML, key by key."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", show_default=False, help="One answer; repeat."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a new spec: one question per decision, in the documents' order.

    With --answers or --set nothing is asked, and what they leave out takes its default. An
    agent's name and its anchor keys are enough.
    """
    from idetic.surfaces.cli.spec_new import new_spec

    new_spec(out, answers, given or [], json)


@app.command("list", epilog=examples("idetic spec list", "idetic spec list --json"))
def list_(dsn: Dsn = None, json: Json = False) -> None:
    """List the specs that ship with Idetic and every version that the database holds."""
    from idetic.surfaces.cli.spec_show import list_specs

    list_specs(dsn, json)

"""`idetic spec …`: check, show, compare, plan and apply specs."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.errors import PlanRefused
from idetic.surfaces.cli import failures, output, spec_migrate
from idetic.surfaces.cli.options import Dsn, Json, SpecSource, Yes, examples, group
from idetic.surfaces.cli.sources import agreed, read_specs, with_database, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.library.idetic import Idetic
    from idetic.spec.differences import Difference
    from idetic.spec.memory_spec import MemorySpec
    from idetic.store.plan import Plan

    # A plan, and how the spec differs from the version it would follow.
    Planned = tuple[Plan, tuple[Difference, ...]]

_STYLES = {
    "migrate": "magenta",
    "create": "green",
    "replace": "yellow",
    "keep": "dim",
    "refuse": "red",
}
_NAMES_SHOWN = 4

app = group(
    "Check, show, plan and apply specs, which declare an agent's memory.",
    "idetic spec list",
    "idetic spec render my_agent.yaml",
)
Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="FILE", show_default=False, help="The file to write; by default stdout."
    ),
]


@app.command(
    "check", epilog=examples("idetic spec check my_agent.yaml", "idetic spec check world_agent")
)
def check(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...", show_default=False, help="Names of shipped specs, or YAML files."
        ),
    ],
    json: Json = False,
) -> int:
    """Check specs and list every problem with its place and remedy. The exit code is 5 if any.

    A valid spec can have warnings and notes, for example about entries that no read can reach.
    They do not change the exit code.
    """
    from idetic.spec.cautions import notes_of, warnings_of
    from idetic.spec.loader import load

    def read(source: str) -> tuple[dict[str, Any], str]:
        found = load(source)
        told = {"warnings": warnings_of(found), "notes": notes_of(found)}
        known: dict[str, Any] = {"agent": found.agent, "digest": found.digest}
        known |= {key: [asdict(one) for one in each] for key, each in told.items()}
        return known, f"digest {found.digest[:12]}"

    return failures.check_each("specs", "source", specs, read, as_json=json)


@app.command(
    "render",
    epilog=examples(
        "idetic spec render world_agent", "idetic spec render my_agent.yaml --out memory.md"
    ),
)
def render(spec: SpecSource, out: Out = None, dsn: Dsn = None, json: Json = False) -> None:
    """Show a spec as a readable Markdown page, with the defaults it accepted."""
    from idetic.spec.render import render as page_of

    (found,) = read_specs([spec], dsn)
    page = page_of(found)
    data = {"agent": found.agent, "digest": found.digest, "out": out}
    if out is None:
        output.answer({**data, "markdown": page}, json, lambda _: output.write(page))
        return
    write_text(out, page, anew=False)
    output.say(f"The page of {found.agent} is in {out}.", data, json)


@app.command(
    "diff",
    epilog=examples(
        "idetic spec diff world_agent my_agent.yaml",
        "idetic spec diff world_agent@1 world_agent@2",
    ),
)
def diff(old: SpecSource, new: SpecSource, dsn: Dsn = None, json: Json = False) -> None:
    """Show what differs between two specs, primitive by primitive."""
    from idetic.spec.differences import differences

    before, after = read_specs([old, new], dsn)
    found = differences(before, after)
    data = {"old": before.digest, "new": after.digest, "differences": found}
    output.answer(data, json, lambda console: _show_differences(console, found))


def _show_differences(console: Console, found: Sequence[Difference]) -> None:
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
                said = value if isinstance(value, str) else output.as_line(value)
                console.print(output.literal(f"    {sign} {said}", style), soft_wrap=True)


@app.command("list", epilog=examples("idetic spec list", "idetic spec list --json"))
def list_(dsn: Dsn = None, json: Json = False) -> None:
    """List the specs that ship with Idetic and every version in the database."""
    from idetic.spec.loader import load, shipped
    from idetic.store.embedded import status

    ours = [load(name) for name in shipped()]
    # A look at what is stored should not make an embedded database.
    there = dsn or (status().data_dir / "PG_VERSION").exists()
    stored = with_database(dsn, lambda db: db.spec_versions()) if there else []
    columns = ("agent", "version", "digest", "applied_at", "applied_by")
    data = {
        "shipped": [{"agent": s.agent, "title": s.title, "digest": s.digest} for s in ours],
        "stored": [{name: getattr(v, name) for name in columns} for v in stored],
    }

    def show(console: Console) -> None:
        """Print the shipped specs and the stored versions as two tables."""
        rows = [{"agent": s.agent, "title": s.title, "digest": s.digest[:12]} for s in ours]
        console.print(output.Listing(rows, "Shipped with Idetic"))
        versions = [
            {
                "agent@version": f"{v.agent}@{v.version}",
                "digest": v.digest[:12],
                "applied": output.moment(v.applied_at),
                "by": v.applied_by,
            }
            for v in stored
        ]
        there = output.Listing(versions, "Stored in this database") if versions else None
        console.print(there or "No version is stored yet.")

    output.answer(data, json, show)


@app.command(
    "plan", epilog=examples("idetic spec plan my_agent.yaml", "idetic spec plan world_agent --json")
)
def plan(spec: SpecSource, dsn: Dsn = None, json: Json = False) -> None:
    """Show what applying a spec would change in the database. Changes nothing."""
    (wanted,) = read_specs([spec], dsn)
    planned = with_database(dsn, lambda db: _planned(db, wanted))
    output.answer(_plan_data(planned), json, lambda console: _show_plan(console, planned))


@app.command(
    "apply",
    epilog=examples("idetic spec apply my_agent.yaml", "idetic spec apply my_agent.yaml --yes"),
)
def apply(spec: SpecSource, yes: Yes = False, dsn: Dsn = None, json: Json = False) -> None:
    """Show the plan, ask, apply it, and store the spec's version.

    Without a terminal, --yes is needed for a change to an agent that the database already holds.
    """
    from idetic.store.registry import check_open, check_upgraded

    (wanted,) = read_specs([spec], dsn)

    async def work(db: Idetic) -> tuple[Planned, Plan | None]:
        """Show the plan, refuse one that cannot be taken, and apply it if it is agreed to."""
        planned = await _planned(db, wanted)
        if not json:
            _show_plan(output.console(), planned)
        check_upgraded(planned[0])
        check_open(planned[0])
        _check(planned[0])
        wants = yes or planned[0].empty or _agreed(planned[0], asking=not json)
        return planned, await db.apply(wanted) if wants and not planned[0].empty else None

    planned, applied = with_database(dsn, work)
    shown = planned[0]
    # As it was applied: somebody else may have been quicker since the plan was shown.
    version = applied.to_version if applied else shown.from_version
    said = "Nothing was changed."
    if applied:
        said = f"Applied. {wanted.agent}@{version} is stored."
    elif shown.empty:
        said = f"Nothing to do: {wanted.agent}@{shown.to_version} is stored."
    data = {**_plan_data(planned), "applied": applied is not None, "version": version}
    output.say(said, data, json)


app.command("migrate", epilog=spec_migrate.EXAMPLES)(spec_migrate.migrate)


async def _planned(db: Idetic, spec: MemorySpec) -> Planned:
    """The plan for a spec, and the spec's differences from the version that is stored."""
    from idetic.spec.differences import differences
    from idetic.spec.loader import load

    plan = await db.plan(spec)
    stored = {(v.agent, v.version): v for v in await db.spec_versions()}
    before = stored.get((spec.agent, plan.from_version or 0))
    return plan, differences(load(before.spec), spec) if before else ()


def _check(plan: Plan) -> None:
    """Refuse a plan with steps that cannot be taken, and say each reason once."""
    if plan.refusals:
        reasons: dict[str, list[str]] = {}
        for step in plan.refusals:
            reasons.setdefault(step.why, []).append(f"{step.kind} {step.name}")
        refused = "; ".join(f"{_some(names)}: {why}" for why, names in reasons.items())
        raise PlanRefused(
            f"The plan has steps that cannot be taken. {refused}.",
            remedy="Nothing was changed. Correct the spec or the tables that it names.",
        )


def _agreed(plan: Plan, *, asking: bool) -> bool:
    """Whether to apply: somebody agrees, or nobody can be asked and the agent is new."""
    question, changes = f"Apply this to {plan.spec.agent}?", None
    if plan.from_version is not None:
        held = f"which the database holds in version {plan.from_version}"
        changes = f"This changes {plan.spec.agent}, {held}"
    return agreed(question, asking=asking, changes=changes, look="Look at `idetic spec plan`")


def _plan_data(planned: Planned) -> dict[str, Any]:
    """The plan as JSON holds it, with the spec's differences."""
    plan, changed = planned
    columns = ("action", "kind", "name", "why")
    return {
        "agent": plan.spec.agent,
        "from_version": plan.from_version,
        "to_version": plan.to_version,
        "empty": plan.empty,
        "refused": bool(plan.refusals),
        "counts": Counter(step.action for step in plan.steps),
        "steps": [{name: getattr(step, name) for name in columns} for step in plan.steps],
        "differences": changed,
    }


def _show_plan(console: Console, planned: Planned) -> None:
    """Print the differences, the steps grouped by action and reason, and the counts."""
    plan, changed = planned
    before = "nothing" if plan.from_version is None else f"version {plan.from_version}"
    console.print(f"{plan.spec.agent}: from {before} to version {plan.to_version}", style="bold")
    if changed:
        _show_differences(console, changed)
    if not plan.steps:
        console.print("No object in the database changes.")
        return
    for (action, kind, why), names in plan.grouped.items():
        # Not a table: the names are longer than a column would be wide.
        head = output.literal(f"  {action}", _STYLES[action])
        console.print(head + output.literal(f" {kind} ({len(names)}): {why}"), soft_wrap=True)
        console.print(output.indented(output.literal(_some(names), "dim"), 6))
    counts = Counter(step.action.value for step in plan.steps)
    counted = (f"{counts[action]} to {action}" for action in _STYLES if counts[action])
    console.print(output.literal(", ".join(counted), "bold"))


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


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
        typer.Option(
            metavar="FILE", show_default=False, help="A YAML file with answers, key by key."
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", show_default=False, help="One answer; repeat for more."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a new spec; the command asks one question per decision.

    With --answers or --set it asks nothing, and a question without an answer takes its default. The
    agent's name and its anchor keys are enough.
    """
    from idetic.spec.interview import build
    from idetic.spec.loader import parse
    from idetic.surfaces.cli.spec_interview import answers_given, interview

    asked = answers is None and not given
    text = build(interview() if asked else answers_given(answers, given or ()))
    # Parsed before it is written: what is written is valid.
    spec = parse(text)
    data = {"agent": spec.agent, "digest": spec.digest, "out": out, "yaml": text}
    if out is None:
        output.answer(data, json, lambda _: output.write(text))
        return
    write_text(out, text, anew=True)
    output.say(f"The spec is in {out}.\nNext: idetic spec plan {out}", data, json)

"""`idetic spec plan` and `apply`: what would change, and then changing it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.padding import Padding

from idetic.errors import InputError, PlanRefused
from idetic.library.idetic import Idetic
from idetic.spec.differences import Difference, differences
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store.plan import Plan, PlanAction
from idetic.store.registry import check_upgraded
from idetic.surfaces.cli import output
from idetic.surfaces.cli.sources import confirmed, read_specs, with_database
from idetic.surfaces.cli.spec_show import show_differences

_STYLES = {
    PlanAction.MIGRATE: "magenta",
    PlanAction.CREATE: "green",
    PlanAction.REPLACE: "yellow",
    PlanAction.KEEP: "dim",
    PlanAction.REFUSE: "red",
}
_NAMES_SHOWN = 4


@dataclass(frozen=True)
class Planned:
    """A plan, and how the spec differs from the version it would follow."""

    plan: Plan
    changed: tuple[Difference, ...]

    def data(self) -> dict[str, Any]:
        """The plan as data."""
        plan = self.plan
        return {
            "agent": plan.spec.agent,
            "from_version": plan.from_version,
            "to_version": plan.to_version,
            "empty": plan.empty,
            "refused": bool(plan.refusals),
            "counts": Counter(step.action for step in plan.steps),
            "steps": [
                {"action": s.action, "kind": s.kind, "name": s.name, "why": s.why}
                for s in plan.steps
            ],
            "differences": self.changed,
        }


def show_plan(source: str, dsn: str | None, as_json: bool) -> None:
    """What applying would change."""
    (spec,) = read_specs([source], dsn)

    async def work(db: Idetic) -> Planned:
        return await _planned(db, spec)

    planned = with_database(dsn, work)
    output.answer(planned.data(), as_json, lambda console: _show(console, planned))


def apply_spec(source: str, dsn: str | None, as_json: bool, *, yes: bool) -> None:
    """Show the plan, ask if somebody can be asked, apply."""
    (spec,) = read_specs([source], dsn)
    asking = not as_json and sys.stdin.isatty()

    async def work(db: Idetic) -> tuple[Planned, Plan | None]:
        planned = await _planned(db, spec)
        if not as_json:
            _show(output.console(), planned)
        _check(planned.plan)
        if planned.plan.empty or not (yes or _agreed(planned.plan, asking)):
            return planned, None
        return planned, await db.apply(spec)

    planned, applied = with_database(dsn, work)
    # As it was applied: somebody else may have been quicker since the plan was shown.
    version = applied.to_version if applied else planned.plan.from_version
    data = {**planned.data(), "applied": applied is not None, "version": version}
    said = _outcome(planned.plan, applied)
    output.answer(data, as_json, lambda console: console.print(said))


async def _planned(db: Idetic, spec: MemorySpec) -> Planned:
    plan = await db.plan(spec)
    stored = [v for v in await db.spec_versions() if v.agent == spec.agent]
    before = next((v for v in stored if v.version == plan.from_version), None)
    return Planned(plan, differences(load(before.spec), spec) if before else ())


def _check(plan: Plan) -> None:
    check_upgraded(plan)
    if plan.refusals:
        reasons: dict[str, list[str]] = {}
        for step in plan.refusals:
            reasons.setdefault(step.why, []).append(f"{step.kind} {step.name}")
        refused = "; ".join(f"{_some(names)}: {why}" for why, names in reasons.items())
        raise PlanRefused(
            f"The plan has steps that cannot be taken. {refused}.",
            remedy="Nothing was changed. Mend the spec or the tables it names.",
        )


def _agreed(plan: Plan, asking: bool) -> bool:
    if asking:
        return confirmed(f"Apply this to {plan.spec.agent}?")
    if plan.from_version is not None:
        raise InputError(
            f"This changes {plan.spec.agent}, which the database holds in version "
            f"{plan.from_version}, and there is no terminal to ask at.",
            remedy="Look at `idetic spec plan`, then give --yes; nothing was changed.",
        )
    return True


def _outcome(plan: Plan, applied: Plan | None) -> str:
    agent = plan.spec.agent
    if applied:
        return f"Applied. {agent}@{applied.to_version} is stored."
    if plan.empty:
        return f"Nothing to do: {agent}@{plan.to_version} is stored."
    return "Nothing was changed."


def _show(console: Console, planned: Planned) -> None:
    plan = planned.plan
    before = "nothing" if plan.from_version is None else f"version {plan.from_version}"
    console.print(f"{plan.spec.agent}: from {before} to version {plan.to_version}", style="bold")
    if planned.changed:
        show_differences(console, planned.changed)
    if not plan.steps:
        console.print("No object in the database changes.")
        return
    groups: dict[tuple[PlanAction, str, str], list[str]] = {}
    for step in plan.steps:
        groups.setdefault((step.action, step.kind, step.why), []).append(step.name)
    for (action, kind, why), names in sorted(groups.items(), key=_order):
        # Not a table: the names are longer than a column would be wide.
        head = output.literal(f"  {action}", _STYLES[action])
        console.print(head + output.literal(f" {kind} ({len(names)}): {why}"), soft_wrap=True)
        console.print(Padding(output.literal(_some(names), "dim"), (0, 0, 0, 6)))
    console.print(output.literal(_counted(plan), "bold"))


def _counted(plan: Plan) -> str:
    counts = Counter(step.action for step in plan.steps)
    return ", ".join(f"{counts[action]} to {action}" for action in PlanAction if counts[action])


def _order(group: tuple[tuple[PlanAction, str, str], list[str]]) -> int:
    return list(PlanAction).index(group[0][0])


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")

"""`idetic spec check`: every problem of every spec, in one answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console

from idetic.errors import SpecError
from idetic.spec.loader import load
from idetic.surfaces.cli import failures, output


def check_specs(sources: Sequence[str], as_json: bool) -> None:
    """Check each source; one that is not usable does not hide the others."""
    found = [_checked(source) for source in sources]
    output.answer({"specs": found}, as_json, lambda console: _show(console, found))
    if not all(each["valid"] for each in found):
        raise typer.Exit(SpecError.exit_code)


def _checked(source: str) -> dict[str, Any]:
    try:
        spec = load(source)
    except SpecError as error:
        return {"source": source, "valid": False, "error": failures.described(error)}
    return {"source": source, "valid": True, "agent": spec.agent, "digest": spec.digest}


def _show(console: Console, found: Sequence[dict[str, Any]]) -> None:
    for each in found:
        if each["valid"]:
            good = output.literal(f"{each['source']}: ", "bold") + output.literal("valid", "green")
            console.print(good + output.literal(f", digest {each['digest'][:12]}"), soft_wrap=True)
            continue
        error = each["error"]
        console.print(output.literal(error["message"], "red"), soft_wrap=True)
        failures.print_problems(console, error.get("problems", ()))
        if not error.get("problems"):
            console.print(output.literal(f"  → {error['remedy']}", "green"), soft_wrap=True)

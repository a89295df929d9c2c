"""`idetic model …`: the embedding model, installed, seen and checked."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Json, examples, group

if TYPE_CHECKING:
    from idetic.embed import ModelStatus

app = group(
    "The embedding model: install, status, verify.", "idetic model install", "idetic model status"
)


@app.command("install", epilog=examples("idetic model install", "idetic model install --json"))
def install(json: Json = False) -> None:
    """Bring the pinned model here. Says which source was used, and why."""
    import sys

    from idetic.embed import install as bring
    from idetic.embed import status as found

    bring(lambda line: print(line, file=sys.stderr))  # noqa: T201 - progress is for people
    _answer(found(), json)


@app.command("status", epilog=examples("idetic model status", "idetic model status --json"))
def status(json: Json = False) -> None:
    """Show whether the model is here, where from, and whether its hashes are right."""
    from idetic.embed import status as found

    _answer(found(), json)


@app.command("verify", epilog=examples("idetic model verify"))
def verify(json: Json = False) -> None:
    """Check the model's files; fails if they are missing or not the pinned ones."""
    from idetic.embed import verify as found

    _answer(found(), json)


def _answer(found: ModelStatus, as_json: bool) -> None:
    """Give the model's state, as a table or as JSON."""
    rows = {
        "Model": f"{found.model}, {found.precision}",
        "State": "installed and verified" if found.verified else "not usable",
        "Where": str(found.path or "nowhere"),
        "Source": found.source or "none",
        "Why": found.reason,
        "SHA-256": found.weights_sha256,
    }
    data = {each.name: getattr(found, each.name) for each in fields(found)}
    output.answer(data, as_json, lambda console: console.print(output.facts(rows)))

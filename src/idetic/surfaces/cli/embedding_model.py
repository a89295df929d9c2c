"""`idetic model …`: the embedding model and the reranker, installed, seen and checked."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.options import Json, examples, group

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.embed import ModelStatus

app = group(
    "The embedding model and the reranker: install, status, verify.",
    "idetic model install",
    "idetic model install reranker",
    "idetic model status",
)

_HELP = "The model: int8 or fp16 for a form of the embedding model, or reranker."
Which = Annotated[str | None, typer.Argument(metavar="MODEL", show_default=False, help=_HELP)]


@app.command("install", epilog=examples("idetic model install", "idetic model install reranker"))
def install(which: Which = None, json: Json = False) -> None:
    """Install a pinned model, and say which source was used and why.

    Without a name, the embedding model is installed, unless one of its forms is there.
    """
    from idetic.embed import install as bring
    from idetic.embed import status as found

    bring(_progress, key=which)
    _answer(found(which), json)


@app.command("status", epilog=examples("idetic model status", "idetic model status --json"))
def status(json: Json = False) -> None:
    """Show which models are installed, from which source, and whether their hashes are right."""
    from idetic.embed import files
    from idetic.embed import status as found

    loads = found()
    others = [found(form.key) for form in files.FORMS if form.key != loads.key]
    models = [loads, *(other for other in others if other.installed), found(files.RERANKER.key)]

    def show(console: Console) -> None:
        """Print a table for each model."""
        for model in models:
            console.print(output.facts(_rows(model, loads=model not in others)))

    output.answer({"models": models}, json, show)


@app.command("verify", epilog=examples("idetic model verify", "idetic model verify reranker"))
def verify(which: Which = None, json: Json = False) -> None:
    """Check a model's files; fails if they are missing or not the pinned ones."""
    from idetic.embed import verify as found

    _answer(found(which), json)


def _progress(line: str) -> None:
    """A line about what is being done, for people."""
    print(line, file=sys.stderr)  # noqa: T201


def _answer(model: ModelStatus, as_json: bool) -> None:
    """Give one model's state, as a table or as JSON."""
    output.answer(model, as_json, lambda console: console.print(output.facts(_rows(model))))


def _rows(model: ModelStatus, *, loads: bool = True) -> dict[str, str]:
    """A model's state for people."""
    idle = "" if loads else f"; not loaded, IDETIC_MODEL={model.key} would"
    unusable = "not usable" if model.installed else "not installed"
    return {
        "Model": f"{model.model}, {model.precision}",
        "State": f"installed and verified{idle}" if model.verified else unusable,
        "Where": str(model.path or "nowhere"),
        "Source": model.source or "none",
        "Why": model.reason,
        "SHA-256": model.weights_sha256,
    }

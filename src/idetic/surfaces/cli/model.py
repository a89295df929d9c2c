"""`idetic model …`: the embedding model, installed, seen and checked."""

from __future__ import annotations

import sys
from dataclasses import fields

from rich.console import Console

from idetic.embed import ModelStatus, install, status, verify
from idetic.surfaces.cli import output


def install_model(as_json: bool) -> None:
    """Bring the pinned model here, saying on stderr what is tried."""
    install(lambda line: print(line, file=sys.stderr))  # noqa: T201 - progress is for people
    show_model(as_json)


def show_model(as_json: bool) -> None:
    """Say how it is; a missing model is an answer, not an error."""
    _answer(status(), as_json)


def verify_model(as_json: bool) -> None:
    """As `show_model`, but a missing or wrong model is an error."""
    _answer(verify(), as_json)


def _answer(found: ModelStatus, as_json: bool) -> None:
    data = {each.name: getattr(found, each.name) for each in fields(found)}
    output.answer(data, as_json, lambda console: _show(console, found))


def _show(console: Console, found: ModelStatus) -> None:
    state = "installed and verified" if found.verified else "not usable"
    console.print(
        output.facts(
            {
                "Model": f"{found.model}, {found.precision}",
                "State": state,
                "Where": str(found.path or "nowhere"),
                "Source": found.source or "none",
                "Why": found.reason,
                "SHA-256": found.weights_sha256,
            }
        )
    )

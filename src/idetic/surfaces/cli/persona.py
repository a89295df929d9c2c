"""`idetic persona check` and `idetic dream`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console

from idetic.errors import IdeticError, SpecError
from idetic.library.idetic import Idetic
from idetic.persona.coverage import Coverage
from idetic.persona.dream import Dreamed
from idetic.persona.identity import Identity
from idetic.surfaces.cli import failures, output
from idetic.surfaces.cli.sources import with_database


def check_identities(files: Sequence[str], as_json: bool) -> None:
    """Check each file; one that is not usable does not hide the others."""
    found = [_checked(file) for file in files]
    output.answer({"identities": found}, as_json, lambda console: _show_checked(console, found))
    if not all(each["valid"] for each in found):
        raise typer.Exit(SpecError.exit_code)


def _checked(file: str) -> dict[str, Any]:
    try:
        identity = Identity.load(file)
    except SpecError as error:
        return {"file": file, "valid": False, "error": failures.described(error)}
    known = {"agent_id": identity.agent_id, "version": identity.version}
    return {"file": file, "valid": True, **known}


def _show_checked(console: Console, found: Sequence[dict[str, Any]]) -> None:
    for each in found:
        if each["valid"]:
            good = output.literal(f"{each['file']}: ", "bold") + output.literal("valid", "green")
            said = f", {each['agent_id']} version {each['version']}"
            console.print(good + output.literal(said), soft_wrap=True)
            continue
        error = each["error"]
        console.print(output.literal(error["message"], "red"), soft_wrap=True)
        failures.print_problems(console, error.get("problems", ()))
        if not error.get("problems"):
            console.print(output.literal(f"  → {error['remedy']}", "green"), soft_wrap=True)


def run_dream(file: str, tenant: str, dsn: str | None, as_json: bool) -> None:
    """Dream for one agent, with progress on stderr."""
    identity = Identity.load(file)

    async def run(db: Idetic) -> Dreamed:
        return await (await db.persona(identity, tenant=tenant)).dream(_progress)

    done = with_database(dsn, run)
    output.answer(_as_data(done), as_json, lambda console: _show_dreamed(console, done))
    if not done.equal:
        raise typer.Exit(IdeticError.exit_code)


def run_close_catalog(dsn: str | None, as_json: bool) -> None:
    """Close the catalogs, and say what was open."""
    closed = with_database(dsn, lambda db: db.close_catalog())
    said = f"Closed to PUBLIC: {len(closed)}." if closed else "All of it was closed already."
    output.answer({"closed": closed}, as_json, lambda console: console.print(said))


def _progress(what: str, done: int, total: int) -> None:
    sys.stderr.write(f"{what}: {done} of {total}\n")


def _as_data(done: Dreamed) -> dict[str, Any]:
    counts = {"derived": done.derived, "embedded": done.embedded, "summarised": done.summarised}
    covered = {coverage.persona: coverage for coverage in done.coverage}
    return {"loop_id": done.loop_id, **counts, "equal": done.equal, "coverage": covered}


def _show_dreamed(console: Console, done: Dreamed) -> None:
    console.print(
        f"{done.derived} entries derived, {done.embedded} embedded, {done.summarised} loops "
        "summarised."
    )
    names = {"ltm": "long-term", "stm": "short-term"}
    columns = ("persona", "events", "ltm", "vectors", "loops", "stm")
    rows = [{names.get(n, n): getattr(one, n) for n in columns} for one in done.coverage]
    console.print(output.listing(rows))
    for covered in done.coverage:
        _show_missing(console, covered)
    if done.equal:
        console.print(output.literal("Everything is covered.", "green"))


def _show_missing(console: Console, covered: Coverage) -> None:
    missing = {
        "events without a long-term entry": covered.without_ltm,
        "entries without a vector": covered.without_vector,
        "loops without a short-term entry": covered.without_stm,
    }
    for what, ids in missing.items():
        if ids:
            said = f"{covered.persona}: {what}: {', '.join(map(str, ids[:5]))}"
            more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
            console.print(output.literal(said + more, "yellow"), soft_wrap=True)
    if covered.without_vector:
        console.print("`idetic model status` says whether there is a model to embed with.")

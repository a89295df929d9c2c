"""`idetic db …`: the embedded server, seen and steered."""

from __future__ import annotations

from dataclasses import fields

from rich.console import Console

from idetic.store.embedded import EmbeddedServer, ServerStatus, status, stop
from idetic.surfaces.cli import output


def start_server(as_json: bool) -> None:
    """Start it, and let it stay when this process leaves."""
    EmbeddedServer.acquire(keep=True).release()
    show_status(as_json)


def stop_server(as_json: bool) -> None:
    """Stop it, if it runs."""
    stopped = stop()
    said = "The embedded server is stopped." if stopped else "No embedded server was running."
    output.answer({"stopped": stopped}, as_json, lambda console: console.print(said))


def show_status(as_json: bool) -> None:
    """Say how it is, without touching it."""
    found = status()
    data = {each.name: getattr(found, each.name) for each in fields(found)}
    output.answer(data, as_json, lambda console: _show(console, found))


def _show(console: Console, found: ServerStatus) -> None:
    kept = "yes, until `idetic db stop`" if found.kept else "no, it stops with its last user"
    console.print(
        output.facts(
            {
                "State": "running" if found.running else "not running",
                "Kept": kept,
                "Process": found.pid or "none",
                "Home": found.home,
                "Socket": found.socket_dir,
                "PostgreSQL": found.version or "not unpacked yet",
                "Users": "unknown" if found.users is None else found.users,
            },
            title="The embedded server",
        )
    )

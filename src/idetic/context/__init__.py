"""Canonical contexts that ship with Idetic as references for users' own."""

from idetic.store import templates
from idetic.store.plan import Context


def shipped_contexts() -> tuple[Context, ...]:
    """Every context this package can create where a spec points at it and it is not there."""
    return tuple(
        Context(name, templates.read("schema.sql", f"idetic.context.{name}"))
        for name in ("operations", "worlds")
    )

"""Canonical contexts that ship with Idetic as references for users' own."""

from idetic.store import templates
from idetic.store.plan import ReferenceContext


def shipped_contexts() -> tuple[ReferenceContext, ...]:
    """Every context this package can create where a spec points at it and it is not there."""
    return tuple(
        ReferenceContext(name, templates.read("schema.sql", f"idetic.context.{name}"))
        for name in ("operations", "worlds")
    )

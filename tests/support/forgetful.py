"""What the application's door does for every statement, undone: for controls of security tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from idetic.store import scope as scoping
from idetic.store.templates import Statement


def everything(*_scope: object, **_table: object) -> str:
    """A predicate that lets every row by."""
    return "TRUE"


def forget(change: Callable[[Any, str, Any], None]) -> None:
    """Put it in each place that makes one: for a family, and for its tenant."""
    for name in ("predicate", "tenant_predicate"):
        change(scoping, name, everything)


def lasting(change: Callable[[Any, str, Any], None]) -> None:
    """Role and scope stay on the connection: a plain SET where there should be a local one."""
    local = scoping._setting

    def setting(names: tuple[str, ...]) -> Statement:
        made = local(names)
        assert ", true)" in made.text, "there is something to make last"
        return replace(made, text=made.text.replace(", true)", ", false)"))

    change(scoping, "_setting", setting)

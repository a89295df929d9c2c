"""Whether the answers of a spec fit together; each check reads what is there, skips the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from idetic.spec.checks import behavioural, discipline, foundational, retention
from idetic.spec.plain import View
from idetic.spec.problems import Finding

Check = Callable[[View], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    *foundational.CHECKS,
    *behavioural.CHECKS,
    *retention.CHECKS,
    *discipline.CHECKS,
)


def check_all(spec: View) -> list[Finding]:
    """Everything in which the answers contradict each other or the documents."""
    return [finding for check in CHECKS for finding in check(spec)]

"""Echoes: what a session observes although it was only shown it.

Which words count as the same is not decided here: the rule is handed in (`lifecycle/echo.py`), and
this asks it about what the session was really shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from idetic.model import Claim, Place, Scope
from idetic.store.read_receipts import ReadReceipts, Shown
from idetic.store.writes import Item


@dataclass(frozen=True, slots=True)
class Echo:
    """An observation that repeats entries: which, how alike the words are, and why it counts."""

    echo_of: tuple[UUID, ...]
    trigram: float
    why: str

    def as_data(self) -> dict[str, Any]:
        """For the ledger: ids, a number and a reason, never content."""
        return {
            "echo_of": [str(entry_id) for entry_id in self.echo_of],
            "trigram": round(self.trigram, 4),
            "why": self.why,
        }


class EchoRule(Protocol):
    """Compares observations with what one session was shown."""

    def of(self, text: str, claim: Claim | None) -> Echo | None:
        """The echo that an observation is, or None for one of its own."""
        ...


Rule = Callable[[Sequence[Shown]], EchoRule]


class EchoCheck:
    """Marks the items of a write that only repeat what their session was shown."""

    def __init__(self, showing: ReadReceipts, rule: Rule):
        self._showing = showing
        self._rule = rule

    async def judge(self, scope: Scope, place: Place, items: Iterable[Item]) -> Iterator[Item]:
        """The same items, each said to be compared, and echoes with what they repeat."""
        rule = self._rule(await self._showing.shown(scope, place))
        return (_judged(item, rule) for item in items)


def _judged(item: Item, rule: EchoRule) -> Item:
    claim = item["envelope"].get("claim")
    echo = rule.of(item["body"], Claim(**claim) if claim else None)
    judged = item | {"judged": True}
    return judged if echo is None else judged | {"echo": echo.as_data()}

"""A decorator for the verbs of a room: a span, and what their receipts say."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from idetic.model import Decision, Receipt
from idetic.telemetry.facts import Name
from idetic.telemetry.metrics import Metric
from idetic.telemetry.record import count, recording, span

P = ParamSpec("P")
R = TypeVar("R")
Self = TypeVar("Self")
First = TypeVar("First")
Method = Callable[Concatenate[Self, First, P], Awaitable[R]]


def traced(operation: str) -> Callable[[Method[Self, First, P, R]], Method[Self, First, P, R]]:
    """Record an async method whose first argument is a scope, or something held within one."""

    def wrap(method: Method[Self, First, P, R]) -> Method[Self, First, P, R]:
        @functools.wraps(method)
        async def call(self: Self, first: First, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if not recording():
                return await method(self, first, *args, **kwargs)
            scope: Any = getattr(first, "scope", first)
            with span(operation, scope=scope) as told:
                answer = await method(self, first, *args, **kwargs)
                told.tell(**receipt_facts(scope.agent, answer))
                return answer

        return call

    return wrap


def receipt_facts(agent: str, answer: Any) -> dict[str, Any]:
    """What receipts tell: decisions, counted; of a single one, its ids and its similarity."""
    receipts = [answer] if isinstance(answer, Receipt) else _receipts_in(answer)
    for decision in Decision:
        if found := sum(one.decision is decision for one in receipts):
            count(Metric.WRITES, found, agent=Name(agent), decision=decision)
    for one in receipts:
        if one.decision is Decision.REJECT:
            count(Metric.REJECTIONS, agent=Name(agent), reason=Name(one.reason))
    if len(receipts) != 1:
        return {"receipts": len(receipts)} if receipts else {}
    (one,) = receipts
    similarity = one.detail.get("similarity")
    return {
        "decision": one.decision,
        "position": one.position,
        "receipt": one.id,
        "entry": one.entry_id,
        "replayed": one.replayed,
        "similarity": similarity if isinstance(similarity, int | float) else None,
    }


def _receipts_in(answer: Any) -> list[Receipt]:
    return [one for one in answer if isinstance(one, Receipt)] if isinstance(answer, list) else []

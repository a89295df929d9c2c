"""What LangGraph's filters and namespace conditions mean."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import MatchCondition

from idetic.errors import InputError

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def satisfies(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value has every field that a filter asks for, as it asks for it."""
    return all(_field(value.get(name), asked) for name, asked in (wanted or {}).items())


def _field(found: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(str(name).startswith("$") for name in asked):
            return all(_compared(found, name, operand) for name, operand in asked.items())
        return isinstance(found, Mapping) and all(
            _field(found.get(name), part) for name, part in asked.items()
        )
    if isinstance(asked, list | tuple):
        same = isinstance(found, list | tuple) and len(found) == len(asked)
        return same and all(map(_field, found, asked))
    return _equal(found, asked)


def _compared(found: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return _equal(found, operand)
    if name == "$ne":
        return not _equal(found, operand)
    if name not in _ORDER:
        raise InputError(
            f"{name!r} is not an operator of a filter.",
            remedy=f"Use one of $eq, $ne, {', '.join(_ORDER)}.",
        )
    # Numbers are compared with numbers and texts with texts; anything else has no order.
    numbers = _is_number(found) and _is_number(operand)
    texts = isinstance(found, str) and isinstance(operand, str)
    return (numbers or texts) and _ORDER[name](found, operand)


def _equal(found: Any, asked: Any) -> bool:
    """As JSON has it: true is not 1."""
    return bool(found == asked) and isinstance(found, bool) == isinstance(asked, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def matches(namespace: Sequence[str], condition: MatchCondition) -> bool:
    """Whether a namespace begins or ends as a condition says; `*` is any one label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise InputError(f"{condition.match_type!r} is neither prefix nor suffix.")
    return all(asked in ("*", label) for label, asked in zip(part, path, strict=True))

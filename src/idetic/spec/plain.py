"""A caller's data as plain data: text, numbers, truth values, lists, mappings.

`SpecNode` then reads plain data without ever failing: checks look at what is there and skip what
is not, so that one misshapen answer hides no other problem.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel

from idetic.spec.problems import Finding, Steps

MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
# A spec has a few hundred values. The cap stops a list that contains itself many times.
MAX_VALUES = 50_000
MAX_INTEGER = 2**63


class _Reader:
    """One pass over the data, collecting what a spec cannot hold."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._left = MAX_VALUES

    def value(self, value: Any, steps: Steps) -> Any:
        """A value as plain data; what a spec cannot hold becomes None and a finding."""
        self._left -= 1
        if len(steps) > MAX_DEPTH or self._left < 0:
            return self._refuse_size(steps)
        if isinstance(value, BaseModel):
            # Python mode: what JSON mode would quietly turn into null is to be seen here.
            value = value.model_dump(mode="python", by_alias=True, warnings=False)
        elif isinstance(value, Enum):
            value = value.value
        if isinstance(value, Mapping):
            return self._mapping(value, steps)
        if isinstance(value, list | tuple):
            return [self.value(item, (*steps, i)) for i, item in enumerate(value)]
        return self._scalar(value, steps)

    def _mapping(self, mapping: Mapping[Any, Any], steps: Steps) -> dict[str, Any]:
        """A mapping as plain data; a key that is not plain text is left out, with a finding."""
        data: dict[str, Any] = {}
        for key, value in mapping.items():
            name = key.value if isinstance(key, Enum) else key
            if not isinstance(name, str) or not storable(name):
                self._refuse(steps, f"The key {ascii(key)[:40]} is not plain text.")
                continue
            data[name] = self.value(value, (*steps, name))
        return data

    def _scalar(self, value: Any, steps: Steps) -> Any:
        """A single value as it is, or None and a finding where a spec cannot hold it."""
        wrong = None
        if isinstance(value, str):
            wrong = None if storable(value) else "The text holds NUL or a lone surrogate."
        elif isinstance(value, int):  # true and false among them
            wrong = "The number is far too large." if abs(value) >= MAX_INTEGER else None
        elif isinstance(value, float):
            wrong = None if math.isfinite(value) else f"{value} is not a finite number."
        elif value is not None:
            wrong = f"A value of type `{type(value).__name__}` has no place in a spec."
        return value if wrong is None else self._refuse(steps, wrong)

    def _refuse(self, steps: Steps, message: str) -> None:
        """Keep a finding about one value; None stands in its place."""
        remedy = "Write plain text, a finite number, true or false, a list or a mapping."
        self.findings.append(Finding(steps, message, remedy))

    def _refuse_size(self, steps: Steps) -> None:
        """Keep one finding about data without end, however often the bounds are met."""
        # Said once, at the top: the thousandth level of a cycle has no path worth reading.
        message = "The data are nested too deep or hold far too many values."
        finding = Finding(steps[:1], message, "Remove the value that refers back to itself.")
        if finding not in self.findings:
            self.findings.append(finding)


def storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no NUL, no lone surrogate."""
    return "\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def plain(data: Mapping[Any, Any] | BaseModel) -> tuple[dict[str, Any], list[Finding]]:
    """Plain data, and a finding for each value that a spec cannot hold (None in its place)."""
    reader = _Reader()
    return reader.value(data, ()), reader.findings


@dataclass(frozen=True, slots=True)
class SpecNode:
    """A place in plain data. Asking for what is not there gives an empty node."""

    data: Any
    steps: Steps = ()

    def __getitem__(self, step: str | int) -> SpecNode:
        inner = (*self.steps, step)
        if isinstance(step, str) and isinstance(self.data, dict):
            return SpecNode(self.data.get(step), inner)
        if isinstance(step, int) and isinstance(self.data, list) and step < len(self.data):
            return SpecNode(self.data[step], inner)
        return SpecNode(None, inner)

    def at(self, steps: Steps) -> SpecNode:
        """The place that a path leads to from here."""
        here = self
        for step in steps:
            here = here[step]
        return here

    @property
    def present(self) -> bool:
        """Whether anything is written here."""
        return self.data is not None

    @property
    def text(self) -> str | None:
        """The text written here, if it is text."""
        return self.data if isinstance(self.data, str) else None

    @property
    def number(self) -> float | None:
        """The number written here, if it is one."""
        is_number = isinstance(self.data, int | float) and not isinstance(self.data, bool)
        return self.data if is_number else None

    def each(self) -> Iterator[SpecNode]:
        """The items of a list."""
        for i in range(len(self.data) if isinstance(self.data, list) else 0):
            yield self[i]

    def fields(self) -> Iterator[tuple[str, SpecNode]]:
        """The keys and values of a mapping."""
        for key in self.data if isinstance(self.data, dict) else ():
            yield key, self[key]

    def texts(self) -> list[str]:
        """The items of a list that are text."""
        return [item.text for item in self.each() if item.text is not None]

    def finding(self, message: str, remedy: str) -> Finding:
        """Say that something is wrong here."""
        return Finding(self.steps, message, remedy)

    def unanswered(self, wanted: Iterable[str], what: str, remedy: str) -> Iterator[Finding]:
        """A finding for each key that this mapping has to answer and does not.

        `{key}` in the remedy is the key. A mapping that is not there at all is left to the shape:
        it is reported there, once.
        """
        for key in wanted if isinstance(self.data, dict) else ():
            if key not in self.data:
                message = f"No answer is given for the {what} `{key}`."
                yield self[key].finding(message, remedy.format(key=key))


def repeated(nodes: Iterable[SpecNode], what: str) -> Iterator[Finding]:
    """A finding for each node whose text an earlier one already had."""
    seen: set[str] = set()
    for node in nodes:
        if node.text in seen:
            yield node.finding(
                f"The {what} `{node.text}` is named twice.",
                f"Keep one `{node.text}`, and rename or delete the other.",
            )
        elif node.text is not None:
            seen.add(node.text)

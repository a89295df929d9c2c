"""The gate of a principal: what stands between memory and all that its reader is shown.

`operator` and `customer` are boundaries of readers. Whatever a verb answers such a reader walks
through here, whichever noun it is: a text in an entry, in a reason or in a table of evidence is
the same text. Agents, auditors and maintenance stand behind no boundary of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from idetic.gates.gate import Gates, Pipeline
from idetic.model import Claim, Scope
from idetic.spec.memory_spec import BOUNDARY_OF

V = TypeVar("V")

# Whose memory it is: the reader named it to get here, and follows it to an anchor.
_WHOSE = frozenset({"anchor", "keys"})
_DETAIL = "detail"


class ReadingGate:
    """Everything that one principal is shown, as it may be shown."""

    def __init__(self, pipeline: Pipeline, names: Iterable[str]) -> None:
        self._pipeline = pipeline
        self._names = tuple(names)

    @classmethod
    def of(cls, gates: Gates, scope: Scope) -> ReadingGate | None:
        """The gate before a scope's principal; None where nothing is taken out."""
        boundary = BOUNDARY_OF.get(scope.principal.kind)
        pipeline = None if boundary is None else gates.at(boundary)
        if pipeline is None or not pipeline.transforms:
            return None
        return cls(pipeline, (str(value) for value in scope.anchor.values() if value is not None))

    def passed(self, answer: V) -> V:
        """An answer as it may be shown. What holds nothing to remove comes back as it is."""
        shown: V = self._shown("", answer)
        return shown

    def _shown(self, name: str, value: Any) -> Any:
        """A value below a name; text is changed, and whatever holds text is made again."""
        if isinstance(value, str):
            # An enumeration's member is a str too, and a word of our own code.
            plain = not isinstance(value, Enum)
            return self._pipeline.apply(value, self._names).text if plain else value
        if isinstance(value, Claim):
            return Claim(**self._claim(value.as_dict()))
        if isinstance(value, Mapping):
            return self._mapping(name, value)
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)([self._shown(name, each) for each in value])
        if is_dataclass(value) and not isinstance(value, type):
            return self._noun(value)
        return value

    def _noun(self, noun: Any) -> Any:
        """A noun with each of its fields as it may be shown; the same one if none changed."""
        changed = {}
        for each in fields(noun):
            before = getattr(noun, each.name)
            after = before if each.name in _WHOSE else self._shown(each.name, before)
            if after is not before and after != before:
                changed[each.name] = after
        return replace(noun, **changed) if changed else noun

    def _mapping(self, name: str, mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """A mapping's values, never its keys; each text with its key as the label."""
        result: dict[Any, Any] = {}
        for key, value in mapping.items():
            if key == "claim" and isinstance(value, Mapping):
                result[key] = self._claim(value)
            elif name == _DETAIL and _is_id(value):
                # The ledger names entries so, and a reader follows them.
                result[key] = value
            elif _is_plain(value):
                passed, _, _ = self._pipeline.apply_envelope({str(key): value}, self._names)
                result[key] = passed[str(key)]
            else:
                result[key] = self._shown(name, value)
        return result if result != mapping else mapping

    def _claim(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        """A claim's parts; what the value is, its attribute says.

        At a write a redacted claim is refused, because it would equal every other. Here nobody
        compares it.
        """
        attribute = str(claim.get("attribute", ""))
        labels = {name: attribute if name == "value" else name for name in claim}
        return {name: self._labelled(labels[name], value) for name, value in claim.items()}

    def _labelled(self, label: str, value: Any) -> Any:
        """One value as it may be shown below a label."""
        # "claim" as a key means a claim to the pipeline, and this is a part of one.
        label = label if label != "claim" else ""
        passed, _, _ = self._pipeline.apply_envelope({label: value}, self._names)
        return passed[label]


def length(answer: Any) -> int:
    """About how many characters there are to read of an answer."""
    if isinstance(answer, str):
        return len(answer)
    if isinstance(answer, Mapping):
        return sum(map(length, answer.values()))
    if isinstance(answer, list | tuple | set | frozenset):
        return sum(map(length, answer))
    if is_dataclass(answer) and not isinstance(answer, type):
        return sum(length(getattr(answer, each.name)) for each in fields(answer))
    return 0


def _is_plain(value: Any) -> bool:
    """Whether a value is text or a number, or lists and mappings of them: an envelope's."""
    if isinstance(value, Mapping):
        return "claim" not in value and all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float) and not isinstance(value, Enum)


def _is_id(value: Any) -> bool:
    """Whether a text is the id of something and nothing else."""
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False

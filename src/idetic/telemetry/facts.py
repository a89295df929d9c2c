"""What may be told about memory, and what becomes of anything else. The one filter there is."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sized
from enum import Enum
from typing import Any
from uuid import UUID

from idetic.model import Scope

Fact = str | int | float | bool
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}\Z")


class Name(str):
    """A word that our own code chose: an operation, a task, an error's code. No user's text."""

    __slots__ = ()


def safe(given: Mapping[str, Any]) -> dict[str, Fact]:
    """The facts that may leave the process. A text leaves as its length, whoever passed it."""
    told: dict[str, Fact] = {}
    for key, value in given.items():
        if isinstance(value, bool | int) and not isinstance(value, Enum):
            told[key] = value
        elif isinstance(value, float):
            told[key] = round(value, 6) if math.isfinite(value) else 0.0
        elif isinstance(value, UUID):
            told[key] = str(value)
        elif isinstance(value, Enum):
            told[key] = str(value.value)
        elif isinstance(value, Name) and _WORD.match(value):
            told[key] = str(value)
        elif isinstance(value, Scope):
            told |= scope_facts(value)
        elif isinstance(value, str | bytes):
            told[f"{key}_length"] = len(value)
        elif isinstance(value, Sized):
            told[f"{key}_count"] = len(value)
    return told


def scope_facts(scope: Scope) -> dict[str, Fact]:
    """Who and where, without a name: an anchor key may be somebody's address."""
    values = "\x1f".join(str(value) for value in scope.anchor.values())
    digest = hashlib.sha256(f"{scope.agent}\x1f{values}".encode()).hexdigest()
    return {
        "agent": scope.agent,
        "anchor": digest[:16],
        "principal": scope.principal.kind.value,
    }

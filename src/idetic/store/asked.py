"""A question in the database's terms, and what of it the recall statement's text depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.adapt import Transformer

from idetic.model import Origin, Scope, Tier, Typology
from idetic.spec.primitives import Signal
from idetic.store import scope as scoping
from idetic.store.envelope import texts

DIMENSIONS = 384
_NUMBERS = "'[" + ",".join(["%.6g"] * DIMENSIONS) + "]'"
# The parameters of every form of the statement, used or not; the anchor's keys come before them.
TYPES = {
    "text": "text",
    "vector": "{vector}",
    "profile": "uuid",
    "limit": "integer",
    "moment": "timestamptz",
    "typologies": "idetic.typology[]",
    "origins": "idetic.origin[]",
    "min_trust": "integer",
}
# Around the number of a scope's value; no spec's name can hold it.
_MARK = "\x1f"
MARKED = re.compile(f"'{_MARK}(\\d+){_MARK}'")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the database's terms."""

    text: str
    limit: int
    at: datetime
    weights: Mapping[Signal, float]
    vector: Sequence[float] | None = None
    profile_id: UUID | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    tiers: Sequence[Tier] = tuple(Tier)
    typologies: Sequence[Typology] = ()
    origins: Sequence[Origin] = ()
    min_trust: int = 0
    as_of: datetime | None = None
    include_archived: bool = False
    include_candidates: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)


def marked(scope: Scope) -> Scope:
    """The scope with a mark for each value that becomes a parameter of the statement."""
    anchor = enumerate(scope.anchor.items(), start=1)
    marks = {k: None if v is None else f"{_MARK}{n}{_MARK}" for n, (k, v) in anchor}
    return replace(scope, anchor=marks)


_predicates: dict[tuple[Any, ...], str] = {}


def _predicate(scope: Scope) -> str:
    """The scope's predicate with marks for values: rendered once per set of bound keys.

    The function that makes it is part of the key, so that no form outlives it.
    """
    key = (scoping.predicate, *((name, value is None) for name, value in scope.anchor.items()))
    if key not in _predicates:
        _predicates[key] = scoping.predicate(marked(scope), "m").as_string(None)
    return _predicates[key]


def form_of(scope: Scope, asked: Asked) -> tuple[Any, ...]:
    """What the text of the statement depends on; the rest are its parameters."""
    return (
        _predicate(scope),
        tuple(asked.weights.items()),
        asked.vector is None,
        asked.as_of is None,
        asked.include_archived,
        asked.include_candidates,
        tuple(asked.tiers),
        bool(asked.typologies),
        bool(asked.origins),
        asked.min_trust > 0,
        tuple(asked.envelope),
        tuple(asked.where),
    )


class _Quoted(str):
    """A literal that is one already: numbers alone need nobody to look for quotes in them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Form:
    """A prepared statement: its name, how to prepare it, and the values an execution needs."""

    name: str
    prepare: str

    def execute(self, scope: Scope, asked: Asked) -> str:
        """The execution for one question."""
        # One for all values: to make one costs more than to quote with it.
        quoting = Transformer()
        values = ", ".join(
            v if isinstance(v, _Quoted) else sql.Literal(v).as_string(quoting)
            for v in _values(scope, asked)
        )
        return f"EXECUTE {self.name} ({values})"


def prepared(text: str, types: Sequence[str]) -> Form:
    """A statement with parameters as a form, under a name that is the hash of its text."""
    listed = ", ".join(types)
    name = f"idetic_{hashlib.sha256(f'{listed} {text}'.encode()).hexdigest()[:32]}"
    return Form(name, f"PREPARE {name} ({listed}) AS {text}")


def _values(scope: Scope, asked: Asked) -> Iterator[Any]:
    """The parameters, in the order of `TYPES`: the anchor before them, the envelopes after."""
    yield from scope.anchor.values()
    yield asked.text
    yield None if asked.vector is None else _Quoted(_NUMBERS % tuple(asked.vector))
    yield asked.profile_id
    yield asked.limit
    yield asked.as_of or asked.at
    yield [typology.value for typology in asked.typologies]
    yield [origin.value for origin in asked.origins]
    yield asked.min_trust
    for value in (*asked.envelope.values(), *asked.where.values()):
        yield texts(value)

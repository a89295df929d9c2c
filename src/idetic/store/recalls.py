"""Asking one agent's memory: the statement prepared, run, and its rows read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from idetic.model import Entry, Scope
from idetic.spec.primitives import Signal
from idetic.store.asked import Asked, form_of, values_of
from idetic.store.database import Database
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.recall_statement import RecallStatement, settings_of
from idetic.store.statement import Statement


@dataclass(frozen=True, slots=True)
class Found:
    """One row of the answer: an entry, its score, and (rank, value, contribution) by signal."""

    entry: Entry
    score: float
    signals: Mapping[Signal, tuple[int | None, float | None, float]]
    strength: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the database found, and how much it looked at."""

    found: tuple[Found, ...]
    considered: int
    candidates: int
    embedded: int
    active_profile: UUID | None


class Recalls:
    """Asks one family's memory.

    The statement is long: each connection prepares it once per form of question.
    """

    def __init__(self, database: Database, family: Family, entries: Entries, vector_schema: str):
        self._database = database
        self._family = family
        self._entries = entries
        self._vector_schema = vector_schema
        self._forms: dict[tuple[Any, ...], Statement] = {}

    async def ask(self, scope: Scope, asked: Asked) -> Answer:
        """One round trip: question in, explained hits out."""
        key = form_of(scope, asked)
        form = self._forms.get(key)
        if form is None:
            recall = RecallStatement(self._family, scope, asked, self._vector_schema)
            form = self._forms[key] = recall.compose(self._entries)
        values = values_of(scope, asked)
        rows = await self._database.run(scope, form, values, settings=settings_of(self._database))
        considered, candidates, embedded, profile = rows[0][:4]
        found = [self._found(scope, row[4:]) for row in rows if row[4] is not None]
        return Answer(tuple(found), considered, candidates, embedded, profile)

    def _found(self, scope: Scope, row: tuple[Any, ...]) -> Found:
        score, *rest = row
        signals = {}
        for number, signal in enumerate(Signal):
            rank, value, contribution = rest[number * 3 : number * 3 + 3]
            signals[signal] = (rank, value, contribution or 0.0)
        width = 3 * len(Signal)
        strength, entry = rest[width], self._entries.entry(scope, tuple(rest[width + 1 :]))
        return Found(entry, score, signals, strength)

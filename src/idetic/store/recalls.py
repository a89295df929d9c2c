"""Asking one agent's memory: the statement prepared, run, and its rows read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from psycopg import errors as pg

from idetic.errors import Busy
from idetic.model import Entry, Scope
from idetic.spec.primitives import Signal
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.asked import Asked, Form, form_of
from idetic.store.database import Connection, Database, Rows
from idetic.store.entries import Entries
from idetic.store.family import Family
from idetic.store.recall_statement import Statement
from idetic.store.templates import raw
from idetic.telemetry import Metric, Name, count

_FILE = "queries/recall.sql"
_ATTEMPTS = 4
_LOOKUPS, _CACHE = Metric.CACHE_LOOKUPS, Name("prepared_statement")


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

    The statement is long, and planning it costs as much as running it: each connection prepares
    it once per form of question, under a name that is the hash of its text.
    """

    def __init__(self, database: Database, family: Family, entries: Entries, vector_schema: str):
        self._database = database
        self._family = family
        self._entries = entries
        self._vector_schema = vector_schema
        self._forms: dict[tuple[Any, ...], Form] = {}
        self._prepared: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()

    async def ask(self, scope: Scope, asked: Asked) -> Answer:
        """One round trip: question in, explained hits out."""
        key = form_of(scope, asked)
        form = self._forms.get(key)
        if form is None:
            statement = Statement(self._family, scope, asked, self._vector_schema)
            form = self._forms[key] = statement.compose(self._entries)
        rows = await self._run(scope, form, form.execute(scope, asked))
        considered, candidates, embedded, profile = rows[0][:4]
        found = [self._found(row[4:]) for row in rows if row[4] is not None]
        return Answer(tuple(found), considered, candidates, embedded, profile)

    async def _run(self, scope: Scope, form: Form, execute: str) -> Rows:
        """Settings, statement and, where it is new, its preparation, as one message.

        Behind a pooler the server may differ from message to message and know more or fewer
        names than we think; since a name is its text's hash, either is put right by asking again.
        """
        run = f"{templates.query(_FILE, 'settings')}; {execute}"
        async with self._database.reading() as connection:
            known = self._prepared.setdefault(connection, set())
            count(_LOOKUPS, cache=_CACHE, hit=form.name in known)
            for _ in range(_ATTEMPTS):
                prepare = "" if form.name in known else f"{form.prepare}; "
                message = f"{prepare}{scoping.settings(scope)}; {run}"
                try:
                    rows = await _last_rows(connection, message)
                except pg.InvalidSqlStatementName:
                    known.discard(form.name)
                except pg.DuplicatePreparedStatement:
                    known.add(form.name)
                else:
                    known.add(form.name)
                    return rows
        raise Busy("The recall statement could not be prepared.")

    def _found(self, row: tuple[Any, ...]) -> Found:
        score, *rest = row
        signals = {}
        for number, signal in enumerate(Signal):
            rank, value, contribution = rest[number * 3 : number * 3 + 3]
            signals[signal] = (rank, value, contribution or 0.0)
        width = 3 * len(Signal)
        strength, entry = rest[width], self._entries.entry(tuple(rest[width + 1 :]))
        return Found(entry, score, signals, strength)


async def _last_rows(connection: Connection, message: str) -> Rows:
    # prepare=False: several statements cannot be prepared as one, so the driver need not count.
    cursor = await connection.execute(raw(message), prepare=False)
    while cursor.nextset():
        pass
    return await cursor.fetchall()

"""Statements that are long: prepared once per connection, under the hash of their text."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from psycopg import errors as pg

from idetic.errors import Busy
from idetic.model import Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.asked import Form
from idetic.store.database import Connection, Database, Rows
from idetic.store.templates import raw
from idetic.telemetry import Metric, Name, count

_ATTEMPTS = 4
_LOOKUPS, _CACHE = Metric.CACHE_LOOKUPS, Name("prepared_statement")


class Prepared:
    """Runs prepared statements: planning a recall costs as much as running it."""

    def __init__(self, database: Database):
        self._database = database
        self._known: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()

    async def run(self, scope: Scope, form: Form, execute: str) -> Rows:
        """Settings, statement and, where it is new, its preparation, as one message.

        Behind a pooler the server may differ from message to message and know more or fewer
        names than we think; since a name is its text's hash, either is put right by asking again.
        """
        run = f"{templates.query('queries/recall.sql', 'settings')}; {execute}"
        async with self._database.reading() as connection:
            known = self._known.setdefault(connection, set())
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


async def _last_rows(connection: Connection, message: str) -> Rows:
    # prepare=False: several statements cannot be prepared as one, so the driver need not count.
    cursor = await connection.execute(raw(message), prepare=False)
    while cursor.nextset():
        pass
    return await cursor.fetchall()

"""Which tables and columns a CHAOS layout has, by the names they go by in the field."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idetic.persona.errors import LayoutUnusable
from idetic.store import templates

_PACKAGE = "idetic.library.persona_import"

EVENTS, LTM, STM, MAP = "idetic_events", "ltm_entries", "stm_entries", "stm_ltm_map"

# The document's name first; then what the same is called elsewhere.
_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    EVENTS: {
        "id": ("id", "event_id"),
        "ts": ("ts", "timestamp", "created_at", "time"),
        "agent_id": ("agent_id", "agent"),
        "persona": ("persona",),
        "loop_id": ("loop_id", "loop"),
        "kind": ("kind", "event_kind", "event_type", "type"),
        "visibility": ("visibility",),
        "content": ("content", "text", "body", "payload"),
        "metadata": ("metadata", "meta", "metadata_json"),
    },
    LTM: {
        "id": ("id", "ltm_id"),
        "event_id": ("event_id", "idetic_id", "idetic_event_id", "source_event_id", "source_id"),
        "summary": ("summary", "content", "compacted", "text"),
        "importance": ("importance",),
        "agent_id": ("agent_id", "agent"),
        "persona": ("persona",),
    },
    STM: {
        "id": ("id", "stm_id"),
        "loop_id": ("loop_id", "loop"),
        "summary": ("summary", "content", "text"),
        "agent_id": ("agent_id", "agent"),
        "persona": ("persona",),
    },
    MAP: {
        "stm_id": ("stm_id", "stm_entry_id"),
        "loop_id": ("loop_id", "loop"),
        "ltm_id": ("ltm_id", "ltm_entry_id"),
        "position": ("position", "ord", "ordinal", "seq", "idx", "order", "rank"),
    },
}
# Without these nobody can say what an event is, or whose.
_NEEDED = ("id", "ts", "persona", "loop_id", "kind", "content")


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of each table that is there: our name for each, and its own."""

    tables: Mapping[str, Mapping[str, str]]
    ordered: frozenset[str]
    """Tables whose rows have a number in the order they were written."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What the document names and this file lacks: tables, and `table.column`."""
        lacking = [table for table in _NAMES if table not in self.tables]
        for table, columns in self.tables.items():
            wanted = [name for name in _NAMES[table] if name not in columns]
            lacking += [f"{table}.{name}" for name in wanted if not self._spared(table, name)]
        return tuple(lacking)

    def _spared(self, table: str, name: str) -> bool:
        """Whether another column serves: the map names a short-term entry by id or by loop."""
        if table == STM:
            return name == "id" and not self.has(MAP, "stm_id")
        return (
            table == MAP
            and name in ("stm_id", "loop_id")
            and len({"stm_id", "loop_id"} & set(self.tables[MAP])) == 1
        )

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is this table, with these columns."""
        return table in self.tables and set(columns) <= set(self.tables[table])

    def column(self, alias: str, table: str, name: str) -> str:
        """A column by our name for it; NULL if there is none."""
        found = self.tables.get(table, {}).get(name)
        return "NULL" if found is None else f"{alias}.{quoted(found)}"

    def columns(self, alias: str, table: str) -> str:
        """All columns that we know of a table, in our order, NULL for those it lacks."""
        return ", ".join(self.column(alias, table, name) for name in _NAMES[table])

    def order(self, alias: str, table: str, otherwise: str) -> str:
        """What orders a table: the order of writing, or else a column."""
        return f"{alias}.rowid" if table in self.ordered else self.column(alias, table, otherwise)


def query(name: str, **names: str) -> str:
    """One of the layout's queries, with the names that are there."""
    return templates.query("layout.sql", name, _PACKAGE).format(**names)


def quoted(name: str) -> str:
    """A name as SQL; the file may call its columns anything."""
    return '"' + name.replace('"', '""') + '"'


def open_file(file: str | Path) -> sqlite3.Connection:
    """Open a file to read it and nothing else, as it is now: one transaction."""
    with told(file):
        try:
            path = Path(file).expanduser().resolve(strict=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise LayoutUnusable(
                f"The file {str(file)!r} cannot be found.",
                remedy="Check its name; nothing was written.",
            ) from error
        # Another thread each time, never two at once.
        opened = sqlite3.connect(
            f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False, isolation_level=None
        )
        # What is no UTF-8 is kept apart from what is, and refused with its row.
        opened.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        opened.execute("BEGIN")
        return opened


def look(connection: sqlite3.Connection, file: str | Path, *, named: bool) -> Layout:
    """Find out what there is; `named` says that the agent's name is given, not read."""
    with told(file):
        there = {name.lower(): name for (name,) in connection.execute(query("tables"))}
        tables = {t: _found(connection, there[t], t) for t in _NAMES if t in there}
        layout = Layout(tables, frozenset(t for t in tables if _has_rowid(connection, t)))
    if EVENTS not in tables:
        raise LayoutUnusable(f"The file {str(file)!r} has no table {EVENTS}.")
    needed = _NEEDED if named else (*_NEEDED, "agent_id")
    if lacking := [name for name in needed if name not in tables[EVENTS]]:
        remedy = "Name the agent whose events they are; nothing was written."
        raise LayoutUnusable(
            f"The table {EVENTS} has no column {', '.join(lacking)}.",
            remedy=remedy if lacking == ["agent_id"] else None,
        )
    return layout


def _found(connection: sqlite3.Connection, table: str, known_as: str) -> dict[str, str]:
    own = {name.lower(): name for (name,) in connection.execute(query("columns"), (table,))}
    named = {
        ours: next((own[each] for each in aliases if each in own), None)
        for ours, aliases in _NAMES[known_as].items()
    }
    return {ours: name for ours, name in named.items() if name is not None}


def _has_rowid(connection: sqlite3.Connection, table: str) -> bool:
    try:
        connection.execute(query("rowid", table=table))
    except sqlite3.OperationalError:
        return False
    return True


@contextmanager
def told(file: str | Path) -> Iterator[None]:
    """What SQLite has to say, as an error of ours."""
    try:
        yield
    except sqlite3.Error as error:
        # Its name and no more: SQLite's words may hold SQL.
        said = getattr(error, "sqlite_errorname", None) or type(error).__name__
        raise LayoutUnusable(f"The file {str(file)!r} cannot be read as SQLite: {said}.") from error

"""Corpora for the speed of recall, and how tables are filled with them: COPY, then the indexes.

Peers' tables are filled in the form that their own write API leaves behind, so that a hundred
thousand texts take minutes instead of hours. HNSW indexes have their own definitions, as ours do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.types.json import Jsonb

from bench.sets import Message

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts with vectors, `each` of them to an anchor, one after the other; and questions."""

    anchors: int
    texts: list[str]
    vectors: Vectors
    questions: list[str]
    asked: Vectors
    whose: list[int]

    @property
    def each(self) -> int:
        """How many texts an anchor holds."""
        return len(self.texts) // self.anchors

    def vector_of(self, question: str) -> list[float]:
        """The vector of a question: what an embedding model would take milliseconds for."""
        found: list[float] = self.asked[int(question.rpartition(" ")[2])].tolist()
        return found

    def messages(self, places: range) -> dict[str, Message]:
        """The texts of these places as a peer is given them."""
        return {str(place): Message(self.texts[place], 0) for place in places}

    def exact(self, question: int, limit: int) -> set[int]:
        """The true nearest texts within the question's anchor."""
        first = self.whose[question] * self.each
        near = self.vectors[first : first + self.each] @ self.asked[question]
        return {first + int(place) for place in np.argsort(-near)[:limit]}


@contextmanager
def bulk_load(dsn: str, table: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to fill a table with; its HNSW indexes are built when all is in, as is usual."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET maintenance_work_mem = '1GB'")
        found = connection.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
            "JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam "
            "WHERE indrelid = %s::regclass AND amname = 'hnsw'",
            (table,),
        ).fetchall()
        for name, _ in found:
            connection.execute(f"DROP INDEX {name}")
        yield connection
        for _, definition in found:
            connection.execute(definition)
        connection.execute(f"VACUUM (ANALYZE) {table}")


def as_text(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{x:.6g}" for x in vector) + "]"


class RawPgvector:
    """The least that could be written by hand: one table, one statement, prepared."""

    def __init__(self, dsn: str, corpus: Corpus, *, indexed: bool):
        self._corpus = corpus
        table = "raw_indexed" if indexed else "raw_exact"
        with psycopg.connect(dsn, autocommit=True) as made:
            made.execute(f"CREATE TABLE {table} (anchor int, place int, v halfvec(384))")
            made.execute(
                f"CREATE INDEX ON {table} USING hnsw (v halfvec_ip_ops)"
                if indexed
                else f"CREATE INDEX ON {table} (anchor)"
            )
        into = f"COPY {table} FROM STDIN"
        with bulk_load(dsn, table) as load, load.cursor() as cursor, cursor.copy(into) as copy:
            for place, vector in enumerate(corpus.vectors):
                copy.write_row((place // corpus.each, place, as_text(vector)))
        self._connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=1)
        if indexed:
            self._connection.execute("SET hnsw.iterative_scan = strict_order")
            self._connection.execute("SET enable_sort = off")
        self._query = (
            f"SELECT place FROM {table} WHERE anchor = %s ORDER BY v <#> %s::halfvec LIMIT %s"  # noqa: S608
        )

    def search(self, question: int, limit: int) -> list[int]:
        """The nearest by inner product."""
        corpus = self._corpus
        asked = (corpus.whose[question], as_text(corpus.asked[question]), limit)
        return [row[0] for row in self._connection.execute(self._query, asked)]


def copy_langgraph(dsn: str, corpus: Corpus) -> None:
    """Fill the tables of LangGraph's store, which its `setup` has made."""
    now = datetime.now(UTC)
    with bulk_load(dsn, "store_vectors") as load, load.cursor() as cursor:
        with cursor.copy(
            "COPY store (prefix, key, value, created_at, updated_at) FROM STDIN"
        ) as copy:
            for place, text in enumerate(corpus.texts):
                prefix = f"bench.{place // corpus.each}"
                copy.write_row((prefix, str(place), Jsonb({"text": text}), now, now))
        with cursor.copy(
            "COPY store_vectors (prefix, key, field_name, embedding) FROM STDIN"
        ) as copy:
            for place, vector in enumerate(corpus.vectors):
                prefix = f"bench.{place // corpus.each}"
                copy.write_row((prefix, str(place), "text", as_text(vector)))
        load.execute("VACUUM (ANALYZE) store")


def copy_mem0(dsn: str, corpus: Corpus) -> None:
    """Fill Mem0's table, with the payload that its `add` writes."""
    now = datetime.now(UTC).isoformat()
    into = "COPY mem0 (id, vector, payload) FROM STDIN"
    with bulk_load(dsn, "mem0") as load, load.cursor() as cursor, cursor.copy(into) as copy:
        for place, text in enumerate(corpus.texts):
            payload = {"data": text, "user_id": str(place // corpus.each), "hash": "x"}
            payload |= {"text_lemmatized": text.lower(), "created_at": now, "key": str(place)}
            copy.write_row((uuid4(), as_text(corpus.vectors[place]), Jsonb(payload)))

"""The memories that stand beside us in the recall benchmark.

They are asked through their own public search, with vectors given to them; their
tables are filled by COPY and their HNSW indexes built afterwards, with their own definitions, as
ours are. Nobody here reaches a network.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.types.json import Jsonb

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

    def exact(self, question: int, limit: int) -> set[int]:
        """The true nearest texts within the question's anchor."""
        first = self.whose[question] * self.each
        near = self.vectors[first : first + self.each] @ self.asked[question]
        return {first + int(place) for place in np.argsort(-near)[:limit]}


class Peer(Protocol):
    """A memory that is asked one question within one anchor and answers with places."""

    def search(self, question: int, limit: int) -> list[int]:
        """The places of the best texts."""
        ...


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


class LangGraph:
    """LangGraph's `PostgresStore.search`, a namespace per anchor."""

    def __init__(self, dsn: str, corpus: Corpus):
        from langgraph.store.postgres import PostgresStore  # noqa: PLC0415 - a peer, if installed

        self._corpus = corpus
        index: Any = {"dims": 384, "embed": self._embed, "fields": ["text"]}
        self._context = PostgresStore.from_conn_string(dsn, index=index)
        self._store = self._context.__enter__()
        self._store.setup()
        now = datetime.now(UTC)
        with bulk_load(dsn, "store_vectors") as load, load.cursor() as cursor:
            into = "COPY store (prefix, key, value, created_at, updated_at) FROM STDIN"
            with cursor.copy(into) as copy:
                for place, text in enumerate(corpus.texts):
                    prefix = f"bench.{place // corpus.each}"
                    copy.write_row((prefix, str(place), Jsonb({"text": text}), now, now))
            into = "COPY store_vectors (prefix, key, field_name, embedding) FROM STDIN"
            with cursor.copy(into) as copy:
                for place, vector in enumerate(corpus.vectors):
                    prefix = f"bench.{place // corpus.each}"
                    copy.write_row((prefix, str(place), "text", as_text(vector)))
            load.execute("VACUUM (ANALYZE) store")

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._corpus.vector_of(text) for text in texts]

    def search(self, question: int, limit: int) -> list[int]:
        """The nearest by cosine."""
        space = ("bench", str(self._corpus.whose[question]))
        found = self._store.search(space, query=self._corpus.questions[question], limit=limit)
        return [int(item.key) for item in found]


class Chroma:
    """Chroma on disk in this process: a collection per anchor, or one with a `where`."""

    def __init__(self, home: Path, corpus: Corpus, *, filtered: bool):
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        import chromadb  # noqa: PLC0415 - a peer, if installed

        self._corpus, self._filtered = corpus, filtered
        client = chromadb.PersistentClient(str(home))
        names = ["all"] if filtered else [f"anchor-{n}" for n in range(corpus.anchors)]
        cosine = {"hnsw:space": "cosine"}
        self._collections = [client.create_collection(name, metadata=cosine) for name in names]
        for first in range(0, len(corpus.texts), min(corpus.each, 1000)):
            places = range(first, min(first + min(corpus.each, 1000), len(corpus.texts)))
            anchor = first // corpus.each
            self._collections[0 if filtered else anchor].add(
                ids=[str(place) for place in places],
                embeddings=corpus.vectors[places.start : places.stop],
                documents=corpus.texts[places.start : places.stop],
                metadatas=[{"anchor": anchor} for _ in places],
            )

    def search(self, question: int, limit: int) -> list[int]:
        """The nearest by cosine."""
        anchor, vector = self._corpus.whose[question], self._corpus.asked[question]
        collection = self._collections[0 if self._filtered else anchor]
        where: Any = {"anchor": anchor} if self._filtered else None
        found = collection.query(query_embeddings=[vector], n_results=limit, where=where)
        return [int(name) for name in found["ids"][0]]


class Mem0:
    """Mem0's own `Memory.search` on pgvector, a user per anchor; no model of its own is called."""

    def __init__(self, dsn: str, home: Path, corpus: Corpus):
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home)}
        memory: Any = import_module("mem0").Memory

        store = {"connection_string": dsn, "collection_name": "mem0", "hnsw": True}
        hosted = {"provider": "openai", "config": {"api_key": "never used"}}
        self._corpus = corpus
        self._memory = memory.from_config(
            {
                "vector_store": {
                    "provider": "pgvector",
                    "config": {**store, "embedding_model_dims": 384},
                },
                "embedder": hosted,
                "llm": hosted,
                "history_db_path": str(home / "history.db"),
            }
        )
        self._memory.embedding_model = self
        self._memory.vector_store.create_col()
        self._places: dict[UUID, int] = {}
        now = datetime.now(UTC).isoformat()
        into = "COPY mem0 (id, vector, payload) FROM STDIN"
        with bulk_load(dsn, "mem0") as load, load.cursor() as cursor, cursor.copy(into) as copy:
            for place, text in enumerate(corpus.texts):
                told = {"data": text, "user_id": str(place // corpus.each), "hash": "x"}
                told |= {"text_lemmatized": text.lower(), "created_at": now}
                self._places[made := uuid4()] = place
                copy.write_row((made, as_text(corpus.vectors[place]), Jsonb(told)))

    def embed(self, text: str, _action: str = "") -> list[float]:
        """What Mem0 asks of an embedder."""
        return self._corpus.vector_of(text)

    def search(self, question: int, limit: int) -> list[int]:
        """The best by vector and keyword, as Mem0 scores them."""
        user = {"user_id": str(self._corpus.whose[question])}
        asked = self._corpus.questions[question]
        found = self._memory.search(asked, filters=user, top_k=limit)
        return [self._places[UUID(hit["id"])] for hit in found["results"]]

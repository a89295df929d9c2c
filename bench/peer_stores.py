"""The memories that stand beside us, each behind its own public write and search API.

Every one is handed the same embedder, through whatever it has for one. Nobody reaches a network.
A peer that is not installed raises ModuleNotFoundError when it is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from bench.sets import Message

# One vector for each text.
Embed = Callable[[Sequence[str]], list[list[float]]]


class PeerStore(Protocol):
    """A memory of another project: spaces that never meet, messages in them under keys."""

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """Write messages of one session; they can be found when this returns."""

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The keys of the best messages, best first."""

    def close(self) -> None:
        """Give back connections and processes."""


class LangGraphStore:
    """LangGraph's `PostgresStore`: a namespace for each space, HNSW by its own defaults."""

    def __init__(self, dsn: str, embed: Embed | None):
        from langgraph.store.postgres import PostgresStore  # noqa: PLC0415 - a peer, if installed

        index: Any = {"dims": 384, "embed": embed, "fields": ["text"]} if embed else None
        self._context = PostgresStore.from_conn_string(dsn, index=index)
        self._store = self._context.__enter__()
        self._store.setup()

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """One `put` for a single message, one `batch` for several."""
        from langgraph.store.base import PutOp  # noqa: PLC0415 - a peer, if installed

        puts = [PutOp(("bench", space), key, {"text": m.text}) for key, m in messages.items()]
        if len(puts) == 1:
            self._store.put(puts[0].namespace, puts[0].key, {"text": messages[puts[0].key].text})
        else:
            self._store.batch(puts)

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The nearest by cosine."""
        found = self._store.search(("bench", space), query=question, limit=limit)
        return [item.key for item in found]

    def close(self) -> None:
        """Close the connection."""
        self._context.__exit__(None, None, None)


class Mem0Store:
    """Mem0's `Memory` on pgvector with `infer=False`, a user for each space.

    Its embedders are names of services. The one that is built is replaced before it is asked.
    Its keyword search needs spaCy with a model that the package registry does not have. Without
    them it asks for every word of a question, finds nothing, and the vectors decide alone.
    """

    def __init__(self, dsn: str, home: Path, embed: Embed):
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home)}
        memory: Any = import_module("mem0").Memory
        home.mkdir(parents=True, exist_ok=True)
        store = {"connection_string": dsn, "collection_name": "mem0", "hnsw": True}
        hosted = {"provider": "openai", "config": {"api_key": "never used"}}
        self._embed = embed
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

    def embed(self, text: str, _action: str = "") -> list[float]:
        """What Mem0 asks of an embedder for one text."""
        return self._embed([text])[0]

    def embed_batch(self, texts: Sequence[str], _action: str = "") -> list[list[float]]:
        """What Mem0 asks of an embedder for several texts."""
        return self._embed(texts)

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """One `add` for each message: the key is its metadata."""
        for key, message in messages.items():
            told = [{"role": message.role, "content": message.text}]
            self._memory.add(told, user_id=space, metadata={"key": key}, infer=False)

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The best by vector and keyword, as Mem0 scores them."""
        found = self._memory.search(question, filters={"user_id": space}, top_k=limit)
        return [hit["metadata"]["key"] for hit in found["results"]]

    def close(self) -> None:
        """Close the history file; the pool of connections closes with the process."""
        self._memory.close()


class ChromaStore:
    """Chroma on disk in this process: a collection for each space, or one with a `where`."""

    def __init__(self, home: Path, embed: Embed, *, filtered: bool = False):
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        import chromadb  # noqa: PLC0415 - a peer, if installed

        self._client = chromadb.PersistentClient(str(home))
        self._embed, self._filtered = embed, filtered
        self._collections: dict[str, Any] = {}

    def _collection(self, space: str) -> Any:
        name = "all" if self._filtered else f"space-{space}"
        if name not in self._collections:
            cosine = {"hnsw:space": "cosine"}
            made = self._client.create_collection(name, metadata=cosine, embedding_function=None)
            self._collections[name] = made
        return self._collections[name]

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """One `add`."""
        texts = [message.text for message in messages.values()]
        self._collection(space).add(
            ids=list(messages),
            embeddings=self._embed(texts),
            documents=texts,
            metadatas=[{"space": space}] * len(texts),
        )

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The nearest by cosine."""
        where = {"space": space} if self._filtered else None
        vectors = self._embed([question])
        found = self._collection(space).query(vectors, n_results=limit, where=where)
        names: list[str] = found["ids"][0]
        return names

    def close(self) -> None:
        """Nothing is open: the files are closed with the process."""


class LlamaIndexStore:
    """LlamaIndex' `VectorStoreIndex` in memory, an index for each space.

    Its `VectorMemoryBlock` refuses the vector store that lives in memory.
    """

    def __init__(self, embed: Embed):
        core = import_module("llama_index.core")
        base = import_module("llama_index.core.embeddings").BaseEmbedding

        class Handed(base):  # type: ignore[misc,valid-type]
            """The embedder as LlamaIndex wants it."""

            def _get_text_embedding(self, text: str) -> list[float]:
                return embed([text])[0]

            def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
                return embed(texts)

            def _get_query_embedding(self, query: str) -> list[float]:
                return embed([query])[0]

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return embed([query])[0]

        self._model, self._index = Handed(), core.VectorStoreIndex
        self._node = import_module("llama_index.core.schema").TextNode
        self._indexes: dict[str, Any] = {}
        self._retrievers: dict[tuple[str, int], Any] = {}

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """One `insert_nodes`."""
        if space not in self._indexes:
            self._indexes[space] = self._index(nodes=[], embed_model=self._model)
        nodes = [self._node(id_=key, text=message.text) for key, message in messages.items()]
        self._indexes[space].insert_nodes(nodes)

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The nearest by cosine."""
        if (space, limit) not in self._retrievers:
            made = self._indexes[space].as_retriever(similarity_top_k=limit)
            self._retrievers[space, limit] = made
        return [hit.node.node_id for hit in self._retrievers[space, limit].retrieve(question)]

    def close(self) -> None:
        """Nothing is open."""

"""The rooms of one agent, composed once and shared by its handles."""

from __future__ import annotations

from dataclasses import dataclass

from idetic.gateway.gateway import Gateway
from idetic.ports import Clock
from idetic.recall.embedding import EmbeddingRun
from idetic.recall.engine import RecallEngine
from idetic.store.embeddings import Embeddings
from idetic.store.entries import Entries


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where an agent's handles send their work."""

    gateway: Gateway
    entries: Entries
    engine: RecallEngine
    embedding: EmbeddingRun
    embeddings: Embeddings
    clock: Clock

"""Vectors for a persona's long-term entries, from an embedder that may do anything.

It may raise, hang or return what is no vector. None of that reaches the log, whose events are
committed by then: an entry says that it failed, and a dream tries again.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from idetic.embed.errors import EmbeddingFailed
from idetic.errors import IdeticError
from idetic.persona.errors import EmbedderHangs
from idetic.recall.model import Model, fingerprint
from idetic.store.asked import DIMENSIONS
from idetic.store.database import Database
from idetic.store.embeddings import register
from idetic.store.persona_derived import DerivedRows, Waiting

BATCH = 64
PATIENCE = 30.0
Vector = list[float]
Found = TypeVar("Found")


class PersonaEmbedder:
    """One embedder for both personas, kept at arm's length."""

    def __init__(self, model: Model, database: Database, patience: float = PATIENCE):
        self._model = model
        self._database = database
        self._patience = patience
        self._profile: UUID | None = None
        self._hanging: threading.Thread | None = None

    @property
    def missing(self) -> IdeticError:
        """Why there is no embedder."""
        return self._model.missing

    async def profile(self) -> UUID | None:
        """The profile of the model at hand, known to this database; None without a model."""
        embedder = await self._model.get()
        if embedder is not None and self._profile is None:
            made = embedder.profile
            self._profile = await register(
                self._database, made.name, made.dimensions, fingerprint(embedder)
            )
        return self._profile

    async def vectors(self, texts: Sequence[str], *, query: bool = False) -> list[Vector | None]:
        """A vector for each text, None where what came back is none. Raises what the embedder did,
        or that it hangs."""
        embedder = await self._model.get()
        if embedder is None:
            raise self._model.missing
        made = await self._in_time(lambda: embedder.embed(list(texts), query=query))
        rows = [[float(x) for x in row] for row in made]
        if len(rows) != len(texts):
            raise EmbeddingFailed(f"The embedder gave {len(rows)} vectors for {len(texts)} texts.")
        return [row if _is_vector(row) else None for row in rows]

    async def _in_time(self, call: Callable[[], Found]) -> Found:
        """Call in a thread, for as long as patience lasts. A thread cannot be stopped: while one
        still hangs, no second one is sent after it, and none keeps the program from ending."""
        if self._hanging is not None and self._hanging.is_alive():
            raise EmbedderHangs("The embedding model still hangs in an earlier call.")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Found] = loop.create_future()
        thread = threading.Thread(target=_answer, args=(call, loop, done), daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(self._patience):
                return await done
        except TimeoutError:
            self._hanging = thread
            raise EmbedderHangs from None


def _answer(
    call: Callable[[], Found], loop: asyncio.AbstractEventLoop, done: asyncio.Future[Found]
) -> None:
    def tell(settle: Callable[[], None]) -> None:
        if not done.done():
            settle()

    try:
        settle = partial(done.set_result, call())
    except Exception as raised:  # noqa: BLE001 - an embedder is anybody's code
        settle = partial(done.set_exception, raised)
    try:
        loop.call_soon_threadsafe(tell, settle)
    except RuntimeError:
        return  # the program has ended meanwhile


def _is_vector(row: Sequence[float]) -> bool:
    length = math.fsum(x * x for x in row) if all(map(math.isfinite, row)) else 0.0
    # Half precision is what it is stored in, and knows no larger numbers.
    return len(row) == DIMENSIONS and length > 0.0 and max(map(abs, row)) < 65_504


async def embed(embedder: PersonaEmbedder, rows: DerivedRows, found: Sequence[Waiting]) -> int:
    """Embed entries and say of each what became of it; returns how many have their vector now.

    If a batch fails as a whole, each of its entries is tried alone: one bad text must not keep the
    others waiting. An embedder that hangs is left alone at once.
    """
    profile_id = await embedder.profile()
    if profile_id is None or not found:
        return 0
    try:
        made = await embedder.vectors([entry.summary for entry in found])
    except EmbedderHangs as error:
        await rows.failed([entry.ltm_id for entry in found], error.code)
        raise
    except Exception as error:  # noqa: BLE001 - an embedder is anybody's code
        if len(found) > 1:
            return sum([await embed(embedder, rows, [entry]) for entry in found])
        # Its name and no more: an error's words may quote the text.
        await rows.failed([found[0].ltm_id], type(error).__name__)
        return 0
    good = [(e.ltm_id, v) for e, v in zip(found, made, strict=True) if v is not None]
    bad = [e.ltm_id for e, v in zip(found, made, strict=True) if v is None]
    if good:
        await rows.embedded(profile_id, good)
    if bad:
        await rows.failed(bad, "not a vector")
    return len(good)

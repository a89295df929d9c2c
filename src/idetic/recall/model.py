"""The embedding model at hand: loaded when first needed, or known to be missing and why."""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from anyio import Lock, to_thread

from idetic.embed.port import EmbedderHangs, EmbeddingFailed, ModelMissing
from idetic.errors import IdeticError
from idetic.store.asked import DIMENSIONS

if TYPE_CHECKING:
    from idetic.embed.port import Embedder

PATIENCE = 30.0
"""How many seconds an embedder may take for one call."""
Vector = list[float]
Found = TypeVar("Found")


class Model:
    """One embedder for a whole `Idetic`: given by the user, or the pinned one from its files.

    Without a model everything else goes on: recall says so, and entries stay pending. There is
    never a silent fallback to another model. An embedder is anybody's code and kept at arm's
    length: it may raise, hang, or return what is no vector.
    """

    def __init__(self, embedder: Embedder | None = None):
        self._embedder = embedder
        self._missing: IdeticError | None = None
        self._lock = Lock()
        self._hanging: threading.Thread | None = None

    async def get(self) -> Embedder | None:
        """The embedder, or None; `missing` then says why."""
        if self._embedder is not None:
            return self._embedder
        async with self._lock:
            if self._embedder is None and self._missing is None:
                try:
                    self._embedder = await to_thread.run_sync(_load)
                except IdeticError as error:
                    self._missing = error
            return self._embedder

    @property
    def loaded(self) -> bool:
        """Whether an embedder is at hand without loading one."""
        return self._embedder is not None

    @property
    def missing(self) -> IdeticError:
        """Why there is no embedder."""
        return self._missing or ModelMissing()

    async def embed(
        self, texts: Sequence[str], *, query: bool = False, patience: float = PATIENCE
    ) -> list[Vector | None]:
        """A vector for each text, made off the event loop; None where what came back is none.

        Raises what the embedder raised, or that it hangs.
        """
        embedder = await self.get()
        if embedder is None:
            raise self.missing
        made = await self._in_time(lambda: embedder.embed(list(texts), query=query), patience)
        rows: list[Vector] = made.tolist()
        if len(rows) != len(texts):
            raise EmbeddingFailed(f"The embedder gave {len(rows)} vectors for {len(texts)} texts.")
        return [row if _is_vector(row) else None for row in rows]

    async def _in_time(self, call: Callable[[], Found], patience: float) -> Found:
        """Call in a thread, for as long as patience lasts. A thread cannot be stopped: while one
        still hangs, no second one is sent after it, and none keeps the program from ending."""
        if self._hanging is not None and self._hanging.is_alive():
            raise EmbedderHangs("The embedding model still hangs in an earlier call.")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Found] = loop.create_future()
        thread = threading.Thread(target=_answer, args=(call, loop, done), daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(patience):
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


def fingerprint(embedder: Embedder) -> str:
    """What makes two models the same: their weights, tokenizer and precision."""
    profile = embedder.profile
    parts = (profile.weights_sha256, profile.tokenizer_sha256, profile.precision)
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def _load() -> Embedder:
    from idetic.embed import load  # noqa: PLC0415 - onnxruntime loads only if it is used

    return load()

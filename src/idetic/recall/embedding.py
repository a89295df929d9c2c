"""The embedding model at hand, and the runs that give entries their vectors."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from anyio import Lock, to_thread

from idetic.embed.port import EmbedderHangs, EmbeddingFailed, ModelMissing
from idetic.errors import IdeticError, InputError, Refused
from idetic.ids import Clock
from idetic.model import Scope, Tier, Typology
from idetic.pieces import pieces
from idetic.recall.call_threads import CallThreads
from idetic.recall.question_vectors import QuestionVectors, Vector
from idetic.spec.memory_spec import MemorySpec
from idetic.store.embeddings import Embeddings, Pending, Piece
from idetic.store.recall_query import DIMENSIONS

if TYPE_CHECKING:
    from idetic.embed.port import Embedder
    from idetic.recall.engine import RecallEngine

BATCH = 64
# An entry that failed so often is set aside until its tenant is embedded anew.
ATTEMPTS = 5
_HARMLESS = "Is the embedder well?"
Progress = Callable[[int, int], None]
PATIENCE = 30.0
"""How many seconds an embedder may take for one call."""
T = TypeVar("T")


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
        self._threads = CallThreads()
        self._hanging: Future[Any] | None = None
        self.questions = QuestionVectors(self._embed_questions)

    async def get(self) -> Embedder | None:
        """The embedder, or None; `missing` then says why."""
        if self._embedder is not None:
            return self._embedder
        async with self._lock:
            if self._embedder is None and self._missing is None:
                from idetic.embed import load  # noqa: PLC0415 - onnxruntime loads only if used

                try:
                    self._embedder = await to_thread.run_sync(load)
                except IdeticError as error:
                    self._missing = error
            return self._embedder

    def look_again(self) -> None:
        """Look for the files once more when it is next asked for: they may have come meanwhile."""
        self._missing = None

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
        return await self._in_time(lambda: _embedded(embedder, texts, query=query), patience)

    async def _embed_questions(self, texts: list[str], patience: float) -> list[Vector | None]:
        """The vectors of questions, in one call."""
        return await self.embed(texts, query=True, patience=patience)

    async def _in_time(self, call: Callable[[], T], patience: float) -> T:
        """Call in a thread, for as long as patience lasts. A thread cannot be stopped: while one
        still hangs, no second one is sent after it, and none keeps the program from ending."""
        if self._hanging is not None and not self._hanging.done():
            raise EmbedderHangs("The embedding model still hangs in an earlier call.")
        done = self._threads.call(call)
        try:
            async with asyncio.timeout(patience):
                return await asyncio.wrap_future(done)
        except TimeoutError:
            self._hanging = done
            raise EmbedderHangs from None


def _embedded(embedder: Embedder, texts: Sequence[str], *, query: bool) -> list[Vector | None]:
    """A vector for each text; None where what the embedder gave is none."""
    rows: list[Vector] = embedder.embed(list(texts), query=query).tolist()
    if len(rows) != len(texts):
        raise EmbeddingFailed(f"The embedder gave {len(rows)} vectors for {len(texts)} texts.")
    return [row if _is_vector(row) else None for row in rows]


def _is_vector(row: Sequence[float]) -> bool:
    """Whether a row can be stored and compared: complete, finite, not zero, not too large."""
    length = math.fsum(x * x for x in row) if all(map(math.isfinite, row)) else 0.0
    # Half precision is what it is stored in, and knows no larger numbers.
    return len(row) == DIMENSIONS and length > 0.0 and max(map(abs, row)) < 65_504


def fingerprint(embedder: Embedder) -> str:
    """What makes two models the same: their weights, tokenizer and precision."""
    profile = embedder.profile
    parts = (profile.weights_sha256, profile.tokenizer_sha256, profile.precision)
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Embedded:
    """The result of an embedding run."""

    profile_id: UUID
    embedded: int
    remaining: int
    switched: bool = False


@dataclass(frozen=True, slots=True)
class EmbeddingRun:
    """Embeds in small committed batches: killed anywhere, it goes on where it was.

    An entry that the model fails on says so and stays pending; the others do not wait for it.
    """

    spec: MemorySpec
    engine: RecallEngine
    embeddings: Embeddings
    model: Model
    clock: Clock
    patience: float = PATIENCE

    async def pending(self, scope: Scope, progress: Progress | None = None) -> Embedded:
        """Embed what is pending in this anchor; raises if there is no model."""
        profile_id = await self._profile()
        active = await self._used(scope, profile_id)
        done = await self._batches(scope, profile_id, active == profile_id, progress=progress)
        return Embedded(profile_id, done, 0)

    async def session(self, scope: Scope, session_id: UUID) -> UUID | None:
        """The profile to compare a session's entries in, which then have their vectors.

        Only a model that is at hand already embeds here: closing a scope must not wait for one to
        be loaded. Entries without a vector are compared by their words.
        """
        if not self.model.loaded:
            return await self.embeddings.active(scope)
        profile_id = await self._profile()
        active = await self._used(scope, profile_id)
        if active == profile_id:
            await self._batches(scope, profile_id, True, session_id=session_id)
        return active

    async def loop(self, scope: Scope, loop_id: UUID) -> None:
        """Embed the entries of a loop that ends; without a model they stay pending."""
        profile_id = await self.engine.profile()
        if profile_id is not None:
            await self._batches(scope, profile_id, True, session_id=loop_id)

    async def tenant(self, scope: Scope, progress: Progress | None = None) -> Embedded:
        """Embed every anchor of the tenant in the loaded model's profile, then switch to it.

        Recalls go on with the old profile until the switch, which is one committed row.
        """
        profile_id = await self._profile()
        done = 0
        for anchor in await self.embeddings.anchors(self._across(scope)):
            whole = replace(scope, anchor=anchor)
            # Another model may do what this entry's last one could not.
            done += await self._batches(
                whole, profile_id, False, progress=progress, set_aside=False
            )
        switched = await self.embeddings.active(scope) != profile_id
        if switched:
            await self.embeddings.activate(scope, profile_id, self.clock)
        return Embedded(profile_id, done, 0, switched)

    def _across(self, scope: Scope) -> Scope:
        """The tenant as a whole: a profile is the tenant's, so all its anchors move together."""
        keys = self.spec.anchor.keys
        fixed = [key.name for key in keys[1:] if not key.nullable_for_queries]
        if fixed:
            raise Refused(
                f"The anchor keys {', '.join(fixed)} cannot be left open, so this tenant's other "
                "anchors cannot be found.",
                remedy="Declare them `nullable_for_queries` in the spec, and apply it.",
            )
        return replace(
            scope, anchor={keys[0].name: scope.tenant, **{k.name: None for k in keys[1:]}}
        )

    async def written(
        self,
        scope: Scope,
        written: Sequence[tuple[UUID | None, str]],
        tier: Tier,
        typology: Typology,
    ) -> None:
        """Embed entries that were just written. Without a model they stay pending."""
        if await self.engine.profile() is None or not written:
            return
        profile_id = await self._profile()
        active = await self._used(scope, profile_id)
        found = [
            Pending(scope.anchor, entry_id, tier, typology, text)
            for entry_id, text in written
            if entry_id is not None
        ]
        for first in range(0, len(found), BATCH):
            batch = found[first : first + BATCH]
            await self._store(scope, profile_id, batch, active == profile_id)

    async def _batches(
        self,
        scope: Scope,
        profile_id: UUID,
        point: bool,
        *,
        session_id: UUID | None = None,
        progress: Progress | None = None,
        set_aside: bool = True,
    ) -> int:
        """Embed what is pending, each entry once; says how many have their vector now.

        `point` makes the entries refer to it. What failed too often stays aside, unless
        `set_aside` is false.
        """
        total = await self.embeddings.count_pending(scope, profile_id) if progress else 0
        done, after = 0, None
        attempts = ATTEMPTS if set_aside else None
        look = partial(self.embeddings.pending, session_id=session_id, attempts=attempts)
        pending = partial(look, scope, profile_id, BATCH)
        while found := await pending(after=after):
            # What failed before goes alone: whatever it does, it does to nobody else.
            fresh = [one for one in found if not one.attempts]
            for batch in (fresh, *([one] for one in found if one.attempts)):
                done += await self._store(scope, profile_id, batch, point) if batch else 0
            after = found[-1].memory_id
            if progress:
                progress(done, max(total, done))
        return done

    async def _store(
        self, scope: Scope, profile_id: UUID, found: Sequence[Pending], point: bool
    ) -> int:
        """Embed entries and say of each what became of it; how many have their vector.

        If a batch fails as a whole, each of its entries is tried alone. An embedder that hangs is
        left alone at once.
        """
        cut = [
            Piece(entry, n, text)
            for entry in found
            for n, text in enumerate(pieces(entry.body_text))
        ]
        try:
            made = await self._embed([piece.text for piece in cut])
        except EmbedderHangs as error:
            # Of many, nobody knows which it was; the next run tries each of them alone.
            most = ATTEMPTS if len(found) == 1 else 1
            await self.embeddings.failed(scope, found, error.code, most)
            raise
        except Exception as error:  # noqa: BLE001 - an embedder is anybody's code
            if len(found) > 1:
                alone = [await self._store(scope, profile_id, [one], point) for one in found]
                return sum(alone)
            # Its name and no more: an error's words may quote the text.
            await self._failed(scope, found, type(error).__name__)
            return 0
        # An entry has all of its vectors or none: what lacks one stays pending.
        bad = {piece.entry.memory_id for piece, v in zip(cut, made, strict=True) if v is None}
        good = [
            (p, v) for p, v in zip(cut, made, strict=True) if v and p.entry.memory_id not in bad
        ]
        if good:
            now = self.clock.now()
            try:
                await self.embeddings.store(scope, profile_id, good, now, point=point)
            except InputError as error:
                # One of them cannot be kept; alone, the others can.
                if len(found) > 1:
                    return sum(
                        [await self._store(scope, profile_id, [one], point) for one in found]
                    )
                await self._failed(scope, found, error.code)
                return 0
        if bad:
            failed = [entry for entry in found if entry.memory_id in bad]
            await self._failed(scope, failed, "not a vector")
        return len(found) - len(bad)

    async def _failed(self, scope: Scope, found: Sequence[Pending], error: str) -> None:
        """Count an attempt; the last one only if the embedder is well with another text."""
        try:
            sound = (await self.model.embed([_HARMLESS], patience=self.patience))[0] is not None
        except Exception:  # noqa: BLE001 - as above: then it is not the entry
            sound = False
        await self.embeddings.failed(scope, found, error, ATTEMPTS if sound else ATTEMPTS - 1)

    async def _embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector for each text, in calls small enough for the embedder's patience."""
        made: list[Vector | None] = []
        for first in range(0, len(texts), BATCH):
            part = texts[first : first + BATCH]
            made += await self.model.embed(part, patience=self.patience)
        return made

    async def _used(self, scope: Scope, profile_id: UUID) -> UUID:
        """The profile that the tenant's recalls use; the first one that is used becomes it.

        Of a log's mirror recall uses the model at hand: its agent embeds it, and no other waits.
        """
        if self.spec.backend.log is not None:
            return profile_id
        active = await self.embeddings.active(scope)
        if active is None:
            await self.embeddings.activate(scope, profile_id, self.clock)
        return active or profile_id

    async def _profile(self) -> UUID:
        """The profile of the model at hand; without a model, the error that says so."""
        profile_id = await self.engine.profile()
        if profile_id is None:
            raise self.model.missing
        return profile_id

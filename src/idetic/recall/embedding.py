"""Giving entries their vectors: what is pending now, or a whole tenant for a new profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from idetic.embed.port import EmbedderHangs
from idetic.errors import IdeticError, Refused
from idetic.model import Scope, Tier, Typology
from idetic.ports import Clock
from idetic.recall.engine import RecallEngine
from idetic.recall.model import PATIENCE, Model
from idetic.spec.memory_spec import MemorySpec
from idetic.store.embeddings import Embeddings, Pending

BATCH = 64
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Embedded:
    """What an embedding run did."""

    profile_id: UUID
    embedded: int
    remaining: int
    switched: bool = False


class EmbeddingRun:
    """Embeds in small committed batches: killed anywhere, it goes on where it was.

    An entry that the model fails on says so and stays pending; the others do not wait for it.
    """

    def __init__(
        self,
        spec: MemorySpec,
        engine: RecallEngine,
        embeddings: Embeddings,
        model: Model,
        clock: Clock,
        patience: float = PATIENCE,
    ):
        self._patience = patience
        self._spec = spec
        self._engine = engine
        self._embeddings = embeddings
        self._model = model
        self._clock = clock

    async def pending(self, scope: Scope, progress: Progress | None = None) -> Embedded:
        """Embed what is pending in this anchor; raises if there is no model."""
        profile_id = await self._profile()
        active = await self._used(scope, profile_id)
        done = await self._anchor(scope, profile_id, progress, point=active == profile_id)
        return Embedded(profile_id, done, 0)

    async def session(self, scope: Scope, session_id: UUID) -> UUID | None:
        """The profile to compare a session's entries in, which then have their vectors.

        Only a model that is at hand already embeds here: closing a scope must not wait for one to
        be loaded. Entries without a vector are compared by their words.
        """
        if not self._model.loaded:
            return await self._embeddings.active(scope)
        profile_id = await self._profile()
        active = await self._used(scope, profile_id)
        if active == profile_id:
            await self._batches(scope, profile_id, None, point=True, session_id=session_id)
        return active

    async def loop(self, scope: Scope, loop_id: UUID) -> None:
        """Embed the entries of a loop that ends; without a model they stay pending."""
        profile_id = await self._engine.profile()
        if profile_id is not None:
            await self._batches(scope, profile_id, None, point=True, session_id=loop_id)

    async def tenant(self, scope: Scope, progress: Progress | None = None) -> Embedded:
        """Embed every anchor of the tenant in the loaded model's profile, then switch to it.

        Recalls go on with the old profile until the switch, which is one committed row.
        """
        profile_id = await self._profile()
        done = 0
        for anchor in await self._embeddings.anchors(self._across(scope)):
            whole = replace(scope, anchor=anchor)
            done += await self._anchor(whole, profile_id, progress, point=False)
        switched = await self._embeddings.active(scope) != profile_id
        if switched:
            await self._embeddings.activate(scope, profile_id, self._clock.now())
        return Embedded(profile_id, done, 0, switched)

    def _across(self, scope: Scope) -> Scope:
        """The tenant as a whole: a profile is the tenant's, so all its anchors move together."""
        keys = self._spec.anchor.keys
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
        if await self._engine.profile() is None or not written:
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
            await self._store(scope, profile_id, batch, point=active == profile_id)

    async def _anchor(
        self, scope: Scope, profile_id: UUID, progress: Progress | None, *, point: bool
    ) -> int:
        total = await self._embeddings.count_pending(scope, profile_id)

        def tell(done: int) -> None:
            if progress:
                progress(done, max(total, done))

        return await self._batches(scope, profile_id, tell, point=point)

    async def _batches(
        self,
        scope: Scope,
        profile_id: UUID,
        tell: Callable[[int], None] | None,
        *,
        point: bool,
        session_id: UUID | None = None,
    ) -> int:
        """What is pending, each entry once; how many have their vector now."""
        done, after = 0, None
        pending = self._embeddings.pending
        while found := await pending(scope, profile_id, BATCH, session_id=session_id, after=after):
            done += await self._store(scope, profile_id, found, point=point)
            after = found[-1].memory_id
            if tell:
                tell(done)
        return done

    async def _store(
        self, scope: Scope, profile_id: UUID, found: Sequence[Pending], *, point: bool
    ) -> int:
        """Embed entries and say of each what became of it; how many have their vector.

        If a batch fails as a whole, each of its entries is tried alone. An embedder that hangs is
        left alone at once.
        """
        try:
            texts = [entry.body_text for entry in found]
            made = await self._model.embed(texts, patience=self._patience)
        except EmbedderHangs as error:
            await self._embeddings.failed(scope, found, error.code)
            raise
        except Exception as error:  # noqa: BLE001 - an embedder is anybody's code
            if len(found) > 1:
                alone = [await self._store(scope, profile_id, [one], point=point) for one in found]
                return sum(alone)
            # Its name and no more: an error's words may quote the text.
            await self._embeddings.failed(scope, found, type(error).__name__)
            return 0
        pairs = list(zip(found, made, strict=True))
        good = [(entry, vector) for entry, vector in pairs if vector is not None]
        if good:
            entries, vectors = zip(*good, strict=True)
            now = self._clock.now()
            await self._embeddings.store(scope, profile_id, entries, vectors, now, point=point)
        if bad := [entry for entry, vector in pairs if vector is None]:
            await self._embeddings.failed(scope, bad, "not a vector")
        return len(good)

    async def _used(self, scope: Scope, profile_id: UUID) -> UUID:
        """The profile that the tenant's recalls use; the first one that is used becomes it.

        Of a log's mirror recall uses the model at hand: its agent embeds it, and no other waits.
        """
        if self._spec.backend.log is not None:
            return profile_id
        active = await self._embeddings.active(scope)
        if active is None:
            await self._embeddings.activate(scope, profile_id, self._clock.now())
        return active or profile_id

    async def _profile(self) -> UUID:
        profile_id = await self._engine.profile()
        if profile_id is None:
            missing: IdeticError = self._model.missing
            raise missing
        return profile_id

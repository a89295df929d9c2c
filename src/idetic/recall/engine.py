"""The one recall path: question in, explained hits out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from anyio import to_thread

from idetic.dates import asks_when, date_windows
from idetic.embed.port import EmbedderHangs
from idetic.errors import IdeticError
from idetic.ids import Clock
from idetic.model import Scope
from idetic.pieces import met_piece
from idetic.recall.embedding import PATIENCE, Model, fingerprint
from idetic.recall.floors import FloorOverride
from idetic.recall.framing import unframed
from idetic.recall.hits import Hit, NotUsed, Recall
from idetic.recall.past_values import asks_about_the_past, claim_keys, with_past
from idetic.recall.question_vectors import Vector
from idetic.recall.relevance import judged, known
from idetic.recall.rerank import (
    BRIEF,
    RERANKED,
    InstalledReranker,
    Reranker,
    blend,
    weight_of,
)
from idetic.recall.updates import newest_first
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import RerankerKind, Signal
from idetic.store.embeddings import Embeddings
from idetic.store.recall_query import Filters, ReadReceipt, RecallAnswer, RecallQuery, Recalls
from idetic.telemetry import recording, span

_LOOK = "Look at the embedder."


@dataclass(slots=True)
class RecallEngine:
    """Recall for one agent: the spec's signals and fusion over the store's one statement."""

    spec: MemorySpec
    recalls: Recalls
    embeddings: Embeddings
    model: Model
    clock: Clock
    reranker: Reranker | None = None
    floors: FloorOverride | None = None
    patience: float = PATIENCE
    _profile: UUID | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.spec.retrieval.reranker is not RerankerKind.CROSS_ENCODER:
            self.reranker = None
        elif self.reranker is None:
            self.reranker = InstalledReranker()

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int,
        envelope: Mapping[str, Any],
        filters: Filters,
        receipt: ReadReceipt | None = None,
    ) -> Recall:
        """The best entries for a question, each with every signal's word on it.

        With a `receipt`, what is found is recorded as read, in the message that reads it; unless a
        reranker still chooses among it.
        """
        receipt = None if self.reranker else receipt
        with span("recall", scope=scope, query=query, limit=limit) as told:
            found = await self._recall(scope, query, limit, envelope, filters, receipt)
            if recording():
                told.tell(**_told(found))
            return found

    async def _recall(
        self,
        scope: Scope,
        text: str,
        limit: int,
        envelope: Mapping[str, Any],
        filters: Filters,
        receipt: ReadReceipt | None,
    ) -> Recall:
        """Embed the question if meaning counts, ask the database once, and explain the answer."""
        now, asked = self.clock.now(), unframed(text)
        windows = date_windows(asked, filters.as_of or now)
        weights = {s: float(w) for s, w in self.spec.retrieval.signals.items() if w}
        if not (windows or asks_when(asked)):
            weights.pop(Signal.TIME, None)
        vector, failed = None, None
        if weights.get(Signal.SEMANTIC):
            vector, failed = await self._vector(scope, asked)
        # A reranker is given more than is asked for, so that it has something to choose from.
        query = RecallQuery(
            text=asked,
            limit=max(limit, RERANKED) if self.reranker else limit,
            at=now,
            weights=weights,
            vector=vector,
            profile_id=self._profile if vector is not None else None,
            envelope=envelope,
            filters=filters,
            windows=windows,
        )
        answer = await self.recalls.ask(scope, query, receipt)
        met = [
            replace(hit, piece=met_piece(hit.entry.body_text, asked, hit.piece))
            for hit in judged(answer.hits, answer.grounds)
        ]
        hits, unranked = await self._ordered(scope, query, met)
        ordered = newest_first(text, hits, answer.rarity)
        return Recall(
            query=text,
            hits=tuple(await self._with_past(scope, query, ordered))[:limit],
            fusion=self.spec.retrieval.fusion.method,
            weights=weights,
            considered=answer.considered,
            candidates=answer.candidates,
            at=query.at,
            profile_id=answer.active_profile if vector is not None else None,
            pending=max(0, answer.considered - answer.embedded) if vector is not None else 0,
            not_used=(*self._not_used(query, answer, failed), *filter(None, [unranked])),
            dates=tuple(window.words for window in windows),
            known=known(answer.grounds),
            grounds=answer.grounds,
            floors=(self.floors or FloorOverride()).over(self.spec.retrieval.floors),
            receipted=receipt is not None,
        )

    async def _with_past(
        self, scope: Scope, query: RecallQuery, hits: Sequence[Hit]
    ) -> Sequence[Hit]:
        """The hits; in memory of a conversation, for a question about the past, what held then."""
        asked = self.spec.backend.conversation and asks_about_the_past(query)
        keys = claim_keys(hits) if asked and None not in scope.anchor.values() else []
        if not keys:
            return hits
        subjects, attributes = zip(*keys, strict=True)
        ended = await self.recalls.entries.entries(
            scope, "ended", subjects=list(subjects), attributes=list(attributes)
        )
        return with_past(query, hits, ended)

    async def _ordered(
        self, scope: Scope, query: RecallQuery, hits: list[Hit]
    ) -> tuple[list[Hit], NotUsed | None]:
        """The fused order, the first hits by their blend with the reranker where the spec has one.

        Without the reranker's scores the fused order stands, and why is told.
        """
        reranker, first = self.reranker, hits[:RERANKED]
        if reranker is None or not first:
            return hits, None
        brief = [hit.entry.id for hit in first if len(hit.excerpt) < BRIEF]
        before = await self.recalls.before(scope, query, brief)
        texts = [_spoken(hit, before.get(hit.entry.id)) for hit in first]
        try:
            scores = await to_thread.run_sync(lambda: reranker.rerank(query.text, texts))
            weight = weight_of([len(hit.excerpt) for hit in first])
            blended = blend([hit.score for hit in first], scores, weight)
        except IdeticError as error:
            return hits, NotUsed("reranker", error.message, error.remedy)
        except Exception as error:  # noqa: BLE001 - a reranker is anybody's code
            why = f"the reranker raised {type(error).__name__}"
            return hits, NotUsed("reranker", why, "Look at the reranker.")
        marked = [replace(hit, reranked=s) for hit, s in zip(first, blended, strict=True)]
        best = sorted(marked, key=lambda hit: -(hit.reranked or 0.0))
        return best + hits[RERANKED:], None

    async def profile(self) -> UUID | None:
        """The profile of the model at hand, known to this database; None without a model."""
        embedder = await self.model.get()
        if embedder is not None and self._profile is None:
            made = embedder.profile
            self._profile = await self.embeddings.register(
                made.name, made.dimensions, fingerprint(embedder)
            )
        return self._profile

    async def _vector(self, scope: Scope, query: str) -> tuple[Vector | None, NotUsed | None]:
        """The question's vector; or why there is none. Words go on without it."""
        if await self.profile() is None:
            return None, _without(self.model.missing)
        try:
            vector = await self.model.questions.vector(scope, query, self.patience)
        except EmbedderHangs as error:
            return None, _without(error)
        except Exception as error:  # noqa: BLE001 - an embedder is anybody's code
            why = f"the embedder raised {type(error).__name__}"
            return None, NotUsed("semantic", why, _LOOK)
        if vector is None:
            why = "the embedder returned something that is no vector"
            return None, NotUsed("semantic", why, _LOOK)
        return vector, None

    def _not_used(
        self, query: RecallQuery, answer: RecallAnswer, failed: NotUsed | None
    ) -> list[NotUsed]:
        """What this recall did without, and what would change that."""
        told = []
        # Who gives entries their vectors: of a log's mirror, the dream.
        verb = "embed" if self.spec.backend.log is None else "dream"
        embed = f"Run `await memory.{verb}()`."
        if query.weights.get(Signal.SEMANTIC):
            if failed is not None:
                told.append(failed)
            elif answer.active_profile is None:
                why = "no entry of this tenant has a vector yet"
                told.append(NotUsed("semantic", why, embed))
            elif answer.active_profile != query.profile_id:
                why = "this tenant's vectors are of another model than the one loaded here"
                told.append(NotUsed("semantic", why, "Run `await memory.reembed()`."))
            elif answer.embedded < answer.considered:
                why = f"{answer.considered - answer.embedded} entries have no vector yet"
                told.append(NotUsed("semantic, in part", why, embed))
        if query.weights.get(Signal.ENVELOPE) and not query.envelope:
            why = "the question came without an envelope"
            told.append(NotUsed("envelope", why, "Pass envelope={…} with declared keys."))
        return told


def _without(error: IdeticError) -> NotUsed:
    """The note of a recall that could not use meaning; its reason ends without a point."""
    return NotUsed("semantic", error.message.rstrip("."), error.remedy)


def _spoken(hit: Hit, before: str | None) -> str:
    """What a reranker reads of a hit: who said it, the piece that was met, and what it answers."""
    said = f"{hit.entry.speaker}: {hit.excerpt}" if hit.entry.speaker else hit.excerpt
    return f"{before}\n{said}" if before else said


def _told(found: Recall) -> dict[str, Any]:
    """What a recall found, in numbers."""
    best = found.hits[0] if found.hits else None
    return {
        "hits": len(found.hits),
        "considered": found.considered,
        "candidates": found.candidates,
        "pending": found.pending,
        "known": found.known,
        "score": best.score if best else None,
        "similarity": best.similarity if best else None,
        "without": len(found.not_used),
    }
